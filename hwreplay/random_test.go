package hwreplay

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

var (
	randomCases = flag.Int("hwreplay.cases", 150, "random programs that TestRandomPrograms runs on threads")
	randomSeed  = flag.Uint64("hwreplay.seed", 1, "seed of the first of them")
)

// What threads do with a random program on a random machine, imposed, is always a run of
// the model: in its transitions, in its end, and in what it guarantees, for a hang is only
// allowed where the model has nothing guaranteed left.
func TestRandomPrograms(t *testing.T) { randomPrograms(t, Host{}, *randomCases) }

func randomPrograms(t *testing.T, d Device, cases int) {
	hung, finished, refused := 0, 0, 0
	for i := range cases {
		seed := *randomSeed + uint64(i)
		rng := rand.New(rand.NewPCG(seed, 0))
		var programs []*model.Schedule
		var m model.Machine
		if seed%4 == 0 {
			g, e, d, machine := naive.RandomGraph(rng, naive.Config{})
			programs, m = []*model.Schedule{model.LowerGraph(g, d, e)}, machine
		} else {
			programs, m = naive.Random(rng, naive.Config{})
		}
		p := NewPlan(programs, m)
		r, err := NewRunner(t.Context(), p, d)
		if errors.Is(err, ErrCannotImpose) {
			refused++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := r.Run(Config{Patience: 200 * time.Millisecond, Kill: 20 * time.Millisecond, GiveUp: 5 * time.Millisecond, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if c := Compare(p.System, out); c.Model != Allowed || !out.Released || !out.Usable {
			t.Errorf("-hwreplay.seed %d -hwreplay.cases 1: hung %v, released %v, usable %v: %s: %s", seed, out.Hung, out.Released, out.Usable, c.Model, c.Reason)
			if testing.Verbose() {
				t.Logf("%s\n%v", naive.Text(programs, m), p.words(out.chains))
			}
		}
		if out.Hung {
			hung++
		} else {
			finished++
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d finished, %d hung, %d refused", finished, hung, refused)
}
