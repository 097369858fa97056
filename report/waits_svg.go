package report

import (
	"fmt"
	"strings"
)

// textWidth is about how wide text is drawn at a font size, in pixels.
func textWidth(s string, font int) int { return (len([]rune(s))*font*6 + 9) / 10 }

// SVG draws the graph. Colours come from the style sheet by class: cycle, blocked, free,
// memory.
func (g *WaitGraph) SVG() string {
	const font, lead, pad = 12, 16, 10
	texts := make([][]string, len(g.Nodes))
	sizes := make([]size, len(g.Nodes))
	for i, n := range g.Nodes {
		lines := []string{n.Name}
		switch {
		case n.Memory:
			lines = append(lines, breakLines(n.At, 32)...)
			lines = append(lines, breakLines(n.Needs, 32)...)
		default:
			if n.At != "" {
				lines = append(lines, breakLines("at "+n.At, 32)...)
			}
			if n.Needs != "" {
				lines = append(lines, breakLines("needs "+n.Needs, 32)...)
			}
		}
		texts[i] = lines
		w := 90
		for j, l := range lines {
			f := font
			if j == 0 {
				f = font + 1
			}
			w = max(w, textWidth(l, f)+2*pad)
		}
		sizes[i] = size{w, len(lines)*lead + pad + 4}
	}
	var arcs []arc
	gap := 80
	for _, e := range g.Edges {
		arcs = append(arcs, arc{e.From, e.To})
		gap = max(gap, textWidth(e.Label, font-1)+40)
	}
	places, back, width, height := layered(sizes, arcs, min(gap, 190), 34)
	above, below := 0, 0
	far := make([]bool, len(arcs)) // over a column between
	for i, a := range arcs {
		if back[i] {
			below++
			continue
		}
		p, q := places[a.From], places[a.To]
		for _, o := range places {
			far[i] = far[i] || o.X > p.X+p.W && o.X+o.W < q.X
		}
		above += bit(far[i])
	}
	const margin, lift = 14, 26
	for i := range places {
		places[i].Y += above * lift
	}
	height += above * lift
	total := height + 2*margin + below*34
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="waits" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="%s" viewBox="0 0 %d %d" width="%d" height="%d">`,
		markup(g.Words()), width+2*margin, total, width+2*margin, total)
	b.WriteString(`<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="head"/></marker><marker id="head-cycle" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" class="head cycle"/></marker></defs>`)
	lane, over := 0, 0
	starts, ends := map[int]int{}, map[int]int{}
	for i, e := range g.Edges {
		p, q := places[e.From], places[e.To]
		class, head := "edge", "head"
		if e.InCycle {
			class, head = "edge cycle", "head-cycle"
		}
		var d string
		var lx, ly int
		switch {
		case far[i]:
			x1, y1 := margin+p.X+p.W/2, margin+p.Y
			x2, y2 := margin+q.X+q.W/2, margin+q.Y-2
			y := margin + 4 + over*lift
			over++
			d = fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, x1, y, x1, y, x1+20, y, x2-20, y, x2, y, x2, y, x2, y2)
			lx, ly = (x1+x2)/2, y-4
		case back[i]:
			x1, y1 := margin+p.X+p.W/2+14, margin+p.Y+p.H
			x2, y2 := margin+q.X+q.W/2-14, margin+q.Y+q.H+2
			y := margin + height + 14 + lane*34
			lane++
			if e.From == e.To {
				x1, x2 = x1+10, x2-10
			}
			d = fmt.Sprintf("M%d %dC%d %d %d %d %d %dL%d %dC%d %d %d %d %d %d", x1, y1, x1, y, x1, y, min(x1, x1-20), y, max(x2, x2+20), y, x2, y, x2, y, x2, y2)
			lx, ly = (x1+x2)/2, y-5
		default:
			starts[e.From]++
			ends[e.To]++
			x1, y1 := margin+p.X+p.W, margin+p.Y+min(p.H-8, 18*starts[e.From])
			x2, y2 := margin+q.X-2, margin+q.Y+min(q.H-8, 18*ends[e.To])
			dx := (x2 - x1) / 2
			d = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+dx, y1, x2-dx, y2, x2, y2)
			lx, ly = (x1+x2)/2, (y1+y2)/2-6
		}
		fmt.Fprintf(&b, `<path class="%s" d="%s" marker-end="url(#%s)"/><text class="label %s" x="%d" y="%d" text-anchor="middle" font-size="%d">%s</text>`,
			class, d, head, class, lx, ly, font-1, markup(e.Label))
	}
	for i, n := range g.Nodes {
		p := places[i]
		class := "node"
		if n.InCycle {
			class += " cycle"
		} else if n.Needs != "" {
			class += " blocked"
		}
		if n.Memory {
			class += " memory"
		}
		fmt.Fprintf(&b, `<g class="%s"><rect x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, margin+p.X, margin+p.Y, p.W, p.H)
		for j, l := range texts[i] {
			weight, f := "", font
			if j == 0 {
				weight, f = ` font-weight="600"`, font+1
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%d"%s>%s</text>`, margin+p.X+pad, margin+p.Y+pad+8+j*lead, f, weight, markup(l))
		}
		b.WriteString(`</g>`)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// Words says the graph in a sentence for who cannot see it.
func (g *WaitGraph) Words() string {
	var parts []string
	for _, e := range g.Edges {
		parts = append(parts, fmt.Sprintf("%s waits for %s (%s)", g.Nodes[e.From].Name, g.Nodes[e.To].Name, e.Label))
	}
	if len(parts) == 0 {
		return "nobody waits for anybody"
	}
	return strings.Join(parts, "; ")
}

// Loop says the cycle of waits, "" without one.
func (g *WaitGraph) Loop() string {
	var parts []string
	for _, e := range g.Edges {
		if e.InCycle {
			parts = append(parts, fmt.Sprintf("%s waits for %s (%s)", g.Nodes[e.From].Name, g.Nodes[e.To].Name, e.Label))
		}
	}
	return strings.Join(parts, ", ")
}
