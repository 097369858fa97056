package metal

import (
	"fmt"
	"runtime"
	"unsafe"
)

// A Dispatch says how the commands of one encoder are ordered. The zero Dispatch
// is serial.
type Dispatch uint64

// The two ways: each command after the one before, or together except across a
// Barrier.
const (
	Serial     Dispatch = dispatchSerial
	Concurrent Dispatch = dispatchParallel
)

// Bounds of an encoder's arguments. Metal ends the process beyond them.
const (
	IndexMax = 30   // the largest index of a kernel's argument
	WordsMax = 1024 // the most words that SetWords takes: 4096 bytes
)

// A Size is a number of threads or threadgroups in three dimensions. The zero
// Size is empty and not dispatched. Its layout is MTLSize's.
type Size struct{ Width, Height, Depth uint64 }

// An Encoder adds compute commands to a command buffer. Its methods return
// nothing: the first mistake is kept, sends nothing more to Metal, and is
// returned by End and by the buffer's Commit. The zero Encoder is not usable.
type Encoder struct {
	handle
	buffer   *CommandBuffer
	pipeline *Pipeline
}

// Compute opens an encoder; the one before must be ended. The GPU does not start
// the commands of an encoder before those of the one before have ended, unless
// what they use is untracked, as every Buffer here is: use Fence or Event.
func (c *CommandBuffer) Compute(dispatch Dispatch) (*Encoder, error) {
	if err := c.ready("compute encoder"); err != nil {
		return nil, err
	}
	if dispatch > Concurrent {
		return nil, fmt.Errorf("metal: compute encoder: dispatch %d is not Serial or Concurrent", uint64(dispatch))
	}
	e := &Encoder{buffer: c}
	var err error
	pooled(c.bridge, func() {
		id := c.send(msgComputeEncoder, uint64(dispatch)).object()
		send(c.bridge, id, msgRetain)
		e.handle, err = own(c.bridge, "MTLComputeCommandEncoder", id, selectors[msgComputeEncoder].name)
	})
	if err != nil {
		return nil, err
	}
	c.encoder = e
	return e, nil
}

// encode runs fn in a pool unless the buffer already holds a mistake or the
// encoder has ended.
func (e *Encoder) encode(what string, fn func() error) {
	if e.buffer.err != nil {
		return
	}
	err := error(nil)
	if e.open() != nil {
		err = fmt.Errorf("the encoder has ended: %w", ErrOrder)
	} else {
		pooled(e.bridge, func() { err = fn() })
	}
	if err != nil {
		e.buffer.err = fmt.Errorf("metal: %s: %w", what, err)
	}
}

// SetPipeline chooses the kernel of the dispatches that follow.
func (e *Encoder) SetPipeline(p *Pipeline) {
	e.encode("set pipeline", func() error {
		if p == nil || p.open() != nil {
			return fmt.Errorf("the pipeline: %w", ErrClosed)
		}
		e.pipeline = p
		e.send(msgSetPipeline, p.id)
		return nil
	})
}

// SetBuffer makes the buffer, from the given word on, the kernel's argument of
// that index, 0 to IndexMax.
func (e *Encoder) SetBuffer(index int, b *Buffer, word int) {
	e.encode("set buffer", func() error {
		switch {
		case b == nil || b.open() != nil:
			return fmt.Errorf("argument %d: the buffer: %w", index, ErrClosed)
		case index < 0 || index > IndexMax:
			return fmt.Errorf("argument %d is not in 0 to %d", index, IndexMax)
		case word < 0 || word >= len(b.words):
			return fmt.Errorf("argument %d: word %d of %d", index, word, len(b.words))
		}
		e.send(msgSetBuffer, b.id, uint64(word)*4, uint64(index))
		return nil
	})
}

// SetWords copies 1 to WordsMax words into the command as the kernel's constant
// argument of that index.
func (e *Encoder) SetWords(index int, words ...uint32) {
	e.encode("set words", func() error {
		switch {
		case index < 0 || index > IndexMax:
			return fmt.Errorf("argument %d is not in 0 to %d", index, IndexMax)
		case len(words) < 1 || len(words) > WordsMax:
			return fmt.Errorf("argument %d: %d words, not 1 to %d", index, len(words), WordsMax)
		}
		e.send(msgSetBytes, unsafe.Pointer(&words[0]), uint64(len(words))*4, uint64(index))
		runtime.KeepAlive(words)
		return nil
	})
}

// Dispatch adds a launch of the kernel: that many threadgroups of that many
// threads, each at least 1. An argument of the kernel that was not set is a fault
// of the GPU, which this package cannot see.
func (e *Encoder) Dispatch(groups, threads int) {
	e.encode("dispatch", func() error {
		switch {
		case e.pipeline == nil:
			return fmt.Errorf("no pipeline is set: %w", ErrOrder)
		case groups < 1 || threads < 1 || threads > e.pipeline.MaxThreads():
			return fmt.Errorf("%d groups of %d threads: not at least 1 of 1 to %d", groups, threads, e.pipeline.MaxThreads())
		}
		e.send(msgDispatch, Size{uint64(groups), 1, 1}, Size{uint64(threads), 1, 1})
		return nil
	})
}

// Barrier makes every later command of this encoder wait for every earlier one,
// and see what it wrote to buffers. Only a Concurrent encoder needs it.
func (e *Encoder) Barrier() {
	e.encode("barrier", func() error {
		e.send(msgBarrier, uint64(barrierBuffers))
		return nil
	})
}

// UpdateFence makes the fence pass when the encoder's commands have ended.
func (e *Encoder) UpdateFence(f *Fence) { e.fence("update fence", msgUpdateFence, f) }

// WaitFence holds the encoder's commands back until the last earlier update of
// the fence has passed. Whether it also holds back the commands that were added
// before it is not documented; add it first.
func (e *Encoder) WaitFence(f *Fence) { e.fence("wait for fence", msgWaitFence, f) }

func (e *Encoder) fence(what string, m message, f *Fence) {
	e.encode(what, func() error {
		if f == nil || f.open() != nil {
			return fmt.Errorf("the fence: %w", ErrClosed)
		}
		e.send(m, f.id)
		return nil
	})
}

// End closes the encoder and returns the first mistake made in the command
// buffer so far. A second End only returns that.
func (e *Encoder) End() error {
	if e.open() == nil {
		pooled(e.bridge, func() { e.send(msgEndEncoding) })
		e.handle.Close()
		e.buffer.encoder = nil
	}
	return e.buffer.err
}

// Close is End without the answer.
func (e *Encoder) Close() { e.End() }
