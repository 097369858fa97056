package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// An evaluatorResult is what [decideEvaluator] finds. If Bound is not "" the search ended
// early: what it has found stands, what it has not proves nothing.
type evaluatorResult struct {
	Hang  bool
	Stuck []evaluatorStuck // by length of the run, then counters
	// States and Transitions count closed states and the choices between them, StuckStates
	// those that are stuck; each may stand for several values seen by the CPU.
	States, Transitions, StuckStates int64
	CanFinish                        bool        // some run finishes
	sys                              *sim.System // on which Stuck's choices run; nil without a hang
	Exhausted                        bool        // all was visited: only then does a false CanFinish mean that none does
	Bound                            string      // "" or max-states N, memory, time or interrupt
}

// An evaluatorStuck is a reachable stuck state with a run to it: indexes into Enabled of the
// schedule compiled alone. Possible counts its merely possible arrivals.
type evaluatorStuck struct {
	Counters model.Counters
	Choices  []int
	Possible int
}

// decideEvaluator decides whether one rank's schedule p can hang on machine m; both must be
// of the fragment (see [evaluatorFragment]). Collectives are passed as soon as reached. With
// all, or with the reduction slice switched off, every update is tracked; with all, Stuck
// has every reachable combination of counters. Otherwise the search stops soon after it has
// found a hang, and Stuck has one entry. Every entry was run in the plain
// simulator and found stuck there; the error is a run that was not, which is a bug.
func decideEvaluator(ctx context.Context, p *model.Schedule, m model.Machine, cfg *Config, all bool) (evaluatorResult, error) {
	level := levelSliced
	if all || !cfg.reduces("slice") {
		level = levelWindows
	}
	return newEvaluatorSystem(p, m, level).decide(ctx, p, m, cfg, all)
}

func (y *evaluatorSystem) decide(ctx context.Context, p *model.Schedule, m model.Machine, cfg *Config, all bool) (evaluatorResult, error) {
	g, bound := y.search(ctx, searchBounds{states: cfg.MaxStates, memory: cfg.memory(), first: !all, progress: cfg.Progress})
	r := evaluatorResult{Hang: len(g.stops) > 0, States: g.states, Transitions: g.transitions, StuckStates: int64(len(g.stops)), CanFinish: g.canFinish, Exhausted: g.exhausted, Bound: bound}
	if !r.Hang {
		return r, nil
	}
	best := g.best(y.counters())
	if !all {
		best = best[:1]
	}
	var err error
	if len(p.Main) > manyOperations {
		runtime.GC()
	}
	r.sys = sim.Compile([]*model.Schedule{p}, m, sim.Options{Window: windowBuffers})
	if r.Stuck, err = g.witnesses(best, r.sys); err == errWindow {
		r.sys = sim.Compile([]*model.Schedule{p}, m, sim.Options{Window: len(p.Main) + 1})
		r.Stuck, err = g.witnesses(best, r.sys)
	}
	if err != nil {
		return r, fmt.Errorf("evaluator: %w", err)
	}
	slices.SortStableFunc(r.Stuck, func(a, b evaluatorStuck) int {
		return cmp.Or(cmp.Compare(len(a.Choices), len(b.Choices)), compareCounters(a.Counters, b.Counters))
	})
	return r, nil
}

var errWindow = errors.New("more buffers in flight than the window")

// witnesses drives a run to each goal.
func (g *evaluatorSearch) witnesses(goals []evaluatorGoal, sys *sim.System) ([]evaluatorStuck, error) {
	var out []evaluatorStuck
	for _, goal := range goals {
		w, err := g.witness(sys, goal)
		if err == errWindow {
			return nil, err
		}
		if err != nil {
			return out, fmt.Errorf("%v: %w", goal.counters, err)
		}
		out = append(out, w)
	}
	return out, nil
}

func compareCounters(a, b model.Counters) int {
	return cmp.Or(cmp.Compare(a.Scheduled, b.Scheduled), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.CPU, b.CPU))
}

// An evaluatorGoal is the stuck state that shows some counters with the fewest merely
// possible arrivals.
type evaluatorGoal struct {
	counters model.Counters
	id, cost int32
	v        int32 // tracked updates seen
}

// best gives a goal for every combination of counters, the cheapest first.
func (g *evaluatorSearch) best(c *evaluatorCounters) []evaluatorGoal {
	index := map[model.Counters]int{}
	var out []evaluatorGoal
	var s evaluatorState
	for _, st := range g.stops {
		s.read(g.state(st.id))
		high := st.high
		if g.y.level == levelSliced {
			high = st.low
		}
		for v := st.low; v <= high; v++ {
			k, cost := c.at(g.y, &s, v), g.cost[st.id]+v-st.low
			i, ok := index[k]
			if !ok {
				index[k] = len(out)
				out = append(out, evaluatorGoal{k, st.id, cost, v})
			} else if cost < out[i].cost {
				out[i] = evaluatorGoal{k, st.id, cost, v}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b evaluatorGoal) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), compareCounters(a.counters, b.counters))
	})
	return out
}
