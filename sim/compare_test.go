package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// outcome is what an exhaustive search finds.
type outcome struct {
	states, transitions, stuckStates int
	stuck, violated                  map[string]bool
	finish                           bool
}

// search visits every reachable state.
func search(y *sim.System, limit int) (outcome, bool) {
	o := outcome{stuck: map[string]bool{}, violated: map[string]bool{}}
	key := func(s sim.State) string { return fmt.Sprint([]uint64(s)) }
	first := y.Initial()
	seen := map[string]bool{key(first): true}
	work := []sim.State{first}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		o.states++
		ts := y.Enabled(s, nil)
		o.transitions += len(ts)
		switch {
		case y.Final(s):
			o.finish = true
		case y.Stuck(s):
			o.stuckStates++
			o.violated["hang"] = true
			if y.Orphan(s) {
				o.violated["orphan"] = true
			}
			var c []string
			for r := range y.Ranks() {
				k := y.Counters(s, r)
				c = append(c, fmt.Sprintf("%d,%d,%d", k.Scheduled, k.GPU, k.CPU))
			}
			o.stuck[strings.Join(c, ";")] = true
		}
		for _, t := range ts {
			n, v := y.Next(s, t)
			for _, w := range v.Words() {
				o.violated[w] = true
			}
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

func equalSets(a, b map[string]bool) bool {
	for k := range a {
		if a[k] != b[k] {
			return false
		}
	}
	for k := range b {
		if a[k] != b[k] {
			return false
		}
	}
	return true
}

// compare holds the flat system against the naive one.
func compare(t *testing.T, programs []*model.Schedule, m model.Machine, limit, seed int) (outcome, bool) {
	t.Helper()
	want, ok := naive.Explore(programs, m, limit)
	if !ok {
		return outcome{}, false
	}
	got, ok := search(sim.Compile(programs, m, sim.Options{}), 4*limit)
	if !ok {
		t.Fatalf("sim has more than %d states, naive has %d\n%s", 4*limit, want.States, naive.Text(programs, m))
	}
	delete(want.Violated, "")
	if !equalSets(want.Violated, got.violated) || !equalSets(want.Stuck, got.stuck) || want.CanFinish != got.finish {
		t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./sim -run %s\nnaive violated %v stuck %v finish %v (%d states)\nsim   violated %v stuck %v finish %v (%d states)\n%s",
			seed, t.Name(), want.Violated, want.Stuck, want.CanFinish, want.States, got.violated, got.stuck, got.finish, got.states, naive.Text(programs, m))
	}
	return got, true
}

// runs is how many random cases a test draws: FENCESIM_RUNS, or def.
func runs(def int) int {
	if n, err := strconv.Atoi(os.Getenv("FENCESIM_RUNS")); err == nil {
		return n
	}
	if testing.Short() {
		return def / 10
	}
	return def
}

// firstSeed is FENCESIM_SEED, or 0: a failure names the seed to run again.
func firstSeed() int {
	n, _ := strconv.Atoi(os.Getenv("FENCESIM_SEED"))
	return n
}

// TestRandomSchedulesMatchNaive: the flat system and the naive one agree on every
// property, every set of stuck counters and whether a run can finish.
func TestRandomSchedulesMatchNaive(t *testing.T) {
	hang, fine, skipped := 0, 0, 0
	for i := firstSeed(); i < firstSeed()+runs(80); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		programs, m := naive.Random(rng, naive.Config{})
		o, ok := compare(t, programs, m, 20000, i)
		switch {
		case !ok:
			skipped++
		case o.violated["hang"]:
			hang++
		default:
			fine++
		}
	}
	t.Logf("%d hang, %d do not, %d were too large", hang, fine, skipped)
}

// TestRandomGraphsMatchNaive is the same for graphs, whose buffer ends depend on the run.
func TestRandomGraphsMatchNaive(t *testing.T) {
	hang, fine, skipped := 0, 0, 0
	for i := firstSeed(); i < firstSeed()+runs(80); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		g, e, d, m := naive.RandomGraph(rng, naive.Config{})
		p := model.LowerGraph(g, d, e)
		o, ok := compare(t, []*model.Schedule{p}, m, 20000, i)
		switch {
		case !ok:
			skipped++
		case o.violated["hang"]:
			hang++
		default:
			fine++
		}
	}
	t.Logf("%d hang, %d do not, %d were too large", hang, fine, skipped)
}
