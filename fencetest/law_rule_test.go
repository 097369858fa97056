package fencetest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// pair is a GPU wait with the last update of the same queue that it depends on, as indexes
// of commands.
type pair struct{ update, wait int }

// dependent lists them for the first queue of a schedule whose fences have one writer each
// and whose values rise: a wait on fence F of a CPU stream depends on every update that the
// stream has waited for before the update of F that satisfies it. What CPU streams await
// of each other is not followed; no generator here draws that.
func dependent(s *model.Schedule) []pair {
	q := &s.Queues[0]
	at := func(fence model.Sym, value uint32) int { // the first update that satisfies a wait
		return slices.IndexFunc(q.Commands, func(c model.Command) bool {
			return c.Op == model.OpUpdate && c.Name == fence && c.Value >= value
		})
	}
	var out []pair
	for w := range q.Commands {
		wait := &q.Commands[w]
		if wait.Op != model.OpWait {
			continue
		}
		for i := range s.Streams {
			tasks := s.Streams[i].Tasks
			end := slices.IndexFunc(tasks, func(c model.Command) bool {
				return c.Op == model.OpUpdate && c.Name == wait.Name && c.Value >= wait.Value
			})
			last := -1
			for k := range max(0, end) {
				if tasks[k].Op == model.OpWait {
					last = max(last, at(tasks[k].Name, tasks[k].Value))
				}
			}
			if last >= 0 {
				out = append(out, pair{last, w})
			}
		}
	}
	return out
}

// program is the schedule of rank 0.
func program(sc *model.Scenario) (*model.Schedule, error) {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	return ps[0], nil
}

// The exact rule: with buffers in order and of fixed ends, a per-update schedule hangs at
// lag n if and only if a wait in buffer b depends on an update in buffer a of its queue
// with b - a <= n.
func TestExactRule(t *testing.T) {
	answers := map[bool]int{}
	law(t, 3000, PerUpdateSchedules(4), func(sc *model.Scenario) error {
		s, err := program(sc)
		if err != nil {
			return err
		}
		buffer := func(command int) int {
			return slices.IndexFunc(s.Queues[0].Ends, func(end int) bool { return command < end })
		}
		n, want := sc.Machine.GPUToCPU.Buffers, false
		for _, p := range dependent(s) {
			want = want || buffer(p.wait)-buffer(p.update) <= n
		}
		answers[want]++
		got, err := hangs(sc)
		if err != nil || got != want {
			return fmt.Errorf("lag %d: hang %v (%v), the rule says %v", n, got, err, want)
		}
		return nil
	})
	t.Log(answers)
	if min(answers[true], answers[false]) < 400 && given.runs == 0 && !testing.Short() {
		t.Errorf("one-sided: %v", answers)
	}
}

// oneQueue are graphs on one GPU queue and one CPU stream.
func oneQueue() *rapid.Generator[*model.Scenario] {
	return rapid.OneOf(IndependentReductions(), ChainedReductions(), AllGathers(), RandomKind(), Graphs()).Filter(func(sc *model.Scenario) bool {
		return len(sc.Evals) == 0 && (sc.Graph == nil || len(sc.Graph.Streams) <= 2)
	})
}

// lagged draws such a graph with per-update or count targets at a small lag.
func lagged() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		return under(oneQueue().Draw(t, "graph"), pick(t, "discipline", model.PerUpdate, model.PerUpdate, model.Count), lag(between(t, "lag", 0, 4)))
	})
}

// cut gives the ends of the buffers of a queue whose first begins at command from, if only
// the size rule cuts.
func cut(q *model.Queue, from int) []int {
	var ends []int
	for from <= len(q.Commands) && q.Forced[from] != model.NeverForced {
		from = int(q.Forced[from])
		ends = append(ends, from)
	}
	return ends
}

// between a and b lie so many ends: behind command a, and not behind the beginning of b.
func endsBetween(ends []int, a, b int) int {
	n := 0
	for _, e := range ends {
		if a < e && e <= b {
			n++
		}
	}
	return n
}

// The exact rule for any graph on one queue and one CPU stream whose throttle never cuts:
// under lag n it hangs if and only if the size rule alone puts at most n buffer ends
// between some update and a wait that depends on it.
func TestExactRuleOfGraphs(t *testing.T) {
	answers := map[bool]int{}
	law(t, 1500, lagged(), func(sc *model.Scenario) error {
		sc = with(sc, func(c *model.Scenario) { c.Evaluator.MaxActive = 100000 })
		s, err := program(sc)
		if err != nil {
			return err
		}
		ends := cut(&s.Queues[0], 0)
		n, want := sc.Machine.GPUToCPU.Buffers, false
		for _, p := range dependent(s) {
			want = want || p.update > p.wait || endsBetween(ends, p.update, p.wait) <= n
		}
		answers[want]++
		got, err := hangs(sc)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s at lag %d: hang %v, the rule says %v", sc.Effective(), n, got, want)
		}
		return nil
	})
	t.Log(answers)
}

// With a throttle that may cut anywhere the rule is sufficient: a graph on one queue and
// one CPU stream is safe under lag n if, from a buffer that begins at the update, the size
// rule alone puts more than n ends before each wait that depends on it.
func TestSlackIsSafe(t *testing.T) {
	safe, sharp, all := 0, 0, 0
	law(t, 1500, lagged(), func(sc *model.Scenario) error {
		s, err := program(sc)
		if err != nil {
			return err
		}
		q := &s.Queues[0]
		n, certain := sc.Machine.GPUToCPU.Buffers, true
		for _, p := range dependent(s) {
			first := p.update // its own first command, the coherent two before it
			for first > 0 && (q.Commands[first-1].Op == model.OpBarrier || q.Commands[first-1].Op == model.OpCoherent) {
				first--
			}
			certain = certain && p.update < p.wait && endsBetween(cut(q, first), p.update, p.wait) > n
		}
		got, err := hangs(sc)
		if err != nil {
			return err
		}
		all++
		if certain {
			safe++
		}
		if certain != got {
			sharp++
		}
		if certain && got {
			return fmt.Errorf("%s at lag %d hangs, though more than %d ends lie between each update and its waits", sc.Effective(), n, n)
		}
		return nil
	})
	t.Logf("of %d graphs %d are safe by the rule; it is sharp for %d", all, safe, sharp)
}
