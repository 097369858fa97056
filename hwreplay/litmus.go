package hwreplay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/kernels"
)

// A LitmusRow is one message-passing test: a payload and a flag, written in this order by
// one side and read in the other order by the other.
type LitmusRow struct {
	Test    string `json:"test"`
	Order   string `json:"order"`  // of the GPU's access to the flag
	Access  string `json:"access"` // of the GPU's accesses to the payload: weak or system
	Runs    int    `json:"runs"`
	Stale   int    `json:"stale"`   // runs in which an old word was read behind the new flag
	Allowed bool   `json:"allowed"` // the GPU's memory model allows that
	Refused string `json:"refused,omitempty"`
}

// isRefused reports whether an error says that the device cannot do something.
func isRefused(err error) bool { return errors.Is(err, ErrCannotImpose) }

// litmusWords is the payload in words, and litmusBatch how many messages one buffer
// passes.
const (
	litmusWords = 32
	litmusBatch = 50
)

// litmus runs message passing in both directions with each order and access. What is
// allowed follows PTX's memory model: a flag stored with release, or behind a barrier,
// publishes what the block has written; a flag loaded with acquire, or before a barrier,
// makes it seen. With ErrStopped, when ctx is done, come the rows that are whole.
func litmus(ctx context.Context, q *ConformRequest, d Device, note func(string)) ([]LitmusRow, error) {
	p := NewPlan(mustCorpus()[0].programs, mustCorpus()[0].scenario.Machine)
	s, err := d.Open(p, litmusBytes)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	runs := q.Runs
	if runs == 0 {
		runs = 200
	}
	runs *= 10 // messages are short
	var rows []LitmusRow
	for _, toCPU := range []bool{true, false} {
		for _, o := range kernels.Orders() {
			for _, how := range []kernels.Access{kernels.Weak, kernels.SystemScope} {
				row := LitmusRow{Test: "message to the CPU", Order: o.String(), Access: [...]string{"weak", "system"}[how]}
				row.Allowed = o != kernels.Synchronizing && o != kernels.BarrierBefore
				if !toCPU {
					row.Test = "message to the GPU"
					row.Allowed = o != kernels.Synchronizing && o != kernels.BarrierAfter
				}
				note(fmt.Sprintf("%s, %s, %s", row.Test, row.Order, row.Access))
				for row.Runs < runs {
					if ctx.Err() != nil {
						return rows, ErrStopped
					}
					stale, err := pass(s, toCPU, o, how)
					if isRefused(err) {
						row.Refused = err.Error()
						break
					}
					if err != nil {
						return nil, err
					}
					row.Runs += litmusBatch
					row.Stale += stale
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// Where the litmus tests have their words.
const (
	litmusControl = 0
	litmusStart   = line
	litmusFinish  = 2 * line
	litmusFlag    = 3 * line
	litmusPayload = 4 * line
	litmusResults = litmusPayload + litmusWords*4
	litmusBytes   = litmusResults + litmusBatch*line
)

// pass passes the messages of one buffer and counts those that were read stale.
func pass(s Session, toCPU bool, order kernels.Order, how kernels.Access) (int, error) {
	m := region{s.Memory(), litmusBytes}
	m.clear()
	b := &Batch{Control: litmusControl, Start: litmusStart, Finish: litmusFinish}
	kind := OpMessageReceive
	if toCPU {
		kind = OpMessageSend
	}
	for i := range litmusBatch {
		b.Sections = append(b.Sections, []Chain{{Ops: []Op{{Kind: kind, At: litmusFlag, Value: uint32(i + 1), Order: order,
			Payload: litmusPayload, Words: litmusWords, Access: how, Result: litmusResults + i*line}}}})
	}
	if err := s.Submit(Lane{0, 0}, b); err != nil {
		return 0, err
	}
	stale := 0
	deadline := time.Now().Add(10 * time.Second)
	late := func() bool {
		m.control(litmusControl).Pulse()
		return time.Now().After(deadline)
	}
	var err error
	for i := uint32(1); i <= litmusBatch && err == nil; i++ {
		if toCPU {
			for m.load(litmusFlag) < i {
				if late() {
					err = fmt.Errorf("message %d was not seen within 10 s", i)
					break
				}
			}
			old := false
			for w := range litmusWords {
				old = old || m.load(litmusPayload+4*w) < i
			}
			stale += int(b2u(old))
			continue
		}
		for w := range litmusWords {
			m.store(litmusPayload+4*w, i)
		}
		m.store(litmusFlag, i)
		res := m.result(litmusResults + int(i-1)*line)
		for !res.Load().Outcome.Ended() {
			if late() {
				err = fmt.Errorf("message %d was not received within 10 s", i)
				break
			}
		}
		stale += int(b2u(res.Load().Detail != 0))
	}
	if err != nil {
		m.control(litmusControl).Release()
	}
	return stale, errors.Join(err, until("the messages' buffer", func() bool {
		m.control(litmusControl).Pulse()
		return m.result(litmusFinish).Load().Outcome.Ended()
	}))
}

// message is the host's send or receive of one message.
func (h *hostLane) message(o *Op, begin uint64, control *kernels.Control) {
	s := h.s
	word := func(w int) *uint32 { return s.memory.word(o.Payload + 4*w) }
	flag := s.memory.word(o.At)
	if o.Kind == OpMessageSend {
		for w := range o.Words {
			atomic.StoreUint32(word(w), o.Value)
		}
		atomic.StoreUint32(flag, o.Value)
		s.end(o.Result, begin, kernels.Passed, o.Value, 0, 0)
		return
	}
	var p pause
	for atomic.LoadUint32(flag) < o.Value {
		if control.Released() {
			s.end(o.Result, begin, kernels.Killed, 0, 0, 0)
			return
		}
		p.wait()
	}
	differ := uint32(0)
	for w := range o.Words {
		differ += b2u(atomic.LoadUint32(word(w)) != o.Value)
	}
	s.end(o.Result, begin, kernels.Passed, o.Value, 0, differ)
}
