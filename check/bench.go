package check

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
)

// A BenchCase is one measurement of [Bench].
type BenchCase struct {
	Name     string
	What     string
	Config   Config
	Peer     bool // another checker can finish it, and is measured beside
	Quick    bool // part of a quick run
	scenario func() (*model.Scenario, error)
}

// Scenario makes the scenario of the case.
func (c *BenchCase) Scenario() (*model.Scenario, error) { return c.scenario() }

// BenchCases is the list of measurements: searches of all states, to compare raw speed, and
// decisions by the best method.
var BenchCases = benchCases()

func benchCases() []BenchCase {
	reductions := func(ranks, n, group int, discipline, memory string) func() (*model.Scenario, error) {
		return func() (*model.Scenario, error) {
			return IndependentReductions(ranks, n, group, discipline, memory)
		}
	}
	ring := func(ranks, steps int) func() (*model.Scenario, error) {
		return func() (*model.Scenario, error) { return FenceRing(ranks, steps) }
	}
	full := func(workers int) Config {
		return Config{Strategy: "dfs", All: true, NoShrink: true, Workers: workers, Reductions: []string{"merge"}}
	}
	decide, all := Config{NoShrink: true}, Config{NoShrink: true, All: true}
	return []BenchCase{
		{"search/small", "all states, 2 ranks x 4 reductions, stores take the maximum", full(1), true, true, reductions(2, 4, 4, "per", "max")},
		{"search/plain", "all states and all 62 stuck ones, 2 ranks x 4 reductions, stores reorder", full(1), true, false, reductions(2, 4, 4, "per", "plain")},
		{"search/strong", "all states, 4 ranks x 4 reductions, one worker", full(1), true, false, reductions(4, 4, 4, "per", "strong")},
		{"search/strong-2", "the same with two workers", full(2), false, false, reductions(4, 4, 4, "per", "strong")},
		{"decide/strong", "every property, 4 ranks x 4 reductions", decide, true, false, reductions(4, 4, 4, "per", "strong")},
		{"decide/strong-12", "every property, 4 ranks x 12 reductions", decide, false, true, reductions(4, 12, 12, "per", "strong")},
		{"decide/max-12", "every property, 4 ranks x 12 reductions, stores take the maximum", decide, false, true, reductions(4, 12, 12, "per", "max")},
		{"decide/plain-12", "a first hang, 4 ranks x 12 reductions, stores reorder", decide, true, true, reductions(4, 12, 12, "per", "plain")},
		{"decide/groups-12", "all stuck states, 4 ranks x 12 reductions in groups of 2, stores reorder", all, false, true, reductions(4, 12, 2, "early", "plain")},
		{"decide/ring", "a ring of 6 ranks and 4 steps", decide, true, false, ring(6, 4)},
		{"decide/ring-1024", "a ring of 1,024 ranks and 256 steps", decide, false, false, ring(1024, 256)},
	}
}

// A BenchRun is what one measurement gave: medians of several runs.
type BenchRun struct {
	Verdict Verdict `json:"verdict"`
	Proof   Proof   `json:"proof"`
	States  int64   `json:"states"`
	Stuck   int64   `json:"stuck_states"`
	Wall    float64 `json:"wall_s"`
	CPU     float64 `json:"cpu_s"` // of all threads; the wall time where it is not known
	Bytes   float64 `json:"bytes"` // memory at most in use, above that before the run
	Runs    int     `json:"runs"`
	Bound   string  `json:"bound,omitempty"` // the bound that ended it early
}

// Bench measures a case with the given number of repetitions, the scenario being at hand.
// An interrupt, or limit, ends it with a bound.
func Bench(ctx context.Context, c *BenchCase, repeat int, limit time.Duration) (BenchRun, error) {
	sc, err := c.Scenario()
	if err != nil {
		return BenchRun{}, err
	}
	var runs []BenchRun
	for range max(1, repeat) {
		cfg := c.Config
		cfg.Time = limit
		runtime.GC()
		debug.FreeOSMemory()
		stop := watchMemory()
		started, before := time.Now(), processTime()
		r, err := Explore(ctx, sc, cfg)
		wall, used := time.Since(started), processTime()-before
		bytes := stop()
		if err != nil {
			return BenchRun{}, err
		}
		if before == 0 {
			used = wall
		}
		runs = append(runs, BenchRun{Verdict: r.Verdict, Proof: r.Proof, States: r.States, Stuck: r.StuckStates,
			Wall: wall.Seconds(), CPU: used.Seconds(), Bytes: bytes, Bound: r.Bound})
		if r.Bound != "" || wall > longRun {
			break
		}
	}
	out := runs[0]
	out.Runs = len(runs)
	out.Wall = median(runs, func(r *BenchRun) float64 { return r.Wall })
	out.CPU = median(runs, func(r *BenchRun) float64 { return r.CPU })
	out.Bytes = median(runs, func(r *BenchRun) float64 { return r.Bytes })
	return out, nil
}

// longRun is a run that is not repeated.
const longRun = 20 * time.Second

// median is the middle of a value over runs, of an even number the smaller one.
func median(runs []BenchRun, value func(*BenchRun) float64) float64 {
	var vs []float64
	for i := range runs {
		vs = append(vs, value(&runs[i]))
	}
	slices.Sort(vs)
	return vs[(len(vs)-1)/2]
}

// watchMemory looks at the memory in use every few milliseconds until the function that it
// returns is called, which gives the most seen above the start.
func watchMemory() (stop func() float64) {
	read := func() float64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return float64(s[0].Value.Uint64()) - float64(s[1].Value.Uint64())
	}
	start := read()
	most := start
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				most = max(most, read())
			}
		}
	}()
	return func() float64 {
		close(quit)
		<-done
		return max(most, read()) - start
	}
}
