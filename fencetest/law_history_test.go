package fencetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// The history of any run is linearizable, fences and collectives, unless the run lowered a
// view of a fence; with stores that take the maximum no run does.
func TestHistoriesAreLinearizable(t *testing.T) {
	seen := map[string]int{}
	laws(t, 150, "", func(sc *model.Scenario) error {
		y, err := compile(sc)
		if err != nil {
			return err
		}
		for seed := range uint64(3) {
			run := sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(seed)}, 5000)
			h, err := check.NewHistory(y, run.Choices)
			if err != nil {
				return err
			}
			v, bad := h.Check(10 * time.Second)
			seen[v.String()]++
			switch {
			case v == check.LinearUnknown:
				return fmt.Errorf("run %d: unknown after %d operations", seed, len(h.Ops))
			case v == check.NotLinear && run.Violated&sim.Backwards == 0:
				return fmt.Errorf("run %d: %v is not linearizable, and nothing went backwards", seed, bad)
			}
		}
		return nil
	})
	t.Log(seen)
}
