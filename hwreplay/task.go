package hwreplay

import (
	"context"
	"encoding/json"
	"fmt"
)

// A Task is what a process is given to do with a device: exactly one of the requests is
// set. It is data, so that it can be sent to a child.
type Task struct {
	Backend string          `json:"backend"`
	Replay  *Request        `json:"replay,omitempty"`
	Conform *ConformRequest `json:"conform,omitempty"`
	Measure *MeasureRequest `json:"measure,omitempty"`
	Record  *RecordRequest  `json:"record,omitempty"`
}

// A Report is what came of a task: the field of its request is set.
type Report struct {
	Replay  *Result       `json:"replay,omitempty"`
	Conform *Conformance  `json:"conform,omitempty"`
	Measure *Measurement  `json:"measure,omitempty"`
	Record  *RecordOfRuns `json:"record,omitempty"`
	Error   *TaskError    `json:"error,omitempty"`
}

// A TaskError is an error that came from another process.
type TaskError struct {
	Kind string `json:"kind"` // unavailable, impose, device
	Text string `json:"text"`
}

// Error implements error.
func (e *TaskError) Error() string { return e.Text }

// Is makes the errors of this package recognisable across processes.
func (e *TaskError) Is(target error) bool {
	return e.Kind == "unavailable" && target == ErrUnavailable || e.Kind == "impose" && target == ErrCannotImpose
}

// Do does a task on a device in this process, until ctx is done. note, if not nil, is told
// of each step before it is taken, flush of what is known so far.
func (t *Task) Do(ctx context.Context, d Device, note func(string), flush func(*Report)) (*Report, error) {
	if note == nil {
		note = func(string) {}
	}
	if flush == nil {
		flush = func(*Report) {}
	}
	r := new(Report)
	var err error
	switch {
	case t.Replay != nil:
		r.Replay, err = replay(ctx, t.Replay, d, func(i int, out *Outcome) {
			if out == nil {
				note(fmt.Sprintf("run %d", i+1))
			}
		}, func(res *Result) { flush(&Report{Replay: res}) })
	case t.Conform != nil:
		r.Conform, err = observe(ctx, t.Conform, d, note, func(c *Conformance) { flush(&Report{Conform: c}) })
	case t.Measure != nil:
		r.Measure, err = Measure(ctx, t.Measure, d, note)
	case t.Record != nil:
		r.Record, err = record(ctx, t.Record, d, note, func(rec *RecordOfRuns) { flush(&Report{Record: rec}) })
	default:
		err = fmt.Errorf("a task without a request")
	}
	return r, err
}

// decodeTask reads a task.
func decodeTask(b []byte) (*Task, error) {
	t := new(Task)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("task: %w", err)
	}
	return t, nil
}
