package check

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fencesim/fencesim/model"
)

// chain is one chain of n operations on a named machine.
func chain(n int, machine string) *model.Scenario {
	p, _ := model.PresetNamed(machine)
	return &model.Scenario{Version: model.FormatVersion, Name: fmt.Sprintf("chain-%d", n), Ranks: 1, Machine: p.Machine, Discipline: new(model.PerUpdate),
		Generate: &model.Generate{Kind: "chained-reductions", Reductions: n / 10, Rounds: 8, Elems: 1 << 24}}
}

// twoStreams is ranks whose two CPU streams each reduce n arrays of their own, in one buffer
// or a buffer for each pair: they cannot be decided one by one.
func twoStreams(ranks, n int, m model.Machine, oneBuffer bool) *model.Scenario {
	var buffers []model.BufferFile
	var all, last, a, b []string
	for i := range n {
		cs := []string{fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G %d", 2*i+1), fmt.Sprintf("kernel z%d", i), fmt.Sprintf("update G %d", 2*i+2)}
		buffers = append(buffers, model.BufferFile{Commands: cs})
		all = append(all, cs...)
		a = append(a, fmt.Sprintf("wait G %d", 2*i+1), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update A %d", i+1))
		b = append(b, fmt.Sprintf("wait G %d", 2*i+2), fmt.Sprintf("collective s%d reads z%d", i, i), fmt.Sprintf("update B %d", i+1))
		last = append(last, fmt.Sprintf("wait A %d", i+1), fmt.Sprintf("wait B %d", i+1), fmt.Sprintf("kernel y%d reads r%d s%d", i, i, i))
	}
	if buffers = append(buffers, model.BufferFile{Commands: last}); oneBuffer {
		buffers = []model.BufferFile{{Commands: append(all, last...)}}
	}
	return &model.Scenario{Version: model.FormatVersion, Name: fmt.Sprintf("two-streams-%d", ranks), Ranks: ranks, Machine: m, Schedule: &model.ScheduleFile{
		Queues:  []model.QueueFile{{Name: "gpu", Buffers: buffers}},
		Streams: []model.TaskFile{{Name: "a", Tasks: a}, {Name: "b", Tasks: b}}}}
}

// pipelineOf is a pipeline of ranks and micro-batches.
func pipelineOf(ranks, batches int, machine string) *model.Scenario {
	p, _ := model.PresetNamed(machine)
	return &model.Scenario{Version: model.FormatVersion, Name: fmt.Sprintf("pipeline-%d", ranks), Ranks: ranks, Machine: p.Machine, Discipline: new(model.PerUpdate),
		Generate: &model.Generate{Kind: "pipeline", Reductions: batches, Rounds: 4, Elems: 1 << 24}}
}

// large are decisions of large scenarios and what they must come to.
func large(t testing.TB) []struct {
	name string
	sc   *model.Scenario
	want Verdict
} {
	ring, err := FenceRing(1024, 256)
	if err != nil {
		t.Fatal(err)
	}
	lag0 := model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag}}
	return []struct {
		name string
		sc   *model.Scenario
		want Verdict
	}{
		{"ring-1024x256", ring, OK},
		{"chain-10000/ideal", chain(10_000, "ideal"), OK},
		{"chain-10000/lag-0", chain(10_000, "lag-0"), Hang},
		{"chain-1000000/ideal", chain(1_000_000, "ideal"), OK},
		{"chain-1000000/lag-0", chain(1_000_000, "lag-0"), Hang},
		{"two-streams-100/lag-0", twoStreams(100, 16, lag0, false), OK},
		{"two-streams-1000/lag-0", twoStreams(1000, 16, lag0, false), OK},
		{"two-streams-1000/lag-0-one-buffer", twoStreams(1000, 16, lag0, true), Hang},
		{"pipeline-1000/ideal", pipelineOf(1000, 8, "ideal"), OK},
		{"pipeline-1000/lag-0", pipelineOf(1000, 8, "lag-0"), OK},
	}
}

// BenchmarkLarge measures decisions whose cost is to grow with the number of operations and
// nothing else, their lowering included.
func BenchmarkLarge(b *testing.B) {
	for _, c := range large(b) {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			bytes := 0.0
			for b.Loop() {
				stop := watchMemory()
				r, err := Explore(context.Background(), c.sc, Config{})
				if bytes = max(bytes, stop()); err != nil || r.Verdict != c.want {
					b.Fatal(err, r.Verdict)
				}
			}
			b.ReportMetric(bytes, "peak-bytes")
		})
	}
}

// TestLarge: the same without the largest, each in a time that a quadratic cost exceeds.
func TestLarge(t *testing.T) {
	for _, c := range large(t) {
		if c.sc.Generate != nil && c.sc.Generate.Reductions > 10_000 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		r, err := Explore(ctx, c.sc, Config{})
		cancel()
		if err != nil || r.Verdict != c.want {
			t.Errorf("%s: %v %v, want %s: %s %s", c.name, err, r.Verdict, c.want, r.Bound, r.Reason)
		}
	}
}

// TestTimeBound: a bound on time holds where single steps of a search are long ones; how well
// depends on what else the machine does.
func TestTimeBound(t *testing.T) {
	for _, sc := range []*model.Scenario{
		twoStreams(800, 8, model.Machine{Slots: 1}, false),
		twoStreams(800, 8, model.Machine{Watchdog: model.WatchdogMay}, false),
		twoStreams(800, 8, model.Machine{Device: model.Exclusive, Buffers: model.Overlap}, true),
	} {
		for _, cfg := range []Config{{}, {Strategy: "dfs"}, {Strategy: "dfs", All: true}, {Strategy: "dfs", Reductions: []string{}}, {Strategy: "random"}} {
			cfg.Time = 100 * time.Millisecond
			started := time.Now()
			r, err := Explore(context.Background(), sc, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(started); d > 30*time.Second {
				t.Errorf("%v with %+v took %v, and was to end after %v", sc.Machine, cfg, d, cfg.Time)
			} else if r.Bound == "" && r.Verdict == Inconclusive {
				t.Errorf("%v with %+v: inconclusive without a bound", sc.Machine, cfg)
			} else {
				t.Logf("%v %v %v %v", cfg.Strategy, r.Verdict, r.Bound, d)
			}
		}
	}
}
