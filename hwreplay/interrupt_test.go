package hwreplay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// An interrupted replay keeps what is known: the runs that have ended or, if none has, how
// far the one under way had come.
func TestReplayInterrupted(t *testing.T) {
	ends := &Request{Scenario: "fencesim: 1\nname: ends\nschedule: {queues: [{name: gpu, buffers: [[update G 1]]}], streams: [{name: cpu, tasks: [wait G 1]}]}\n",
		Repeat: 1 << 30, Config: Config{Patience: 10 * time.Second}}
	for _, c := range []struct {
		name, verdict string
		q             *Request
		runs          bool
	}{{"between runs", VerdictFinished, ends, true}, {"in the first run", VerdictInterrupted, never(10 * time.Second), false}} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			r, err := Perform(ctx, &Task{Backend: "host", Replay: c.q}, nil)
			if !errors.Is(err, context.DeadlineExceeded) || r == nil || r.Replay == nil {
				t.Fatalf("%+v, %v", r, err)
			}
			res := r.Replay
			if res.Verdict != c.verdict || !res.Interrupted || !res.Released || !res.Usable || (res.Runs > 0) != c.runs || len(res.Fences) == 0 || len(res.Recording) == 0 {
				t.Errorf("%+v", res)
			}
		})
	}
}

// A replay may be interrupted at any moment: before the device is open, and while threads
// move, whose recording is read then, which the race detector watches.
func TestReplayInterruptedAnywhere(t *testing.T) {
	busy := &Request{Scenario: "fencesim: 1\nname: busy\nschedule: {queues: [{name: gpu, buffers: [[collective all, update G 1], [collective all, update G 2]]}], streams: [{name: cpu, tasks: [wait G 1, kernel k, wait G 2]}, {name: other, tasks: [update C 1, update C 2, update C 3]}]}\n",
		Repeat: 1 << 30, Config: Config{Patience: 10 * time.Second}}
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*200*time.Microsecond)
		r, err := Perform(ctx, &Task{Backend: "host", Replay: busy}, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || r == nil || r.Replay == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if res := r.Replay; !res.Interrupted || !res.Released || !res.Usable || res.Runs == 0 && res.Verdict != VerdictInterrupted {
			t.Fatalf("%+v", res)
		}
	}
}

// An interrupted self-test keeps the runs that have ended, and neither passes nor blames the
// device.
func TestRecordInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := Perform(ctx, &Task{Backend: "host", Record: new(RecordRequest)}, func(note string) {
		if strings.HasSuffix(note, ", run 3") {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || r == nil || r.Record == nil || len(r.Record.Runs) == 0 || r.Record.Runs[0].Runs < 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !r.Record.Interrupted || r.Record.Passed || len(r.Record.Unproven) > 0 {
		t.Errorf("interrupted %v, passed %v, not shown %q", r.Record.Interrupted, r.Record.Passed, r.Record.Unproven)
	}
	for _, row := range r.Record.Runs {
		if row.AsExpected != row.Runs || !row.Released || !row.Usable {
			t.Errorf("%+v", row)
		}
	}
}

// An interrupted conform keeps the tests that it made and recommends no machine.
func TestConformInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	r, err := Perform(ctx, &Task{Backend: "host", Conform: &ConformRequest{Runs: 1 << 30, Config: Config{Patience: 100 * time.Millisecond}}}, nil)
	if err == nil || r == nil || r.Conform == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	if c := r.Conform; !c.Interrupted || c.Runs == 0 || len(c.Machines) == 0 || c.Machine != nil {
		t.Errorf("%+v", c)
	}
}
