package check

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

func env(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	if testing.Short() {
		return def / 10
	}
	return def
}

// seeds is how many random cases a long run takes (FENCESIM_LONG is set), and how many any
// other.
func seeds(long, usual int) int {
	if os.Getenv("FENCESIM_LONG") != "" {
		return long
	}
	return usual
}

// A drawing is one way to draw programs and a machine.
type drawing int

const (
	drawPair  drawing = iota // two ranks of graphs that send each other arrays
	drawData                 // a schedule about who reads and writes what
	drawGraph                // a graph
	drawPlain                // a schedule without rare commands
	drawRare                 // a schedule with some
)

func drawn(rng *rand.Rand, d drawing) ([]*model.Schedule, model.Machine) {
	switch d {
	case drawPair:
		return naive.RandomGraphPair(rng)
	case drawData:
		return naive.RandomData(rng)
	case drawGraph:
		g, e, discipline, m := naive.RandomGraph(rng, naive.Config{})
		return []*model.Schedule{model.LowerGraph(g, discipline, e)}, m
	}
	return naive.Random(rng, naive.Config{Plain: d == drawPlain})
}

// decideAll runs programs through [Explore]'s machinery without a scenario file.
func decideAll(t *testing.T, programs []*model.Schedule, m model.Machine, cfg Config) *Result {
	t.Helper()
	e := &exploration{ctx: context.Background(), sc: &model.Scenario{Name: "random", Ranks: len(programs), Machine: m, Schedule: &model.ScheduleFile{}},
		cfg: &cfg, source: []byte("{}"), machine: m.Normal(), programs: programs}
	e.split()
	if err := e.decide(); err != nil {
		t.Fatal(err)
	}
	return e.result()
}

// agrees holds a result against the naive search: properties, and if all were asked for
// of one rank the stuck counters.
func agrees(t *testing.T, name string, want naive.Result, res *Result, all bool, text func() string) {
	t.Helper()
	var bad []string
	for _, p := range Properties {
		switch res.Properties[p] {
		case Violated:
			if !want.Violated[p] {
				bad = append(bad, p+" is violated here only")
			}
		case Holds:
			if want.Violated[p] {
				bad = append(bad, p+" holds here only")
			}
		case Unknown:
			if all && res.Verdict != Hang {
				bad = append(bad, p+" is unknown")
			}
		}
	}
	if res.Properties["hang"] == Unknown {
		bad = append(bad, "hang is unknown")
	}
	if all && res.Ranks == 1 {
		got := map[string]bool{}
		for _, s := range res.Stuck {
			got[fmt.Sprintf("%d,%d,%d", s.Counters.Scheduled, s.Counters.GPU, s.Counters.CPU)] = true
		}
		if len(got) != len(want.Stuck) {
			bad = append(bad, fmt.Sprintf("stuck %v here, %v there", got, want.Stuck))
		}
		for k := range got {
			if !want.Stuck[k] {
				bad = append(bad, "stuck "+k+" here only")
			}
		}
	}
	if len(bad) > 0 {
		t.Fatalf("%s: %s\n%s %s: %s\n%s", name, strings.Join(bad, "; "), res.Verdict, res.Proof, res.Reason, text())
	}
}

// TestExploreMatchesNaive: whatever method decides a random explicit schedule, verdicts
// are those of the naive search, with all reductions, with some and with none.
func TestExploreMatchesNaive(t *testing.T) {
	proofs := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", 80); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		programs, m := naive.Random(rng, naive.Config{Plain: i%2 == 1})
		if i%3 == 0 {
			programs, m = naive.RandomData(rng)
		}
		want, ok := naive.Explore(programs, m, 20000)
		if !ok {
			proofs["too large"]++
			continue
		}
		for _, cfg := range []Config{{}, {All: true}, {All: true, Strategy: "dfs"}, {All: true, Strategy: "dfs", Reductions: []string{"merge"}},
			{All: true, Strategy: "dfs", Reductions: []string{"persistent", "symmetry"}}, {All: true, Strategy: "dfs", Reductions: []string{}, Exact: true}} {
			res := decideAll(t, programs, m, cfg)
			name := fmt.Sprintf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: %+v", i, t.Name(), cfg)
			agrees(t, name, want, res, cfg.All, func() string { return naive.Text(programs, m) })
			if cfg.Strategy == "" && !cfg.All {
				proofs[fmt.Sprintf("%v %v", res.Verdict, res.Proof)]++
			}
		}
	}
	t.Log(proofs)
}

// TestExploreGraphsMatchesNaive is the same for graphs.
func TestExploreGraphsMatchesNaive(t *testing.T) {
	proofs := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", 80); i++ {
		g, ev, d, m := naive.RandomGraph(rand.New(rand.NewPCG(uint64(i), 2)), naive.Config{})
		programs := []*model.Schedule{model.LowerGraph(g, d, ev)}
		want, ok := naive.Explore(programs, m, 20000)
		if !ok {
			proofs["too large"]++
			continue
		}
		for _, cfg := range []Config{{}, {All: true}, {All: true, Strategy: "dfs"}} {
			res := decideAll(t, programs, m, cfg)
			name := fmt.Sprintf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: %+v", i, t.Name(), cfg)
			agrees(t, name, want, res, cfg.All, func() string { return naive.Text(programs, m) })
			if cfg.Strategy == "" && !cfg.All {
				proofs[fmt.Sprintf("%v %v", res.Verdict, res.Proof)]++
			}
		}
	}
	t.Log(proofs)
}

// TestExploreGraphRanksMatchNaive is the same for two ranks whose graphs send each other
// arrays, where what one rank receives may end an active task of it. Whether they can finish,
// and how they can be stuck, is what the search without reductions finds.
func TestExploreGraphRanksMatchNaive(t *testing.T) {
	proofs := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", seeds(600, 80)); i++ {
		programs, m := naive.RandomGraphPair(rand.New(rand.NewPCG(uint64(i), 3)))
		want, ok := naive.Explore(programs, m, 10000)
		if !ok {
			proofs["too large"]++
			continue
		}
		name := fmt.Sprintf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s", i, t.Name())
		res := decideAll(t, programs, m, Config{})
		agrees(t, name, want, res, false, func() string { return naive.Text(programs, m) })
		proofs[fmt.Sprintf("%v %v", res.Verdict, res.Proof)]++
		f := analyse(sim.Compile(programs, m, sim.Options{}))
		plain := searchSystem(context.Background(), f, &Config{Reductions: []string{}, Workers: 1}, true)
		reduced := searchSystem(context.Background(), f, &Config{Reductions: []string{"merge", "persistent"}, Workers: 1}, true)
		if plain.canFinish != want.CanFinish || reduced.canFinish != want.CanFinish || !sameKeys(plain.stuck, reduced.stuck) {
			t.Errorf("%s: can finish %v, without reductions %v, naive %v; stuck %v, without reductions %v\n%s", name, reduced.canFinish, plain.canFinish, want.CanFinish,
				slices.Collect(maps.Keys(reduced.stuck)), slices.Collect(maps.Keys(plain.stuck)), naive.Text(programs, m))
		}
	}
	t.Log(proofs)
}
