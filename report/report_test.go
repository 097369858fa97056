package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestCodeRoundTrip(t *testing.T) {
	for code, want := range map[string][]int{
		"": {}, "3": {3}, "0:3": {0, 0, 0}, "0:2,1": {0, 0, 1},
		"0+1:2x2,4": {0, 1, 1, 0, 1, 1, 4}, "7,0:2+1x3": {7, 0, 0, 1, 0, 0, 1, 0, 0, 1},
	} {
		got, err := ParseCode(code)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("ParseCode(%q) = %v, %v, want %v", code, got, err, want)
		}
		if back := FormatCode(want); back != code {
			t.Errorf("FormatCode(%v) = %q, want %q", want, back, code)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.IntRange(0, 2)).Draw(t, "choices")
		code := FormatCode(want)
		got, err := ParseCode(code)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v gives %q, which reads as %v, %v", want, code, got, err)
		}
	})
	for _, code := range []string{",", "x", "1x", "1x0", "-1", "1:", "1:0", "1:-2", "a", "1,,2", "1:99999999999", "1+2x99999999", "1+", "+1", "1xx2", "9223372036854775808"} {
		if got, err := ParseCode(code); err == nil {
			t.Errorf("ParseCode(%q) = %v, want an error", code, got)
		}
	}
}

// A long run of three agents in which the CPU waits for a fence.
func longTrace() []sim.TraceStep {
	var steps []sim.TraceStep
	add := func(agent, text string, sure bool) {
		steps = append(steps, sim.TraceStep{Agent: agent, Transition: text, Guaranteed: sure})
	}
	for i := range 60 {
		add("main", fmt.Sprintf("encode k%d on gpu", i), true)
		add("queue gpu", fmt.Sprintf("kernel k%d reads k%d weight", i, i-1), true)
		if i%5 == 4 {
			add("queue gpu", fmt.Sprintf("update G %d", i/5+1), true)
		}
	}
	add("memory", "update G 1 becomes visible to the CPU", false)
	return steps
}

func TestRelevantKeepsWhatMatters(t *testing.T) {
	steps := longTrace()
	shown := relevant(steps, topics{"G": true}, 40)
	var text []string
	for _, i := range shown {
		text = append(text, steps[i].Transition)
	}
	for _, want := range []string{"update G 1", "update G 12", "update G 1 becomes visible to the CPU"} {
		if !slices.Contains(text, want) {
			t.Errorf("%q is not shown: %q", want, text)
		}
	}
	if len(shown) > 40 || !slices.IsSorted(shown) {
		t.Errorf("%d steps shown: %v", len(shown), shown)
	}
	if all := relevant(steps, nil, -1); len(all) != len(steps) {
		t.Errorf("%d of %d steps shown where all are asked for", len(all), len(steps))
	}
}

// No width makes a line longer than it says. What cannot be broken is apart: the scenario
// that fails alike, the command that replays, and the digest of a state.
func TestWidth(t *testing.T) {
	y := sim.Compile([]*model.Schedule{{}}, model.Machine{}, sim.Options{})
	lag, _ := model.PresetNamed("lag-3")
	for width := leastWidth; width < 140; width++ {
		o := Options{Width: width, Unmet: []string{"hang at (scheduled 12, gpu 8, cpu 0)"}}
		var b bytes.Buffer
		for _, r := range results() {
			r.Replay, r.Scenario = "", "a case whose name is so long that a narrow line has no room for it"
			if err := errors.Join(Text(&b, r, o), Sentence(&b, r, o)); err != nil {
				t.Fatal(err)
			}
		}
		r := NewReplayed(&model.Scenario{Name: "case", Schedule: &model.ScheduleFile{}}, y, &sim.Trace{Rank: -1, Steps: longTrace()}, sim.Run{Last: y.Initial()})
		if err := errors.Join(r.Text(&b, o), NewShownMachine(lag).Text(&b, o), NewListing().Text(&b, o)); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
		}
	}
}

func results() map[string]*check.Result {
	slack := 4
	all := func(s check.Status) map[string]check.Status {
		m := make(map[string]check.Status)
		for _, p := range check.Properties {
			m[p] = s
		}
		return m
	}
	lag, _ := model.PresetNamed("lag-3")
	hang := &check.Result{
		Scenario: "a case", Discipline: "count", Ranks: 2, Machine: lag.Machine, Verdict: check.Hang, Proof: check.Exhaustive,
		Reason: "the lag is more than the slack", Properties: all(check.Unknown), States: 7, Transitions: 9, Seed: 3, StuckStates: 2,
		Stuck: []check.Stuck{{
			Counters: model.Counters{Scheduled: 12, GPU: 1}, Cause: "the CPU waits for an update that it cannot see",
			Ranks: []check.StuckRank{{
				Fences:  []sim.FenceState{{Name: "G", Scheduled: 12, Stored: 12, SeenByGPU: 12, SeenByCPU: 1}, {Name: "R", Stored: model.Released}},
				Blocked: []sim.Blocked{{Agent: "stream cpu", At: "wait G 12", Needs: "G at least 12; the CPU sees 1"}},
			}},
			Cycle: []string{"stream cpu waits for queue gpu"}, Possible: 1, Trace: &sim.Trace{Steps: longTrace()},
		}, {Counters: model.Counters{Scheduled: 12, GPU: 2}}},
		Advice: []check.Advice{{Rule: "over-wait", Where: "stream cpu: wait G 12", Needs: "G 1 is enough"}},
		Expect: "missed", Replay: "fencesim replay case.yaml --steps 0:121",
	}
	hang.Properties["hang"] = check.Violated
	sampled := make(map[string]check.Proof)
	for _, p := range check.Properties {
		sampled[p] = check.Sampled
	}
	return map[string]*check.Result{
		"hang": hang,
		"ok": {Scenario: "a case", Ranks: 1, Machine: model.Machine{SpinLimit: 1}, Verdict: check.OK, Proof: check.Certificate,
			Reason: "slack certificate", Properties: all(check.Holds), Slack: &slack, Expect: "met", Seed: 1},
		"sampled": {Scenario: "a case", Ranks: 1, Verdict: check.OK, Proof: check.Sampled, Properties: all(check.Holds), Proofs: sampled, Runs: 500,
			Miss: "a bug that one run in 100 shows was missed with chance 0.7 %", Seed: 1},
		"inconclusive": {Scenario: "a case", Ranks: 1, Verdict: check.Inconclusive, Bound: "states", Properties: all(check.Unknown), States: 100, Seed: 1},
		"violation": {Scenario: "a case", Ranks: 1, Verdict: check.Violation, Proof: check.Exhaustive, Properties: map[string]check.Status{"stale-read": check.Violated},
			Violations: []check.Found{{Property: "stale-read", Where: "queue gpu: kernel y reads r", Steps: 2, Trace: &sim.Trace{Steps: []sim.TraceStep{
				{Agent: "queue gpu", Transition: "give up wait C 1", Guaranteed: true}, {Agent: "queue gpu", Transition: "kernel y reads r", Guaranteed: true}}}},
				{Property: "backwards", Where: "memory: update G 1 becomes visible to the CPU", Steps: 12}}, Seed: 1},
	}
}

// The text of each kind of result; go test ./report -update writes the files anew.
func TestText(t *testing.T) {
	for name, r := range results() {
		var b bytes.Buffer
		if err := Text(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report -update writes it anew):\n%s", file, got)
	}
}
