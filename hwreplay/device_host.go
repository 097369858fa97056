package hwreplay

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
)

// Host is the CPU as a device: a thread for each lane, atomics for the fences. It can
// impose every assumption. The zero Host is ready to use.
type Host struct{}

// Info implements [Device].
func (Host) Info() Info {
	return Info{Backend: "host", Name: runtime.GOOS + "/" + runtime.GOARCH + " threads", Driver: runtime.Version(), Count: 1}
}

// Impose implements [Device].
func (Host) Impose(p *Plan) error { return imposeCommon(p) }

// Open implements [Device].
func (Host) Open(p *Plan, bytes int) (Session, error) {
	words := make([]uint64, bytes/8+line/8)
	s := &hostSession{words: words, base: time.Now(), lanes: map[Lane]*hostLane{}}
	at := uintptr(unsafe.Pointer(&words[0])) % line
	s.memory.base = unsafe.Add(unsafe.Pointer(&words[0]), (line-at)%line)
	s.memory.bytes = bytes
	if n := p.Machine.Slots; n > 0 {
		for range p.ranks {
			s.slots = append(s.slots, make(chan bool, n))
		}
	}
	return s, nil
}

// hostSession is a set of lanes over Go memory.
type hostSession struct {
	words  []uint64
	memory region
	base   time.Time
	slots  []chan bool // by rank: a token for each slot in use; nil without a limit
	order  sync.Mutex  // held while a store is made, or a wait passes, and the moment is taken

	mu    sync.Mutex
	lanes map[Lane]*hostLane
	done  sync.WaitGroup
}

// hostLane is a thread with the batches that it has to run.
type hostLane struct {
	s     *hostSession
	rank  int
	mu    sync.Mutex
	more  *sync.Cond
	queue []*Batch
	ended bool
}

// Memory implements [Session].
func (s *hostSession) Memory() unsafe.Pointer { return s.memory.base }

// Submit implements [Session].
func (s *hostSession) Submit(l Lane, b *Batch) error {
	s.mu.Lock()
	h := s.lanes[l]
	if h == nil {
		h = &hostLane{s: s, rank: l.Rank}
		h.more = sync.NewCond(&h.mu)
		s.lanes[l] = h
		s.done.Add(1)
		go h.run()
	}
	s.mu.Unlock()
	h.mu.Lock()
	h.queue = append(h.queue, b)
	h.mu.Unlock()
	h.more.Signal()
	return nil
}

// Close implements [Session].
func (s *hostSession) Close() error {
	s.mu.Lock()
	for _, h := range s.lanes {
		h.mu.Lock()
		h.ended = true
		h.mu.Unlock()
		h.more.Signal()
	}
	s.mu.Unlock()
	s.done.Wait()
	return nil
}

func (h *hostLane) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer h.s.done.Done()
	for {
		h.mu.Lock()
		for len(h.queue) == 0 && !h.ended {
			h.more.Wait()
		}
		if len(h.queue) == 0 {
			h.mu.Unlock()
			return
		}
		b := h.queue[0]
		h.queue = h.queue[1:]
		h.mu.Unlock()
		h.batch(b)
	}
}

func (h *hostLane) batch(b *Batch) {
	h.s.end(b.Start, h.s.now(), kernels.Passed, 0, 0, 0)
	for _, section := range b.Sections {
		if len(section) == 1 {
			h.chain(b, &section[0])
			continue
		}
		done := make([]chan bool, len(section))
		for i := range section {
			done[i] = make(chan bool)
			go func() {
				defer close(done[i])
				for _, earlier := range done[:i] {
					if section[i].After {
						<-earlier
					}
				}
				h.chain(b, &section[i])
			}()
		}
		for _, d := range done {
			<-d
		}
	}
	h.s.end(b.Finish, h.s.now(), kernels.Passed, 0, 0, 0)
}

func (h *hostLane) chain(b *Batch, c *Chain) {
	for i := range c.Ops {
		h.op(b, &c.Ops[i])
	}
}

func (s *hostSession) now() uint64 { return uint64(time.Since(s.base).Nanoseconds()) + 1 }

// end writes a result, the outcome last.
func (s *hostSession) end(at int, begin uint64, o kernels.Outcome, value, polls, detail uint32) {
	if at == 0 {
		return
	}
	r := s.memory.result(at)
	atomic.StoreUint32(&r.Value, value)
	atomic.StoreUint64(&r.Begin, begin)
	atomic.StoreUint64(&r.End, s.now())
	atomic.StoreUint32(&r.Polls, polls)
	atomic.StoreUint32(&r.Detail, detail)
	atomic.StoreUint32((*uint32)(&r.Outcome), uint32(o))
}

// op runs one operation as the kernels of package kernels do.
func (h *hostLane) op(b *Batch, o *Op) {
	s := h.s
	control := s.memory.control(b.Control)
	if !o.Free {
		if !h.takeSlot(control) {
			s.end(o.Result, s.now(), kernels.Killed, 0, 0, 0)
			return
		}
		defer h.giveSlot()
	}
	begin := s.now()
	if control.Released() {
		s.end(o.Result, begin, kernels.Killed, 0, 0, 0)
		return
	}
	word := s.memory.word(o.At)
	switch o.Kind {
	case OpStore:
		h.storeOp(word, o, begin, control)
	case OpWait:
		h.waitOp(word, o, begin, control)
	case OpCall:
		h.callOp(o, begin, control)
	case OpCompute:
		for time.Duration(s.now()-begin) < o.Duration {
			if control.Released() {
				s.end(o.Result, begin, kernels.Killed, 0, 0, 0)
				return
			}
			if o.Duration > 100*time.Microsecond {
				time.Sleep(20 * time.Microsecond)
			}
		}
		s.end(o.Result, begin, kernels.Passed, 0, 0, 0)
	case OpMessageSend, OpMessageReceive:
		h.message(o, begin, control)
	default:
		s.end(o.Result, begin, kernels.Passed, 0, 0, 0)
	}
}

func (h *hostLane) storeOp(word *uint32, o *Op, begin uint64, control *kernels.Control) {
	s := h.s
	detail := uint32(1)
	if o.Store != model.StoreGuarded {
		s.order.Lock()
		defer s.order.Unlock()
	}
	switch o.Store {
	case StoreAdd:
		atomic.AddUint32(word, o.Value)
	case model.StoreMax:
		for {
			seen := atomic.LoadUint32(word)
			if detail = 0; seen >= o.Value {
				break
			}
			detail = 1
			if atomic.CompareAndSwapUint32(word, seen, o.Value) {
				break
			}
		}
	case model.StoreGuarded:
		seen := atomic.LoadUint32(word)
		if o.Duration > 0 {
			time.Sleep(o.Duration)
		}
		if control.Released() {
			s.end(o.Result, begin, kernels.Killed, seen, 0, 0)
			return
		}
		s.order.Lock()
		defer s.order.Unlock()
		if detail = 0; seen < o.Value {
			detail = 1
			atomic.StoreUint32(word, o.Value)
		}
	default:
		atomic.StoreUint32(word, o.Value)
	}
	s.end(o.Result, begin, kernels.Passed, o.Value, 0, detail)
}

func (h *hostLane) waitOp(word *uint32, o *Op, begin uint64, control *kernels.Control) {
	s := h.s
	r := s.memory.result(o.Result)
	atomic.StoreUint64(&r.Begin, begin)
	atomic.StoreUint32((*uint32)(&r.Outcome), uint32(kernels.Running))
	budget := o.Duration
	if budget == 0 {
		budget = waitBudget
	}
	var p pause
	for polls := uint32(1); ; polls++ {
		killed := control.Released()
		v := atomic.LoadUint32(word)
		switch {
		case killed:
			s.end(o.Result, begin, kernels.Killed, v, polls, 0)
		case o.satisfied(v):
			if !s.pass(word, o, begin, polls) {
				continue
			}
		case time.Duration(s.now()-begin) >= budget:
			s.end(o.Result, begin, kernels.OutOfTime, v, polls, 0)
		default:
			p.wait()
			continue
		}
		return
	}
}

func (o *Op) satisfied(v uint32) bool { return v == o.Value || !o.Exact && v > o.Value }

// pass lets a wait pass, unless a store has come between.
func (s *hostSession) pass(word *uint32, o *Op, begin uint64, polls uint32) bool {
	s.order.Lock()
	defer s.order.Unlock()
	v := atomic.LoadUint32(word)
	if o.satisfied(v) {
		s.end(o.Result, begin, kernels.Passed, v, polls, 0)
	}
	return o.satisfied(v)
}

func (h *hostLane) callOp(o *Op, begin uint64, control *kernels.Control) {
	ask, answer := o.parts()
	h.storeOp(h.s.memory.word(ask.At), &ask, begin, control)
	h.waitOp(h.s.memory.word(answer.At), &answer, begin, control)
}

// takeSlot waits for a slot; false: the buffer was killed before.
func (h *hostLane) takeSlot(control *kernels.Control) bool {
	if h.s.slots == nil {
		return true
	}
	var p pause
	for {
		select {
		case h.s.slots[h.rank] <- true:
			return true
		default:
		}
		if control.Released() {
			return false
		}
		p.wait()
	}
}

func (h *hostLane) giveSlot() {
	if h.s.slots != nil {
		<-h.s.slots[h.rank]
	}
}

// pause is the wait between two polls: none at first, then longer, so that more threads
// than cores get on. The zero pause is at its beginning.
type pause struct{ n int }

func (p *pause) wait() {
	switch p.n++; {
	case p.n < 50:
	case p.n < 200:
		runtime.Gosched()
	case p.n < 2000:
		time.Sleep(20 * time.Microsecond)
	default:
		time.Sleep(200 * time.Microsecond)
	}
}
