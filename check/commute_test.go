package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// TestSafeCommutes: what a search may take alone commutes, in every state of random programs,
// with everything else that is enabled there and stays safe behind it: each leaves the other
// enabled, and guaranteed if it was, and both orders end in one state and violate the same. Only the guarantee of an
// arrival may be withdrawn by a commit: the arrival stays possible.
func TestSafeCommutes(t *testing.T) {
	first := env("FENCESIM_SEED", 0)
	pairs := 0
	for i := first; i < first+env("FENCESIM_RUNS", seeds(2000, 200)); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		var programs []*model.Schedule
		var m model.Machine
		switch i % 4 {
		case 0:
			programs, m = naive.RandomGraphPair(rng)
		case 1:
			g, e, d, machine := naive.RandomGraph(rng, naive.Config{})
			programs, m = []*model.Schedule{model.LowerGraph(g, d, e)}, machine
		default:
			programs, m = naive.Random(rng, naive.Config{Plain: i%4 == 2})
		}
		y := sim.Compile(programs, m, sim.Options{})
		f := analyse(y)
		seen := map[string]bool{}
		todo := []reached{{y.Initial(), 0}}
		for len(todo) > 0 && len(seen) < 400 {
			s, bad := todo[len(todo)-1].s, todo[len(todo)-1].bad
			todo = todo[:len(todo)-1]
			if seen[fmt.Sprint(s)] {
				continue
			}
			seen[fmt.Sprint(s)] = true
			enabled := y.Enabled(s, nil)
			for _, a := range enabled {
				next, v := y.Next(s, a)
				todo = append(todo, reached{next, bad | v})
				if !f.safe(s, a) {
					continue
				}
				for _, b := range enabled {
					if b == a {
						continue
					}
					pairs++
					why := commute(y, s, bad, a, b)
					if then, _ := y.Next(s, b); why == "" && !f.safe(then, a) {
						why = "it is not safe after that"
					}
					if why != "" {
						t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: %s: %s is safe; %s: %s: %s\n%s", i, t.Name(),
							y.Agent(a), y.Describe(a), y.Agent(b), y.Describe(b), why, naive.Text(programs, m))
					}
				}
			}
			rng.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
		}
	}
	t.Logf("%d pairs", pairs)
}

// reached is a state and what was violated on the way to it.
type reached struct {
	s   sim.State
	bad sim.Violations
}

// commute says what is wrong with taking a alone where b is enabled too; "" if nothing is.
// What was violated before counts for nothing.
func commute(y *sim.System, s sim.State, bad sim.Violations, a, b sim.Transition) string {
	after := func(s sim.State, first, second sim.Transition, guaranteed bool) (sim.State, sim.Violations, bool) {
		s, v := y.Next(s, first)
		for _, t := range y.Enabled(s, nil) {
			same := t
			same.Possible = second.Possible
			if same == second && !(guaranteed && t.Possible) {
				s, w := y.Next(s, t)
				return s, v | w, true
			}
		}
		return nil, 0, false
	}
	ab, v, ok := after(s, a, b, !b.Possible && b.Kind != sim.KindVisible)
	if !ok {
		return "it takes away the second"
	}
	ba, w, ok := after(s, b, a, true)
	switch {
	case !ok:
		return "the second takes it away"
	case !slices.Equal(ab, ba):
		return "the order matters"
	case v|bad != w|bad:
		return fmt.Sprintf("the order matters for what is violated: %v, %v", v, w)
	}
	return ""
}
