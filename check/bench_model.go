package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// BenchMemories are the machines of [IndependentReductions]: every update is seen at once,
// or by itself and in any order, when it overwrites (plain) or takes the maximum (max).
var BenchMemories = []string{"strong", "plain", "max"}

// BenchDisciplines are the targets of the waits of [IndependentReductions]: the reduction
// itself, the last of its group, the last of all.
var BenchDisciplines = []string{"per", "early", "late"}

// IndependentReductions is the model on which checkers are compared: each rank's GPU makes
// n arrays in groups, updating fence G after each, and after each group waits on fence C
// for the reductions of the group; the CPU waits for each update, reduces with the other
// ranks and updates C. A reduction is 4 transitions on either side.
func IndependentReductions(ranks, n, group int, discipline, memory string) (*model.Scenario, error) {
	if ranks < 1 || n < 1 || group < 1 {
		return nil, fmt.Errorf("independent reductions: %d ranks, %d reductions in groups of %d: want at least 1 of each", ranks, n, group)
	}
	m, ok := map[string]string{"strong": "ideal", "plain": "unordered", "max": "unordered-max"}[memory]
	if !ok {
		return nil, fmt.Errorf("independent reductions: unknown memory %q: want one of %v", memory, BenchMemories)
	}
	preset, _ := model.PresetNamed(m)
	var gpu, cpu []string
	for from := 0; from < n; from += group {
		to := min(n, from+group)
		target := func(i int) (int, error) {
			switch discipline {
			case "per":
				return i + 1, nil
			case "early":
				return to, nil
			case "late":
				return n, nil
			}
			return 0, fmt.Errorf("independent reductions: unknown discipline %q: want one of %v", discipline, BenchDisciplines)
		}
		for i := from; i < to; i++ {
			t, err := target(i)
			if err != nil {
				return nil, err
			}
			gpu = append(gpu, fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G %d", i+1))
			cpu = append(cpu, fmt.Sprintf("wait G %d", t), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C %d", i+1))
		}
		for i := from; i < to; i++ {
			t, _ := target(i)
			gpu = append(gpu, fmt.Sprintf("wait C %d", t), fmt.Sprintf("kernel y%d reads r%d", i, i))
		}
	}
	sc := &model.Scenario{Version: model.FormatVersion, Name: fmt.Sprintf("reductions-r%d-n%d-w%d-%s-%s", ranks, n, group, discipline, memory),
		Ranks: ranks, Machine: preset.Machine, Schedule: &model.ScheduleFile{
			Queues:  []model.QueueFile{{Name: "gpu", Buffers: []model.BufferFile{{Commands: gpu}}}},
			Streams: []model.TaskFile{{Name: "cpu", Tasks: cpu}},
		}}
	return sc, sc.Validate()
}

// FenceRing is a ring of ranks: in each step a rank's GPU updates its fence P, its CPU waits
// for that and updates fence R of the next rank, and the GPU waits for its own R.
func FenceRing(ranks, steps int) (*model.Scenario, error) {
	if ranks < 1 || steps < 1 {
		return nil, fmt.Errorf("fence ring: %d ranks and %d steps: want at least 1 of each", ranks, steps)
	}
	var gpu, cpu []string
	for s := 1; s <= steps; s++ {
		gpu = append(gpu, fmt.Sprintf("update P %d", s), fmt.Sprintf("wait R %d", s))
		cpu = append(cpu, fmt.Sprintf("wait P %d", s), fmt.Sprintf("update R@next %d", s))
	}
	sc := &model.Scenario{Version: model.FormatVersion, Name: fmt.Sprintf("ring-%dx%d", ranks, steps), Ranks: ranks,
		Schedule: &model.ScheduleFile{
			Queues:  []model.QueueFile{{Name: "gpu", Buffers: []model.BufferFile{{Commands: gpu}}}},
			Streams: []model.TaskFile{{Name: "cpu", Tasks: cpu}},
		}}
	return sc, sc.Validate()
}
