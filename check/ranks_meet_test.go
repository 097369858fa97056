package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// meetingGraphs draws two ranks of graphs that meet: the second is the first with sends
// where that receives, or now and then something else.
func meetingGraphs(rng *rand.Rand) ([]*model.Schedule, model.Machine) {
	g, ev, d, m := naive.RandomGraph(rng, naive.Config{Plain: rng.IntN(2) == 0})
	if rng.IntN(2) == 0 {
		m = model.Machine{GPUToCPU: m.GPUToCPU}
	}
	if rng.IntN(3) == 0 {
		m.Transport.Buffered = 1 + rng.IntN(2)
	}
	mirror := *g
	mirror.Arrays = append([]model.Array(nil), g.Arrays...)
	for i := range mirror.Arrays {
		mirror.Arrays[i].In = append([]int32(nil), g.Arrays[i].In...)
	}
	mirror.Outputs = append([]int32(nil), g.Outputs...)
	for i := range g.Arrays {
		a, b := &g.Arrays[i], &mirror.Arrays[i]
		if a.Kind != model.OpCollective || rng.IntN(4) == 0 {
			continue
		}
		a.Kind, a.Word, a.Peer = model.OpSend, "send", model.NextRank
		b.Kind, b.Word, b.Peer = model.OpRecv, "recv", model.PrevRank
		if rng.IntN(2) == 0 {
			*a, *b = *b, *a
		}
		if rng.IntN(12) == 0 {
			*b = *a
		}
	}
	return []*model.Schedule{model.LowerGraph(g, d, ev), model.LowerGraph(&mirror, d, ev)}, m
}

// TestMeetingsMatchNaive: ranks of graphs that meet are decided as the naive search of all
// ranks together decides them.
func TestMeetingsMatchNaive(t *testing.T) {
	how := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", 300); i++ {
		programs, m := meetingGraphs(rand.New(rand.NewPCG(uint64(i), 9)))
		want, ok := naive.Explore(programs, m, 3000)
		if !ok {
			how["too large"]++
			continue
		}
		res := decideAll(t, programs, m, Config{})
		name := fmt.Sprintf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s", i, t.Name())
		agrees(t, name, want, res, false, func() string { return naive.Text(programs, m) })
		how[fmt.Sprintf("%v %v", res.Verdict, res.Proof)]++
		if why := meetAlone(programs, m); why == "" {
			how["decided alone or certified"]++
		}
	}
	t.Log(how)
}
