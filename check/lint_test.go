package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// perUpdate draws a schedule of n reductions with per-update waits: queues and CPU streams
// in encode order, buffers cut anywhere.
func perUpdate(rng *rand.Rand, n int) *model.Scenario {
	queues, streams := make([][]string, 1+rng.IntN(2)), make([][]string, 1+rng.IntN(2))
	updates, reduced := make([]int, len(queues)), make([]int, len(streams))
	type pending struct{ i, stream, target int }
	var open []pending
	consume := func() {
		k := rng.IntN(len(open))
		p := open[k]
		open = slices.Delete(open, k, k+1)
		q := rng.IntN(len(queues))
		queues[q] = append(queues[q], fmt.Sprintf("wait C%d %d", p.stream, p.target), fmt.Sprintf("kernel y%d reads r%d", p.i, p.i))
	}
	for i := range n {
		for len(open) > 0 && rng.IntN(3) == 0 {
			consume()
		}
		q, s := rng.IntN(len(queues)), rng.IntN(len(streams))
		updates[q]++
		reduced[s]++
		queues[q] = append(queues[q], fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G%d %d", q, updates[q]))
		streams[s] = append(streams[s], fmt.Sprintf("wait G%d %d", q, updates[q]), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C%d %d", s, reduced[s]))
		open = append(open, pending{i, s, reduced[s]})
	}
	for len(open) > 0 && rng.IntN(4) > 0 {
		consume()
	}
	f := &model.ScheduleFile{}
	for q, cs := range queues {
		qf := model.QueueFile{Name: fmt.Sprintf("q%d", q)}
		var b model.BufferFile
		for _, c := range cs {
			if b.Commands = append(b.Commands, c); rng.IntN(3) == 0 {
				qf.Buffers = append(qf.Buffers, b)
				b = model.BufferFile{}
			}
		}
		for range rng.IntN(2) { // sometimes empty ones
			qf.Buffers = append(qf.Buffers, b)
			b = model.BufferFile{}
		}
		if len(b.Commands) > 0 {
			qf.Buffers = append(qf.Buffers, b)
		}
		f.Queues = append(f.Queues, qf)
	}
	for s, ts := range streams {
		f.Streams = append(f.Streams, model.TaskFile{Name: fmt.Sprintf("c%d", s), Tasks: ts})
	}
	return &model.Scenario{Version: 1, Name: "per-update", Machine: model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: rng.IntN(4)}}, Schedule: f}
}

// TestExactRule: on per-update schedules with fixed ends under lag, lint hangs exactly when
// the search does, and its slack is the greatest lag that is safe.
func TestExactRule(t *testing.T) {
	hangs := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		sc := perUpdate(rng, 2+rng.IntN(5))
		if err := sc.Validate(); err != nil {
			t.Fatal(err)
		}
		l, err := NewLint(sc)
		if err != nil {
			t.Fatal(err)
		}
		decide := func(lag int) Verdict {
			sc.Machine.GPUToCPU.Buffers = lag
			r, err := Explore(context.Background(), sc, Config{NoShrink: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Properties["hang"] == Violated {
				return Hang
			}
			return OK
		}
		fail := func(format string, args ...any) {
			text, _ := sc.Format()
			t.Fatalf("seed %d: %s\n%s\n%+v", seed, fmt.Sprintf(format, args...), text, l.Findings)
		}
		if got := decide(sc.Machine.GPUToCPU.Buffers); got != l.Verdict {
			fail("explore %v, lint %v (%s)", got, l.Verdict, l.Reason)
		}
		if l.Verdict == Hang {
			hangs++
		}
		if s := l.Slack; s != nil {
			if *s >= 0 && decide(*s) != OK || decide(*s+1) != Hang {
				fail("the slack is not %d", *s)
			}
		} else if decide(20) != OK {
			fail("no slack, and a lag of 20 hangs")
		}
	}
	t.Logf("%d hang", hangs)
	if hangs < 300 || hangs > 2700 {
		t.Errorf("one-sided: %d of 3000 hang", hangs)
	}
}

// TestLintSound: on random schedules and machines what lint says is what the naive search
// finds: a fault of level hang is a hang, an ok is none.
func TestLintSound(t *testing.T) {
	said := map[Verdict]int{}
	rules := map[string]int{}
	for seed := range uint64(seeds(1500, 300)) {
		programs, m := naive.Random(rand.New(rand.NewPCG(seed, 12)), naive.Config{Plain: seed%2 == 0})
		if seed%3 == 0 {
			m = model.Machine{GPUToCPU: m.GPUToCPU}
		}
		text := naive.Text(programs, m)
		sc, err := model.Parse("random.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLint(sc)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range l.Findings {
			rules[f.Rule]++
		}
		if l.Verdict == Inconclusive {
			said[l.Verdict]++
			continue
		}
		n, done := naive.Explore(programs, m, 1500)
		if !done && !n.Violated["hang"] {
			continue
		}
		said[l.Verdict]++
		if n.Violated["hang"] != (l.Verdict == Hang) {
			t.Errorf("seed %d: lint %v (%s), brute force hang %v\n%+v\n%s", seed, l.Verdict, l.Reason, n.Violated["hang"], l.Findings, text)
		}
	}
	t.Log(said, rules)
}

// TestLintRules: each rule has a schedule in which it is found, and which it names.
func TestLintRules(t *testing.T) {
	for _, c := range []struct{ rule, where, machine, schedule string }{
		{"cycle", "queue gpu buffer 0: wait C 1", "ideal", `{queues: [{name: gpu, buffers: [[wait C 1, update G 1]]}], streams: [{name: cpu, tasks: [wait G 1, update C 1]}]}`},
		{"cycle", "queue gpu buffer 0: wait G 1", "ideal", `{queues: [{name: gpu, buffers: [[wait G 1, update G 1]]}]}`},
		{"never-reached", "stream cpu task 0: wait G 3", "ideal", `{queues: [{name: gpu, buffers: [[update G 2]]}], streams: [{name: cpu, tasks: [wait G 3]}]}`},
		{"never-equal", "stream cpu task 0: wait G == 2", "ideal", `{queues: [{name: gpu, buffers: [[update G 1, update G 3]]}], streams: [{name: cpu, tasks: ["wait G == 2"]}]}`},
		{"passed-over", "stream cpu task 0: wait G == 1", "ideal", `{queues: [{name: gpu, buffers: [[update G 1, update G 3]]}], streams: [{name: cpu, tasks: ["wait G == 1"]}]}`},
		{"never-committed", "queue gpu buffer 1", "ideal", `{queues: [{name: gpu, buffers: [[update G 1], [update G 2]]}], main: [commit gpu]}`},
		{"exact-rule", "queue gpu buffer 1: wait C 1", "lag-1", `{queues: [{name: gpu, buffers: [[update G 1], [wait C 1]]}], streams: [{name: cpu, tasks: [wait G 1, update C 1]}]}`},
		{"never-seen", "stream cpu task 0: wait G 1", "unreliable-read", `{queues: [{name: gpu, buffers: [[update G 1]]}], streams: [{name: cpu, tasks: [wait G 1]}]}`},
		{"never-seen", "queue gpu buffer 0: wait C 1", "unreliable-write", `{queues: [{name: gpu, buffers: [[wait C 1]]}], streams: [{name: cpu, tasks: [update C 1]}]}`},
		{"unordered-stores", "fence G", "ideal", `{queues: [{name: gpu, buffers: [[update G 1]]}], streams: [{name: cpu, tasks: [update G 2, wait G 2]}]}`},
		{"unordered-stores", "fence G", "unordered", `{queues: [{name: gpu, buffers: [[update G 1, update G 2]]}], streams: [{name: cpu, tasks: [wait G 1, wait G 2]}]}`},
		{"unordered-stores", "fence G", "overlap-arrays", `{queues: [{name: gpu, buffers: [[update G 1], [update G 2]]}], streams: [{name: cpu, tasks: [wait G 1, wait G 2]}]}`},
		{"add-and-max", "fence G", "unordered-max", `{queues: [{name: gpu, buffers: [[update G 1, add G 1]]}], streams: [{name: cpu, tasks: [wait G 2]}]}`},
		{"wrap", "fence G", "ideal", `{queues: [{name: gpu, buffers: [[update G 4294967295, add G 1]]}]}`},
		{"reset-early", "stream cpu task 1: reset G 0", "ideal", `{queues: [{name: gpu, buffers: [[wait G 1]]}], streams: [{name: cpu, tasks: [update G 1, reset G 0]}]}`},
		{"over-wait", "stream cpu task 0: wait G 2", "ideal", `{queues: [{name: gpu, buffers: [[kernel x, update G 1, kernel y, update G 2]]}], streams: [{name: cpu, tasks: [wait G 2, kernel z reads x]}]}`},
		{"never-awaited", "fence G", "ideal", `{queues: [{name: gpu, buffers: [[update G 1, update G 2]]}], streams: [{name: cpu, tasks: [wait G 2]}]}`},
	} {
		sc, err := model.Parse("rule.yaml", []byte("fencesim: 1\nname: rule\nmachine: "+c.machine+"\nschedule: "+c.schedule+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", c.rule, err)
		}
		l, err := NewLint(sc)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(l.Findings, func(f LintFinding) bool { return f.Rule == c.rule && f.Where == c.where }) {
			t.Errorf("%s: not found in %s\n%+v", c.rule, c.schedule, l.Findings)
		}
	}
}

// TestLintGraph: the reported workload by its certificates and targets.
func TestLintGraph(t *testing.T) {
	for _, c := range []struct {
		d       model.Discipline
		machine string
		want    Verdict
		rule    string
	}{
		{model.PerUpdate, "lag-4", OK, ""}, {model.PerUpdate, "lag-5", Inconclusive, "slack"},
		{model.Count, "ideal", OK, "over-wait"}, {model.Whole, "ideal", Inconclusive, "encode-order"},
	} {
		l, err := NewLint(reproducer(c.d, c.machine, 4))
		if err != nil {
			t.Fatal(err)
		}
		if l.Verdict != c.want || c.rule != "" && !slices.ContainsFunc(l.Findings, func(f LintFinding) bool { return f.Rule == c.rule }) {
			t.Errorf("%v on %s: %v (%s), want %v and %q\n%+v", c.d, c.machine, l.Verdict, l.Reason, c.want, c.rule, l.Findings)
		}
		if c.d == model.PerUpdate && (l.Slack == nil || *l.Slack != 4) {
			t.Errorf("per-update: slack %v, want 4", l.Slack)
		}
	}
}

// TestLintLinear: ten times the commands take about ten times as long.
func TestLintLinear(t *testing.T) {
	measure := func(n int) time.Duration {
		var gpu []model.BufferFile
		var cpu []string
		for i := range n {
			gpu = append(gpu, model.BufferFile{Commands: []string{fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G %d", i+1)}}, model.BufferFile{},
				model.BufferFile{Commands: []string{fmt.Sprintf("wait C %d", i+1), fmt.Sprintf("kernel y%d reads r%d", i, i)}})
			cpu = append(cpu, fmt.Sprintf("wait G %d", i+1), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C %d", i+1))
		}
		p, _ := model.PresetNamed("lag-1")
		sc := &model.Scenario{Version: 1, Machine: p.Machine, Schedule: &model.ScheduleFile{
			Queues: []model.QueueFile{{Name: "gpu", Buffers: gpu}}, Streams: []model.TaskFile{{Name: "cpu", Tasks: cpu}}}}
		if err := sc.Validate(); err != nil {
			t.Fatal(err)
		}
		best := time.Duration(1 << 62)
		for range 3 {
			started := time.Now()
			l, err := NewLint(sc)
			if err != nil || l.Verdict != OK || *l.Slack != 1 {
				t.Fatal(l, err)
			}
			best = min(best, time.Since(started))
		}
		return best
	}
	small, large := measure(3000), measure(30_000)
	t.Logf("21,000 commands in %v, 210,000 in %v", small, large)
	if ratio := float64(large) / float64(small); ratio > 60 { // wide: the machine may be busy
		t.Errorf("ten times the commands took %.0f times as long", ratio)
	}
}
