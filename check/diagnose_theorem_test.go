package check

import (
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// The ideal-machine theorem (docs/hypotheses.md) on random graphs, by the independent model:
// waiting for the count, for the array's own update or for an event never hangs there, on
// one rank or two. That the same graphs can hang for waits on the whole tape and with late
// stores shows that there is something to see.
func TestIdealMachineTheorem(t *testing.T) {
	const limit = 700
	proved := []model.Discipline{model.Count, model.PerUpdate, model.EventCount, model.Event}
	decided, hangs, late := 0, 0, 0
	for seed := range uint64(120) {
		g, e, _, _ := naive.RandomGraph(rand.New(rand.NewPCG(seed, 4)), naive.Config{Plain: true})
		streams := 0
		for _, s := range g.Streams {
			streams += b2i(s.CPU)
		}
		for _, d := range proved {
			p := model.LowerGraph(g, d, e)
			ranks := [][]*model.Schedule{{p}}
			if streams == 1 {
				ranks = append(ranks, []*model.Schedule{p, p})
			}
			for _, ps := range ranks {
				r, done := naive.Explore(ps, model.Machine{}, limit)
				if r.StuckStates > 0 {
					t.Errorf("seed %d, %s, %d ranks: hangs on the ideal machine: %v", seed, d, len(ps), r.Stuck)
				}
				decided += b2i(done)
			}
		}
		if r, _ := naive.Explore([]*model.Schedule{model.LowerGraph(g, model.Whole, e)}, model.Machine{}, limit); r.StuckStates > 0 {
			hangs++
		}
		lag := model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: 2}}
		if r, _ := naive.Explore([]*model.Schedule{model.LowerGraph(g, model.Count, e)}, lag, limit); r.StuckStates > 0 {
			late++
		}
	}
	t.Logf("%d decided; %d graphs hang with tape, %d with count on lag-2", decided, hangs, late)
	if decided < 250 || hangs == 0 || late == 0 {
		t.Errorf("%d decided, %d and %d hangs: too few", decided, hangs, late)
	}
}
