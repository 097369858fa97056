package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// plainOutcome is what the plain search finds: every transition of every state.
type plainOutcome struct {
	states, stuckStates int
	stuck               map[model.Counters]bool
	finish              bool
}

// plainSearch visits every state; if sure, every one that guaranteed transitions reach.
func plainSearch(y *sim.System, limit int, sure bool) (plainOutcome, bool) {
	o := plainOutcome{stuck: map[model.Counters]bool{}}
	var buf []byte
	key := func(s sim.State) string {
		buf = buf[:0]
		for _, w := range s {
			buf = binary.LittleEndian.AppendUint64(buf, w)
		}
		return string(buf)
	}
	first := y.Initial()
	seen := map[string]bool{key(first): true}
	work := []sim.State{first}
	var ts []sim.Transition
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		o.states++
		ts = y.Enabled(s, ts[:0])
		some := false
		for _, t := range ts {
			some = some || !t.Possible
		}
		switch {
		case y.Final(s):
			o.finish = true
		case !some:
			o.stuckStates++
			o.stuck[y.Counters(s, 0)] = true
		}
		for _, t := range ts {
			if sure && t.Possible {
				continue
			}
			n, _ := y.Next(s, t)
			if k := key(n); !seen[k] {
				if len(seen) >= limit {
					return o, false
				}
				seen[k] = true
				work = append(work, n)
			}
		}
	}
	return o, true
}

// evaluatorCase is one random schedule of the fragment and a machine.
type evaluatorCase struct {
	p *model.Schedule
	m model.Machine
	e model.Evaluator
	d model.Discipline
	g *model.Graph
}

func (c *evaluatorCase) String() string {
	return fmt.Sprintf("%v %+v %+v\n%s", c.d, c.e, c.m.GPUToCPU, naive.Text([]*model.Schedule{c.p}, c.m))
}

// randomCase draws a graph with one queue and one stream, chains of the reported shape or
// any, and limits so small that it reaches the throttle.
func randomCase(rng *rand.Rand) *evaluatorCase {
	c := &evaluatorCase{}
	one := func(n int) bool { return rng.IntN(n) == 0 }
	if one(2) {
		c.g = randomChains(rng)
	} else {
		c.g = randomNodes(rng, 2+rng.IntN(2))
	}
	if one(4) { // some array first, perhaps another, then the outputs
		for range rng.IntN(3) {
			some := int32(1 + rng.IntN(len(c.g.Arrays)-1))
			c.g.Evals = append(c.g.Evals, model.GraphEval{Outputs: []int32{some}, Sync: !one(3)})
		}
		c.g.Evals = append(c.g.Evals, model.GraphEval{Outputs: c.g.Outputs, Sync: one(2)})
	}
	c.e = model.Evaluator{BFSWidth: 1 + rng.IntN(4), MaxOps: 1 + rng.IntN(6), MaxMB: 1 + rng.IntN(6),
		MaxActive: 1 + rng.IntN(3), DispatchesPerTask: 1 + rng.IntN(4)}
	if one(2) {
		c.e.MaxActive, c.e.DispatchesPerTask = 1, 1+rng.IntN(2)
	}
	ds := []model.Discipline{model.Count, model.Count, model.Count, model.PerUpdate, model.PerUpdate, model.PerUpdate, model.Whole, model.Event, model.EventCount}
	c.d = ds[rng.IntN(len(ds))]
	switch rng.IntN(12) {
	case 0:
	case 1:
		c.m.GPUToCPU.Mode = model.VisUnreliable
	case 2:
		c.m.GPUToCPU.Mode, c.m.Store = model.VisUnordered, model.StoreMax
	default:
		c.m.GPUToCPU = model.Visibility{Mode: model.VisLag, Buffers: rng.IntN(4)}
	}
	if one(6) && c.m.Store == "" {
		c.m.Store = model.StoreGuarded
	}
	c.p = model.LowerGraph(c.g, c.d, c.e)
	if len(c.g.Evals) > 1 && evaluatorFragment(c.p, c.m) != "" {
		c.g.Evals = nil
		c.p = model.LowerGraph(c.g, c.d, c.e)
	}
	return c
}

func randomChains(rng *rand.Rand) *model.Graph {
	g := &model.Graph{Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}}}
	elems := int64(1+rng.IntN(6)) << 19
	add := func(kind model.Op, stream, in int32) int32 {
		g.Arrays = append(g.Arrays, model.Array{Name: fmt.Sprintf("a%d", len(g.Arrays)), Kind: kind, Stream: stream, Elems: elems})
		n := int32(len(g.Arrays) - 1)
		if kind != model.OpNone {
			g.Arrays[n].In = []int32{in}
		}
		return n
	}
	x := add(model.OpNone, 0, 0)
	before, after := 1+rng.IntN(2), 1+rng.IntN(2)
	for range 1 + rng.IntN(4) {
		a := x
		for range before {
			a = add(model.OpKernel, 0, a)
		}
		a = add(model.OpCollective, 1, a)
		for range after {
			a = add(model.OpKernel, 0, a)
		}
		g.Outputs = append(g.Outputs, a)
	}
	return g
}

// randomNodes puts one node in cpus on the CPU.
func randomNodes(rng *rand.Rand, cpus int) *model.Graph {
	g := &model.Graph{Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}},
		Arrays: []model.Array{{Name: "x", Elems: int64(1+rng.IntN(3)) << 20}}}
	used := map[int32]bool{}
	for i := range 3 + rng.IntN(14) {
		n := len(g.Arrays)
		a := model.Array{Name: fmt.Sprintf("a%d", i), Kind: model.OpKernel, In: []int32{int32(rng.IntN(n))}, Elems: int64(1+rng.IntN(6)) << 19}
		if rng.IntN(2) == 0 {
			a.In[0] = int32(n - 1)
		}
		if b := int32(rng.IntN(n)); rng.IntN(3) == 0 && b != a.In[0] {
			a.In = append(a.In, b)
		}
		if rng.IntN(cpus) == 0 {
			if a.Stream = 1; rng.IntN(4) != 0 {
				a.Kind = model.OpCollective
			}
		}
		for _, in := range a.In {
			used[in] = true
		}
		g.Arrays = append(g.Arrays, a)
	}
	for a := int32(1); int(a) < len(g.Arrays); a++ {
		if !used[a] {
			g.Outputs = append(g.Outputs, a)
		}
	}
	return g
}

func evaluatorRuns(def int) (first, runs int) {
	if n, err := strconv.Atoi(os.Getenv("FENCESIM_RUNS")); err == nil {
		def = n
	}
	first, _ = strconv.Atoi(os.Getenv("FENCESIM_SEED"))
	return first, def
}

// differs compares the levels with the plain outcome: verdict and whether a run can finish
// for all, the exact set of counters for those that track all updates.
func (c *evaluatorCase) differs(want plainOutcome, level evaluatorLevel, plant evaluatorPlant) string {
	y := newEvaluatorSystem(c.p, c.m, level)
	y.plant = plant
	g, _ := y.search(context.Background(), searchBounds{})
	hang := len(want.stuck) > 0
	if (len(g.stops) > 0) != hang || g.canFinish != want.finish {
		return fmt.Sprintf("level %d: hang %v, can finish %v; plain %v, %v", level, len(g.stops) > 0, g.canFinish, hang, want.finish)
	}
	if level == levelSliced {
		return ""
	}
	have := map[model.Counters]bool{}
	for _, b := range g.best(y.counters()) {
		have[b.counters] = true
	}
	for k := range want.stuck {
		if !have[k] {
			return fmt.Sprintf("level %d: misses %v of %v", level, k, want.stuck)
		}
	}
	if len(have) != len(want.stuck) {
		return fmt.Sprintf("level %d: stuck at %v; plain %v", level, have, want.stuck)
	}
	return ""
}

// TestEvaluatorMatchesPlainSearch: on random schedules every level agrees with the plain
// search, every witness ends stuck with its counters, and a certificate means no hang.
func TestEvaluatorMatchesPlainSearch(t *testing.T) {
	first, runs := evaluatorRuns(800)
	if testing.Short() {
		runs = min(runs, 200)
	}
	var hang, fine, large, certified, uncertified, lucky, luckySingle, largest int
	total := 0
	for i := first; i < first+runs; i++ {
		c := randomCase(rand.New(rand.NewPCG(uint64(i), 7)))
		if why := evaluatorFragment(c.p, c.m); why != "" {
			t.Fatalf("seed %d: outside the fragment: %s", i, why)
		}
		sys := sim.Compile([]*model.Schedule{c.p}, c.m, sim.Options{})
		want, ok := plainSearch(sys, 60000, false)
		if !ok {
			large++
			continue
		}
		total += want.states
		largest = max(largest, want.states)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s\n%s\n%s", i, t.Name(), fmt.Sprintf(format, args...), c)
		}
		for _, level := range []evaluatorLevel{levelSliced, levelWindows, levelPersistent} {
			if d := c.differs(want, level, plantNone); d != "" {
				fail("%s", d)
			}
		}
		if safe := c.certificate(fail); safe && len(want.stuck) > 0 {
			fail("certified, but stuck at %v", want.stuck)
		} else if safe {
			certified++
		} else if len(want.stuck) == 0 {
			uncertified++
		}
		for _, all := range []bool{false, true} {
			r, err := decideEvaluator(context.Background(), c.p, c.m, &Config{}, all)
			if err != nil {
				fail("%v", err)
			}
			if all && len(r.Stuck) != len(want.stuck) || r.Hang != (len(r.Stuck) > 0) {
				fail("%d witnesses for %d counters", len(r.Stuck), len(want.stuck))
			}
			for _, w := range r.Stuck {
				run := sim.RunWith(sys, &sim.Fixed{Choices: w.Choices}, len(w.Choices))
				if !sys.Stuck(run.Last) || sys.Counters(run.Last, 0) != w.Counters || !want.stuck[w.Counters] {
					fail("the witness for %v ends at %v", w.Counters, sys.Counters(run.Last, 0))
				}
				if w.Possible > 0 && !all && c.m.GPUToCPU.Mode == model.VisLag {
					lucky++
					luckySingle += min(1, c.e.DispatchesPerTask-1)
				}
			}
		}
		c.tightWindow(fail)
		if len(want.stuck) > 0 {
			hang++
		} else {
			fine++
		}
	}
	t.Logf("%d hang, %d do not (%d certified, %d not), %d were too large; %d plain states, largest %d; %d first witnesses under lag need a merely possible arrival, %d of them where no task counts twice", hang, fine, certified, uncertified, large, total, largest, lucky, luckySingle)
}

// certificate reports whether the certificate proves the case, after holding the checker
// against it.
func (c *evaluatorCase) certificate(fail func(string, ...any)) bool {
	slacks, ok, _ := slackOf(c.p)
	least, _ := tightestSlack(slacks)
	for n := -1; n < 6; n++ {
		if why := verifySlack(c.p, slacks, n); (why == "") != (ok && least >= n) {
			fail("order %v, slack %d; the checker at lag %d says %q", ok, least, n, why)
		}
	}
	m := c.m.Normal().GPUToCPU
	switch m.Mode {
	case model.VisLag:
		return ok && least >= m.Buffers
	case model.VisUnreliable:
		return ok && len(slacks) == 0
	}
	return ok
}

// outcome is what a level that tracks all updates finds, in the terms of the plain search.
func (c *evaluatorCase) outcome() plainOutcome {
	y := newEvaluatorSystem(c.p, c.m, levelWindows)
	g, _ := y.search(context.Background(), searchBounds{})
	o := plainOutcome{stuck: map[model.Counters]bool{}, finish: g.canFinish}
	for _, b := range g.best(y.counters()) {
		o.stuck[b.counters] = true
	}
	return o
}

// tightWindow drives witnesses with too little room for buffers in flight.
func (c *evaluatorCase) tightWindow(fail func(string, ...any)) {
	g, _ := newEvaluatorSystem(c.p, c.m, levelWindows).search(context.Background(), searchBounds{})
	for window := 1; window < 4; window++ {
		if _, err := g.witnesses(g.best(g.y.counters()), sim.Compile([]*model.Schedule{c.p}, c.m, sim.Options{Window: window})); err != nil && err != errWindow {
			fail("window %d: %v", window, err)
		}
	}
}

// TestEvaluatorPlantedErrors: the comparison with the plain search sees each planted error.
// Programs on which an error shows are found with the sound search first, for some errors
// show on few.
func TestEvaluatorPlantedErrors(t *testing.T) {
	const enough = 3
	caught, drawn := map[evaluatorPlant]int{}, map[evaluatorPlant]int{}
	for i := range 4000 {
		c := randomCase(rand.New(rand.NewPCG(uint64(i), 7)))
		sound := c.outcome()
		for plant := plantTest; plant <= plantIdleClaim; plant++ {
			if caught[plant] == enough {
				continue
			}
			drawn[plant]++
			for _, level := range []evaluatorLevel{levelSliced, levelWindows, levelPersistent} {
				if c.differs(sound, level, plant) == "" {
					continue
				}
				want, ok := plainSearch(sim.Compile([]*model.Schedule{c.p}, c.m, sim.Options{}), 60000, false)
				if ok && c.differs(want, level, plantNone) == "" && c.differs(want, level, plant) != "" {
					caught[plant]++
					break
				}
			}
		}
	}
	for plant := plantTest; plant <= plantIdleClaim; plant++ {
		t.Logf("planted error %d: seen on %d of %d programs", plant, caught[plant], drawn[plant])
		if caught[plant] < enough {
			t.Errorf("planted error %d is hardly seen", plant)
		}
	}
}

// TestEvaluatorEmptyBufferBehindDroppedEnd: a prototype lost the commands of a last buffer
// whose end was dropped when the throttle then committed an empty buffer. The situation
// arises, and the outcome is that of the plain search.
func TestEvaluatorEmptyBufferBehindDroppedEnd(t *testing.T) {
	arose := 0
	for i := 0; arose < 20 && i < 40000; i++ {
		c := randomCase(rand.New(rand.NewPCG(uint64(i), 7)))
		y := newEvaluatorSystem(c.p, c.m, levelSliced)
		here := false
		y.watch = func(s *evaluatorState) {
			n := len(s.flying)
			here = here || n >= 2 && s.q < s.start && s.flying[n-1] == s.flying[n-2] && !y.matters(s.start, s.v)
		}
		y.search(context.Background(), searchBounds{})
		if !here {
			continue
		}
		want, ok := plainSearch(sim.Compile([]*model.Schedule{c.p}, c.m, sim.Options{}), 60000, false)
		if !ok {
			continue
		}
		arose++
		for _, level := range []evaluatorLevel{levelSliced, levelWindows} {
			if d := c.differs(want, level, plantNone); d != "" {
				t.Fatalf("seed %d: %s\n%s", i, d, c)
			}
		}
	}
	t.Logf("it arose in %d programs", arose)
	if arose < 20 {
		t.Error("it hardly arises")
	}
}
