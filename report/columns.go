package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fencesim/fencesim/sim"
)

// leastColumn is the narrowest column of an agent. Where the columns of all agents do not
// fit that way, steps are written as a list.
const leastColumn = 14

// possibleMark stands before a step that nothing forces.
const possibleMark = "~ "

// columns writes the shown steps of a run, one column per agent, and what was left out
// between them.
func (p *printer) columns(steps []sim.TraceStep, shown []int) {
	var agents []string
	possible := false
	for _, i := range shown {
		if !slices.Contains(agents, steps[i].Agent) {
			agents = append(agents, steps[i].Agent)
		}
		possible = possible || !steps[i].Guaranteed
	}
	slices.SortStableFunc(agents, compareAgents)
	number := len(strconv.Itoa(len(steps)))
	cells := func(i int) (column int, text string) {
		text = brief(steps[i])
		if !steps[i].Guaranteed {
			text = possibleMark + text
		}
		return slices.Index(agents, steps[i].Agent), text
	}
	widths := make([]int, len(agents))
	for a, name := range agents {
		widths[a] = utf8.RuneCountInString(name)
	}
	for _, i := range shown {
		a, text := cells(i)
		widths[a] = max(widths[a], utf8.RuneCountInString(text))
	}
	list := !fit(widths, p.Width-number-4)
	if list {
		p.list(steps, shown, number)
	} else {
		head := strings.Repeat(" ", number+2)
		for a, name := range agents {
			head += "  " + pad(name, widths[a])
		}
		p.line("%s", p.paint(bold, strings.TrimRight(head, " ")))
		p.eachShown(steps, shown, number, func(i int) {
			a, text := cells(i)
			at := 0
			for _, w := range widths[:a] {
				at += w + 2
			}
			p.line("  %*d  %s%s", number, i+1, strings.Repeat(" ", at), cut(text, widths[a]))
		})
	}
	if possible {
		p.row("", 2, possibleMark+"is a step that nothing forces: it may happen or not")
	}
}

// list writes one line per step with the agent's name before it.
func (p *printer) list(steps []sim.TraceStep, shown []int, number int) {
	width := 0
	for _, i := range shown {
		width = max(width, utf8.RuneCountInString(steps[i].Agent))
	}
	p.eachShown(steps, shown, number, func(i int) {
		text := steps[i].Transition
		if !steps[i].Guaranteed {
			text = possibleMark + text
		}
		head := fmt.Sprintf("  %*d  %s  ", number, i+1, pad(steps[i].Agent, width))
		p.row(head, number+width+6, text)
	})
}

// eachShown calls each for the shown steps and writes a line for what lies between.
func (p *printer) eachShown(steps []sim.TraceStep, shown []int, number int, each func(i int)) {
	next := 0
	gap := func(to int) {
		if next < to {
			p.styledRow(dim, fmt.Sprintf("  %*s", number, "…"), number+4, omitted(steps[next:to]))
		}
	}
	for _, i := range shown {
		gap(i)
		each(i)
		next = i + 1
	}
	gap(len(steps))
}

// omitted says whose steps were left out: "214 steps: 180 of main, 34 of queue gpu".
func omitted(steps []sim.TraceStep) string {
	n := make(map[string]int)
	var agents []string
	for i := range steps {
		if n[steps[i].Agent]++; n[steps[i].Agent] == 1 {
			agents = append(agents, steps[i].Agent)
		}
	}
	total := count(int64(len(steps)), "step")
	if len(agents) == 1 {
		return total + " of " + agents[0]
	}
	slices.SortStableFunc(agents, compareAgents)
	const most = 5
	var parts []string
	rest := len(steps)
	for _, a := range agents[:min(len(agents), most)] {
		parts = append(parts, fmt.Sprintf("%d of %s", n[a], a))
		rest -= n[a]
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d of others", rest))
	}
	return total + ": " + strings.Join(parts, ", ")
}

// fit narrows the widest columns until all fit into width with two spaces between, and
// reports whether none had to be narrower than leastColumn.
func fit(widths []int, width int) bool {
	for {
		sum, widest := 2*max(0, len(widths)-1), 0
		for a, w := range widths {
			sum += w
			if w > widths[widest] {
				widest = a
			}
		}
		switch {
		case sum <= width:
			return true
		case len(widths) == 0 || widths[widest] <= leastColumn:
			return false
		}
		widths[widest]--
	}
}

// agentOrder is the order of columns.
var agentOrder = []string{"main", "queue", "stream", "handler", "memory", "watchdog"}

// compareAgents orders agents by rank and then by kind; those of one kind keep theirs.
func compareAgents(a, b string) int {
	ra, ka := splitAgent(a)
	rb, kb := splitAgent(b)
	return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(ka, kb))
}

// splitAgent gives the rank of an agent, -1 if its name has none, and its kind.
func splitAgent(name string) (rank, kind int) {
	rank = -1
	words := strings.Fields(name)
	if len(words) > 2 && words[0] == "rank" {
		if r, err := strconv.Atoi(words[1]); err == nil {
			rank, words = r, words[2:]
		}
	}
	kind = len(agentOrder)
	if len(words) > 0 {
		if k := slices.Index(agentOrder, words[0]); k >= 0 {
			kind = k
		}
	}
	return rank, kind
}

// brief is a step's transition without what its column says already.
func brief(s sim.TraceStep) string {
	text := s.Transition
	for _, side := range []string{"CPU", "GPU"} {
		if what, ok := strings.CutSuffix(text, " becomes visible to the "+side); ok {
			return side + " sees " + strings.TrimPrefix(what, "update ")
		}
	}
	text, _, _ = strings.Cut(text, " reads ")
	text, _, _ = strings.Cut(text, " writes ")
	for _, verb := range []string{"arrive at ", "leave "} {
		if name, ok := strings.CutPrefix(text, verb+"collective "); ok {
			text = verb + name
		}
	}
	_, agent, _ := strings.Cut(s.Agent, "queue ")
	return strings.TrimSuffix(strings.TrimSuffix(text, " of "+agent), " on "+agent)
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// cut is s, shortened to width characters.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	r := []rune(s)
	return string(r[:max(0, width-1)]) + "…"
}
