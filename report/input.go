package report

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// An Input is what pages, pictures and exports are made from: a scenario, what was decided
// of it, and one run.
type Input struct {
	Scenario *model.Scenario
	Programs []*model.Schedule // by rank
	Result   *check.Result     // nil for a bare trace, and where nothing was decided
	Trace    *sim.Trace        // the run; nil if there is none
	System   *sim.System       // runs Trace: all ranks, or the rank that ran alone
	Choices  []int
	File     string // of the scenario, as messages name it; "" if it came with a trace

	// Of is which graph dot and svg draw: run, waits or schedule; "" is the format's own.
	Of string
	// Promela is what a model for Spin keeps.
	Promela PromelaOptions
}

// NewInput puts a scenario and the run to be shown together; result and trace may be nil.
// Without a trace it takes the first of the result or, where the result has none, a run that
// takes nothing that is not forced. A scenario is the one that ran: with the trace's
// discipline and machine.
func NewInput(sc *model.Scenario, result *check.Result, trace *sim.Trace) (Input, error) {
	in := Input{Scenario: sc, Result: result, Trace: trace}
	var err error
	if in.Programs, err = sc.Programs(sc.Effective()); err != nil {
		return in, err
	}
	if trace == nil && result != nil {
		trace = result.FirstTrace()
	}
	if trace != nil {
		if in.System, err = compile(in.Programs, sc.Machine, trace.Rank); err != nil {
			return in, err
		}
		run, err := trace.Replay(in.System, nil)
		if err != nil {
			return in, err
		}
		in.Trace, in.Choices = trace, run.Choices
		return in, nil
	}
	rank := -1
	if result != nil && len(in.Programs) > 1 && alone(result) {
		rank = 0
	}
	if in.System, err = compile(in.Programs, sc.Machine, rank); err != nil {
		return in, err
	}
	if result != nil {
		return in.With(sim.RunWith(in.System, sim.Laziest{}, maxSteps).Choices, "laziest", rank)
	}
	return in, nil
}

// With is in with the run of choices instead of its own; rank is the one that runs alone,
// or -1.
func (in Input) With(choices []int, strategy string, rank int) (Input, error) {
	src, err := json.Marshal(in.Scenario)
	if err != nil {
		return in, err
	}
	in.Choices, in.Trace = choices, sim.NewTrace(in.System, src, strategy, 0, rank, choices)
	return in, nil
}

// alone reports whether ranks were decided one by one.
func alone(r *check.Result) bool {
	for _, name := range r.Reductions {
		if name == "ranks" {
			return true
		}
	}
	return false
}

// compile compiles all ranks or, if rank is not negative, that one alone.
func compile(programs []*model.Schedule, m model.Machine, rank int) (*sim.System, error) {
	if rank >= len(programs) || rank < -1 {
		return nil, fmt.Errorf("rank %d alone: the scenario has ranks 0 to %d", rank, len(programs)-1)
	}
	if rank >= 0 {
		programs = programs[rank : rank+1]
	}
	return sim.Compile(programs, m, sim.Options{}), nil
}

// compareStates bounds the search that decides the cure, so that equal inputs give equal
// pages on every machine.
const compareStates = 2_000_000

// Cure is the same scenario under what should cure it: a graph under waits for the single
// update, an explicit schedule on the machine that shows every store at once. ok is false
// if that is what in is already.
func (in Input) Cure(ctx context.Context) (cure Input, what string, ok bool, err error) {
	sc := *in.Scenario
	sc.Expect = nil
	if sc.Explicit() {
		if sc.Machine.Normal() == (model.Machine{}).Normal() {
			return cure, "", false, nil
		}
		sc.Machine = model.Machine{}
		what = "machine ideal: every store is seen at once"
	} else {
		d := model.PerUpdate
		if sc.Effective().Events() {
			d = model.Event
		}
		if d == sc.Effective() {
			return cure, "", false, nil
		}
		sc.Discipline = &d
		what = "discipline " + d.String() + ": each wait names the update that follows its own array"
	}
	r, err := check.Explore(ctx, &sc, check.Config{Seed: 1, MaxStates: compareStates, NoShrink: true})
	if err != nil {
		return cure, "", false, err
	}
	r.Elapsed = 0
	if cure, err = NewInput(&sc, r, nil); err != nil {
		return cure, "", false, err
	}
	return cure, what, true, nil
}
