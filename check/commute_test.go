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
// enabled, and guaranteed if it was, and both orders end in one state and violate the same. Only
// the guarantee of an arrival may be withdrawn by a commit: the arrival stays possible.
func TestSafeCommutes(t *testing.T) {
	first, pairs := env("FENCESIM_SEED", 0), 0
	for i := first; i < first+env("FENCESIM_RUNS", seeds(2000, 200)); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 17))
		programs, m := drawn(rng, drawing(i%5))
		y := sim.Compile(programs, m, sim.Options{})
		f := analyse(y)
		why, n := someStates(rng, y, 0, f.safe, func(s sim.State, a, b sim.Transition) string {
			if then, _ := y.Next(s, b); !f.safe(then, a) {
				return "it is not safe after that"
			}
			return ""
		})
		pairs += n
		if why != "" {
			t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: %s\n%s", i, t.Name(), why, naive.Text(programs, m))
		}
	}
	t.Logf("%d pairs", pairs)
}

// TestOneRunCommutes: where one run stands for all as far as hangs go, everything guaranteed
// commutes with everything enabled, but for arrivals that are guaranteed only because the
// queue is idle.
func TestOneRunCommutes(t *testing.T) {
	first, systems, pairs := env("FENCESIM_SEED", 0), 0, 0
	for i := first; i < first+env("FENCESIM_RUNS", seeds(2000, 200)); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 19))
		programs, m := naive.Random(rng, naive.Config{Plain: true})
		// What is seldom off by chance, and what a coherent makes visible, which is no matter
		// of hangs.
		m.Slots, m.SpinLimit, m.Watchdog, m.Device, m.Memory, m.Payload = 0, 0, model.WatchdogOff, model.Shared, 0, model.PayloadIgnored
		y := sim.Compile(programs, m, sim.Options{})
		if analyse(y).oneRun() != "" {
			continue
		}
		systems++
		why, n := someStates(rng, y, ^sim.Violations(0), func(s sim.State, a sim.Transition) bool {
			return !a.Possible && !(a.Kind == sim.KindVisible && y.IdleOnly(s, a))
		}, func(sim.State, sim.Transition, sim.Transition) string { return "" })
		pairs += n
		if why != "" {
			t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: %s\n%s", i, t.Name(), why, naive.Text(programs, m))
		}
	}
	t.Logf("%d systems, %d pairs", systems, pairs)
}

// someStates walks over up to 400 states and says what is wrong with a transition that is
// chosen beside another that is enabled: that they do not commute, or what more says; of what
// they violate some is ignored. It returns also how many pairs it looked at.
func someStates(rng *rand.Rand, y *sim.System, ignored sim.Violations, chosen func(sim.State, sim.Transition) bool, more func(s sim.State, a, b sim.Transition) string) (why string, pairs int) {
	type reached struct {
		s   sim.State
		bad sim.Violations // on the way
	}
	seen := map[string]bool{}
	todo := []reached{{y.Initial(), ignored}}
	for len(todo) > 0 && len(seen) < 400 {
		last := len(todo) - 1
		s, bad := todo[last].s, todo[last].bad
		todo = todo[:last]
		key := fmt.Sprint(s)
		if seen[key] {
			continue
		}
		seen[key] = true
		enabled := y.Enabled(s, nil)
		for _, a := range enabled {
			next, v := y.Next(s, a)
			todo = append(todo, reached{next, bad | v})
			if !chosen(s, a) {
				continue
			}
			for _, b := range enabled {
				if b == a {
					continue
				}
				pairs++
				why := commute(y, s, bad, a, b)
				if why == "" {
					why = more(s, a, b)
				}
				if why != "" {
					return fmt.Sprintf("%s: %s, beside %s: %s: %s", y.Agent(a), y.Describe(a), y.Agent(b), y.Describe(b), why), pairs
				}
			}
		}
		rng.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	}
	return "", pairs
}

// commute says what is wrong with taking a before b as well as behind it; "" if nothing is.
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
	case !slices.Equal(ab, ba) && y.Machine.Payload != model.PayloadCoherent: // who made an array visible that the CPU does not read is of no account
		return "the order matters"
	case v|bad != w|bad:
		return fmt.Sprintf("the order matters for what is violated: %v, %v", v, w)
	}
	return ""
}
