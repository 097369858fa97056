package sim_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// held makes a random run with a menu and holds it against Enabled after every step.
func held(t *testing.T, y *sim.System, rng *rand.Rand, seed int, text func() string) (steps int) {
	t.Helper()
	m := sim.NewMenu(y)
	s := y.Initial()
	for steps < 300 {
		want := y.Enabled(s, nil)
		got := make([]sim.Transition, m.Len())
		for i := range got {
			got[i] = m.At(i)
			if m.Index(got[i]) != i {
				t.Fatalf("seed %d, step %d: transition %d has index %d\n%s", seed, steps, i, m.Index(got[i]), text())
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./sim -run %s\nstep %d\nmenu    %v\nenabled %v\n%s", seed, t.Name(), steps, got, want, text())
		}
		if len(want) == 0 {
			break
		}
		// Programs first, so that buffers pile up, or anything.
		tr := want[rng.IntN(len(want))]
		v := m.Take(tr)
		if w := y.Apply(s, tr); v != w || !slices.Equal(s, m.State()) {
			t.Fatalf("seed %d, step %d: %s violates %v, the walk says %v\n%s", seed, steps, y.Describe(tr), w.Words(), v.Words(), text())
		}
		steps++
	}
	return steps
}

// TestMenuIsEnabled: what a walk keeps up to date step by step is what Enabled finds by
// looking at every agent.
func TestMenuIsEnabled(t *testing.T) {
	steps := 0
	for i := firstSeed(); i < firstSeed()+runs(3000); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		var programs []*model.Schedule
		var m model.Machine
		if i%3 == 0 {
			g, e, d, machine := naive.RandomGraph(rng, naive.Config{})
			programs, m = []*model.Schedule{model.LowerGraph(g, d, e)}, machine
			if rng.IntN(2) == 0 {
				programs = append(programs, programs[0])
			}
		} else {
			programs, m = naive.Random(rng, naive.Config{})
		}
		y := sim.Compile(programs, m, sim.Options{})
		for range 4 {
			steps += held(t, y, rng, i, func() string { return naive.Text(programs, m) })
		}
	}
	t.Logf("%d steps", steps)
}

// TestMenuRoom: room in a buffer between ranks is taken and made by any agent of the two.
func TestMenuRoom(t *testing.T) {
	var from, to naive.Builder
	programs := []*model.Schedule{
		from.Stream("a", "send x to next", "send y to next").Stream("b", "send z to next").Schedule(),
		to.Stream("a", "recv x from prev", "recv y from prev").Stream("b", "recv z from prev").Schedule(),
	}
	for i := range 200 {
		y := sim.Compile(programs, model.Machine{Transport: model.Transport{Buffered: 1 + i%2}}, sim.Options{})
		held(t, y, rand.New(rand.NewPCG(uint64(i), 8)), i, func() string { return "" })
	}
}
