package report

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/sim"
)

// shivizPattern is the regular expression with which ShiViz splits the log.
const shivizPattern = `(?<host>\S+) (?<clock>{.*})\n(?<event>.*)`

// ShiViz writes a run as a log with vector clocks: one host per agent and one per rank's
// memory, one event per step. An event is after what its agent did before; a wait is after
// the update, and the arrival of its store, that let it through; the start of a buffer is
// after its commit, a task after it was handed over, what leaves a collective after every
// arrival. The first two lines are the pattern and the delimiter for its input form.
func ShiViz(w io.Writer, in Input) error {
	t, err := in.timeline()
	if err != nil {
		return err
	}
	after := make([][]int, len(t.Steps)) // steps that a step is after, beside its agent's own
	for _, a := range t.Arrows {
		if a.Missing {
			continue
		}
		after[a.To] = append(after[a.To], a.From)
		if a.Via >= 0 {
			after[a.To] = append(after[a.To], a.Via)
			after[a.Via] = append(after[a.Via], a.From)
		}
	}
	for _, f := range t.Flights {
		if f.To >= 0 {
			after[f.To] = append(after[f.To], f.From)
		}
	}
	for _, b := range t.Boxes {
		if b.Started >= 0 {
			after[b.Started] = append(after[b.Started], b.Committed)
		}
	}
	meetings(t, after)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s\n\n", shivizPattern)
	clocks := make([]map[string]int, len(t.Steps))
	mine := make(map[int]int) // last step by lane
	host := func(lane int) string { return strings.ReplaceAll(t.Lanes[lane].Name, " ", "-") }
	for k := range t.Steps {
		s := &t.Steps[k]
		clock := map[string]int{}
		if last, ok := mine[s.Lane]; ok {
			maps.Copy(clock, clocks[last])
		}
		for _, from := range after[k] {
			if from < k {
				for h, v := range clocks[from] {
					clock[h] = max(clock[h], v)
				}
			}
		}
		clock[host(s.Lane)]++
		clocks[k] = clock
		mine[s.Lane] = k
		parts := []string{}
		for _, h := range slices.Sorted(maps.Keys(clock)) {
			parts = append(parts, fmt.Sprintf("%q:%d", h, clock[h]))
		}
		fmt.Fprintf(b, "%s {%s}\n%s\n", host(s.Lane), strings.Join(parts, ", "), s.Full)
	}
	return b.Flush()
}

// meetings adds that who leaves a collective is after all that arrived before, and that the
// first step of a CPU stream after the main thread handed something over is after that.
func meetings(t *Timeline, after [][]int) {
	arrived := map[string][]int{} // by the collective's words
	handed := map[int]int{}       // last step of a rank's main thread
	for k := range t.Steps {
		s := &t.Steps[k]
		switch lane := t.Lanes[s.Lane]; {
		case lane.Kind == LaneMain:
			handed[lane.Rank] = k
		case lane.Kind == LaneStream:
			if from, ok := handed[lane.Rank]; ok {
				after[k] = append(after[k], from)
				delete(handed, lane.Rank)
			}
		}
		name := strings.TrimPrefix(strings.TrimPrefix(s.Full, "arrive at "), "leave ")
		switch s.Kind {
		case sim.KindArrive:
			arrived[name] = append(arrived[name], k)
		case sim.KindLeave:
			after[k] = append(after[k], arrived[name]...)
		}
	}
}
