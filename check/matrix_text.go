package check

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"
)

// grid is a table of short texts with a heading row.
type grid [][]string

// text writes the columns aligned.
func (g grid) text(w *bufio.Writer) {
	var widths []int
	for _, row := range g {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range g {
		line := ""
		for i, c := range row {
			line += c + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c)+2)
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

func (g grid) markdown(w *bufio.Writer) {
	for i, row := range g {
		cells := make([]string, len(row))
		for k, c := range row {
			cells[k] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintln(w, "|"+strings.Repeat(" --- |", len(row)))
		}
	}
}

// axes are the machines and the disciplines of a matrix, in their order.
func (m *Matrix) axes() (machines, disciplines []string) {
	seen := map[string]bool{}
	for _, c := range m.Cells {
		if !seen["m"+c.Machine] {
			machines = append(machines, c.Machine)
		}
		if !seen["d"+c.Discipline] {
			disciplines = append(disciplines, c.Discipline)
		}
		seen["m"+c.Machine], seen["d"+c.Discipline] = true, true
	}
	return machines, disciplines
}

func heading(discipline string) string {
	if discipline == "" {
		return "verdict"
	}
	return discipline
}

// grid has a row per machine. Counters are scheduled/gpu/cpu.
func (m *Matrix) grid() grid {
	machines, disciplines := m.axes()
	g := grid{{"machine"}}
	for _, d := range disciplines {
		g[0] = append(g[0], heading(d))
	}
	for _, name := range machines {
		row := []string{name}
		for _, d := range disciplines {
			row = append(row, m.Cell(d, name).text())
		}
		g = append(g, row)
	}
	return g
}

func (c *MatrixCell) text() string {
	text := c.Word()
	if k := c.Counters; k != nil {
		text += fmt.Sprintf(" %d/%d/%d", k.Scheduled, k.GPU, k.CPU)
	}
	if c.Verdict != Inconclusive {
		text += " " + c.Proof.short()
	}
	return text
}

// short is the proof in a few letters.
func (p Proof) short() string {
	return [...]string{"", "(s)", "(x)", "(c)", "(1)"}[p]
}

const proofLegend = "(1) one run stands for all, (c) certificate, (x) exhaustive, (s) sampled, ? a bound was reached; hang scheduled/gpu/cpu"

// safety says for each discipline where it stops being safe, and why cells are not known.
func (m *Matrix) safety() []string {
	_, disciplines := m.axes()
	var out []string
	for _, d := range disciplines {
		safe, ok := m.WeakestSafe[d]
		if !ok {
			continue
		}
		text := "the weakest safe machine is " + safe
		if safe == "" && m.FirstUnsafe[d] == "" {
			out = append(out, heading(d)+": not known on "+Order[0])
			continue
		}
		if safe == "" {
			text = "safe on none of " + Order[0] + " to " + Order[len(Order)-1]
		}
		if first := m.FirstUnsafe[d]; first != "" {
			text += ", the first unsafe one " + first
		} else if safe != Order[len(Order)-1] {
			text += ", the next one is not known"
		}
		out = append(out, heading(d)+": "+text)
	}
	for i := range m.Cells {
		if c := &m.Cells[i]; c.Verdict == Inconclusive {
			out = append(out, fmt.Sprintf("%s on %s: not known, the bound %s was reached: %s", heading(c.Discipline), c.Machine, c.Bound, c.Reason))
		}
	}
	return out
}

// Text writes the matrix for a terminal.
func (m *Matrix) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", m.Scenario)
	m.grid().text(b)
	fmt.Fprintf(b, "\n%s\n", proofLegend)
	for _, s := range m.safety() {
		fmt.Fprintln(b, s)
	}
	return b.Flush()
}

// Markdown writes the matrix as a table.
func (m *Matrix) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	m.grid().markdown(b)
	fmt.Fprintf(b, "\n%s.\n", proofLegend)
	for _, s := range m.safety() {
		fmt.Fprintf(b, "\n- %s", s)
	}
	fmt.Fprintln(b)
	return b.Flush()
}

// SVG writes the matrix as a picture.
func (m *Matrix) SVG(w io.Writer) error {
	const cell, row, left, top = 160, 22, 170, 30
	b := bufio.NewWriter(w)
	g := m.grid()
	fmt.Fprintf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
		left+cell*(len(g[0])-1), top+row*(len(g)-1)+10)
	fmt.Fprintf(b, "<title>%s</title>\n", html.EscapeString(m.Scenario))
	for i, cells := range g {
		y := top + row*(i-1)
		for k, text := range cells {
			x := left + cell*(k-1)
			if k == 0 {
				x = 6
			}
			if i > 0 && k > 0 {
				fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y, cell-2, row-2, fill(text))
				x += 6
			}
			fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", x, y+15, html.EscapeString(text))
		}
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

func fill(text string) string {
	switch word, _, _ := strings.Cut(text, " "); word {
	case "ok":
		return "#c9e7cb"
	case "?":
		return "#e6e6e6"
	case "hang":
		return "#f4b6b0"
	}
	return "#f8dca6"
}

// grid has a row per expectation.
func (m *CatalogMatrix) grid() grid {
	g := grid{{"name", "variant", "discipline", "machine", "ranks", "expected", "verdict", "proof", "", "time", "sources"}}
	for _, r := range m.Entries {
		g = append(g, []string{r.Name, r.Variant, r.Discipline, r.Machine, fmt.Sprint(r.Ranks), r.Want, r.Verdict.String(), r.Proof.String(),
			r.Expect, fmt.Sprintf("%.2f s", r.Elapsed), strings.Join(r.Sources, " ")})
	}
	return g
}

func (m *CatalogMatrix) sum() string {
	return fmt.Sprintf("%d expectations, %d missed, %.1f s", len(m.Entries), m.Missed, m.Elapsed)
}

// Text writes the rows for a terminal, and why those are missed that are.
func (m *CatalogMatrix) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	m.grid().text(b)
	fmt.Fprintln(b)
	for _, r := range m.Entries {
		if r.Expect == "missed" {
			fmt.Fprintf(b, "missed: %s on %s: expected %s: %s\n", r.Name, r.Machine, r.Want, r.Why)
		}
	}
	fmt.Fprintln(b, m.sum())
	return b.Flush()
}

// Markdown writes the rows as a table.
func (m *CatalogMatrix) Markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	m.grid().markdown(b)
	fmt.Fprintf(b, "\n%s.\n", m.sum())
	return b.Flush()
}
