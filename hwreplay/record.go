package hwreplay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fencesim/fencesim/model"
)

// A RecordRequest asks for the self-test of a device: the reported hangs, provoked and
// released, their cures, the corpus and the costs. The zero value is the default.
type RecordRequest struct {
	Date   string `json:"date"`             // of the record, by whoever asks
	Repeat int    `json:"repeat,omitempty"` // runs of each scenario; 0: 20
	Ranks  int    `json:"ranks,omitempty"`  // of the reported workload; 0: one for each device
	Runs   int    `json:"runs,omitempty"`   // of each test of the corpus; 0: 200
	Only   string `json:"only,omitempty"`   // "scenarios", "conform" or "measure"; "": all
	Config Config `json:"config"`
}

// A RecordOfRuns is a self-test's result, to be kept or attached to a report.
type RecordOfRuns struct {
	Version int    `json:"fencesim"`
	Date    string `json:"date"`
	Info
	Clock  []ClockOffset  `json:"clock,omitempty"`
	Passed bool           `json:"passed"` // all runs ended as expected, inside the model, and were released
	Runs   []RecordedRuns `json:"runs"`
	// Interrupted says that not all was run: then Passed is false, whatever was seen.
	Interrupted bool         `json:"interrupted,omitempty"`
	Conform     *Conformance `json:"conform,omitempty"`
	Measure     *Measurement `json:"measure,omitempty"`
	Elapsed     float64      `json:"elapsed_s"`
	Unproven    []string     `json:"unproven,omitempty"` // what was expected and not seen, or refused
}

// RecordedRuns is one scenario of a self-test, run some times.
type RecordedRuns struct {
	Name       string          `json:"name"`
	About      string          `json:"about"`
	Discipline string          `json:"discipline,omitempty"`
	Imposed    string          `json:"imposed"`
	Ranks      int             `json:"ranks"`
	Expect     string          `json:"expect"`
	Runs       int             `json:"runs"`
	AsExpected int             `json:"as_expected"`
	Released   bool            `json:"released"`
	Usable     bool            `json:"usable"`
	Threads    int             `json:"threads,omitempty"`
	Model      Agreement       `json:"model"`
	Reason     string          `json:"reason,omitempty"`
	Histogram  []Bin           `json:"histogram"`
	Fences     []FenceCounters `json:"fences,omitempty"`
	Refused    string          `json:"refused,omitempty"`
	Elapsed    float64         `json:"elapsed_s"`
}

// selfRun is one scenario of the self-test. Expect is "" where anything that the model
// allows is accepted.
type selfRun struct {
	name, about string
	q           Request
	expect      string
	counters    *model.Counters
	few         bool // a handful of runs is enough
}

// Record runs the self-test: what finishes before what hangs, each run bounded and
// released before the next. It stops at the first device that does not come back, and when
// ctx is done.
func Record(ctx context.Context, q *RecordRequest, d Device, note func(string)) (*RecordOfRuns, error) {
	return record(ctx, q, d, note, func(*RecordOfRuns) {})
}

func record(ctx context.Context, q *RecordRequest, d Device, note func(string), flush func(*RecordOfRuns)) (*RecordOfRuns, error) {
	begun := time.Now()
	rec := &RecordOfRuns{Version: model.FormatVersion, Date: q.Date, Info: d.Info(), Passed: true, Runs: []RecordedRuns{}}
	for _, s := range selfRuns(q, d.Info().Count) {
		if q.Only != "" && q.Only != "scenarios" {
			break
		}
		row, err := rec.run(ctx, q, s, d, note)
		rec.interruptedBy(err)
		if row != nil {
			rec.Runs = append(rec.Runs, *row)
		}
		rec.Elapsed = time.Since(begun).Seconds()
		flush(rec)
		if err != nil {
			return rec, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	var err error
	if q.Only == "" || q.Only == "conform" {
		rec.Conform, err = Conform(ctx, &ConformRequest{Runs: q.Runs, Config: q.Config}, d, note)
		rec.interruptedBy(err)
		flush(rec)
		if err != nil {
			return rec, fmt.Errorf("conform: %w", err)
		}
		if rec.Conform.Outside > 0 {
			rec.fail("conform: %d observations outside the model", rec.Conform.Outside)
		}
	}
	if q.Only == "" || q.Only == "measure" {
		if rec.Measure, err = Measure(ctx, &MeasureRequest{Config: q.Config}, d, note); err != nil {
			rec.interruptedBy(err)
			return rec, fmt.Errorf("measure: %w", err)
		}
	}
	rec.Elapsed = time.Since(begun).Seconds()
	flush(rec)
	return rec, nil
}

func (r *RecordOfRuns) interruptedBy(err error) {
	if errors.Is(err, ErrStopped) {
		r.Interrupted, r.Passed = true, false
	}
}

func (r *RecordOfRuns) fail(format string, args ...any) {
	r.Passed = false
	r.Unproven = append(r.Unproven, fmt.Sprintf(format, args...))
}

// run makes the runs of one scenario.
func (r *RecordOfRuns) run(ctx context.Context, q *RecordRequest, s selfRun, d Device, note func(string)) (*RecordedRuns, error) {
	s.q.Config, s.q.Brief = q.Config, true
	if s.q.Repeat = q.Repeat; s.q.Repeat == 0 {
		s.q.Repeat = 20
	}
	if s.few {
		s.q.Repeat = min(s.q.Repeat, 5)
	}
	row := &RecordedRuns{Name: s.name, About: s.about, Discipline: s.q.Discipline, Ranks: max(s.q.Ranks, 1), Expect: s.expect, Histogram: []Bin{}}
	if s.counters != nil {
		row.Expect += " " + s.counters.String()
	}
	res, err := Replay(ctx, &s.q, d, func(i int, out *Outcome) {
		if out == nil {
			note(fmt.Sprintf("%s, run %d", s.name, i+1))
		}
	})
	if isRefused(err) {
		row.Refused, row.Released, row.Usable = err.Error(), true, true
		r.Unproven = append(r.Unproven, s.name+": "+err.Error())
		return row, nil
	}
	if err != nil && !errors.Is(err, ErrStopped) {
		r.fail("%s: %v", s.name, err)
		return row, err
	}
	row.Imposed = machineName(res.Machine.Machine)
	row.Runs, row.Released, row.Usable, row.Threads, row.Elapsed = res.Runs, res.Released, res.Usable, res.Threads, res.Elapsed
	row.Model, row.Reason, row.Histogram, row.Fences = res.Model, res.Reason, res.Histogram, res.Fences
	r.Clock = res.Clock
	for _, b := range res.Histogram {
		if (s.expect == "" || b.Verdict == s.expect) && (s.counters == nil || b.Counters == *s.counters) && b.Model == Allowed {
			row.AsExpected += b.Runs
		}
	}
	if row.AsExpected < row.Runs || !row.Released || !row.Usable {
		r.fail("%s: %d of %d runs as expected", s.name, row.AsExpected, row.Runs)
	}
	if !row.Released || !row.Usable {
		return row, fmt.Errorf("the device did not come back")
	}
	return row, err
}

// machineName is a machine's preset, or its parameters that are not the default.
func machineName(m model.Machine) string {
	if n := m.Name(); n != "" {
		return n
	}
	b, err := json.Marshal(m)
	if err != nil {
		return "?"
	}
	return string(b)
}

// selfRuns lists the scenarios of the self-test.
func selfRuns(q *RecordRequest, devices int) []selfRun {
	ranks := q.Ranks
	if ranks == 0 {
		ranks = max(devices, 1)
	}
	var list []selfRun
	preset := func(name string) *Machine {
		p, _ := model.PresetNamed(name)
		return &Machine{p.Machine}
	}
	workload := `{"fencesim": 1, "name": "independent-reductions", "generate": {"kind": "independent-reductions", "reductions": 32, "rounds": 8, "elems": 16777216}}`
	reported := &model.Counters{Scheduled: 12, GPU: 8}
	list = append(list,
		selfRun{"workload-per-update-ideal", "the reported workload on the device as it is", Request{Scenario: workload, Discipline: "per-update", Impose: preset("ideal"), Ranks: ranks}, VerdictFinished, nil, true},
		selfRun{"workload-count-ideal", "the same with count", Request{Scenario: workload, Discipline: "count", Impose: preset("ideal"), Ranks: ranks}, VerdictFinished, nil, true},
		selfRun{"workload-per-update-lag-3", "the reported workload with the cure, stores seen three buffers late", Request{Scenario: workload, Discipline: "per-update", Impose: preset("lag-3"), Ranks: ranks, Follow: true}, VerdictFinished, nil, false},
		selfRun{"workload-count-lag-3", "the reported workload, stores seen three buffers late, buffer ends of the run in which the throttle cuts nothing", Request{Scenario: workload, Discipline: "count", Impose: preset("lag-3"), Ranks: ranks, Follow: true}, VerdictHung, reported, false},
		selfRun{"workload-count-lag-3-live", "the same with a main thread that decides on the device", Request{Scenario: workload, Discipline: "count", Impose: preset("lag-3"), Ranks: ranks}, "", nil, true})
	for n := range 5 {
		lag := fmt.Sprintf("lag-%d", n)
		list = append(list,
			selfRun{"first-group-per-update-" + lag, "the first group of the workload with fixed buffer ends and the cure", Request{Scenario: firstGroup(false), Impose: preset(lag)}, VerdictFinished, nil, false},
			selfRun{"first-group-count-" + lag, "the first group of the workload with fixed buffer ends", Request{Scenario: firstGroup(true), Impose: preset(lag)}, VerdictHung, &model.Counters{Scheduled: 12, GPU: uint32(11 - n)}, false})
	}
	for _, g := range []int{4, 1} {
		list = append(list, selfRun{fmt.Sprintf("tape-groups-of-%d", g), "targets of the whole tape, nothing imposed", Request{Scenario: tapeGroups(g)}, VerdictHung, &model.Counters{Scheduled: 12, GPU: uint32(g)}, false})
	}
	corpus := func(name, machine, expect string) selfRun {
		for _, t := range mustCorpus() {
			if t.scenario.Name == name {
				return selfRun{name + "-" + machine, t.scenario.About, Request{Scenario: t.source, Impose: preset(machine)}, expect, nil, true}
			}
		}
		return selfRun{}
	}
	return append(list,
		corpus("same-queue", "overlap-untracked", VerdictFinished),
		corpus("never", "watchdog-must", VerdictFinished),
		corpus("never", "spin-limit", VerdictFinished),
		corpus("handshake", "unordered", VerdictFinished),
		corpus("second-queue", "exclusive-device", VerdictHung),
		corpus("many-buffers", "queue-limit-12", VerdictHung),
		corpus("gpu-to-cpu", "unreliable-read", VerdictHung),
		corpus("cpu-to-gpu", "unreliable-write", VerdictHung),
		corpus("two-queues", "one-slot", ""))
}

// explicit is a scenario of one queue and one stream as text.
func explicit(name string, buffers [][]string, tasks []string) string {
	b, err := json.Marshal(map[string]any{"fencesim": 1, "name": name, "schedule": map[string]any{
		"queues":  []any{map[string]any{"name": "gpu", "buffers": buffers}},
		"streams": []any{map[string]any{"name": "cpu", "tasks": tasks}}}})
	if err != nil {
		return ""
	}
	return string(b)
}

// firstGroup is the first group of the reported workload as its buffers end when the
// throttle cuts nothing: an update opens each buffer, the last one shares its buffer with
// the first two of the GPU's waits, of which each later buffer has two.
func firstGroup(count bool) string {
	const n = 12
	target := func(i int) int {
		if count {
			return n
		}
		return i
	}
	var buffers [][]string
	var tasks []string
	for i := 1; i <= n; i++ {
		b := []string{fmt.Sprintf("update G %d", i)}
		if i < n {
			b = append(b, fmt.Sprintf("kernel x%d", i+1))
		}
		buffers = append(buffers, b)
		tasks = append(tasks, fmt.Sprintf("wait G %d", target(i)), fmt.Sprintf("collective r%d", i), fmt.Sprintf("update C %d", i))
	}
	for i := 1; i <= n; i++ {
		if i%2 == 1 && i > 1 {
			buffers = append(buffers, nil)
		}
		last := &buffers[len(buffers)-1]
		*last = append(*last, fmt.Sprintf("wait C %d", target(i)), fmt.Sprintf("kernel y%d reads r%d", i, i))
	}
	name := "first-group-per-update"
	if count {
		name = "first-group-count"
	}
	return explicit(name, buffers, tasks)
}

// tapeGroups is twelve reductions whose waits all have the target of the whole tape, in
// groups of g: the first group waits for reductions that come after it.
func tapeGroups(g int) string {
	const n = 12
	var buffers [][]string
	var tasks []string
	for i := 1; i <= n; i++ {
		buffers = append(buffers, []string{fmt.Sprintf("kernel x%d", i), fmt.Sprintf("update G %d", i)})
		tasks = append(tasks, fmt.Sprintf("wait G %d", n), fmt.Sprintf("collective r%d reads x%d", i, i), fmt.Sprintf("update C %d", i))
		if i%g == 0 {
			b := []string{}
			for k := i - g + 1; k <= i; k++ {
				b = append(b, fmt.Sprintf("wait C %d", n), fmt.Sprintf("kernel y%d reads r%d", k, k))
			}
			buffers = append(buffers, b)
		}
	}
	return explicit(fmt.Sprintf("tape-groups-of-%d", g), buffers, tasks)
}
