package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

func lagging(n int) model.Machine {
	return model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: n}}
}

// TestEvaluatorCounts: the states of the reported workload by discipline, level and lag. An
// independent prototype of the same reductions had the same numbers, but for per-update
// with all updates from lag 2 and sliced from lag 5, where it kept the positions of
// finished ends and not only the last update before each.
func TestEvaluatorCounts(t *testing.T) {
	type row struct {
		d     model.Discipline
		level evaluatorLevel
		want  []int64 // by lag
	}
	rows := []row{
		{model.Count, levelSliced, []int64{717, 721, 725, 727, 729, 729, 729}},
		{model.PerUpdate, levelSliced, []int64{752, 752, 752, 752, 752, 4011, 14149}},
		{model.Whole, levelSliced, []int64{129, 129, 129, 129, 129, 129, 129}},
		{model.Count, levelWindows, []int64{40167, 71631, 99003, 149645}},
		{model.PerUpdate, levelWindows, []int64{200115}},
	}
	if !testing.Short() {
		rows = append(rows, row{model.Count, levelPersistent, []int64{592127}})
	}
	for _, r := range rows {
		p := reportedWorkload(r.d, fullSize)
		var have []int64
		for n := range r.want {
			g, bound := newEvaluatorSystem(p, lagging(n), r.level).search(context.Background(), searchBounds{})
			if bound != "" || !g.exhausted {
				t.Fatal(bound)
			}
			have = append(have, g.states)
		}
		if !slices.Equal(have, r.want) {
			t.Errorf("%v, level %d: %v states; want %v", r.d, r.level, have, r.want)
		}
	}
}

// decided is decideEvaluator, with every witness replayed.
func decided(t testing.TB, p *model.Schedule, m model.Machine, all bool) evaluatorResult {
	t.Helper()
	r, err := decideEvaluator(context.Background(), p, m, &Config{}, all)
	if err != nil {
		t.Fatal(err)
	}
	y := sim.Compile([]*model.Schedule{p}, m, sim.Options{})
	for _, w := range r.Stuck {
		s, possible := y.Initial(), 0
		var buf []sim.Transition
		for _, c := range w.Choices {
			buf = y.Enabled(s, buf[:0])
			if buf[c].Possible {
				possible++
			}
			y.Apply(s, buf[c])
		}
		if !y.Stuck(s) || y.Counters(s, 0) != w.Counters || possible != w.Possible {
			t.Fatalf("the witness for %v (%d possible) ends at %v (%d), stuck %v", w.Counters, w.Possible, y.Counters(s, 0), possible, y.Stuck(s))
		}
	}
	return r
}

func countersOf(r evaluatorResult) []model.Counters {
	var out []model.Counters
	for _, w := range r.Stuck {
		out = append(out, w.Counters)
	}
	slices.SortFunc(out, compareCounters)
	return out
}

// TestEvaluatorStuckCounters: exactly the counters of the worked example are reachable, each
// by guaranteed arrivals alone.
func TestEvaluatorStuckCounters(t *testing.T) {
	span := func(scheduled, low, high, cpu int) []model.Counters {
		var out []model.Counters
		for v := low; v <= high; v++ {
			out = append(out, model.Counters{Scheduled: uint32(scheduled), GPU: uint32(v), CPU: uint32(cpu)})
		}
		return out
	}
	check := func(d model.Discipline, n int, finish bool, want ...model.Counters) {
		t.Helper()
		r := decided(t, reportedWorkload(d, fullSize), lagging(n), true)
		if have := countersOf(r); !slices.Equal(have, want) || r.CanFinish != finish || !r.Exhausted || r.Hang != (len(want) > 0) {
			t.Errorf("%v at lag %d: %v, can finish %v; want %v, %v", d, n, have, r.CanFinish, want, finish)
		}
		for _, w := range r.Stuck {
			if w.Possible != 0 {
				t.Errorf("%v at lag %d: %v needs %d merely possible arrivals", d, n, w.Counters, w.Possible)
			}
		}
	}
	for n := range 5 {
		check(model.Count, n, true, append(span(12, 11-n, 11, 0), span(32, 31-n, 31, 12)...)...)
		check(model.Whole, n, false, span(12, 11-n, 12, 0)...)
	}
	check(model.EventCount, 3, true)
	check(model.Event, 3, true)
	if testing.Short() {
		return
	}
	check(model.PerUpdate, 5, true, span(12, 11, 11, 11)...)
}

// TestEvaluatorVerdicts: the verdict of the reported workload on every preset of the
// fragment, and the condition that keeps the others out.
func TestEvaluatorVerdicts(t *testing.T) {
	var b strings.Builder
	for _, preset := range model.Presets {
		fmt.Fprintf(&b, "%s:", preset.Name)
		for _, d := range []model.Discipline{model.Count, model.Whole, model.PerUpdate, model.Event} {
			p := reportedWorkload(d, fullSize)
			if why := evaluatorFragment(p, preset.Machine); why != "" {
				fmt.Fprintf(&b, " not for %s", why)
				break
			}
			r := decided(t, p, preset.Machine, false)
			verdict := "ok"
			if r.Hang {
				verdict = "hang"
			}
			if !r.CanFinish {
				verdict = "always hang"
			}
			fmt.Fprintf(&b, " %v %s,", d, verdict)
		}
		b.WriteByte('\n')
	}
	const want = `ideal: count ok, tape always hang, per-update ok, event ok,
lag-0: count hang, tape always hang, per-update ok, event ok,
lag-1: count hang, tape always hang, per-update ok, event ok,
lag-2: count hang, tape always hang, per-update ok, event ok,
lag-3: count hang, tape always hang, per-update ok, event ok,
lag-4: count hang, tape always hang, per-update ok, event ok,
lag-5: count hang, tape always hang, per-update hang, event ok,
unordered: not for stores that overtake and are not max
unordered-guarded: not for stores that overtake and are not max
unordered-max: count ok, tape always hang, per-update ok, event ok,
unreliable-read: count hang, tape always hang, per-update hang, event ok,
unreliable-write: not for cpu_to_gpu unreliable
overlap-untracked: not for buffers overlap
overlap-arrays: not for buffers overlap
overlap-tracked: not for buffers overlap
overtake: not for buffers overlap
exclusive-device: not for device exclusive
one-slot: not for slots
queue-limit-12: not for in_flight
spin-limit: not for spin_limit
watchdog-may: not for watchdog may
watchdog-must: not for watchdog must
kill-any: not for watchdog any
`
	if have := b.String(); have != want {
		t.Errorf("have\n%s", have)
	}
	if r := decided(t, reportedWorkload(model.PerUpdate, 1024*1024), lagging(0), false); !r.Hang {
		t.Error("1024 x 1024, per-update, lag 0: no hang")
	}
}

// TestEvaluatorSmallestGroup: per-update hangs at lag n if and only if some group is smaller
// than 2n + 3 (64 chains: a first group of 4).
func TestEvaluatorSmallestGroup(t *testing.T) {
	g := (&model.Generate{Kind: "independent-reductions", Reductions: 64, Rounds: 8, Elems: fullSize}).Graph(0, 1)
	p := model.LowerGraph(g, model.PerUpdate, model.Evaluator{})
	for n, want := range []bool{false, true, true, true, true} {
		if r := decided(t, p, lagging(n), false); r.Hang != want {
			t.Errorf("64 chains at lag %d: hang %v", n, r.Hang)
		}
	}
	g = (&model.Generate{Kind: "independent-reductions", Reductions: 32, Rounds: 8, Elems: fullSize}).Graph(0, 1)
	if r := decided(t, model.LowerGraph(g, model.PerUpdate, model.Evaluator{BFSWidth: 1}), lagging(0), false); !r.Hang {
		t.Error("width 1 at lag 0: no hang")
	}
}

// TestEvaluatorHangThatNeedsLuck: the only hang of this program needs an early arrival, so
// the environment that delivers only what is guaranteed does not decide the verdict. Each
// CPU operation is two active tasks.
func TestEvaluatorHangThatNeedsLuck(t *testing.T) {
	g := &model.Graph{Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}}, Outputs: []int32{3, 6}}
	for i, in := range []int32{-1, 0, 1, 2, 0, 4, 5} {
		a := model.Array{Name: fmt.Sprintf("a%d", i), Elems: 5 << 19}
		if in >= 0 {
			a.Kind, a.In = model.OpKernel, []int32{in}
		}
		if i == 2 || i == 5 {
			a.Kind, a.Stream = model.OpCollective, 1
		}
		g.Arrays = append(g.Arrays, a)
	}
	p := model.LowerGraph(g, model.PerUpdate, model.Evaluator{BFSWidth: 4, MaxOps: 2, MaxMB: 2, MaxActive: 1, DispatchesPerTask: 1})
	want := []model.Counters{{Scheduled: 2, GPU: 1, CPU: 1}}
	y := sim.Compile([]*model.Schedule{p}, lagging(3), sim.Options{})
	o, _ := plainSearch(y, 100000, false)
	sure, _ := plainSearch(y, 100000, true)
	if !o.stuck[want[0]] || len(o.stuck) != 1 || len(sure.stuck) != 0 {
		t.Errorf("plain search: stuck at %v, by guaranteed arrivals alone at %v", o.stuck, sure.stuck)
	}
	for _, all := range []bool{false, true} {
		r := decided(t, p, lagging(3), all)
		if !slices.Equal(countersOf(r), want) || r.Stuck[0].Possible != 1 {
			t.Errorf("all %v: %+v", all, r)
		}
	}
}

// TestEvaluatorFragment: what keeps a schedule out is named.
func TestEvaluatorFragment(t *testing.T) {
	graph := func(f func(g *model.Graph)) *model.Graph {
		g := (&model.Generate{Kind: "chained-reductions", Reductions: 2, Rounds: 2, Elems: 1}).Graph(0, 1)
		f(g)
		return g
	}
	as := func(name string, cpu bool) func(g *model.Graph) {
		return func(g *model.Graph) {
			g.Streams = append(g.Streams, model.GraphStream{Name: name, CPU: cpu})
			for i := range g.Arrays {
				if g.Arrays[i].Kind == model.OpCollective == cpu && g.Arrays[i].Kind != model.OpNone {
					g.Arrays[i].Stream = 2
					return
				}
			}
		}
	}
	twice := func(g *model.Graph) {
		g.Evals = []model.GraphEval{{Outputs: []int32{4}}, {Outputs: g.Outputs}}
	}
	for _, c := range []struct {
		g    *model.Graph
		d    model.Discipline
		m    model.Machine
		want string
	}{
		{graph(func(*model.Graph) {}), model.Count, lagging(1), ""},
		{graph(func(*model.Graph) {}), model.Late, lagging(1), "discipline late"},
		{graph(as("side", false)), model.Count, lagging(1), "2 GPU queues"},
		{graph(as("aux", true)), model.Count, lagging(1), "2 CPU streams"},
		{graph(twice), model.Count, lagging(1), "several GPU fences"},
		{graph(twice), model.Count, model.Machine{}, ""},
		{(&model.Generate{Kind: "pipeline", Rounds: 2, Elems: 1}).Graph(0, 2), model.Count, lagging(1), "send or recv"},
		{graph(func(*model.Graph) {}), model.Count, model.Machine{Dispatch: model.Concurrent}, "dispatch concurrent"},
	} {
		p := model.LowerGraph(c.g, c.d, model.Evaluator{})
		if have := evaluatorFragment(p, c.m); !strings.HasPrefix(have, c.want) || c.want == "" && have != "" {
			t.Errorf("%v: %q; want %q", c.d, have, c.want)
		}
	}
	if have := evaluatorFragment(&model.Schedule{}, model.Machine{}); have != "buffer ends are fixed" {
		t.Error(have)
	}
}

// TestEvaluatorBounds: a bound is named, and what was found before it stands.
func TestEvaluatorBounds(t *testing.T) {
	p := reportedWorkload(model.Count, fullSize)
	r, err := decideEvaluator(context.Background(), p, lagging(3), &Config{MaxStates: 50}, false)
	if err != nil || r.Bound != "max-states 50" || r.States != 50 || r.Exhausted {
		t.Errorf("%+v, %v", r, err)
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err = decideEvaluator(stopped, p, lagging(3), &Config{}, false); err != nil || r.Bound != "interrupt" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = decideEvaluator(context.Background(), p, lagging(3), &Config{Memory: 1 << 18}, true); err != nil || r.Bound != "memory" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = decideEvaluator(context.Background(), p, lagging(3), &Config{Reductions: []string{"persistent"}}, false); err != nil || !r.Hang || r.Stuck[0].Possible != 0 {
		t.Errorf("all updates tracked: %+v, %v", r, err)
	}
}

// BenchmarkEvaluatorSliced decides the reported workload at lag 3, witness and all.
func BenchmarkEvaluatorSliced(b *testing.B) {
	for _, d := range []model.Discipline{model.Count, model.PerUpdate, model.Whole} {
		p := reportedWorkload(d, fullSize)
		b.Run(d.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decideEvaluator(context.Background(), p, lagging(3), &Config{}, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
