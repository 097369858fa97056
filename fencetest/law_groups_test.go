package fencetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// groups are the sizes of the groups into which the width limit cuts independent chains:
// the root takes width of its inputs and sends the rest to the stack; the tape is encoded
// from the back, so the remainder comes first.
func groups(reductions, width int) []int {
	var g []int
	if r := reductions % width; r > 0 {
		g = append(g, r)
	}
	for range reductions / width {
		g = append(g, width)
	}
	return g
}

func chains(reductions, rounds int, elems int64, e model.Evaluator) *model.Scenario {
	return &model.Scenario{Version: model.FormatVersion, Name: "independent-reductions", Evaluator: e,
		Generate: &model.Generate{Kind: "independent-reductions", Reductions: reductions, Rounds: rounds, Elems: elems}}
}

// With the reported chain, 8 matmuls of 4096 x 4096, per-update waits hang at lag n if and
// only if some group is smaller than 2n + 3, and count-based waits hang at every lag.
func TestReportedChain(t *testing.T) {
	most, lags := 64, 7
	if testing.Short() {
		most, lags = 24, 4
	}
	for r := 1; r <= most; r++ {
		for n := range lags {
			if n%2 != r%2 && r > 24 {
				continue // the other half of the long ones
			}
			smallest := r
			for _, g := range groups(r, 20) {
				smallest = min(smallest, g)
			}
			sc := chains(r, 8, 1<<24, model.Evaluator{})
			got, err := hangs(under(sc, model.PerUpdate, lag(n)))
			if want := smallest < 2*n+3; err != nil || got != want {
				t.Errorf("%d reductions, smallest group %d, per-update at lag %d: hang %v (%v), want %v", r, smallest, n, got, err, want)
			}
			if got, err := hangs(under(sc, model.Count, lag(n))); err != nil || !got {
				t.Errorf("%d reductions, count at lag %d: hang %v (%v)", r, n, got, err)
			}
		}
	}
}

// sharing is how many consumers (a wait and a divide) share the buffer of a group's last
// update, and how many share each later buffer: the update's array and two arrays for each
// divide, against a limit of `limit` Mi elements.
func sharing(elems int64, limit int) (first, later int) {
	mi := func(arrays int) int64 { return int64(arrays) * elems >> 20 }
	for first = 1; mi(1+2*first) <= int64(limit); first++ {
	}
	for later = 1; mi(2*later) <= int64(limit); later++ {
	}
	return first, later
}

// For random graphs of independent reductions whose arrays force a commit at each matmul,
// count-based waits hang at every lag (unless the first group's reductions alone are more
// active tasks than the throttle allows, so that it cuts behind the last update), and
// per-update waits hang at lag n if and only if
// some group of k is so small that at most n buffers end between its last update and the
// wait that depends on it: 0 for k <= f, else 1 + (k - 1 - f) / l, where f consumers share
// the buffer of the last update and l each later one. The reported chain has f = l = 2,
// which gives k < 2n + 3.
func TestIndependentReductions(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) *model.Scenario {
		e := model.Evaluator{BFSWidth: between(t, "bfs_width", 1, 24), MaxOps: 50, MaxMB: between(t, "max_mb", 4, 60),
			MaxActive: pick(t, "max_active", 10, 10, 4, 1000), DispatchesPerTask: pick(t, "dispatches_per_task", 10, 10, 3)}
		// A coherent array and a matmul's three are more than the limit.
		size := int64(e.MaxMB)*mebi/4 + mebi + int64(between(t, "more", 0, 8*e.MaxMB))*mebi/16
		s := chains(between(t, "reductions", 1, 40), between(t, "rounds", 1, 10), size, e)
		s.Machine.GPUToCPU = lag(between(t, "lag", 0, 5))
		return s
	})
	counts := map[bool]int{}
	law(t, 400, gen, func(sc *model.Scenario) error {
		n, g, e := sc.Machine.GPUToCPU.Buffers, sc.Generate, sc.Evaluator
		f, l := sharing(g.Elems, e.MaxMB)
		want := false
		for _, k := range groups(g.Reductions, e.BFSWidth) {
			ends := 0
			if k > f {
				ends = 1 + (k-1-f)/l
			}
			want = want || ends <= n
		}
		got, err := hangs(under(sc, model.PerUpdate, lag(n)))
		if err != nil {
			return err
		}
		counts[got]++
		if got != want {
			return fmt.Errorf("groups %v, sharing %d and %d: per-update at lag %d: hang %v, want %v", groups(g.Reductions, e.BFSWidth), f, l, n, got, want)
		}
		if 2*groups(g.Reductions, e.BFSWidth)[0]/e.DispatchesPerTask > e.MaxActive {
			return nil
		}
		if got, err := hangs(under(sc, model.Count, lag(n))); err != nil || !got {
			return fmt.Errorf("count at lag %d: hang %v (%v)", n, got, err)
		}
		return nil
	})
	t.Logf("per-update hangs: %v", counts)
}

// Waits for the whole tape hang even on the ideal machine as soon as there are two groups:
// a reduction of the first then waits for an update of the second, which stands behind a
// wait for that reduction. So do waits whose target grows, unless the throttle keeps the
// main thread from the second group until the first is through, as it does with the limits
// of the reported workload. With one group, and with targets that are fixed when the wait
// is encoded, nothing hangs there.
func TestTargetsThatComeTooLate(t *testing.T) {
	for _, r := range []int{1, 2, 7, 19, 20, 21, 23, 32, 40, 47} {
		for _, active := range []int{10, 100_000} {
			sc := chains(r, 2, 1<<24, model.Evaluator{MaxActive: active})
			for _, d := range []model.Discipline{model.Whole, model.Late, model.Count, model.PerUpdate} {
				want := len(groups(r, 20)) > 1 && (d == model.Whole || d == model.Late && active > 10)
				if got, err := hangs(under(sc, d, model.Visibility{})); err != nil || got != want {
					t.Errorf("%d reductions, at most %d active, %s on the ideal machine: hang %v (%v), want %v", r, active, d, got, err, want)
				}
			}
		}
	}
}

// The throttle cuts as soon as the tasks of one group's reductions, which cannot run before
// the last update is seen, are more than max_active, and not before: count-based waits hang
// at lag 0 up to there, for the last update shares the buffer of the first wait, and not
// beyond.
func TestThrottleCutsBehindTheLastUpdate(t *testing.T) {
	for active := 2; active <= 6; active++ {
		for g := 2; g <= 9; g++ {
			sc := chains(g, 1, 1<<24, model.Evaluator{MaxActive: active, DispatchesPerTask: 2})
			want := g <= active
			if got, err := hangs(under(sc, model.Count, lag(0))); err != nil || got != want {
				t.Errorf("a group of %d, at most %d active, count at lag 0: hang %v (%v), want %v", g, active, got, err, want)
			}
		}
	}
}
