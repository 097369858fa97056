package hwreplay

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
)

// What a child process is told is refused in one line, or a task: its schedules can be
// planned or are refused, and no run is made.
func FuzzTask(f *testing.F) {
	const scenario = "fencesim: 1\nschedule: {queues: [{name: gpu, buffers: [[kernel x, update G 1], [wait C 1]]}], streams: [{name: cpu, tasks: [wait G 1, collective r reads x, update C 1]}]}\n"
	for _, task := range []*Task{
		{Backend: "host", Replay: &Request{Scenario: scenario, Repeat: 2, Follow: true}},
		{Backend: "cuda", Replay: &Request{Scenario: "fencesim: 1\ngenerate: {kind: chained-reductions, reductions: 2, rounds: 1, elems: 4}\n", Discipline: "tape", Impose: &Machine{}, Ranks: 2}},
		{Backend: "metal", Conform: &ConformRequest{Runs: 3}}, {Measure: &MeasureRequest{}}, {Record: &RecordRequest{Date: "2026-01-01"}},
	} {
		b, err := json.Marshal(task)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		task, err := decodeTask(src)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
			return
		}
		sameAgain(t, task, new(Task))
		q := task.Replay
		if q == nil || q.Ranks > 3 {
			return
		}
		text := []byte(q.Scenario)
		if q.Trace != nil {
			text = q.Trace.Scenario
		}
		if sc, _ := naive.Small(text, 60); sc == nil || q.Ranks > 0 && len(sc.RankSchedules) > 0 {
			return
		}
		if p, _, err := q.Plan(); err == nil && (p == nil || len(p.ranks) == 0) {
			t.Fatal("a plan of nothing")
		}
	})
}

// sameAgain holds what is written of a value to read back as the same.
func sameAgain(t *testing.T, v, back any) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%T is read and cannot be written: %v", v, err)
	}
	if err := json.Unmarshal(want, back); err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	if have, err := json.Marshal(back); err != nil || !bytes.Equal(have, want) {
		t.Fatalf("%v: read back it is\n%s\nwas\n%s", err, have, want)
	}
}

// A record of a device, a result of a replay and a conformance are refused in one line, or
// what is written of them reads back to the same.
func FuzzRecord(f *testing.F) {
	files, err := filepath.Glob("testdata/records/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no records: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 1<<15 {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"fencesim":1,"machine":{"preset":"lag-3"},"model":"outside","histogram":[{"verdict":"hung","counters":{"scheduled":12,"gpu":8,"cpu":0},"runs":20,"model":"allowed"}]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<15 {
			return
		}
		for _, make := range []func() any{func() any { return new(RecordOfRuns) }, func() any { return new(Result) }, func() any { return new(Conformance) }, func() any { return new(childLine) }} {
			v := make()
			if err := json.Unmarshal(src, v); err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Fatalf("more than one line: %v", err)
				}
				continue
			}
			sameAgain(t, v, make())
		}
	})
}

// The words of an agreement are themselves; another is undecided.
func FuzzAgreement(f *testing.F) {
	for _, w := range agreementWords {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		var a Agreement
		if err := a.UnmarshalText([]byte(word)); err != nil || a.String() != word && a != Undecided {
			t.Fatalf("%q is read as %s: %v", word, a, err)
		}
	})
}
