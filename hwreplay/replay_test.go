package hwreplay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// brisk is a patience that is long for threads of a busy machine and short for a test.
const brisk = 250 * time.Millisecond

// entry is a scenario with its expectations.
type entry struct{ name, source string }

// entries are the scenarios of testdata and those of the catalog.
func entries(t *testing.T) []entry {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	var out []entry
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{f, string(b)})
	}
	for _, n := range catalog.Names() {
		e, _ := catalog.Get(n)
		out = append(out, entry{"catalog/" + n, string(e.Source)})
	}
	return out
}

// Every scenario on every machine that it has an expectation for, imposed on threads: what
// happens is a run of the model; an ok finishes, and what always hangs hangs and is
// released.
func TestScenariosOnHost(t *testing.T) {
	eachExpectation(t, "host", func(q *Request) (*Result, error) { return Replay(t.Context(), q, Host{}, nil) })
}

// eachExpectation replays every scenario on every machine of its expectations.
func eachExpectation(t *testing.T, backend string, replay func(*Request) (*Result, error)) {
	for _, e := range entries(t) {
		s, err := model.Parse(e.name, []byte(e.source))
		if err != nil {
			t.Error(err)
			continue
		}
		for i, x := range s.Expect {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(e.name), i), func(t *testing.T) {
				q := &Request{Scenario: e.source, Config: Config{Patience: brisk}, Ranks: x.Ranks, Brief: true}
				if x.Machine != nil {
					q.Impose = &Machine{*x.Machine}
				}
				if x.Discipline != nil {
					q.Discipline = x.Discipline.String()
				}
				p, _, err := q.Plan()
				if err != nil {
					t.Fatal(err)
				}
				if n := p.commands(); n > 20000 || len(p.ranks) > 16 {
					t.Skipf("too large for a test: %d commands, %d ranks", n, len(p.ranks))
				}
				r, err := replay(q)
				for again := 0; err == nil && r.Model == Undecided && again < 2; again++ {
					t.Logf("run again, for the comparison reached its bound: %s", r.sentence())
					r, err = replay(q)
				}
				if isRefused(err) {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				want := r.Verdict
				switch {
				case x.Verdict == "ok":
					want = VerdictFinished
				case x.Verdict == "hang" && x.Always:
					want = VerdictHung
				}
				if r.Verdict != want || r.Model != Allowed || !r.Released || !r.Usable {
					t.Errorf("imposing %s on %s: %s; want %s; released %v, usable %v", machineName(r.Machine.Machine), backend, r.sentence(), want, r.Released, r.Usable)
				}
			})
		}
	}
}

// commands is how many commands a plan has.
func (p *Plan) commands() int {
	n := 0
	for i := range p.agents {
		n += len(p.agents[i].info)
	}
	return n
}

const reported = `{"fencesim": 1, "name": "independent-reductions", "ranks": 4,
 "generate": {"kind": "independent-reductions", "reductions": 32, "rounds": 8, "elems": 16777216}}`

// traceOf is the run of FastDevice as a trace of rank 0 alone.
func traceOf(t *testing.T, discipline, machine string) *sim.Trace {
	t.Helper()
	m, _ := model.PresetNamed(machine)
	q := &Request{Scenario: reported, Discipline: discipline, Impose: &Machine{m.Machine}}
	s, err := q.scenario()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := s.Programs(s.Effective())
	if err != nil {
		t.Fatal(err)
	}
	src, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	y := sim.Compile(programs[:1], s.Machine, sim.Options{})
	return sim.NewTrace(y, src, "fast-device", 0, 0, sim.RunWith(y, FastDevice{}, 0).Choices)
}

// The reported workload, four ranks with a real rendezvous, stores seen three buffers
// late, the trace's buffer ends imposed: count hangs with the reported counters, and
// per-update finishes.
func TestReportedHangFromTrace(t *testing.T) {
	tr := traceOf(t, "count", "lag-3")
	if tr.Verdict != "hang" {
		t.Fatalf("the trace is %s", tr.Verdict)
	}
	r, err := Replay(t.Context(), &Request{Trace: tr, Config: Config{Patience: brisk}}, Host{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Counters{Scheduled: 12, GPU: 8}); r.Counters != want || r.Verdict != VerdictHung || r.Ranks != 4 || r.Model != Allowed || !r.Released || !r.Usable {
		t.Errorf("%s", r.sentence())
	}
	for _, f := range r.Fences {
		if strings.HasSuffix(f.Name, "G") && (f.Executed != 12 || f.Visible != 8 || f.Consumed != 0) {
			t.Errorf("%+v", f)
		}
	}
	if len(r.Recording) == 0 || r.Threads != 12 {
		t.Errorf("%d transitions recorded, %d threads", len(r.Recording), r.Threads)
	}
	r, err = Replay(t.Context(), &Request{Trace: traceOf(t, "per-update", "lag-3"), Config: Config{Patience: brisk}}, Host{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != VerdictFinished || r.Model != Allowed {
		t.Errorf("per-update: %s", r.sentence())
	}
}

// A trace whose end is not what the device does is a divergence, and a trace of another
// schedule is refused.
func TestTraceThatDoesNotFit(t *testing.T) {
	tr := traceOf(t, "count", "lag-3")
	if _, err := Replay(t.Context(), &Request{Trace: tr, Discipline: "per-update", Config: Config{Patience: brisk}}, Host{}, nil); err == nil {
		t.Error("a trace of count was accepted for per-update")
	}
	// Under an ideal machine there is nothing to hang on.
	src := `{"fencesim": 1, "schedule": {"queues": [{"name": "gpu", "buffers": [["update G 1", "wait C 1"]]}],
	  "streams": [{"name": "cpu", "tasks": ["wait G 1", "update C 1"]}]}, "machine": "lag-0"}`
	s, err := model.Parse("x", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	programs, _ := s.Programs(model.Count)
	y := sim.Compile(programs, s.Machine, sim.Options{})
	b, _ := json.Marshal(s)
	hang := sim.NewTrace(y, b, "laziest", 0, -1, sim.RunWith(y, sim.Laziest{}, 0).Choices)
	if hang.Verdict != "hang" {
		t.Fatal(hang.Verdict)
	}
	r, err := Replay(t.Context(), &Request{Trace: hang, Config: Config{Patience: brisk}}, Host{}, nil)
	if err != nil || r.Verdict != VerdictHung {
		t.Errorf("%v %+v", err, r)
	}
	// The same trace, but its store arrives: what is early in a trace is early on the
	// device.
	var choices []int
	run := sim.RunWith(y, sim.Laziest{}, 0)
	choices = append(choices, run.Choices...)
	for st := run.Last; !y.Final(st); {
		list := y.Enabled(st, nil)
		choices = append(choices, 0)
		st, _ = y.Next(st, list[0])
	}
	r, err = Replay(t.Context(), &Request{Trace: sim.NewTrace(y, b, "lucky", 0, -1, choices), Config: Config{Patience: brisk}}, Host{}, nil)
	if err != nil || r.Verdict != VerdictFinished || r.Model != Allowed {
		t.Errorf("%v %+v", err, r)
	}
}

// What a main thread that is free to choose gives is in the model's set; the histogram
// counts it.
func TestLiveMainThread(t *testing.T) {
	r, err := Replay(t.Context(), &Request{Scenario: reported, Ranks: 1, Impose: &Machine{model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: 2}}}, Repeat: 4,
		Config: Config{Patience: brisk, Kernel: 5 * time.Microsecond}, Brief: true}, Host{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, b := range r.Histogram {
		total += b.Runs
	}
	if total != 4 || r.Runs != 4 || r.Model != Allowed {
		t.Errorf("%+v %s", r.Histogram, r.Reason)
	}
}

// manyRuns is how often the small scenarios run, all together.
const manyRuns = 10_000

// Ten thousand runs leave no goroutine and no thread behind, and each is a run of the
// model.
func TestManyRuns(t *testing.T) {
	sources := []string{}
	for _, c := range mustCorpus() {
		switch c.scenario.Name {
		case "handshake", "next-buffer", "two-queues", "guarded-stores", "two-waits", "events", "second-queue", "plain-stores":
			sources = append(sources, c.source)
		}
	}
	run := func(n int) {
		for _, src := range sources {
			q := &Request{Scenario: src, Repeat: n, Brief: true}
			r, err := Replay(t.Context(), q, Host{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != VerdictFinished || r.Model != Allowed || r.Runs != n {
				t.Errorf("%s: %d runs, %s, %+v", r.Scenario, r.Runs, r.sentence(), r.Histogram)
			}
		}
	}
	run(20)
	goroutines, threads := runtime.NumGoroutine(), osThreads()
	run(manyRuns / len(sources))
	for start := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(start) < 20*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines before, %d after", goroutines, n)
	}
	if n := osThreads(); n > threads+8 { // the Go runtime keeps a few for itself
		t.Errorf("%d threads before, %d after", threads, n)
	}
	if c := children(os.Getpid()); len(c) > 0 {
		t.Errorf("children %v", c)
	}
}

// osThreads is the number of threads of this process; 0 where there is no /proc.
func osThreads() int {
	list, _ := os.ReadDir("/proc/self/task")
	return len(list)
}

// A hang leaves nothing behind either.
func TestHangsLeaveNothing(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	q := never(60 * time.Millisecond)
	q.Repeat = 5
	r, err := Replay(t.Context(), q, Host{}, nil)
	if err != nil || r.Verdict != VerdictHung || !r.Released || !r.Usable || r.Count(VerdictHung, model.Counters{Scheduled: 12, GPU: 4}) != 5 {
		t.Fatalf("%v %+v", err, r)
	}
	for start := time.Now(); runtime.NumGoroutine() > goroutines && time.Since(start) < 20*time.Second; {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines before, %d after", goroutines, n)
	}
}
