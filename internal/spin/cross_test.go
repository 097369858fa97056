package spin_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/internal/spin"
	"github.com/fencesim/fencesim/report"
)

func TestProbe(t *testing.T) {
	for seed := range uint64(6) {
		ps, m := naive.Random(rand.New(rand.NewPCG(seed, 1)), naive.Config{})
		var b bytes.Buffer
		if err := report.Promela(&b, ps, m, report.PromelaOptions{Stale: true}); err != nil {
			t.Log(seed, err)
			continue
		}
		os.WriteFile(fmt.Sprintf("/tmp/m%d.pml", seed), b.Bytes(), 0o644)
		start := time.Now()
		c, err := spin.Compile(context.Background(), t.TempDir(), b.Bytes(), "-O0", "-DSAFETY", "-DNOREDUCE")
		if err != nil {
			t.Fatalf("%d %v\n%s", seed, err, b.String())
		}
		r, err := c.Run(context.Background(), "-A", "-c0", "-m100000")
		if err != nil {
			t.Fatal(err)
		}
		s, err := c.Run(context.Background(), "-E", "-m100000")
		if err != nil {
			t.Fatal(err)
		}
		n, done := naive.Explore(ps, m, 100000)
		t.Log(seed, time.Since(start), c.Compile, r, s.Errors, n.States, n.StuckStates, n.Violated, done)
	}
}
