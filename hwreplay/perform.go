package hwreplay

import (
	"context"
	"fmt"
	"time"
)

// Perform does a task where it is safe: on threads in this process, on a GPU in a child
// ([Supervise]), so the program must ask [IsChild] when it starts. The backend auto is
// replaced by the one that is found. What is about to be done goes to note, if that is
// not nil. With an error the report is what was known before it, or nil.
func Perform(ctx context.Context, t *Task, note func(string)) (*Report, error) {
	d, err := Open(t.Backend)
	if err != nil {
		return nil, err
	}
	u := *t
	u.Backend = d.Info().Backend
	if u.Backend != "host" {
		deadline := time.Minute
		if c := u.config(); c != nil {
			deadline += 2 * c.Patience
		}
		r, err := Supervise(ctx, &u, deadline, note)
		if ctx.Err() == nil || err == nil {
			return r, err
		}
		if r != nil && r.Replay != nil {
			r.Replay.Interrupted = true
		}
		if r != nil && r.Conform != nil {
			r.Conform.interrupt()
		}
		if r != nil && r.Record != nil {
			r.Record.Interrupted, r.Record.Passed = true, false
		}
		return r, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	r, err := u.Do(ctx, d, note, nil)
	if ctx.Err() != nil && err != nil {
		return r, fmt.Errorf("interrupted: %w", ctx.Err())
	}
	return r, err
}

// config is the Config of the task's request.
func (t *Task) config() *Config {
	switch {
	case t.Replay != nil:
		return &t.Replay.Config
	case t.Conform != nil:
		return &t.Conform.Config
	case t.Measure != nil:
		return &t.Measure.Config
	case t.Record != nil:
		return &t.Record.Config
	}
	return nil
}
