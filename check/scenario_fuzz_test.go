package check

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// Bounds of the searches of a fuzz target.
const (
	fuzzCommands = 40
	fuzzStates   = 1500
)

// scenarioSeeds gives the corpus schedules and graphs to change, as files, and a drawn one.
func scenarioSeeds(f *testing.F) {
	for _, text := range []string{
		"fencesim: 1\nmachine: lag-0\nschedule: {queues: [{name: gpu, buffers: [[kernel x, update G 1, wait C 1, kernel y reads r]]}], streams: [{name: cpu, tasks: [wait G 1, collective r reads x, update C 1]}]}\n",
		"fencesim: 1\nmachine: lag-3\ngenerate: {kind: independent-reductions, reductions: 2, rounds: 1, elems: 1048576}\nevaluator: {bfs_width: 2, max_mb: 1}\n",
		"fencesim: 1\nranks: 2\nmachine: one-slot\nschedule: {queues: [{name: q, buffers: [[send x to next], [recv x from prev]]}]}\n",
	} {
		f.Add([]byte(text), []byte{})
	}
	f.Add([]byte{}, []byte{0, 128, 255, 7, 99, 200, 31})
}

// What lint proves of a scenario is what the naive search finds: a fault of level hang is a
// hang, an ok is none.
func FuzzLint(f *testing.F) {
	scenarioSeeds(f)
	f.Fuzz(func(t *testing.T, src, draw []byte) {
		sc, programs := naive.Either(src, draw, fuzzCommands)
		if sc == nil {
			return
		}
		l, err := NewLint(sc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(l); err != nil {
			t.Fatal(err)
		}
		if l.Verdict == Inconclusive {
			return
		}
		n, done := naive.Explore(programs, sc.Machine, fuzzStates)
		if (done || n.Violated["hang"]) && n.Violated["hang"] != (l.Verdict == Hang) {
			t.Fatalf("lint %v (%s), a search says hang: %v\n%+v", l.Verdict, l.Reason, n.Violated["hang"], l.Findings)
		}
	})
}

// Whatever method decides a scenario, its properties are those of the naive search.
func FuzzExplore(f *testing.F) {
	scenarioSeeds(f)
	f.Fuzz(func(t *testing.T, src, draw []byte) {
		sc, programs := naive.Either(src, draw, fuzzCommands)
		if sc == nil {
			return
		}
		want, done := naive.Explore(programs, sc.Machine, fuzzStates)
		if !done {
			return
		}
		for _, cfg := range []Config{{}, {All: true, Strategy: "dfs"}, {All: true, Strategy: "dfs", Reductions: []string{}, Exact: true}} {
			cfg.Workers, cfg.NoShrink, cfg.MaxStates = 1, true, 1_000_000
			res, err := Explore(context.Background(), sc, cfg)
			if err != nil {
				t.Fatal(err)
			}
			agrees(t, "explore", want, res, cfg.All, func() string { return naive.Text(programs, sc.Machine) })
			if trace := res.FirstTrace(); trace != nil {
				replays(t, trace.Scenario, res)
			}
		}
	})
}

// replays holds the first trace of a result to be a run of its scenario.
func replays(t *testing.T, src []byte, res *Result) {
	t.Helper()
	trace := res.FirstTrace()
	sc, err := model.Parse("trace", src)
	if err != nil {
		t.Fatalf("the scenario of a trace: %v", err)
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		t.Fatal(err)
	}
	if trace.Rank >= 0 {
		programs = programs[trace.Rank : trace.Rank+1]
	}
	if _, err := trace.Replay(sim.Compile(programs, sc.Machine, sim.Options{}), nil); err != nil {
		t.Fatalf("the trace of a result: %v", err)
	}
}
