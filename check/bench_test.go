package check

import (
	"context"
	"runtime"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// BenchmarkExplore measures the cases of fencesim bench that take less than a second:
// states/s and bytes/state of the searches, runs/s of the decisions.
func BenchmarkExplore(b *testing.B) {
	for i := range BenchCases {
		c := &BenchCases[i]
		if !c.Quick && c.Name != "decide/strong" && c.Name != "decide/ring" {
			continue
		}
		b.Run(c.Name, func(b *testing.B) {
			sc, err := c.Scenario()
			if err != nil {
				b.Fatal(err)
			}
			states, bytes := int64(0), 0.0
			for b.Loop() {
				stop := func() float64 { return 0 }
				if c.Config.Strategy == "dfs" {
					b.StopTimer()
					runtime.GC()
					stop = watchMemory()
					b.StartTimer()
				}
				r, err := Explore(context.Background(), sc, c.Config)
				if err != nil {
					b.Fatal(err)
				}
				bytes += stop()
				states += r.States
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			if c.Config.Strategy == "dfs" {
				b.ReportMetric(float64(states)/b.Elapsed().Seconds(), "states/s")
				b.ReportMetric(bytes/float64(states), "bytes/state")
			}
		})
	}
}

// BenchmarkRun measures random runs: one transition after the other to the end.
func BenchmarkRun(b *testing.B) {
	sc, err := IndependentReductions(4, 12, 12, "per", "max")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Explore(context.Background(), sc, Config{Strategy: "random", Runs: 100, Seed: 1, NoShrink: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100*float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkNext measures Enabled and Next alone, along one run.
func BenchmarkNext(b *testing.B) {
	sc, err := IndependentReductions(4, 12, 12, "per", "strong")
	if err != nil {
		b.Fatal(err)
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		b.Fatal(err)
	}
	y := sim.Compile(programs, sc.Machine, sim.Options{})
	s := y.Initial()
	var buf []sim.Transition
	steps := 0
	for b.Loop() {
		if buf = y.Enabled(s, buf[:0]); len(buf) == 0 {
			s = y.Initial()
			continue
		}
		y.Apply(s, buf[steps%len(buf)])
		steps++
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "transitions/s")
}

// BenchmarkLint measures the rules on the reported workload.
func BenchmarkLint(b *testing.B) {
	sc := reproducer(model.PerUpdate, "lag-4", 4)
	for b.Loop() {
		if _, err := NewLint(sc); err != nil {
			b.Fatal(err)
		}
	}
}
