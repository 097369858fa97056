package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// scheduleBox is one command buffer or CPU task of a schedule.
type scheduleBox struct {
	Lane  int
	Title string
	Lines []string
}

// scheduleGraph is the program of one rank: its boxes in the order of their lanes, and the
// arcs from each update to the waits that it lets through.
type scheduleGraph struct {
	Lanes []string
	Boxes []scheduleBox
	Order []arc // from each box to the next of its lane
	Lets  []arc // update to wait
	Note  string
}

// newScheduleGraph reads rank 0's program, and says so if ranks differ. Where the run
// chooses the ends of buffers, they are drawn where the size rule alone cuts.
//
// With fold, a row of boxes that neither wait nor store becomes one box.
func newScheduleGraph(in Input, fold bool) *scheduleGraph {
	p := in.Programs[0]
	g := &scheduleGraph{}
	if p.FromGraph {
		g.Note = "buffers end where the size rule cuts; the throttle may cut earlier"
	}
	for _, q := range in.Programs {
		if q != p {
			g.Note = strings.TrimPrefix(g.Note+"; rank 0 of several programs", "; ")
			break
		}
	}
	type at struct {
		box   int
		value uint32
	}
	stores := map[string][]at{}
	type wait struct {
		box    int
		object string
		value  uint32
	}
	var waits []wait
	lane := func(name string) { g.Lanes = append(g.Lanes, name) }
	folded := 0 // boxes in the last one
	box := func(title string, cmds []model.Command) {
		if n := len(g.Boxes) - 1; fold && n >= 0 && g.Boxes[n].Lane == len(g.Lanes)-1 && !meets(cmds) {
			if b := &g.Boxes[n]; folded > 0 {
				folded += len(cmds)
				first, _, _ := strings.Cut(b.Title, " to ")
				b.Title, b.Lines = first+" to "+strings.Fields(title)[1], []string{fmt.Sprintf("%d commands", folded)}
				return
			}
		}
		folded = 0
		if fold && !meets(cmds) {
			folded = len(cmds)
		}
		b := scheduleBox{Lane: len(g.Lanes) - 1, Title: title}
		i := len(g.Boxes)
		if i > 0 && g.Boxes[i-1].Lane == b.Lane {
			g.Order = append(g.Order, arc{i - 1, i})
		}
		for k := range cmds {
			c := &cmds[k]
			b.Lines = append(b.Lines, short(c.Text(&p.Names)))
			object := p.Names.Of(c.Name)
			switch c.Op {
			case model.OpUpdate, model.OpSignal, model.OpRelease:
				v := c.Value
				if c.Op == model.OpRelease {
					v = model.Released
				}
				stores[object] = append(stores[object], at{i, v})
			case model.OpWait, model.OpAwait, model.OpPark:
				waits = append(waits, wait{i, object, c.Value})
			}
		}
		g.Boxes = append(g.Boxes, b)
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		lane("queue " + q.Name)
		start := 0
		for n, end := range bufferEnds(q) {
			box(fmt.Sprintf("buffer %d", n), q.Commands[start:end])
			start = end
		}
	}
	for i := range p.Streams {
		s := &p.Streams[i]
		lane("stream " + s.Name)
		for n := range s.Tasks {
			box(fmt.Sprintf("task %d", n), s.Tasks[n:n+1])
		}
	}
	for _, w := range waits {
		for _, s := range stores[w.object] {
			if s.value >= w.value {
				if s.box != w.box {
					g.Lets = append(g.Lets, arc{s.box, w.box})
				}
				break
			}
		}
	}
	return g
}

// meets reports whether some command is more than a kernel on its own.
func meets(cmds []model.Command) bool {
	for i := range cmds {
		switch cmds[i].Op {
		case model.OpKernel, model.OpCoherent, model.OpBarrier, model.OpEncoder:
		default:
			return true
		}
	}
	return false
}

// bufferEnds are the ends of a queue's buffers: fixed, or where the size rule cuts.
func bufferEnds(q *model.Queue) []int {
	if q.Forced == nil {
		return q.Ends
	}
	var ends []int
	for s := 0; s < len(q.Commands); {
		e := len(q.Commands)
		if f := q.Forced[s]; f != model.NeverForced && int(f) < e {
			e = max(int(f), s+1)
		}
		ends = append(ends, e)
		s = e
	}
	return ends
}

// ScheduleDOT writes the schedule in the language of Graphviz: a cluster for each queue and
// CPU stream, a box for each command buffer and task, an arrow from each update to the
// waits that it lets through.
func ScheduleDOT(w io.Writer, in Input) error {
	g := newScheduleGraph(in, false)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %s {\n  rankdir=LR;\n  bgcolor=transparent;\n  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n", dotString(in.Scenario.Name))
	if g.Note != "" {
		fmt.Fprintf(b, "  label=%s;\n", dotString(g.Note))
	}
	for lane, name := range g.Lanes {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n", lane, dotString(name))
		for i, x := range g.Boxes {
			if x.Lane == lane {
				fmt.Fprintf(b, "    b%d [label=%s];\n", i, dotString(x.Title+"\n"+strings.Join(x.Lines, "\n")))
			}
		}
		b.WriteString("  }\n")
	}
	for _, a := range g.Order {
		fmt.Fprintf(b, "  b%d -> b%d [color=gray60, weight=4];\n", a.From, a.To)
	}
	for _, a := range g.Lets {
		fmt.Fprintf(b, "  b%d -> b%d [color=darkgreen, class=lets];\n", a.From, a.To)
	}
	b.WriteString("}\n")
	return b.Flush()
}

// mostColumns is how many columns of a schedule are drawn.
const mostColumns = 40

// ScheduleSVG draws the schedule: a row for each queue and CPU stream, a box for each
// command buffer and task, in columns so that an update stands before the waits that it
// lets through, where the schedule allows that.
func ScheduleSVG(w io.Writer, in Input) error {
	g := newScheduleGraph(in, in.Programs[0].FromGraph)
	const font, lead, gutter, gapX, top = 11, 14, 120, 26, 48
	arcs := append(append([]arc{}, g.Order...), g.Lets...)
	column := columns(len(g.Boxes), arcs)
	widths, most, left := map[int]int{}, 0, 0
	for i, b := range g.Boxes {
		if column[i] >= mostColumns {
			left++
			continue
		}
		for _, l := range append([]string{b.Title}, b.Lines...) {
			widths[column[i]] = max(widths[column[i]], textWidth(l, font)+16)
		}
		most = max(most, column[i])
	}
	xs := make([]int, most+2)
	xs[0] = gutter
	for c := range most + 1 {
		xs[c+1] = xs[c] + widths[c] + gapX
	}
	heights := make([]int, len(g.Lanes))
	for i, b := range g.Boxes {
		if column[i] < mostColumns {
			heights[b.Lane] = max(heights[b.Lane], (len(b.Lines)+1)*lead+12)
		}
	}
	ys := make([]int, len(g.Lanes)+1)
	ys[0] = top
	for i, h := range heights {
		ys[i+1] = ys[i] + max(h, 20) + 34
	}
	note := g.Note
	if left > 0 {
		note = strings.TrimPrefix(fmt.Sprintf("%s; %d boxes to the right are left out", note, left), "; ")
	}
	width, height := max(xs[most+1]+10, 480), ys[len(g.Lanes)]+14
	b := bufio.NewWriter(w)
	head := title(in.Scenario.Name) + ": the schedule"
	if !in.Scenario.Explicit() {
		head += " under discipline " + in.Scenario.Effective().String()
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s"><style>%s.ground{fill:var(--bg)}</style>`+"\n", width, height, width, height, markup(head), pictureStyle)
	fmt.Fprintf(b, `<rect class="ground" width="%d" height="%d"/><text x="12" y="24" font-size="15" font-weight="600">%s</text>`+"\n", width, height, markup(head))
	for i, name := range g.Lanes {
		fmt.Fprintf(b, `<path class="rule" d="M0 %dH%d"/><text x="12" y="%d" font-size="12">%s</text>`+"\n", ys[i]-14, width, ys[i]+14, markup(name))
	}
	spot := func(i int) place {
		x := g.Boxes[i]
		return place{xs[column[i]], ys[x.Lane], widths[column[i]], (len(x.Lines)+1)*lead + 8}
	}
	for i, x := range g.Boxes {
		if column[i] >= mostColumns {
			continue
		}
		p := spot(i)
		fmt.Fprintf(b, `<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="4"/><text class="soft" x="%d" y="%d" font-size="10">%s</text>`, p.X, p.Y, p.W, p.H, p.X+8, p.Y+13, markup(x.Title))
		for k, l := range x.Lines {
			fmt.Fprintf(b, `<text x="%d" y="%d" font-size="%d">%s</text>`, p.X+8, p.Y+13+lead*(k+1), font, markup(l))
		}
		b.WriteByte('\n')
	}
	for _, a := range g.Lets {
		if column[a.From] >= mostColumns || column[a.To] >= mostColumns {
			continue
		}
		p, q := spot(a.From), spot(a.To)
		x0, y0, x1, y1 := p.X+p.W, p.Y+p.H-8, q.X, q.Y+12
		if q.Y < p.Y {
			y0, y1 = p.Y+10, q.Y+q.H-8
		}
		class := "arrow"
		if column[a.To] <= column[a.From] {
			class = "arrow missing"
		}
		bend := max(20, (x1-x0)/2)
		fmt.Fprintf(b, `<path class="%s" d="M%d %dC%d %d %d %d %d %d"/><path class="%s" d="M%d %dl-6 -3v6z"/>`+"\n", class, x0, y0, x0+bend, y0, x1-bend, y1, x1, y1, strings.Replace(class, "arrow", "tip", 1), x1, y1)
	}
	if note != "" {
		fmt.Fprintf(b, `<text class="soft" x="12" y="%d" font-size="11">%s</text>`+"\n", height-8, markup(note))
	}
	b.WriteString("</svg>\n")
	return b.Flush()
}
