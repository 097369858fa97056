package hwreplay

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/fencesim/fencesim/cuda"
	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// cudaDevice is the CUDA GPUs of this machine: rank r runs on GPU r modulo their number.
// Fences lie in pinned host memory and every access to them is of system scope.
type cudaDevice struct {
	devices []cuda.Device
	version cuda.Version
}

// openCUDA finds the GPUs.
func openCUDA() (Device, error) {
	all, err := cuda.Devices()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUnavailable)
	}
	v, err := cuda.DriverVersion()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrUnavailable)
	}
	return &cudaDevice{all, v}, nil
}

// Info implements [Device].
func (g *cudaDevice) Info() Info {
	return Info{Backend: "cuda", Name: g.devices[0].Name, Driver: "CUDA " + g.version.String(), Count: len(g.devices)}
}

// Impose implements [Device].
func (g *cudaDevice) Impose(p *Plan) error {
	if err := imposeCommon(p); err != nil {
		return err
	}
	m := &p.Machine
	d := g.devices[0]
	switch {
	case !d.MapsHost || !d.ConcurrentKernels:
		return fmt.Errorf("%s: it cannot map host memory or run kernels together: %w", d.Name, ErrUnavailable)
	case m.Slots > 0 && len(p.ranks) > len(g.devices):
		return refuse("slots with %d ranks on %d GPU: they would share them", len(p.ranks), len(g.devices))
	case m.Slots > d.SMs:
		return refuse("%d slots on %d multiprocessors", m.Slots, d.SMs)
	case m.Slots > 0 && m.Dispatch == model.Concurrent:
		return refuse("slots with dispatch concurrent")
	}
	if m.Dispatch == model.Concurrent {
		if err := p.eachSection(func(section []sim.CommandInfo) error {
			if len(section) > cudaSides {
				return refuse("a section of %d commands on %d streams", len(section), cudaSides)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for a, ag := range p.agents {
		for i, c := range ag.info {
			if m.Slots > 0 && ag.kind == sim.Queue && p.called(int32(a), i) {
				return refuse("slots with %s in a command buffer, which the CPU makes for the GPU", c.Op)
			}
		}
	}
	// The CPU and the GPU may not both read and write a word in one step: over PCIe such a
	// step is atomic towards the other kernels only.
	raised := map[int32]uint8{}
	for _, ag := range p.agents {
		for _, c := range ag.info {
			bit := uint8(1)
			if ag.kind == sim.Queue {
				bit = 2
			}
			if c.Op == model.OpSignal || c.Op == model.OpAdd {
				raised[int32(c.Op)<<24|c.Object] |= bit
			}
		}
	}
	for _, who := range raised {
		if who == 3 && !d.HostAtomics {
			return refuse("an event or counter that both sides raise, without host atomics")
		}
	}
	return nil
}

// cudaSession is the GPUs at work: a context, a module and the lanes of each rank.
type cudaSession struct {
	contexts []*cuda.Context
	kernels  []map[string]*cuda.Function
	devices  []cuda.Device
	memory   *cuda.Host
	scratch  []cuda.DevicePtr // by device: an array for coherent
	lanes    map[Lane]*cudaLane
	share    int // bytes of shared memory of each launch, with slots
	holds    []*cudaHold
}

// cudaLane is a stream, with the further streams and events of concurrent sections.
type cudaLane struct {
	main  *cuda.Stream
	side  []*cuda.Stream
	forks []*cuda.Event // one to begin a section and one for each side stream

	// With slots: what needs none has a stream of a greater priority, for a block that waits
	// for its slot keeps back whatever comes behind it at its own, in other streams too.
	free *cuda.Stream
	last *cuda.Stream // which of the two was used last
	turn *cuda.Event
}

const (
	cudaSides   = 8
	coherentLen = 1024 // words
	holdLine    = 2 * line
)

// Open implements [Device]. Everything is allocated, compiled and loaded here: no later
// call can be held up by a kernel that waits.
func (g *cudaDevice) Open(p *Plan, bytes int) (Session, error) {
	s := &cudaSession{lanes: map[Lane]*cudaLane{}}
	err := s.open(g, p, bytes)
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *cudaSession) open(g *cudaDevice, p *Plan, bytes int) error {
	n := min(len(g.devices), len(p.ranks))
	for _, d := range g.devices[:n] {
		c, err := d.Open()
		if err != nil {
			return err
		}
		s.contexts, s.devices = append(s.contexts, c), append(s.devices, d)
		table := map[string]*cuda.Function{}
		modules := map[string]*cuda.Module{}
		for _, k := range kernels.Of(kernels.PTX) {
			if modules[k.Source] == nil {
				if modules[k.Source], err = c.Load(k.Source); err != nil {
					return err
				}
			}
			if table[k.Name], err = modules[k.Source].Function(k.Entry); err != nil {
				return err
			}
		}
		s.kernels = append(s.kernels, table)
		at, err := c.Alloc(4 * coherentLen)
		if err != nil {
			return err
		}
		s.scratch = append(s.scratch, at)
	}
	var err error
	if s.memory, err = s.contexts[0].AllocHost(bytes + n*(holdLine+kernels.ResultSize*1024)); err != nil {
		return err
	}
	for r := range p.ranks {
		lanes := len(p.ranks[r].queues)
		if p.held() {
			lanes = p.lanes()
		}
		for i := range max(lanes, 1) {
			l, err := s.newLane(s.contexts[r%n], &p.Machine)
			if err != nil {
				return err
			}
			s.lanes[Lane{r, i}] = l
		}
	}
	if p.Machine.Slots > 0 {
		return s.hold(p, bytes)
	}
	return nil
}

func (s *cudaSession) newLane(c *cuda.Context, m *model.Machine) (*cudaLane, error) {
	l := new(cudaLane)
	var err error
	if l.main, err = c.NewStream(0); err != nil {
		return l, err
	}
	if m.Slots > 0 {
		_, greatest, err := c.Priorities()
		if err != nil {
			return l, err
		}
		if l.free, err = c.NewStream(greatest); err != nil {
			return l, err
		}
		l.last = l.free
		l.turn, err = c.NewEvent(false)
		return l, err
	}
	if m.Dispatch != model.Concurrent {
		return l, nil
	}
	for range cudaSides {
		st, err := c.NewStream(0)
		if err != nil {
			return l, err
		}
		l.side = append(l.side, st)
	}
	return l, nil
}

// cudaHold is the blocks that take up all multiprocessors of a device but the slots.
type cudaHold struct {
	stream  *cuda.Stream
	control *kernels.Control
	release *uint32
	stop    chan bool
	stopped chan bool
}

// hold fills every multiprocessor of each device but as many as the machine has slots.
// Each block and each later launch asks for more than half of a multiprocessor's shared
// memory, so that one fits on each; those that need no slot leave it as much to have.
func (s *cudaSession) hold(p *Plan, at int) error {
	for i, d := range s.devices {
		s.share = d.SharedPerBlock/2 + 2048
		for _, name := range []string{"hold", "update", "update-guarded", "update-max", "add", "wait", "compute", "coherent"} {
			if err := s.kernels[i][name].AllowShared(s.share); err != nil {
				return err
			}
		}
		for _, k := range s.kernels[i] {
			if err := k.PreferShared(); err != nil {
				return err
			}
		}
		base := at + i*(holdLine+kernels.ResultSize*1024)
		h := &cudaHold{control: (*kernels.Control)(s.memory.At(base, 8, 8)), release: s.memory.Uint32(base + line), stop: make(chan bool), stopped: make(chan bool)}
		var err error
		if h.stream, err = s.contexts[i].NewStream(0); err != nil {
			return err
		}
		blocks := d.SMs - p.Machine.Slots
		go h.beat()
		s.holds = append(s.holds, h)
		if blocks == 0 {
			continue
		}
		if err := h.stream.Launch(s.kernels[i]["hold"], cuda.Grid{Blocks: blocks, Shared: s.share}, s.memory.Ptr(base), s.memory.Ptr(base+line),
			noPolls, uint64(55*time.Second), uint64(silence), s.memory.Ptr(base+holdLine)); err != nil {
			return err
		}
		if err := until("the blocks that hold the device", func() bool {
			for b := range blocks {
				if (*kernels.Result)(s.memory.At(base+holdLine+b*kernels.ResultSize, kernels.ResultSize, 8)).Load().Outcome != kernels.Running {
					return false
				}
			}
			return true
		}); err != nil {
			return err
		}
	}
	return nil
}

// beat keeps the blocks of a hold alive.
func (h *cudaHold) beat() {
	defer close(h.stopped)
	for {
		select {
		case <-h.stop:
			return
		case <-time.After(5 * time.Millisecond):
			h.control.Pulse()
		}
	}
}

// noPolls is no limit of polls.
const noPolls = uint32(1 << 31)

// Memory implements [Session].
func (s *cudaSession) Memory() unsafe.Pointer { return s.memory.At(0, 8, 8) }

// Submit implements [Session].
func (s *cudaSession) Submit(l Lane, b *Batch) error {
	lane, i := s.lanes[l], l.Rank%len(s.contexts)
	if err := s.stamp(lane, i, b.Start); err != nil {
		return err
	}
	for _, section := range b.Sections {
		if err := s.section(lane, i, b, section); err != nil {
			return err
		}
	}
	return s.stamp(lane, i, b.Finish)
}

// stamp launches the mark of a buffer's start or finish.
func (s *cudaSession) stamp(lane *cudaLane, i, at int) error {
	st, err := lane.stream(true)
	if err != nil {
		return err
	}
	return st.Launch(s.kernels[i]["stamp"], cuda.Grid{}, s.memory.Ptr(at))
}

// stream is the lane's stream for an operation that needs no slot or needs one, behind what
// was put on the other.
func (l *cudaLane) stream(free bool) (*cuda.Stream, error) {
	st := l.main
	if free && l.free != nil {
		st = l.free
	}
	if l.free == nil || st == l.last {
		return st, nil
	}
	err := errors.Join(l.turn.Record(l.last), st.After(l.turn))
	l.last = st
	return st, err
}

// section launches the chains of a section: one on the lane itself, several on streams
// beside it that begin after what is before the section and join at its end.
func (s *cudaSession) section(lane *cudaLane, i int, b *Batch, section []Chain) error {
	if len(section) == 1 || lane.side == nil {
		for k := range section {
			for n := range section[k].Ops {
				st, err := lane.stream(section[k].Ops[n].Free)
				if err != nil {
					return err
				}
				if err := s.op(st, i, b, &section[k].Ops[n]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	fork, err := s.mark(i, lane, lane.main)
	if err != nil {
		return err
	}
	var ends []*cuda.Event
	for k := range section {
		st := lane.side[k%len(lane.side)]
		err := st.After(fork)
		for _, e := range ends {
			if section[k].After {
				err = errors.Join(err, st.After(e))
			}
		}
		if err = errors.Join(err, s.chain(st, i, b, &section[k])); err != nil {
			return err
		}
		end, err := s.mark(i, lane, st)
		if err != nil {
			return err
		}
		ends = append(ends, end)
	}
	for _, e := range ends {
		if err := lane.main.After(e); err != nil {
			return err
		}
	}
	return nil
}

// mark records a new event on a stream; it is given up when the session is closed.
func (s *cudaSession) mark(i int, lane *cudaLane, st *cuda.Stream) (*cuda.Event, error) {
	e, err := s.contexts[i].NewEvent(false)
	if err != nil {
		return nil, err
	}
	lane.forks = append(lane.forks, e)
	return e, e.Record(st)
}

func (s *cudaSession) chain(st *cuda.Stream, i int, b *Batch, c *Chain) error {
	for k := range c.Ops {
		if err := s.op(st, i, b, &c.Ops[k]); err != nil {
			return err
		}
	}
	return nil
}

// cudaStores names the kernels of the store rules.
var cudaStores = map[string]string{model.StorePlain: "update", model.StoreGuarded: "update-guarded", model.StoreMax: "update-max", StoreAdd: "add"}

// op launches one operation.
func (s *cudaSession) op(st *cuda.Stream, i int, b *Batch, o *Op) error {
	k, grid := s.kernels[i], cuda.Grid{Shared: s.share}
	control, result := s.memory.Ptr(b.Control), cuda.DevicePtr(0)
	if o.Result != 0 {
		result = s.memory.Ptr(o.Result)
	}
	if o.Free {
		grid.Shared = 0 // fits beside a block that holds its multiprocessor
	}
	switch o.Kind {
	case OpStore:
		args := []any{control, s.memory.Ptr(o.At), o.Value, uint32(o.Order)}
		if o.Store == model.StoreGuarded {
			args = append(args, uint64(o.Duration))
		}
		return st.Launch(k[cudaStores[o.Store]], grid, append(args, result)...)
	case OpCall:
		ask, answer := o.parts()
		return errors.Join(s.op(st, i, b, &ask), s.op(st, i, b, &answer))
	case OpWait:
		budget := o.Duration
		if budget == 0 {
			budget = waitBudget
		}
		return st.Launch(k["wait"], grid, control, s.memory.Ptr(o.At), o.Value, b2u(o.Exact), uint32(o.Order), noPolls,
			uint64(budget), uint64(silence), result)
	case OpCompute:
		return st.Launch(k["compute"], grid, control, cuda.DevicePtr(0), uint32(0), uint32(0), uint64(o.Duration), uint64(silence),
			cuda.DevicePtr(0), uint32(0), uint32(0), result)
	case OpMessageSend:
		return st.Launch(k["message-send"], cuda.Grid{Threads: 32}, control, s.memory.Ptr(o.Payload), uint32(o.Words), o.Value, uint32(o.Access),
			s.memory.Ptr(o.At), o.Value, uint32(o.Order), result)
	case OpMessageReceive:
		return st.Launch(k["message-receive"], cuda.Grid{Threads: 32}, control, s.memory.Ptr(o.At), o.Value, uint32(o.Order), uint32(1),
			s.memory.Ptr(o.Payload), uint32(o.Words), o.Value, uint32(o.Access), noPolls, uint64(waitBudget), uint64(silence), result)
	case OpCoherent:
		grid.Threads = 256
		if err := st.Launch(k["coherent"], grid, s.scratch[i], uint32(coherentLen)); err != nil {
			return err
		}
		return st.Launch(k["stamp"], cuda.Grid{}, result)
	}
	return st.Launch(k["stamp"], cuda.Grid{}, result)
}

// Close implements [Session].
func (s *cudaSession) Close() error {
	for _, h := range s.holds {
		h.control.Release()
		close(h.stop)
		<-h.stopped
	}
	var all error
	for _, c := range s.contexts {
		all = errors.Join(all, c.Close())
	}
	s.contexts, s.holds = nil, nil
	return all
}
