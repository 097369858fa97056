package spin_test

import (
	"bytes"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/spin"
	"github.com/fencesim/fencesim/report"
)

// compileReductions exports and compiles a scenario with commit, start and finish merged.
func compileReductions(t *testing.T, ranks, n, group int, discipline, memory string, flags ...string) *spin.Checker {
	t.Helper()
	sc, err := check.IndependentReductions(ranks, n, group, discipline, memory)
	if err != nil {
		t.Fatal(err)
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.Promela(&b, programs, sc.Machine, report.PromelaOptions{Stale: true, Merge: true}); err != nil {
		t.Fatal(err)
	}
	c, err := spin.Compile(t.Context(), t.TempDir(), b.Bytes(), append([]string{"-DSAFETY"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSameStates: Spin stores as many states of the exported model as the search with merge
// alone, and finds as many stuck ones.
func TestSameStates(t *testing.T) {
	need(t)
	for _, c := range []struct {
		ranks, n, group    int
		discipline, memory string
		states, stuck      int64
	}{
		{1, 12, 12, "per", "strong", 1153, 0}, {2, 4, 4, "per", "strong", 4969, 0}, {4, 4, 1, "per", "strong", 20_929, 0},
		{4, 4, 2, "early", "strong", 34_609, 0}, {1, 8, 8, "per", "max", 66_892, 0}, {2, 2, 2, "per", "max", 1912, 0},
		{4, 4, 1, "per", "plain", 31_917, 0}, {2, 4, 4, "per", "plain", 1_635_117, 62},
	} {
		if testing.Short() && c.states > 100_000 {
			continue
		}
		r, err := compileReductions(t, c.ranks, c.n, c.group, c.discipline, c.memory, "-O1").Run(t.Context(), "-c0", "-m10000")
		if err != nil {
			t.Fatal(err)
		}
		if r.States != c.states || r.Errors != c.stuck {
			t.Errorf("r%d n%d w%d %s %s: %d states, %d errors, want %d and %d", c.ranks, c.n, c.group, c.discipline, c.memory, r.States, r.Errors, c.states, c.stuck)
		}
	}
}
