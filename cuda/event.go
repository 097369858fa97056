package cuda

import "time"

// Event marks a place in a stream. Before it is recorded it counts as done.
type Event struct {
	c      *Context
	handle uintptr
	timed  bool
}

const eventDisableTiming = 2

// NewEvent makes an event; a timed one can be given to Elapsed and costs more.
func (c *Context) NewEvent(timed bool) (*Event, error) {
	e := &Event{c: c, timed: timed}
	var flags uint32 = eventDisableTiming
	if timed {
		flags = 0
	}
	if err := c.on("cuEventCreate", func(d *driver) Code { return d.EventCreate(&e.handle, flags) }); err != nil {
		return nil, err
	}
	return e, nil
}

// Close gives the event up, also if it is not done yet.
func (e *Event) Close() error {
	return e.c.on("cuEventDestroy", func(d *driver) Code { return d.EventDestroy(e.handle) })
}

// Record puts the event on the stream. Recorded again, it forgets its old place.
func (e *Event) Record(s *Stream) error {
	return e.c.on("cuEventRecord", func(d *driver) Code { return d.EventRecord(e.handle, s.handle) })
}

// Done reports whether the stream has come past the event.
func (e *Event) Done() (bool, error) {
	return done(e.c.on("cuEventQuery", func(d *driver) Code { return d.EventQuery(e.handle) }))
}

// Wait polls until the event is Done, for timeout at most; then the error wraps
// context.DeadlineExceeded.
func (e *Event) Wait(timeout time.Duration) error { return poll("event", timeout, e.Done) }

// Elapsed returns the device's time from start to e, both timed, recorded and
// done; the driver's resolution is about half a microsecond.
func (e *Event) Elapsed(start *Event) (time.Duration, error) {
	if !e.timed || !start.timed {
		return 0, &Error{Call: "cuEventElapsedTime", Code: CodeInvalidHandle, Log: "an event was made without timing"}
	}
	var ms float32
	err := e.c.on("cuEventElapsedTime", func(d *driver) Code {
		return d.EventElapsedTime(&ms, start.handle, e.handle)
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
