package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
)

// The picture of a run: pixels.
const (
	svgWidth  = 1200
	svgGutter = 120
	svgHead   = 56
	svgRest   = 28 // behind the last step: what lasts for ever
	svgWords  = 40 // runs of at most so many steps have words in their lanes
)

// TimelineSVG draws a whole run: the lanes of agents and memory, then the counters, with a
// title above and a sentence below. Dark and light follow the reader.
func TimelineSVG(w io.Writer, t *Timeline, title, says string) error {
	p := &timelinePicture{b: bufio.NewWriter(w), t: t}
	p.px = float64(svgWidth-svgGutter-svgRest-8) / float64(max(1, t.End()))
	p.words = t.End() <= svgWords
	p.layout()
	lines := breakLines(says, 150)
	height := p.height + 14 + 18*len(lines) + 26
	fmt.Fprintf(p.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`, svgWidth, height, svgWidth, height, markup(title+". "+says))
	fmt.Fprintf(p.b, "<style>%s.ground{fill:var(--bg)}</style>", pictureStyle)
	p.b.WriteString(`<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern><pattern id="hatch-bad" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch bad" d="M0 0V6"/></pattern></defs>` + "\n")
	fmt.Fprintf(p.b, `<rect class="ground" width="%d" height="%d"/><text x="12" y="24" font-size="15" font-weight="600">%s</text>`+"\n", svgWidth, height, markup(title))
	p.axis()
	p.lanes()
	p.boxes()
	p.flights()
	p.waits()
	p.steps()
	p.counters()
	p.arrows()
	for i, l := range lines {
		fmt.Fprintf(p.b, `<text x="12" y="%d" font-size="13">%s</text>`+"\n", p.height+26+18*i, markup(l))
	}
	p.legend(height - 14)
	p.b.WriteString("</svg>\n")
	return p.b.Flush()
}

type timelinePicture struct {
	b      *bufio.Writer
	t      *Timeline
	px     float64 // per step
	order  []int   // lanes drawn
	y, h   []int   // by lane
	row    []float64
	lineY  []int // by counter; 0: not drawn
	words  bool
	height int
}

const svgLine = 70 // height of a counter

func (p *timelinePicture) layout() {
	n := len(p.t.Lanes)
	p.y, p.h, p.row, p.lineY = make([]int, n), make([]int, n), make([]float64, n), make([]int, len(p.t.Lines))
	used := make([]bool, n)
	for i := range p.t.Steps {
		used[p.t.Steps[i].Lane] = true
	}
	for _, w := range p.t.Waits {
		used[w.Lane] = true
	}
	for _, f := range p.t.Flights {
		used[f.Lane] = true
	}
	word := 14 * bit(p.words)
	for i, l := range p.t.Lanes {
		if used[i] || l.Kind == LaneMain || l.Kind == LaneQueue || l.Kind == LaneStream {
			p.order = append(p.order, i)
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return p.t.Lanes[a].Rank - p.t.Lanes[b].Rank })
	y := svgHead
	for _, i := range p.order {
		l := p.t.Lanes[i]
		h := 26 + word
		switch l.Kind {
		case LaneQueue:
			p.row[i] = max(8, min(22, 110/float64(l.Rows)))
			h = int(p.row[i]*float64(l.Rows)) + 12 + word
		case LaneMemory:
			p.row[i] = max(2, min(7, 110/float64(l.Rows)))
			h = max(24, int(p.row[i]*float64(l.Rows))+10)
		}
		p.y[i], p.h[i] = y, h
		y += h
	}
	for i, l := range p.t.Lines {
		if l.Most > 0 {
			p.lineY[i] = y + 10
			y += svgLine + 20
		}
	}
	p.height = y
}

// until is where something ends that lasts to a time or, if it is open, for ever.
func (p *timelinePicture) until(time int, open bool) float64 {
	if open {
		return p.x(p.t.End()) + svgRest
	}
	return p.x(time)
}

// x is where a time is drawn.
func (p *timelinePicture) x(time int) float64 { return svgGutter + float64(float64(time)*p.px) }

// num writes a coordinate with one decimal at most. Products are rounded before they are
// added to, here and above, so that every platform draws the same bytes.
func num(v float64) string {
	if r := float64(int(float64(v*10)+.5)) / 10; r != float64(int(r)) {
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%d", int(v+.5))
}

func (p *timelinePicture) axis() {
	every := 1
	for _, f := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000} {
		if every = f; float64(f)*p.px >= 64 {
			break
		}
	}
	for time := 0; time <= p.t.End(); time += every {
		fmt.Fprintf(p.b, `<path class="rule" d="M%s %dV%d"/><text class="soft" x="%s" y="%d" font-size="11">%d</text>`+"\n", num(p.x(time)), svgHead-6, p.height, num(p.x(time)+3), svgHead-8, time)
	}
}

func (p *timelinePicture) lanes() {
	for _, i := range p.order {
		fmt.Fprintf(p.b, `<path class="rule" d="M0 %dH%d"/><text x="12" y="%d" font-size="12">%s</text>`+"\n", p.y[i], svgWidth, p.y[i]+p.h[i]/2+4, markup(p.t.Lanes[i].Name))
	}
}

func (p *timelinePicture) boxes() {
	for _, b := range p.t.Boxes {
		if b.Started < 0 || p.h[b.Lane] == 0 {
			continue
		}
		class, end := "box", p.t.End()
		if b.Buffer%2 == 1 {
			class += " alt"
		}
		if b.Killed {
			class += " killed"
		}
		if b.Finished >= 0 {
			end = b.Finished + 1
		} else {
			class += " still"
		}
		x, y := p.x(b.Started), float64(p.y[b.Lane])+6+float64(float64(b.Row)*p.row[b.Lane])
		w := max(.8, p.until(end, b.Finished < 0)-x)
		fmt.Fprintf(p.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="2"/>`, class, num(x), num(y), num(w), num(p.row[b.Lane]-4))
		if w > 22 && p.row[b.Lane] > 14 {
			fmt.Fprintf(p.b, `<text class="soft" x="%s" y="%s" font-size="10">%d</text>`, num(x+3), num(y+10), b.Buffer)
		}
		p.b.WriteByte('\n')
	}
}

func (p *timelinePicture) flights() {
	for _, f := range p.t.Flights {
		class, end := "flight", p.t.End()
		if f.To >= 0 {
			end = f.To + 1
		} else {
			class += " open"
		}
		if p.h[f.Lane] == 0 || f.To >= 0 && end <= f.From+1 {
			continue
		}
		y := float64(p.y[f.Lane]) + 5 + float64(float64(f.Row)*p.row[f.Lane])
		fmt.Fprintf(p.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`+"\n", class, num(p.x(f.From+1)), num(y), num(max(1, p.until(end, f.To < 0)-p.x(f.From+1))), num(max(1.5, p.row[f.Lane]-1.5)))
	}
}

func (p *timelinePicture) waits() {
	for _, w := range p.t.Waits {
		if w.From == w.To && !w.Open {
			continue
		}
		class := "span"
		if w.Open {
			class += " open"
		}
		x := p.x(w.From)
		width, tall := p.until(w.To, w.Open)-x, p.h[w.Lane]-14*bit(p.words)
		fmt.Fprintf(p.b, `<rect class="%s" x="%s" y="%d" width="%s" height="%d"/>`, class, num(x), p.y[w.Lane]+8, num(max(1, width)), tall-16)
		if room := float64(textWidth(w.Text, 12)); width > room {
			fmt.Fprintf(p.b, `<text class="on-span" x="%s" y="%d" font-size="12">%s</text>`, num(x+4), p.y[w.Lane]+tall/2+4, markup(w.Text))
		} else if w.Open {
			fmt.Fprintf(p.b, `<text class="on-span" text-anchor="end" x="%d" y="%d" font-size="12">%s</text>`, svgWidth-6, p.y[w.Lane]+tall/2+4, markup(w.Text))
		}
		p.b.WriteByte('\n')
	}
}

var markClass = [...]string{markStore: "store", markWait: "wait", markArrive: "memory", markMeet: "meet", markBad: "bad"}

func (p *timelinePicture) steps() {
	rows := make(map[[2]int]int)
	for _, b := range p.t.Boxes {
		rows[[2]int{b.Lane, b.Buffer}] = b.Row
	}
	paths, last := make(map[string][]byte), make(map[string]float64)
	var keys []string
	for k := range p.t.Steps {
		s := &p.t.Steps[k]
		lane, m := p.t.Lanes[s.Lane], mark(s)
		if m == markEdge && lane.Kind == LaneQueue {
			continue
		}
		class := string(lane.Kind)
		if m != markPlain && m != markEdge {
			class = markClass[m]
		}
		strong := m == markStore || m == markWait || m == markBad || m == markMeet
		w := max(.7, p.px*.62)
		if strong {
			w = max(2, p.px*.8)
		}
		w = min(w, 26)
		x := p.x(k) + (p.px-w)/2
		key := fmt.Sprintf("%03d %s", s.Lane, class)
		if at, ok := last[key]; ok && !strong && x-at < .6 {
			continue
		}
		last[key] = x
		y, h := float64(p.y[s.Lane])+8, float64(p.h[s.Lane]-14*bit(p.words))-16
		switch lane.Kind {
		case LaneQueue:
			y = float64(p.y[s.Lane]) + 6 + float64(float64(rows[[2]int{s.Lane, s.Buffer}])*p.row[s.Lane])
			if strong {
				y, h = y+1, p.row[s.Lane]-6
			} else {
				y, h = y+float64((p.row[s.Lane]-4)*.58), (p.row[s.Lane]-4)*.36
			}
		case LaneMemory:
			y, h = float64(p.y[s.Lane]+p.h[s.Lane]-5), 4
		}
		p.say(k)
		if _, ok := paths[key]; !ok {
			keys = append(keys, key)
		}
		paths[key] = fmt.Appendf(paths[key], "M%s %sh%sv%sh-%sz", num(x), num(y), num(w), num(h), num(w))
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(p.b, `<path class="step %s" d="%s"/>`+"\n", key[4:], paths[key])
	}
}

// say writes what step k does below its mark, where a run is short enough.
func (p *timelinePicture) say(k int) {
	s := &p.t.Steps[k]
	if !p.words || p.t.Lanes[s.Lane].Kind == LaneMemory {
		return
	}
	room := 1
	for k+room < p.t.End() && p.t.Steps[k+room].Lane != s.Lane {
		room++
	}
	most := int(float64(room) * p.px / 6.2)
	if most < 5 {
		return
	}
	fmt.Fprintf(p.b, `<text class="soft" x="%s" y="%d" font-size="11">%s</text>`+"\n", num(p.x(k)+2), p.y[s.Lane]+p.h[s.Lane]-4, markup(cut(s.Text, most)))
}

func (p *timelinePicture) counters() {
	for i := range p.t.Lines {
		l, y0 := &p.t.Lines[i], p.lineY[i]
		if y0 == 0 {
			continue
		}
		what := "fence "
		if l.Event {
			what = "event "
		}
		y := func(v uint32) float64 {
			return float64(y0+svgLine) - float64(float64(min(v, l.Most))/float64(l.Most)*(svgLine-4))
		}
		line := func(points []Point) string {
			b := fmt.Appendf(nil, "M%d %s", svgGutter, num(y(points[0].Value)))
			for _, pt := range points[1:] {
				b = fmt.Appendf(b, "H%sV%s", num(p.x(pt.Time)), num(y(pt.Value)))
			}
			return string(fmt.Appendf(b, "H%s", num(p.until(0, true))))
		}
		back := func(points []Point) string {
			var b []byte
			for k := len(points) - 1; k > 0; k-- {
				b = fmt.Appendf(b, "V%sH%s", num(y(points[k].Value)), num(p.x(points[k].Time)))
			}
			return string(fmt.Appendf(b, "V%sH%dz", num(y(points[0].Value)), svgGutter))
		}
		fmt.Fprintf(p.b, `<path class="rule" d="M0 %dH%d"/><path class="axis" d="M%d %dH%d"/><text x="12" y="%d" font-size="12">%s</text><text class="soft" x="12" y="%d" font-size="11">0 to %d</text>`+"\n",
			y0-10, svgWidth, svgGutter, y0+svgLine, svgWidth, y0+12, markup(what+l.Name), y0+28, l.Most)
		if !l.Event {
			fmt.Fprintf(p.b, `<path class="gap" d="%s%s"/><path class="sched" d="%s"/><path class="cpu" d="%s"/>`+"\n", line(l.GPU), back(l.CPU), line(l.Scheduled), line(l.CPU))
		}
		fmt.Fprintf(p.b, `<path class="gpu" d="%s"/>`+"\n", line(l.GPU))
		for _, w := range p.t.Waits {
			if w.Line != i || w.From == w.To && !w.Open {
				continue
			}
			class := "need"
			if w.Open {
				class += " open"
			}
			x, v := p.x(w.From), y(w.Target)
			fmt.Fprintf(p.b, `<path class="%s" d="M%s %sH%s"/>`, class, num(x), num(v), num(max(p.until(w.To, w.Open), x+2)))
			if p.until(w.To, w.Open)-x > 56 {
				dy := -3.0
				if v < float64(y0+14) {
					dy = 13
				}
				fmt.Fprintf(p.b, `<text class="soft" x="%s" y="%s" font-size="11">needs %d</text>`, num(x+3), num(v+dy), w.Target)
			}
			p.b.WriteByte('\n')
		}
	}
}

// mostArrows is how many arrows a picture has; more would hide what they lead to.
const mostArrows = 40

func (p *timelinePicture) arrows() {
	for _, a := range p.t.Arrows {
		if !a.Missing && len(p.t.Arrows) > mostArrows || p.h[a.FromLane] == 0 || p.h[a.ToLane] == 0 {
			continue
		}
		class, tip := "arrow", "tip"
		x0, x1 := p.x(a.From)+p.px/2, p.x(a.To)+p.px/2
		if a.Missing {
			class, tip, x1 = "arrow missing", "tip missing", p.until(0, true)-4
		}
		y0, y1 := p.y[a.FromLane]+5, p.y[a.ToLane]+p.h[a.ToLane]-6
		if a.ToLane > a.FromLane {
			y0, y1 = p.y[a.FromLane]+p.h[a.FromLane]-5, p.y[a.ToLane]+6
		}
		bend := min(60, max(12, (x1-x0)/2))
		fmt.Fprintf(p.b, `<path class="%s" d="M%s %dC%s %d %s %d %s %d"/><path class="%s" d="M%s %dl-6 -3v6z"/>`+"\n", class, num(x0), y0, num(x0+bend), y0, num(x1-bend), y1, num(x1), y1, tip, num(x1), y1)
	}
}

// legend explains the marks in one line.
func (p *timelinePicture) legend(y int) {
	x := 12
	for _, e := range []struct{ mark, text string }{
		{`<rect class="box" x="%d" y="%d" width="20" height="10" rx="2"/>`, "command buffer"},
		{`<rect class="step store" x="%d" y="%d" width="4" height="10"/>`, "update"},
		{`<rect class="step wait" x="%d" y="%d" width="4" height="10"/>`, "wait passed"},
		{`<rect class="span" x="%d" y="%d" width="20" height="10"/>`, "waits"},
		{`<rect class="span open" x="%d" y="%d" width="20" height="10"/>`, "waits to the end"},
		{`<rect class="flight" x="%d" y="%d" width="20" height="6"/>`, "store on its way"},
		{`<path class="gpu" d="M%d %dh20"/>`, "GPU sees"},
		{`<path class="cpu" d="M%d %dh20"/>`, "CPU sees"},
		{`<path class="sched" d="M%d %dh20"/>`, "scheduled"},
		{`<path class="need" d="M%d %dh20"/>`, "a wait needs"},
	} {
		dy := 10
		if e.mark[1] == 'p' {
			dy = 4
		}
		fmt.Fprintf(p.b, e.mark, x, y-dy)
		fmt.Fprintf(p.b, `<text class="soft" x="%d" y="%d" font-size="11">%s</text>`, x+25, y, e.text)
		x += 42 + textWidth(e.text, 11)
	}
	p.b.WriteByte('\n')
}
