package metal

import (
	"fmt"
	"sync"
)

// A handle owns one reference to an Objective-C object. The zero handle is
// closed. Its methods are safe from several goroutines, but a Close must not
// race with another use.
type handle struct {
	bridge bridge
	kind   string // the protocol, as in the table of selectors: "MTLDevice"
	id     object // 0 when closed
}

// own makes a handle of an object of which the caller has one reference. An id
// of 0 is an error that names what was asked for.
func own(b bridge, kind string, id object, what string) (handle, error) {
	if id == 0 {
		return handle{}, fmt.Errorf("metal: %s: the answer is nil", what)
	}
	h := handle{bridge: b, kind: kind, id: id}
	if err := h.responds(); err != nil {
		h.Close()
		return handle{}, err
	}
	return h, nil
}

// A checkedKind is a protocol that an object of this bridge has been asked about.
type checkedKind struct {
	bridge bridge
	kind   string
}

// checkedKinds holds the protocols whose objects have every selector, so that
// only the first object of each is asked. Objects of one protocol are taken to be
// of one class, which holds for one process on one device.
var checkedKinds sync.Map

// responds asks the object for every selector that this package may send to its
// protocol, since an unknown selector ends the process.
func (h *handle) responds() error {
	key := checkedKind{h.bridge, h.kind}
	if _, ok := checkedKinds.Load(key); ok {
		return nil
	}
	for m := range selectors {
		if selectors[m].receiver != h.kind {
			continue
		}
		if !h.send(msgResponds, message(m)).truth() {
			return fmt.Errorf("metal: %s has no %s: this macOS is too old or too new", h.kind, selectors[m].name)
		}
	}
	checkedKinds.Store(key, true)
	return nil
}

// send sends a message to the object.
func (h *handle) send(m message, args ...any) reply { return send(h.bridge, h.id, m, args...) }

// open returns nil while the handle is open, else an error for ErrClosed.
func (h *handle) open() error {
	if h.id == 0 {
		return fmt.Errorf("metal: %w", ErrClosed)
	}
	return nil
}

// Close gives the reference back. A second Close, or one of a zero value, does
// nothing.
func (h *handle) Close() {
	if h.id != 0 {
		pooled(h.bridge, func() { h.send(msgRelease) })
		h.id = 0
	}
}
