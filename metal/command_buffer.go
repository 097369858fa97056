package metal

import (
	"fmt"
	"time"
)

// A Status is how far a command buffer has come. The zero Status is a buffer that
// Metal has not been told of; the numbers are Metal's.
type Status uint64

// The statuses in the order in which a buffer passes through them; Completed and
// Failed are the two ends.
const (
	NotEnqueued Status = iota
	Enqueued
	Committed
	Scheduled
	Completed
	Failed
)

// String is the status in lower case, or a number that Metal has added since.
func (s Status) String() string {
	names := [...]string{"not enqueued", "enqueued", "committed", "scheduled", "completed", "failed"}
	if s < Status(len(names)) {
		return names[s]
	}
	return fmt.Sprintf("status %d", uint64(s))
}

// A CommandBuffer is a list of commands that the GPU starts and finishes as one.
// It is filled through one encoder at a time, committed once, and waited for. The
// zero CommandBuffer is closed.
type CommandBuffer struct {
	handle
	done      chan struct{}
	encoder   *Encoder // the open one, or nil
	committed bool
	err       error // the first mistake made while it was filled
}

// ready returns an error unless commands may be added now, between encoders.
func (c *CommandBuffer) ready(what string) error {
	switch {
	case c.open() != nil:
		return c.open()
	case c.err != nil:
		return c.err
	case c.committed:
		return fmt.Errorf("metal: %s: the command buffer is committed: %w", what, ErrOrder)
	case c.encoder != nil:
		return fmt.Errorf("metal: %s: an encoder is open: %w", what, ErrOrder)
	}
	return nil
}

// Signal adds a command that sets the event to the value when every earlier
// command of the buffer is done. It needs every encoder to be ended.
func (c *CommandBuffer) Signal(e *Event, value uint64) error {
	return c.event("signal", msgSignalEvent, e, value)
}

// WaitFor adds a command that holds the later commands of the buffer back until
// the event is at least the value. Nothing bounds that wait but Event.Signal
// from the CPU and the OS watchdog.
func (c *CommandBuffer) WaitFor(e *Event, value uint64) error {
	return c.event("wait", msgWaitEvent, e, value)
}

func (c *CommandBuffer) event(what string, m message, e *Event, value uint64) error {
	if err := c.ready(what); err != nil {
		return err
	}
	if e == nil || e.open() != nil {
		return fmt.Errorf("metal: %s: the event is closed: %w", what, ErrClosed)
	}
	pooled(c.bridge, func() { c.send(m, e.id, value) })
	return nil
}

// Enqueue takes the buffer's place in the order of its queue now and not at
// Commit.
func (c *CommandBuffer) Enqueue() error {
	if err := c.ready("enqueue"); err != nil {
		return err
	}
	pooled(c.bridge, func() { c.send(msgEnqueue) })
	return nil
}

// Commit gives the buffer to the GPU. An error, from here or from an encoder of
// the buffer, means that nothing of it will run.
func (c *CommandBuffer) Commit() error {
	if err := c.ready("commit"); err != nil {
		return err
	}
	c.committed = true
	pooled(c.bridge, func() { c.send(msgCommit) })
	return nil
}

// Done is closed when the committed buffer has finished, completed or failed.
func (c *CommandBuffer) Done() <-chan struct{} { return c.done }

// Wait blocks until the committed buffer has finished and returns Err, or until
// limit has passed and returns an error for ErrTimeout; a limit of 0 or less only
// looks. It waits for the completion handler: Metal's own waitUntilCompleted has
// no bound and is not used.
func (c *CommandBuffer) Wait(limit time.Duration) error {
	if err := c.open(); err != nil {
		return err
	}
	select {
	case <-c.done:
		return c.Err()
	default:
	}
	timer := time.NewTimer(max(limit, 0))
	defer timer.Stop()
	select {
	case <-c.done:
		return c.Err()
	case <-timer.C:
		return fmt.Errorf("metal: command buffer is %s after %v: %w", c.Status(), limit, ErrTimeout)
	}
}

// Status asks Metal; NotEnqueued after Close.
func (c *CommandBuffer) Status() Status {
	if c.open() != nil {
		return NotEnqueued
	}
	return Status(c.send(msgStatus).word)
}

// Err is nil unless the buffer has failed; then it wraps a *CommandError. A
// buffer that has not finished has no error yet.
func (c *CommandBuffer) Err() error {
	if err := c.open(); err != nil {
		return err
	}
	if c.Status() != Failed {
		return nil
	}
	failure := &CommandError{Text: "the command buffer failed without an error"}
	pooled(c.bridge, func() {
		if e := newError(c.bridge, c.send(msgError).object()); e != nil {
			failure = e
		}
	})
	return fmt.Errorf("metal: command buffer: %w", failure)
}

// Times is when the GPU started and ended the buffer, on the host's clock of
// seconds since boot; both are 0 until it has finished.
func (c *CommandBuffer) Times() (start, end time.Duration) {
	if c.open() != nil {
		return 0, 0
	}
	seconds := func(m message) time.Duration {
		return time.Duration(c.send(m).double * float64(time.Second))
	}
	return seconds(msgGPUStart), seconds(msgGPUEnd)
}

// Close ends an open encoder and gives the buffer back. A committed buffer runs
// on and its onDone still runs; a buffer that was not committed never runs.
func (c *CommandBuffer) Close() {
	if c.encoder != nil {
		c.encoder.End()
	}
	c.handle.Close()
}
