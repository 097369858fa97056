package cuda

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Stream is a queue of work: what is put on it runs in that order, beside what
// other streams run. It does not wait for the default stream nor that for it.
type Stream struct {
	c      *Context
	handle uintptr
}

const streamNonBlocking = 1

// Priorities returns the least and the greatest priority of streams; greater
// priorities are smaller numbers. Both are 0 where the device has none.
func (c *Context) Priorities() (least, greatest int, err error) {
	var l, g int32
	err = c.on("cuCtxGetStreamPriorityRange", func(d *driver) Code { return d.CtxGetStreamPriorityRange(&l, &g) })
	return int(l), int(g), err
}

// NewStream makes a stream. Priority 0 is the least; the driver cuts others to
// the range of Priorities. A priority decides which waiting blocks start first,
// and stops none that run.
func (c *Context) NewStream(priority int) (*Stream, error) {
	s := &Stream{c: c}
	err := c.on("cuStreamCreateWithPriority", func(d *driver) Code {
		return d.StreamCreateWithPriority(&s.handle, streamNonBlocking, int32(priority))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Close gives the stream up. What is on it still runs.
func (s *Stream) Close() error {
	return s.c.on("cuStreamDestroy", func(d *driver) Code { return d.StreamDestroy(s.handle) })
}

// Done reports whether everything put on the stream has run. An error is that of
// an earlier kernel; see Lost.
func (s *Stream) Done() (bool, error) {
	return done(s.c.on("cuStreamQuery", func(d *driver) Code { return d.StreamQuery(s.handle) }))
}

// Wait polls until the stream is Done, for timeout at most; then the error wraps
// context.DeadlineExceeded.
func (s *Stream) Wait(timeout time.Duration) error { return poll("stream", timeout, s.Done) }

// After makes what is put on the stream from now on wait for the event, as last
// recorded before this call. It does not block the CPU.
func (s *Stream) After(e *Event) error {
	return s.c.on("cuStreamWaitEvent", func(d *driver) Code { return d.StreamWaitEvent(s.handle, e.handle, 0) })
}

// done tells "not ready" from an error.
func done(err error) (bool, error) {
	if errors.Is(err, CodeNotReady) {
		return false, nil
	}
	return err == nil, err
}

// poll calls ready, without a pause at first and then with growing ones of at
// most a millisecond, until it is true or the time is over.
func poll(what string, timeout time.Duration, ready func() (bool, error)) error {
	const eager = 200 * time.Microsecond
	start := time.Now()
	for pause := 10 * time.Microsecond; ; {
		ok, err := ready()
		if ok || err != nil {
			return err
		}
		spent := time.Since(start)
		if spent >= timeout {
			return fmt.Errorf("cuda: %s: not done after %v: %w", what, timeout, context.DeadlineExceeded)
		}
		if spent < eager {
			continue
		}
		time.Sleep(min(pause, timeout-spent))
		pause = min(2*pause, time.Millisecond)
	}
}
