package metal

import "fmt"

// A Queue is an MTLCommandQueue: an ordered list of command buffers. The zero
// Queue is closed.
type Queue struct{ handle }

// NewQueue makes a queue that holds at most limit unfinished command buffers; 0
// is Metal's own limit, 64 by its documentation. At the limit NewCommandBuffer
// blocks in Metal, without a bound, until one finishes.
func (d *Device) NewQueue(limit int) (*Queue, error) {
	var h handle
	var err error
	switch {
	case limit < 0:
		err = fmt.Errorf("metal: queue of %d command buffers", limit)
	case limit == 0:
		h, err = d.newObject("MTLCommandQueue", msgNewQueue)
	default:
		h, err = d.newObject("MTLCommandQueue", msgNewQueueLimit, uint64(limit))
	}
	if err != nil {
		return nil, err
	}
	return &Queue{h}, nil
}

// NewCommandBuffer makes an empty command buffer. When it has finished, whether
// completed or failed, onDone runs (if it is not nil) on a thread of Metal's and
// then Done is closed. onDone must not block and must not close the buffer.
//
// The buffer retains what is encoded into it. MLX asks for unretained references
// instead; what a buffer computes is the same.
func (q *Queue) NewCommandBuffer(onDone func()) (*CommandBuffer, error) {
	if err := q.open(); err != nil {
		return nil, err
	}
	c := &CommandBuffer{done: make(chan struct{})}
	var err error
	pooled(q.bridge, func() {
		id := q.send(msgCommandBuffer).object()
		send(q.bridge, id, msgRetain)
		if c.handle, err = own(q.bridge, "MTLCommandBuffer", id, "commandBuffer"); err != nil {
			return
		}
		done := c.done
		block, release := q.bridge.block(func(object) {
			if onDone != nil {
				onDone()
			}
			close(done)
		})
		c.send(msgOnCompleted, block)
		release()
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}
