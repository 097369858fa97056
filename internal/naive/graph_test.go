package naive

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// The worked example of semantics section 7 scaled down: four chains, width three, so a first
// group of 4 mod 3 = 1 reduction and a second of three; four distinct arrays force a
// commit, as there. The pattern must be that of the table with 12 and 32 replaced by 1 and
// 4: under count at lag n stuck at (1, v, 0) with 0-n <= v <= 0 and at (4, v, 1) with
// 3-n <= v <= 3. Per-update waits hang at lag n where a group is smaller than 2n + 3: the
// first group at every lag, the second, of three, from lag 1: there its first update still
// has two buffers behind it before the first wait, the other two have not.
func TestWorkedExample(t *testing.T) {
	gen := model.Generate{Kind: "independent-reductions", Reductions: 4, Rounds: 1, Elems: 1 << 20}
	e := model.Evaluator{BFSWidth: 3, MaxOps: 50, MaxMB: 3, MaxActive: 3}
	for _, c := range []struct {
		d     model.Discipline
		m     model.Machine
		stuck string
	}{
		{model.Count, model.Machine{}, ""},
		{model.Count, lag(1), "1,0,0 4,2,1 4,3,1"},
		{model.Late, lag(0), "1,0,0 4,3,1"},
		{model.PerUpdate, lag(0), "1,0,0"},
		{model.PerUpdate, lag(1), "1,0,0 4,2,2 4,3,3"},
		{model.Whole, model.Machine{}, "1,1,0"},
		{model.EventCount, lag(0), ""},
	} {
		s := []*model.Schedule{model.LowerGraph(gen.Graph(0, 1), c.d, e)}
		r, done := Explore(s, c.m, 200000)
		if got := strings.Join(slices.Sorted(maps.Keys(r.Stuck)), " "); !done || got != c.stuck {
			t.Errorf("%s on %s: %d states, stuck at %q, want %q", c.d, c.m.GPUToCPU, r.States, got, c.stuck)
		}
		if r.CanFinish == (c.d == model.Whole) {
			t.Errorf("%s on %s: can finish %v", c.d, c.m.GPUToCPU, r.CanFinish)
		}
	}
}

// Small arrays force no commit: update and wait share a buffer, and lag 0 hangs.
func TestSmallArrays(t *testing.T) {
	gen := model.Generate{Kind: "independent-reductions", Reductions: 3, Rounds: 1, Elems: 1 << 10}
	s := []*model.Schedule{model.LowerGraph(gen.Graph(0, 1), model.PerUpdate, model.Evaluator{})}
	if r, done := Explore(s, lag(0), 100000); !done || !r.Violated["hang"] {
		t.Errorf("%v after %d states", r.Stuck, r.States)
	}
}

// A chain of one matmul, a reduction and a divide whose buffer ends and steps are counted
// by hand: the evaluator's rules one by one.
func TestEvaluatorRules(t *testing.T) {
	// a and b on the GPU, each its own buffer (max_ops 0 is not expressible, one op is not
	// more than 1, so max_mb decides: two arrays of 1 Mi are more than 1).
	g := &model.Graph{
		Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}},
		Arrays: []model.Array{{Name: "x", Elems: 1 << 20},
			{Name: "a", Kind: model.OpKernel, In: []int32{0}, Elems: 1 << 20},
			{Name: "r", Kind: model.OpCollective, Stream: 1, In: []int32{1}, Elems: 1 << 20},
			{Name: "b", Kind: model.OpKernel, In: []int32{2}, Elems: 1 << 20}},
		Outputs: []int32{3},
	}
	e := model.Evaluator{BFSWidth: 20, MaxOps: 50, MaxMB: 1, MaxActive: 10}
	s := model.LowerGraph(g, model.Count, e)
	w := newWorld([]*model.Schedule{s}, model.Machine{})
	at := w.initial()
	ends := func() (out []int) {
		for _, b := range at.ranks[0].queues[0].buffers {
			out = append(out, b.to)
		}
		return out
	}
	for {
		ts := w.mainSteps(at, 0)
		if len(ts) == 0 {
			break
		}
		at = w.apply(at, ts[0])
	}
	// Commands: kernel a | coherent a, barrier, update G 1, wait C 1, kernel b. The kernel
	// fills the first buffer, so the update opens the second (step 5); b adds r and b to a
	// and fills that; an empty one is committed at the end.
	if got := ends(); !slices.Equal(got, []int{1, 6, 6}) {
		t.Errorf("buffers end at %v", got)
	}
	if got := w.counters(at); got != "1,0,0" {
		t.Errorf("counters %s", got)
	}

	// With max_active 1 and every CPU dispatch a task, the reduction's two dispatches throttle
	// behind r: the open buffer with the update alone is committed, and a wait shares no
	// buffer with it.
	e.MaxActive, e.DispatchesPerTask = 1, 1
	s = model.LowerGraph(g, model.Count, e)
	w = newWorld([]*model.Schedule{s}, model.Machine{})
	at = w.initial()
	for {
		ts := w.mainSteps(at, 0)
		if len(ts) == 0 {
			break
		}
		at = w.apply(at, ts[0])
	}
	if got := ends(); !slices.Equal(got, []int{1, 4}) || at.ranks[0].throttle != 3 || w.active(at, 0) != 3 {
		t.Errorf("buffers end at %v, throttle %d, active %d", got, at.ranks[0].throttle, w.active(at, 0))
	}
}

// Events split encoders, and under concurrent dispatch a kernel waits for the await of its input.
func TestEventsConcurrent(t *testing.T) {
	gen := model.Generate{Kind: "chained-reductions", Reductions: 2, Rounds: 1, Elems: 1 << 20}
	s := []*model.Schedule{model.LowerGraph(gen.Graph(0, 1), model.Event, model.Evaluator{})}
	r, done := Explore(s, model.Machine{Dispatch: model.Concurrent}, 100000)
	if !done || len(r.Violated) > 0 {
		t.Errorf("%v after %d states", r.Violated, r.States)
	}
}

// A pipeline's stages name the arrays that they hand over as they like.
func TestPipeline(t *testing.T) {
	gen := model.Generate{Kind: "pipeline", Rounds: 1, Elems: 1 << 10}
	var s []*model.Schedule
	for r := range 2 {
		s = append(s, model.LowerGraph(gen.Graph(r, 2), model.Count, model.Evaluator{}))
	}
	r, done := Explore(s, model.Machine{}, 100000)
	if !done || len(r.Violated) > 0 || !r.CanFinish {
		t.Errorf("%v after %d states", r.Violated, r.States)
	}
}
