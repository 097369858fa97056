package fencetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// statistics is what one family draws.
type statistics struct {
	name                            string
	cases, hang, violation, ok      int
	open                            int // inconclusive within the bound
	proofs                          map[check.Proof]int
	commands, states                []int
	waits, blocked, ranks, machines int
}

// measure draws n scenarios of a family and decides each.
func measure(f Family, n int) (statistics, error) {
	st := statistics{name: f.Name, proofs: map[check.Proof]int{}}
	gen := f.Scenarios()
	names := map[string]bool{}
	for i := range n {
		sc := gen.Example(i + 1)
		if err := sc.Validate(); err != nil {
			return st, fmt.Errorf("%s, seed %d: %w", f.Name, i+1, err)
		}
		res, err := check.Explore(context.Background(), sc, check.Config{MaxStates: 20000, NoShrink: true, Workers: 1})
		if err != nil {
			return st, fmt.Errorf("%s, seed %d: %w", f.Name, i+1, err)
		}
		st.cases++
		switch res.Verdict {
		case check.Hang:
			st.hang++
		case check.Violation:
			st.violation++
		case check.OK:
			st.ok++
		default:
			st.open++
		}
		st.proofs[res.Proof]++
		st.states = append(st.states, int(res.States))
		if sc.NumRanks() > 1 {
			st.ranks++
		}
		names[fmt.Sprint(sc.Machine.Normal())] = true
		commands, waits, blocked := observe(sc, uint64(i))
		st.commands = append(st.commands, commands)
		st.waits += waits
		st.blocked += blocked
	}
	st.machines = len(names)
	return st, nil
}

// observe counts a scenario's commands, and in one random run the waits that were begun
// and those that had to wait.
func observe(sc *model.Scenario, seed uint64) (commands, waits, blocked int) {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return 0, 0, 0
	}
	y := sim.Compile(ps, sc.Machine, sim.Options{})
	for a := range y.NumAgents() {
		for _, c := range y.Commands(int32(a)) {
			if c.Op != model.OpNone {
				commands++
			}
		}
	}
	began, late := map[string]bool{}, map[string]bool{}
	sim.RunWith(y, watch{sim.NewRandom(seed), func(s sim.State) {
		for r := range y.Ranks() {
			for _, b := range y.Blocked(s, r) {
				if strings.HasPrefix(b.At, "wait") || strings.HasPrefix(b.At, "await") {
					late[b.Agent+b.At] = true
				}
			}
		}
	}, began, y}, 20000)
	for a := range y.NumAgents() {
		for _, c := range y.Commands(int32(a)) {
			if c.Op == model.OpWait || c.Op == model.OpAwait {
				waits++
			}
		}
	}
	return commands, waits, len(late)
}

// watch looks at every state of a run.
type watch struct {
	sim.Strategy
	see   func(sim.State)
	began map[string]bool
	y     *sim.System
}

// Choose implements [sim.Strategy].
func (w watch) Choose(y *sim.System, s sim.State, enabled []sim.Transition) int {
	w.see(s)
	return w.Strategy.Choose(y, s, enabled)
}

func median(list []int) int {
	slices.Sort(list)
	return list[len(list)/2]
}

func TestStatistics(t *testing.T) {
	n := 100
	for _, f := range Families {
		st, err := measure(f, n)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%-24s hang %d viol %d ok %d open %d; commands %d..%d..%d states %d..%d..%d waits %d blocked %d ranks>1 %d machines %d %v", st.name, st.hang, st.violation, st.ok, st.open,
			slices.Min(st.commands), median(st.commands), slices.Max(st.commands), slices.Min(st.states), median(st.states), slices.Max(st.states), st.waits, st.blocked, st.ranks, st.machines, st.proofs)
	}
}
