package check

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fencesim/fencesim/model"
)

var updateEngine = flag.Bool("update-engine", false, "write the files of testdata/engine anew")

// engineFiles are the scenarios on which the engine is measured.
func engineFiles(t testing.TB) []*model.Scenario {
	t.Helper()
	var out []*model.Scenario
	add := func(sc *model.Scenario, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sc)
	}
	for _, c := range []struct {
		ranks, n, group    int
		discipline, memory string
	}{
		{4, 4, 4, "per", "strong"}, {2, 4, 4, "per", "plain"}, {2, 4, 4, "per", "max"}, {1, 12, 12, "per", "max"},
		{4, 12, 12, "per", "strong"}, {4, 12, 12, "per", "max"}, {4, 12, 12, "per", "plain"}, {4, 12, 2, "early", "plain"},
		{4, 4, 2, "late", "strong"},
	} {
		add(IndependentReductions(c.ranks, c.n, c.group, c.discipline, c.memory))
	}
	add(FenceRing(6, 4))
	add(FenceRing(1024, 256))
	return out
}

// TestEngineFiles holds the files against their generators.
func TestEngineFiles(t *testing.T) {
	for _, sc := range engineFiles(t) {
		want, err := sc.Format()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("..", "testdata", "engine", sc.Name+".yaml")
		if *updateEngine {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what its generator makes: go test ./check -run EngineFiles -update-engine", name)
		}
	}
}

// TestReductionsRule holds the verdicts against the rule that 378 points obey: stores that
// reorder hang unless updates are one at a time, and late waits hang unless all is one group.
func TestReductionsRule(t *testing.T) {
	for _, ranks := range []int{1, 2, 4} {
		for _, n := range []int{2, 4, 6} {
			for _, group := range []int{1, 2, n} {
				for _, d := range BenchDisciplines {
					for _, m := range BenchMemories {
						want := m == "plain" && group >= 2 || d == "late" && group < n
						sc, err := IndependentReductions(ranks, n, group, d, m)
						if err != nil {
							t.Fatal(err)
						}
						r, err := Explore(context.Background(), sc, Config{NoShrink: true})
						if err != nil {
							t.Fatal(err)
						}
						if got := r.Verdict == Hang; got != want || !got && r.Verdict != OK {
							t.Errorf("%s: %v, want hang %v", sc.Name, r.Verdict, want)
						}
					}
				}
			}
		}
	}
}

// TestReductionsCounts holds the states of the search with merge alone against those that
// other checkers store.
func TestReductionsCounts(t *testing.T) {
	for _, c := range []struct {
		ranks, n, group    int
		discipline, memory string
		states, stuck      int64
	}{
		{1, 2, 2, "per", "strong", 33, 0}, {1, 12, 12, "per", "strong", 1153, 0}, {2, 4, 4, "per", "strong", 4969, 0},
		{2, 8, 8, "per", "strong", 44_121, 0}, {4, 2, 2, "per", "strong", 112_641, 0}, {4, 4, 1, "per", "strong", 20_929, 0},
		{4, 4, 2, "early", "strong", 34_609, 0}, {1, 4, 4, "per", "max", 1020, 0}, {1, 8, 8, "per", "max", 66_892, 0},
		{2, 2, 2, "per", "max", 1912, 0}, {2, 4, 4, "per", "max", 331_656, 0}, {4, 4, 1, "per", "plain", 31_917, 0},
		{2, 4, 4, "per", "plain", 1_635_117, 62},
	} {
		name := fmt.Sprintf("r%d-n%d-w%d-%s-%s", c.ranks, c.n, c.group, c.discipline, c.memory)
		if testing.Short() && c.states > 100_000 {
			continue
		}
		sc, err := IndependentReductions(c.ranks, c.n, c.group, c.discipline, c.memory)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Explore(context.Background(), sc, Config{Strategy: "dfs", All: true, NoShrink: true, Reductions: []string{"merge"}})
		if err != nil {
			t.Fatal(err)
		}
		if r.States != c.states || r.StuckStates != c.stuck {
			t.Errorf("%s: %d states, %d stuck, want %d and %d", name, r.States, r.StuckStates, c.states, c.stuck)
		}
	}
}
