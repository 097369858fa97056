package cuda

import "fmt"

// Compare is the test of a WaitValue32. The zero Compare is a cyclic "at least".
type Compare uint32

// The tests of the word at the address (w) against the value (v).
const (
	CyclicAtLeast Compare = 0 // int32(w-v) >= 0: only right while they are less than 2^31 apart
	Equal         Compare = 1 // w == v
	AnyBit        Compare = 2 // w&v != 0
)

// HasValueOps reports whether the driver has WriteValue32 and WaitValue32 in the
// form that needs no special permission (CUDA 11.7 or later).
func (c *Context) HasValueOps() bool {
	return c.d.StreamWriteValue32 != nil && c.d.StreamWaitValue32 != nil
}

// WriteValue32 puts a store of one word on the stream, made by the queue itself
// and not by a kernel. What the stream did before is visible before it.
func (s *Stream) WriteValue32(at DevicePtr, value uint32) error {
	if !s.c.HasValueOps() {
		return fmt.Errorf("cuda: cuStreamWriteValue32: not in this driver: %w", CodeNotSupported)
	}
	return s.c.on("cuStreamWriteValue32", func(d *driver) Code {
		return d.StreamWriteValue32(s.handle, at, value, 0)
	})
}

// WaitValue32 makes the stream's queue wait for a word. Nothing bounds it: no
// kill word ends it, and a queue that waits outlives everything but its context.
// The caller must be able to store a value that satisfies it, at any moment, and
// must do so before it waits for the stream. Note that CyclicAtLeast is not
// satisfied by the greatest number: with target 1 use 2^31.
func (s *Stream) WaitValue32(at DevicePtr, value uint32, test Compare) error {
	if !s.c.HasValueOps() {
		return fmt.Errorf("cuda: cuStreamWaitValue32: not in this driver: %w", CodeNotSupported)
	}
	return s.c.on("cuStreamWaitValue32", func(d *driver) Code {
		return d.StreamWaitValue32(s.handle, at, value, uint32(test))
	})
}
