package check

import (
	"context"
	"fmt"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// BenchmarkLevels measures states per second of a full search of 6.2 million states, 4 ranks
// x 4 reductions in groups of 4, with merge alone.
func BenchmarkLevels(b *testing.B) {
	f := analyse(abstract(4, 4, 4, model.Machine{}))
	for _, space := range []string{"product", "states"} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("space=%s/workers=%d", space, workers), func(b *testing.B) {
				states, used := int64(0), processTime()
				for range b.N {
					out := searchSystem(context.Background(), f, &Config{Reductions: []string{"merge"}, Workers: workers, whole: space == "states"}, true)
					if out.states != 6172561 {
						b.Fatalf("%d states", out.states)
					}
					states += out.states
				}
				b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
				b.ReportMetric(float64((processTime()-used).Nanoseconds())/float64(states), "cpu-ns/state")
			})
		}
	}
}
