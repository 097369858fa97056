package check

import (
	"context"
	"reflect"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// TestLevelsDoNotDependOnWorkers: any number of workers finds the same states, stuck states
// and runs to them, to the last transition, in both spaces.
func TestLevelsDoNotDependOnWorkers(t *testing.T) {
	f := analyse(abstract(2, 3, 3, model.Machine{GPUToCPU: model.Visibility{Mode: model.VisUnordered}}))
	for _, whole := range []bool{false, true} {
		search := func(workers int) *found {
			cfg := &Config{Reductions: []string{"merge"}, Workers: workers, whole: whole}
			return searchSystem(context.Background(), f, cfg, true)
		}
		want := search(1)
		if want.states < 20_000 || len(want.stuck) == 0 {
			t.Fatalf("%d states, stuck %d: too few to need several workers", want.states, len(want.stuck))
		}
		for _, workers := range []int{2, 3, 7} {
			if got := search(workers); !reflect.DeepEqual(got, want) {
				t.Errorf("whole %v, %d workers: %d states, %d stuck, %d transitions; one worker %d, %d, %d, or other runs",
					whole, workers, got.states, got.stuckStates, got.transitions, want.states, want.stuckStates, want.transitions)
			}
		}
	}
}
