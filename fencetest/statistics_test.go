package fencetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// statistics is what one family draws.
type statistics struct {
	family                         Family
	cases, hang, violation, ok     int
	commands, states               []int
	waits, blocked, ranks, commits int
	lagged, other, throttled       int
}

// measure draws n scenarios of a family, decides each and makes one random run of each.
func measure(f Family, n int) (statistics, error) {
	st := statistics{family: f}
	gen := f.Scenarios()
	for i := range n {
		sc := gen.Example(int(drawSeed(1, i)))
		res, err := check.Explore(context.Background(), sc, check.Config{MaxStates: 20000, NoShrink: true, Workers: 1})
		if err != nil {
			return st, fmt.Errorf("%s, case %d: %w", f.Name, i, err)
		}
		st.cases++
		switch res.Verdict {
		case check.Hang:
			st.hang++
		case check.Violation:
			st.violation++
		case check.OK:
			st.ok++
		}
		st.states = append(st.states, int(res.States))
		if sc.NumRanks() > 1 {
			st.ranks++
		}
		onlyVisibility := sc.Machine
		onlyVisibility.GPUToCPU = model.Visibility{}
		switch {
		case onlyVisibility.Normal() == model.Machine{}.Normal() && sc.Machine.GPUToCPU.Mode == model.VisLag:
			st.lagged++
		case onlyVisibility.Normal() != model.Machine{}.Normal():
			st.other++
		}
		if err := st.observe(sc, uint64(i)); err != nil {
			return st, err
		}
	}
	return st, nil
}

// observe counts a scenario's commands and, in one random run, which waits had to wait,
// whether the size rule committed something before the end, and whether the throttle
// blocked.
func (st *statistics) observe(sc *model.Scenario, seed uint64) error {
	y, err := compile(sc)
	if err != nil {
		return err
	}
	commands := 0
	for a := range y.NumAgents() {
		for _, c := range y.Commands(int32(a)) {
			if c.Op != model.OpNone {
				commands++
			}
			if c.Op == model.OpWait || c.Op == model.OpAwait {
				st.waits++
			}
		}
	}
	st.commands = append(st.commands, commands)
	late := map[string]bool{}
	throttled := false
	run := sim.RunWith(y, watch{sim.UntilStuck{Strategy: sim.NewRandom(seed)}, func(s sim.State) {
		for r := range y.Ranks() {
			for _, b := range y.Blocked(s, r) {
				if len(y.EnabledOf(s, b.Index, nil)) > 0 {
					continue
				}
				if strings.HasPrefix(b.At, "wait") || strings.HasPrefix(b.At, "await") {
					late[fmt.Sprint(r, b.Agent, b.At)] = true
				}
				throttled = throttled || strings.HasPrefix(b.At, "throttle")
			}
		}
	}}, 20000)
	st.blocked += len(late)
	if throttled {
		st.throttled++
	}
	for a := range y.NumAgents() {
		if y.AgentKindOf(int32(a)) == sim.Queue {
			if committed, _ := y.Buffers(run.Last, int32(a)); committed > 1 {
				st.commits++
				break
			}
		}
	}
	return nil
}

// watch looks at every state of a run.
type watch struct {
	sim.Strategy
	see func(sim.State)
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

func percent(n, of int) int { return 100 * n / max(1, of) }

func (st *statistics) row() string {
	spread := func(list []int) string {
		return fmt.Sprintf("%d, %d, %d", slices.Min(list), median(list), slices.Max(list))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %s | %d | %d | %d | %d | %d | %d |", st.family.Name, percent(st.hang, st.cases), percent(st.violation, st.cases), percent(st.ok, st.cases),
		spread(st.commands), spread(st.states), percent(st.blocked, st.waits), percent(st.commits, st.cases), percent(st.throttled, st.cases), percent(st.ranks, st.cases), percent(st.lagged, st.cases), percent(st.other, st.cases))
}

// The generators draw what is worth a test: of each family some hang and some do not, waits
// block, buffers are committed on the way. FENCESIM_UPDATE=1 writes docs/generators.md.
func TestStatistics(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 60
	}
	var rows []string
	for _, f := range Families {
		st, err := measure(f, n)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, st.row())
		t.Log(st.row())
		if h := percent(st.hang, st.cases); h < 5 || h > 90 {
			t.Errorf("%s: %d %% hang", f.Name, h)
		}
		if b := percent(st.blocked, st.waits); b < 15 {
			t.Errorf("%s: only %d %% of the waits block", f.Name, b)
		}
	}
	if os.Getenv("FENCESIM_UPDATE") == "" {
		return
	}
	page := `# What the generators draw

Each row is 300 cases of one generator of package fencetest (the first seeds), decided by
check.Explore and run once at random until something is stuck or the end. Written by

    FENCESIM_UPDATE=1 go test ./fencetest -run '^TestStatistics$'

Numbers are per cent of the cases; commands and states are the least, the median and the
most. *Waits that block* are those at which an agent stood while it was not satisfied, of
all waits. *Commits* are cases with more than one committed buffer, *throttled* those whose
main thread blocked in the throttle, *lag* machines that differ from the ideal one in a lag
only, *other* those that differ in something else than visibility.

| generator | hang | violation | ok | commands | states | waits that block | commits | throttled | ranks > 1 | lag | other |
| --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
` + strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(filepath.Join("..", "docs", "generators.md"), []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
}
