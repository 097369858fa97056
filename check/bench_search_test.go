package check

import (
	"context"
	"fmt"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// abstract is the independent-reductions model of other checkers: ranks, reductions and
// the size of a group.
func abstract(ranks, n, group int, m model.Machine) *sim.System {
	var gpu, cpu []string
	for g := 0; g < n; g += group {
		for i := g; i < min(n, g+group); i++ {
			gpu = append(gpu, fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G %d", i+1))
			cpu = append(cpu, fmt.Sprintf("wait G %d", i+1), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C %d", i+1))
		}
		for i := g; i < min(n, g+group); i++ {
			gpu = append(gpu, fmt.Sprintf("wait C %d", i+1), fmt.Sprintf("kernel y%d reads r%d", i, i))
		}
	}
	sc := &model.Scenario{Version: 1, Ranks: ranks, Machine: m, Schedule: &model.ScheduleFile{
		Queues:  []model.QueueFile{{Name: "gpu", Buffers: []model.BufferFile{{Commands: gpu}}}},
		Streams: []model.TaskFile{{Name: "cpu", Tasks: cpu}}}}
	ps, err := sc.Programs(0)
	if err != nil {
		panic(err)
	}
	return sim.Compile(ps, m, sim.Options{})
}

// BenchmarkSearch measures states per second of the full search with merge alone.
func BenchmarkSearch(b *testing.B) {
	f := analyse(abstract(2, 12, 12, model.Machine{}))
	b.ResetTimer()
	states := int64(0)
	for range b.N {
		out := searchSystem(context.Background(), f, &Config{Reductions: []string{"merge"}}, true)
		states += out.states
	}
	b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
}
