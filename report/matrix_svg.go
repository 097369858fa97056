package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/fencesim/fencesim/check"
)

// MatrixSVG draws a matrix: machines downwards, disciplines to the right, each cell with
// its verdict in words and colour, of a hang the counters of the shortest one.
func MatrixSVG(w io.Writer, m *check.Matrix) error {
	var machines, disciplines []string
	for _, c := range m.Cells {
		if !slices.Contains(machines, c.Machine) {
			machines = append(machines, c.Machine)
		}
		if !slices.Contains(disciplines, c.Discipline) {
			disciplines = append(disciplines, c.Discipline)
		}
	}
	const left, top, cellW, cellH = 150, 64, 140, 30
	width, height := left+cellW*len(disciplines)+14, top+cellH*len(machines)+44
	b := bufio.NewWriter(w)
	title := m.Scenario + ": disciplines against machines"
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s"><style>%s.ground{fill:var(--bg)}.cell{stroke:var(--bg);stroke-width:3}.hang,.violation{fill:var(--bad-bg)}.ok{fill:var(--good-bg)}.inconclusive{fill:var(--open-bg)}text.hang,text.violation{fill:var(--bad)}text.ok{fill:var(--good)}text.inconclusive{fill:var(--open)}</style>`+"\n",
		width, height, width, height, markup(title), pictureStyle)
	fmt.Fprintf(b, `<rect class="ground" width="%d" height="%d"/><text x="12" y="26" font-size="15" font-weight="600">%s</text>`+"\n", width, height, markup(title))
	for i, d := range disciplines {
		if d == "" {
			d = "as written"
		}
		fmt.Fprintf(b, `<text class="soft" x="%d" y="%d" font-size="12" text-anchor="middle">%s</text>`+"\n", left+cellW*i+cellW/2, top-9, markup(d))
	}
	for j, machine := range machines {
		y := top + cellH*j
		fmt.Fprintf(b, `<text x="12" y="%d" font-size="12">%s</text>`+"\n", y+19, markup(machine))
		for i, d := range disciplines {
			c := m.Cell(d, machine)
			if c == nil {
				continue
			}
			text := c.Word()
			if c.Counters != nil {
				text += fmt.Sprintf(" %d · %d · %d", c.Counters.Scheduled, c.Counters.GPU, c.Counters.CPU)
			}
			x := left + cellW*i
			fmt.Fprintf(b, `<rect class="cell %s" x="%d" y="%d" width="%d" height="%d" rx="6"/><text class="%s" x="%d" y="%d" font-size="12" font-weight="600" text-anchor="middle">%s<title>%s, %s: %s by %s</title></text>`+"\n",
				c.Verdict, x, y, cellW, cellH, c.Verdict, x+cellW/2, y+19, markup(text), markup(d), markup(machine), markup(c.Word()), c.Proof)
		}
	}
	fmt.Fprintf(b, `<text class="soft" x="12" y="%d" font-size="11">Of a hang: updates scheduled · seen by the CPU of the GPU's · seen by the GPU of the CPU's, in the stuck state with the shortest run.</text>`+"\n</svg>\n", height-16)
	return b.Flush()
}
