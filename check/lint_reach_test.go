package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// TestLintReach: what lint says can never be reached is reached in no order of updates and
// adds, whichever of them the file has first, and what it proves to be reached always is.
func TestLintReach(t *testing.T) {
	said := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 14))
		store := func() string {
			return fmt.Sprintf("%s C %d", []string{"update", "add"}[rng.IntN(2)], 1+rng.IntN(2))
		}
		buffers := func(last ...string) []model.BufferFile {
			commands := last
			for range 1 + rng.IntN(2) {
				commands = append([]string{store()}, commands...)
			}
			return []model.BufferFile{{Commands: commands}}
		}
		q0, q1 := buffers(fmt.Sprintf("wait C %d", 1+rng.IntN(7))), buffers()
		if rng.IntN(2) == 0 { // the second queue goes first
			q0[0].Commands = append([]string{"wait A 1"}, q0[0].Commands...)
			q1[0].Commands = append(q1[0].Commands, "update A 1")
		}
		queues := []model.QueueFile{{Name: "q0", Buffers: q0}, {Name: "q1", Buffers: q1}}
		if rng.IntN(3) == 0 { // or nobody else stores
			queues[1].Buffers = []model.BufferFile{{Commands: []string{"update A 1"}}}
		}
		sc := &model.Scenario{Version: model.FormatVersion, Schedule: &model.ScheduleFile{Queues: queues}}
		l, err := NewLint(sc)
		if err != nil {
			t.Fatal(err)
		}
		programs, err := sc.Programs(0)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := naive.Explore(programs, sc.Machine, 10_000)
		if l.Verdict == Hang && !n.Violated["hang"] || l.Verdict == OK && n.Violated["hang"] {
			t.Errorf("seed %d: lint says %v, %+v\n%s", seed, l.Verdict, l.Findings, naive.Text(programs, sc.Machine))
		}
		said += b2i(l.Verdict == Hang)
	}
	if said < 20 {
		t.Errorf("lint found %d hangs: too few to mean anything", said)
	}
}
