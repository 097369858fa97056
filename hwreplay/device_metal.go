package hwreplay

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/metal"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// metalDevice is the system's default Metal GPU. Its code is built everywhere; nothing of
// it has been run on Apple hardware.
type metalDevice struct {
	device *metal.Device
	info   metal.Info
}

// openMetal opens the default device.
func openMetal() (Device, error) {
	d, err := metal.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUnavailable)
	}
	i, err := d.Info()
	if err != nil {
		d.Close()
		return nil, err
	}
	return &metalDevice{d, i}, nil
}

// Info implements [Device].
func (g *metalDevice) Info() Info {
	return Info{Backend: "metal", Name: g.info.Name, Driver: "macOS " + g.info.OS.String(), Count: 1}
}

// Impose implements [Device].
func (g *metalDevice) Impose(p *Plan) error {
	if err := imposeCommon(p); err != nil {
		return err
	}
	if p.Machine.Slots > 0 {
		return refuse("slots: no way is known to fill a Metal GPU but for some")
	}
	if p.Machine.Dispatch == model.Concurrent {
		if err := p.eachSection(func(section []sim.CommandInfo) error {
			if section[0].Op == model.OpSignal && len(section) > 1 {
				return refuse("dispatch concurrent with a command behind a signal in its section: what is behind a barrier waits for it")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, ag := range p.agents {
		for _, c := range ag.info {
			if len(ag.cmds) > 0 && (c.Op == model.OpWait && c.Equal || c.Op == model.OpAdd) {
				return refuse("%s: there is no Metal kernel for it", c.Op)
			}
		}
	}
	return nil
}

// metalPolls bounds each wait, and metalSilence is its polls without a beat. What a poll
// costs has to be measured first: the bounds are low, so that a wait ends well before the
// watchdog of the OS, of about five seconds.
const (
	metalPolls   = kernels.MetalPollsMax / 4
	metalSilence = 1 << 17
	metalRounds  = 2000 // rounds of a work kernel for a microsecond, a guess
)

// metalSession is the GPU at work: one shared buffer, a command queue for each lane.
type metalSession struct {
	device  *metal.Device
	library *metal.Library
	kernels map[string]*metal.Pipeline
	memory  *metal.Buffer
	scratch *metal.Buffer
	base    int // word of the memory at which offset 0 lies

	mu     sync.Mutex
	queues map[Lane]*metal.Queue
	open   []*metal.CommandBuffer
}

// Open implements [Device]. The kernels are compiled in the newest language that the OS
// knows: only from 3.2 on do they have system scope.
func (g *metalDevice) Open(_ *Plan, bytes int) (Session, error) {
	s := &metalSession{device: g.device, kernels: map[string]*metal.Pipeline{}, queues: map[Lane]*metal.Queue{}}
	if err := s.compile(bytes); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *metalSession) compile(bytes int) error {
	list := kernels.Of(kernels.Metal)
	var err error
	for _, language := range []metal.Language{metal.Language32, metal.Language31, metal.Language24} {
		if s.library, err = s.device.NewLibrary(list[0].Source, language); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	for _, k := range list {
		if s.kernels[k.Name], err = s.device.NewPipeline(s.library, k.Entry); err != nil {
			return err
		}
	}
	if s.scratch, err = s.device.NewBuffer(coherentLen); err != nil {
		return err
	}
	if s.memory, err = s.device.NewBuffer(bytes/4 + 2*line); err != nil {
		return err
	}
	at := uintptr(unsafe.Pointer(&s.memory.Words()[0])) % line
	s.base = int((line-at)%line) / 4
	return nil
}

// Memory implements [Session].
func (s *metalSession) Memory() unsafe.Pointer { return unsafe.Pointer(&s.memory.Words()[s.base]) }

func (s *metalSession) queue(l Lane) (*metal.Queue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[l]; q != nil {
		return q, nil
	}
	q, err := s.device.NewQueue(0)
	if err == nil {
		s.queues[l] = q
	}
	return q, err
}

// Submit implements [Session]. A buffer has finished when its completion handler has run,
// whether Metal completed it or failed it; a failed one leaves its results as they were.
func (s *metalSession) Submit(l Lane, b *Batch) error {
	q, err := s.queue(l)
	if err != nil {
		return err
	}
	for _, section := range b.Sections {
		for k := range section {
			for _, o := range section[k].Ops {
				if o.Kind == OpMessageSend || o.Kind == OpMessageReceive {
					return refuse("message passing in one kernel: there is no Metal kernel for it")
				}
			}
		}
	}
	m := region{s.Memory(), 0}
	c, err := q.NewCommandBuffer(func() { passed(m.result(b.Finish)) })
	if err != nil {
		return err
	}
	dispatch := metal.Serial
	for _, section := range b.Sections {
		if len(section) > 1 {
			dispatch = metal.Concurrent
		}
	}
	e, err := c.Compute(dispatch)
	if err != nil {
		return err
	}
	s.started(e, b)
	for _, section := range b.Sections {
		e.Barrier()
		for k := range section {
			if section[k].After {
				e.Barrier()
			}
			for j := range section[k].Ops {
				s.op(e, b, &section[k].Ops[j])
			}
		}
	}
	if err := errors.Join(e.End(), c.Commit()); err != nil {
		return err
	}
	s.mu.Lock()
	s.open = append(s.open, c)
	s.mu.Unlock()
	return nil
}

// passed makes a result say that it has passed, from the CPU.
func passed(r *kernels.Result) {
	atomic.StoreUint32((*uint32)(&r.Outcome), uint32(kernels.Passed))
}

// started encodes what says that the buffer has started.
func (s *metalSession) started(e *metal.Encoder, b *Batch) {
	e.SetPipeline(s.kernels["update"])
	e.SetBuffer(0, s.scratch, 0)
	e.SetBuffer(1, s.memory, s.word(b.Start))
	e.SetWords(2, 1)
	e.Dispatch(1, 1)
}

func (s *metalSession) word(offset int) int { return s.base + offset/4 }

// metalStores names the kernels of the store rules.
var metalStores = map[string]string{model.StorePlain: "update", model.StoreGuarded: "update-guarded", model.StoreMax: "update-max"}

// op encodes one operation.
func (s *metalSession) op(e *metal.Encoder, b *Batch, o *Op) {
	switch o.Kind {
	case OpStore:
		e.SetPipeline(s.kernels[metalStores[o.Store]])
		e.SetBuffer(0, s.memory, s.word(o.At))
		e.SetBuffer(1, s.memory, s.word(o.Result))
		e.SetWords(2, o.Value)
		if o.Store == model.StoreGuarded {
			e.SetWords(3, uint32(min(o.Duration/time.Microsecond, kernels.MetalGapMax)))
		}
		e.Dispatch(1, 1)
	case OpWait:
		e.SetPipeline(s.kernels["wait"])
		e.SetBuffer(0, s.memory, s.word(o.At))
		e.SetBuffer(1, s.memory, s.word(b.Control))
		e.SetBuffer(2, s.memory, s.word(o.Result))
		e.SetWords(3, o.Value)
		e.SetWords(4, metalPolls)
		e.SetWords(5, 0)
		e.SetWords(6, metalSilence)
		e.Dispatch(1, 1)
	case OpCall:
		ask, answer := o.parts()
		s.op(e, b, &ask)
		e.Barrier()
		s.op(e, b, &answer)
	case OpCompute:
		e.SetPipeline(s.kernels["work"])
		e.SetBuffer(0, s.scratch, 0)
		e.SetWords(1, 1)
		e.SetWords(2, uint32(min(o.Duration/time.Microsecond*metalRounds, kernels.MetalRoundsMax)))
		e.Dispatch(1, 1)
		if o.Result != 0 {
			s.said(e, o)
		}
	case OpCoherent:
		e.SetPipeline(s.kernels["coherent"])
		e.SetBuffer(0, s.scratch, 0)
		e.SetWords(1, coherentLen)
		e.Dispatch(coherentLen/32, 32)
		s.said(e, o)
	}
}

// said encodes the result of a kernel that leaves none. It comes after the kernel only in
// an encoder that is serial, or behind the barrier put here.
func (s *metalSession) said(e *metal.Encoder, o *Op) {
	e.Barrier()
	e.SetPipeline(s.kernels["update"])
	e.SetBuffer(0, s.scratch, 0)
	e.SetBuffer(1, s.memory, s.word(o.Result))
	e.SetWords(2, 1)
	e.Dispatch(1, 1)
}

// Close implements [Session].
func (s *metalSession) Close() error {
	var all error
	for _, c := range s.open {
		all = errors.Join(all, c.Wait(2*time.Second))
		c.Close()
	}
	for _, q := range s.queues {
		q.Close()
	}
	for _, b := range []*metal.Buffer{s.memory, s.scratch} {
		if b != nil {
			b.Close()
		}
	}
	for _, k := range s.kernels {
		if k != nil {
			k.Close()
		}
	}
	if s.library != nil {
		s.library.Close()
	}
	return all
}
