package check

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// Plants are wrong dependencies: each makes a fragment claim that some transitions commute
// which do not, or that nothing forbids to take them alone. A comparison that cannot see
// them proves nothing.
var Plants = []struct {
	Name  string
	plant func(f *fragment)
}{
	{"stores of a fence commute", func(f *fragment) {
		clear(f.cpuView)
		clear(f.gpuView)
		clear(f.stores)
	}},
	{"slots are not contested", func(f *fragment) { f.slots = false }},
	{"the device is not contested", func(f *fragment) { f.m.Device = model.Shared }},
	{"kills do not matter", func(f *fragment) { f.killed, f.spun, f.ignore = false, false, false }},
	{"uses of an array commute", func(f *fragment) { clear(f.array) }},
}

// Planted searches programs on m with plant i in force: whether a hang and a stale read
// are found.
func Planted(programs []*model.Schedule, m model.Machine, i int) (hang, stale bool) {
	f := analyse(sim.Compile(programs, m, sim.Options{}))
	if i >= 0 {
		Plants[i].plant(f)
	}
	r := searchSystem(context.Background(), f, &Config{All: true, Workers: 1, whole: true}, true)
	_, stale = r.violated["stale-read"]
	return r.stuckStates > 0, stale
}

// TestPlantedDependencies: the comparison with the naive search sees every plant, and
// without one nothing.
func TestPlantedDependencies(t *testing.T) {
	const limit = 2000
	caught := make([]int, len(Plants))
	for seed := range uint64(seeds(600, 250)) {
		programs, m := naive.Random(rand.New(rand.NewPCG(seed, 5)), naive.Config{Plain: seed%3 == 0})
		if seed%3 == 0 { // what happens to be rare otherwise: slots alone decide
			m = model.Machine{Slots: 1, Buffers: m.Buffers, Tracking: m.Tracking}
		}
		n, done := naive.Explore(programs, m, limit)
		if !done {
			continue
		}
		if hang, stale := Planted(programs, m, -1); hang != n.Violated["hang"] || stale != n.Violated["stale-read"] {
			t.Errorf("seed %d: nothing planted, and hang %v, stale-read %v\n%s", seed, hang, stale, naive.Text(programs, m))
		}
		for i := range Plants {
			hang, stale := Planted(programs, m, i)
			if hang != n.Violated["hang"] || stale != n.Violated["stale-read"] {
				caught[i]++
			}
		}
	}
	for i, n := range caught {
		t.Logf("%s: seen in %d scenarios", Plants[i].Name, n)
		if n == 0 {
			t.Errorf("%s: not seen", Plants[i].Name)
		}
	}
}
