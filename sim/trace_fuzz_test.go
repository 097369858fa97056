package sim_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A trace file is refused, differs from its scenario at a named step, or is a run: made
// again from its choices it is the same trace.
func FuzzTrace(f *testing.F) {
	for seed := range uint64(3) {
		programs, m := naive.Random(rand.New(rand.NewPCG(seed, 1)), naive.Config{Reductions: 2})
		sc, err := model.Parse("seed", []byte(naive.Text(programs, m)))
		if err != nil {
			f.Fatal(err)
		}
		src, err := json.Marshal(sc)
		if err != nil {
			f.Fatal(err)
		}
		y := sim.Compile(programs, m, sim.Options{})
		run := sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(seed)}, 100)
		b, err := json.Marshal(sim.NewTrace(y, src, "random", seed, -1, run.Choices))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<15 {
			return
		}
		trace := new(sim.Trace)
		if err := json.Unmarshal(src, trace); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
			return
		}
		sc, programs := naive.Small(trace.Scenario, 120)
		if sc == nil || trace.Rank < -1 || trace.Rank >= len(programs) {
			return
		}
		if trace.Rank >= 0 {
			programs = programs[trace.Rank : trace.Rank+1]
		}
		y := sim.Compile(programs, sc.Machine, sim.Options{})
		run, err := trace.Replay(y, nil)
		var d *sim.Divergence
		switch {
		case errors.As(err, &d):
			if d.Step < 1 || d.Step > len(trace.Steps)+1 || len(run.Choices) != d.Step-1 || strings.Contains(err.Error(), "\n") {
				t.Fatalf("after %d choices: %v", len(run.Choices), err)
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		again := sim.NewTrace(y, trace.Scenario, trace.Strategy, trace.Seed, trace.Rank, run.Choices)
		if again.Digest != trace.Digest || len(again.Steps) != len(trace.Steps) {
			t.Fatalf("%s, made again %s", trace.Digest, again.Digest)
		}
		for i, s := range again.Steps {
			if words := trace.Steps[i].Agent + ": " + trace.Steps[i].Transition; s.Agent+": "+s.Transition != words || s.Choice != trace.Steps[i].Choice {
				t.Fatalf("step %d: %+v, made again %+v", i+1, trace.Steps[i], s)
			}
		}
	})
}
