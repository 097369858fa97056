package report

import "github.com/fencesim/fencesim/model"

// pageRun is a Timeline as the page's script reads it: words are indexes into Words, rows
// are arrays in the order that page.js names.
type pageRun struct {
	Words    []string   `json:"words"`
	Lanes    []pageLane `json:"lanes"`
	Steps    [][6]int   `json:"steps"` // lane, kind, text, full, choice, buffer
	Possible []int      `json:"possible"`
	Violated [][2]int   `json:"violated"` // step, words
	Boxes    [][7]int   `json:"boxes"`    // lane, row, buffer, committed, started, finished, killed
	Waits    [][8]int   `json:"waits"`    // lane, line, from, to, target, gpu, open, text
	Flights  [][7]int   `json:"flights"`  // lane, row, line, from, to, value, text
	Arrows   [][7]int   `json:"arrows"`   // from, via, to, lane from, lane to, line, missing
	Lines    []pageLine `json:"lines"`
	At       [][4]int   `json:"at"`      // time, lane, at, needs
	Choices  [][3]int   `json:"choices"` // lane, text, possible
	Enabled  [][]int    `json:"enabled"` // by time: indexes into Choices
	Verdict  string     `json:"verdict"`
	Final    bool       `json:"final"`
	Digest   string     `json:"digest"`
}

type pageLane struct {
	Name string   `json:"name"`
	Kind LaneKind `json:"kind"`
	Rank int      `json:"rank"`
	Rows int      `json:"rows"`
}

type pageLine struct {
	Name      string   `json:"name"`
	Event     bool     `json:"event"`
	Most      uint32   `json:"most"`
	Scheduled [][2]int `json:"scheduled"`
	GPU       [][2]int `json:"gpu"`
	CPU       [][2]int `json:"cpu"`
}

// The kinds of steps that the page draws apart.
const (
	markPlain = iota
	markStore
	markWait
	markEdge // start, finish, commit
	markArrive
	markMeet // collective, send, recv
	markBad  // kill, give up, a violation
)

func mark(s *LaneStep) int {
	if len(s.Violated) > 0 {
		return markBad
	}
	switch s.Kind.String() {
	case "start", "finish":
		return markEdge
	case "visible":
		return markArrive
	case "kill", "give-up":
		return markBad
	case "arrive", "leave", "join":
		return markMeet
	}
	switch s.Op {
	case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease, model.OpSignal:
		return markStore
	case model.OpWait, model.OpAwait, model.OpPark:
		return markWait
	case model.OpCollective, model.OpSend, model.OpRecv:
		return markMeet
	}
	return markPlain
}

// mostChoices bounds the enabled transitions listed for one state.
const mostChoices = 48

func newPageRun(t *Timeline) *pageRun {
	p := &pageRun{Possible: []int{}, Violated: [][2]int{}, Steps: [][6]int{}, Boxes: [][7]int{}, Waits: [][8]int{}, Flights: [][7]int{},
		Arrows: [][7]int{}, Lines: []pageLine{}, Verdict: t.Verdict, Final: t.Final, Digest: t.Digest}
	index := make(map[string]int)
	word := func(s string) int {
		i, ok := index[s]
		if !ok {
			i = len(p.Words)
			index[s] = i
			p.Words = append(p.Words, s)
		}
		return i
	}
	for _, l := range t.Lanes {
		p.Lanes = append(p.Lanes, pageLane(l))
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		p.Steps = append(p.Steps, [6]int{s.Lane, mark(s), word(s.Text), word(s.Full), s.Choice, s.Buffer})
		if s.Possible {
			p.Possible = append(p.Possible, i)
		}
		for _, v := range s.Violated {
			p.Violated = append(p.Violated, [2]int{i, word(v)})
		}
	}
	for _, b := range t.Boxes {
		p.Boxes = append(p.Boxes, [7]int{b.Lane, b.Row, b.Buffer, b.Committed, b.Started, b.Finished, bit(b.Killed)})
	}
	for _, w := range t.Waits {
		p.Waits = append(p.Waits, [8]int{w.Lane, w.Line, w.From, w.To, int(w.Target), bit(w.GPU), bit(w.Open), word(w.Text)})
	}
	for _, f := range t.Flights {
		p.Flights = append(p.Flights, [7]int{f.Lane, f.Row, f.Line, f.From, f.To, int(f.Value), word(f.Text)})
	}
	for _, a := range t.Arrows {
		p.Arrows = append(p.Arrows, [7]int{a.From, a.Via, a.To, a.FromLane, a.ToLane, a.Line, bit(a.Missing)})
	}
	for _, l := range t.Lines {
		p.Lines = append(p.Lines, pageLine{l.Name, l.Event, l.Most, pairs(l.Scheduled), pairs(l.GPU), pairs(l.CPU)})
	}
	for _, a := range t.At {
		p.At = append(p.At, [4]int{a.Time, a.Lane, word(a.At), word(a.Needs)})
	}
	chosen := make(map[[3]int]int)
	for _, list := range t.Enabled {
		row := []int{}
		for _, c := range list[:min(len(list), mostChoices)] {
			key := [3]int{c.Lane, word(c.Text), bit(c.Possible)}
			i, ok := chosen[key]
			if !ok {
				i = len(p.Choices)
				chosen[key] = i
				p.Choices = append(p.Choices, key)
			}
			row = append(row, i)
		}
		p.Enabled = append(p.Enabled, row)
	}
	return p
}

func pairs(points []Point) [][2]int {
	out := [][2]int{}
	for _, p := range points {
		out = append(out, [2]int{p.Time, int(p.Value)})
	}
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
