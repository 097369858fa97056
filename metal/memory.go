package metal

import (
	"fmt"
	"math"
	"unsafe"
)

// A Buffer is memory that CPU and GPU share: storage mode shared, hazard tracking
// off, so that Metal orders nothing between the commands that use it. The zero
// Buffer is closed.
type Buffer struct {
	handle
	words []uint32
}

// NewBuffer allocates that many 32-bit words, at least 1 and below 2^29, all
// zero. Their contents are undefined after Close.
func (d *Device) NewBuffer(words int) (*Buffer, error) {
	if words < 1 || words > math.MaxInt32/4 {
		return nil, fmt.Errorf("metal: buffer of %d words: not in 1 to %d", words, math.MaxInt32/4)
	}
	h, err := d.newObject("MTLBuffer", msgNewBuffer, uint64(words)*4, uint64(storageShared|hazardUntracked))
	if err != nil {
		return nil, err
	}
	base, length := pointer(h.send(msgContents).word), h.send(msgLength).word
	if base == nil || length < uintptr(words)*4 {
		h.Close()
		return nil, fmt.Errorf("metal: buffer of %d words: got %d bytes at %p", words, length, base)
	}
	b := &Buffer{handle: h, words: unsafe.Slice((*uint32)(base), words)}
	clear(b.words)
	return b, nil
}

// Words is the memory itself, not a copy; nil after Close, and a slice taken
// before must not be used after. While the GPU may touch it, use sync/atomic or
// package barrier for every access.
func (b *Buffer) Words() []uint32 {
	if b.open() != nil {
		return nil
	}
	return b.words
}

// A Fence orders encoders of one queue: one updates it, a later one waits for it.
// It has no value and the CPU cannot see it. The zero Fence is closed.
type Fence struct{ handle }

// NewFence makes an MTLFence.
func (d *Device) NewFence() (*Fence, error) {
	h, err := d.newObject("MTLFence", msgNewFence)
	if err != nil {
		return nil, err
	}
	return &Fence{h}, nil
}

// An Event is a 64-bit counter, an MTLSharedEvent, that command buffers signal
// and wait for between encoders and that the CPU reads and writes. It starts at
// 0. The zero Event is closed.
type Event struct{ handle }

// NewEvent makes an MTLSharedEvent.
func (d *Device) NewEvent() (*Event, error) {
	h, err := d.newObject("MTLSharedEvent", msgNewEvent)
	if err != nil {
		return nil, err
	}
	return &Event{h}, nil
}

// Value is the event's value, 0 after Close.
func (e *Event) Value() uint64 {
	if e.open() != nil {
		return 0
	}
	return uint64(e.send(msgSignaledValue).word)
}

// Signal sets the value from the CPU. It is also the release of a command buffer
// that waits: Metal does not signal the events of a buffer that failed.
func (e *Event) Signal(value uint64) error {
	if err := e.open(); err != nil {
		return err
	}
	pooled(e.bridge, func() { e.send(msgSetSignaledValue, value) })
	return nil
}
