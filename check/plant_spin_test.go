package check_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/internal/spin"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// TestPlantedAgainstSpin: the comparison with Spin, too, sees every plant.
func TestPlantedAgainstSpin(t *testing.T) {
	if _, err := spin.Found(); err != nil {
		if spin.Required(os.Getenv("FENCESIM_REQUIRE")) {
			t.Fatalf("FENCESIM_REQUIRE wants spin: %v", err)
		}
		t.Skipf("not compared with Spin: %v", err)
	}
	for i, p := range check.Plants {
		seen := false
		for seed := uint64(0); seed < 3000 && !seen; seed++ {
			programs, m := naive.Random(rand.New(rand.NewPCG(seed, 5)), naive.Config{Plain: seed%3 == 0})
			if seed%3 == 0 {
				m = model.Machine{Slots: 1, Buffers: m.Buffers, Tracking: m.Tracking}
			}
			if _, done := naive.Explore(programs, m, 1500); !done {
				continue
			}
			hang, stale := check.Planted(programs, m, i)
			if h, s := check.Planted(programs, m, -1); h == hang && s == stale {
				continue // the plant does not show here
			}
			var b bytes.Buffer
			if err := report.Promela(&b, programs, m, report.PromelaOptions{Stale: true}); err != nil {
				continue
			}
			h, s, err := spin.Decide(t.Context(), t.TempDir(), b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			seen = h != hang || s != stale
			t.Logf("%s: seed %d: spin hang %v stale-read %v, planted %v %v", p.Name, seed, h, s, hang, stale)
		}
		if !seen {
			t.Errorf("%s: not seen", p.Name)
		}
	}
}
