package check

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// TestLateCertificate: where the certificate for targets that grow applies to a random graph,
// on machines that kill waits too, the naive search finds no hang.
func TestLateCertificate(t *testing.T) {
	applied := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", seeds(4000, 1000)); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 12))
		g, ev, _, _ := naive.RandomGraph(rng, naive.Config{})
		ev.MaxOps, ev.MaxActive = 1, 1
		m := model.Machine{Watchdog: []string{model.WatchdogOff, model.WatchdogMay, model.WatchdogMust}[i%3]}.Normal()
		p := model.LowerGraph(g, model.Late, ev)
		if certifyOrder(p, m) == "" || certifyLate(p, m) != "" {
			continue
		}
		want, ok := naive.Explore([]*model.Schedule{p}, m, 20000)
		if !ok {
			continue
		}
		applied[m.Watchdog]++
		if want.Violated["hang"] {
			t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: a hang\n%s", i, t.Name(), naive.Text([]*model.Schedule{p}, m))
		}
	}
	t.Log(fmt.Sprint("applied: ", applied))
}
