package hwreplay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/sim"
)

// A Runner is a plan on an open device. It makes one run at a time, as many as wanted.
type Runner struct {
	plan     *Plan
	device   Device
	session  Session
	layout   *layout
	config   Config
	offset   []clock // by rank: the device's clock against the run's
	base     time.Time
	measured time.Time
	broken   bool
	stopped  atomic.Bool
	unhook   func() bool // ends the watch over the context
}

// ErrStopped is the error of a run whose context was done.
var ErrStopped = errors.New("the run was stopped")

// clock is the measured difference of two clocks: device minus CPU, in nanoseconds, known
// to within doubt.
type clock struct{ offset, doubt int64 }

// NewRunner opens a device for a plan. The error matches ErrCannotImpose if the plan asks
// for what the device cannot do. When ctx is done the run under way ends as if it hung, and
// further ones are refused, with ErrStopped.
func NewRunner(ctx context.Context, p *Plan, d Device) (*Runner, error) {
	if ctx.Err() != nil {
		return nil, ErrStopped
	}
	if err := d.Impose(p); err != nil {
		return nil, err
	}
	l := newLayout(p)
	s, err := d.Open(p, l.bytes)
	if err != nil {
		return nil, err
	}
	r := &Runner{plan: p, device: d, session: s, layout: l, base: time.Now()}
	r.unhook = context.AfterFunc(ctx, func() { r.stopped.Store(true) })
	if err := r.clocks(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close gives the device back. After a run that was not released it must not be called:
// the process has to end instead.
func (r *Runner) Close() error {
	r.unhook()
	if r.broken {
		return nil
	}
	return r.session.Close()
}

// now is nanoseconds since the runner was made.
func (r *Runner) now() int64 { return time.Since(r.base).Nanoseconds() }

func (r *Runner) memory() region { return region{r.session.Memory(), r.layout.bytes} }

// clocks measures the clock of every rank's device, again after a second, for clocks
// drift.
func (r *Runner) clocks() error {
	if r.offset != nil && time.Since(r.measured) < time.Second {
		return nil
	}
	r.measured = time.Now()
	r.offset = r.offset[:0]
	for i := range r.plan.ranks {
		c, err := r.measure(i)
		if err != nil {
			return err
		}
		r.offset = append(r.offset, c)
	}
	return nil
}

// measure finds the offset of the clock of rank i's device: a wait's last poll lies
// between the store that satisfies it and the moment its result is seen.
func (r *Runner) measure(i int) (clock, error) {
	m := r.memory()
	at := r.layout.probe
	low, high := int64(-1<<62), int64(1<<62)
	for range 8 {
		clear := r.probe(i, Op{Kind: OpWait, At: at, Value: 1, Order: kernels.BarrierBefore, Result: at + line, Duration: time.Second})
		if err := clear(); err != nil {
			return clock{}, err
		}
		res := m.result(at + line)
		if err := until("the clock's wait", func() bool { return res.Load().Outcome != kernels.NotBegun }); err != nil {
			return clock{}, err
		}
		t0 := r.now()
		m.store(at, 1)
		if err := until("the clock's answer", func() bool { return res.Load().Outcome.Ended() }); err != nil {
			return clock{}, err
		}
		t1 := r.now()
		if err := until("the clock's buffer", func() bool { return m.result(at + 2*line + kernels.ResultSize).Load().Outcome.Ended() }); err != nil {
			return clock{}, err
		}
		end := int64(res.Load().End)
		if end == 0 {
			return clock{}, nil // the device has no clock
		}
		low, high = max(low, end-t1), min(high, end-t0)
	}
	return clock{(low + high) / 2, max(high-low, 0)}, nil
}

// probe prepares the probe line and returns what submits one operation there on rank i's
// first lane.
func (r *Runner) probe(i int, o Op) func() error {
	m := r.memory()
	at := r.layout.probe
	m.store(at, 0)
	m.result(at + line).Clear()
	m.result(at + 2*line).Clear()
	m.result(at + 2*line + kernels.ResultSize).Clear()
	b := &Batch{Control: at + 3*line, Start: at + 2*line, Finish: at + 2*line + kernels.ResultSize, Sections: [][]Chain{{{Ops: []Op{o}}}}}
	return func() error {
		m.control(b.Control).Pulse()
		return r.session.Submit(Lane{i, 0}, b)
	}
}

// usable proves that every rank's device still works.
func (r *Runner) usable() error {
	m := r.memory()
	at := r.layout.probe
	for i := range r.plan.ranks {
		submit := r.probe(i, Op{Kind: OpStore, Store: "plain", At: at, Value: 77, Order: kernels.BarrierAfter, Result: at + line})
		if err := submit(); err != nil {
			return err
		}
		if err := until("the probe", func() bool {
			return m.result(at+2*line+kernels.ResultSize).Load().Outcome.Ended() && m.load(at) == 77
		}); err != nil {
			return err
		}
	}
	return nil
}

// until polls a condition for ten seconds at most, at first without a pause.
func until(what string, f func() bool) error {
	for start := time.Now(); !f(); {
		switch spent := time.Since(start); {
		case spent > 10*time.Second:
			return fmt.Errorf("%s: not within 10 s", what)
		case spent > 2*time.Millisecond:
			time.Sleep(50 * time.Microsecond)
		case spent > 100*time.Microsecond:
			runtime.Gosched()
		}
	}
	return nil
}

// run is one run under way.
type run struct {
	*Runner
	m     region
	begun int64
	stop  atomic.Bool // release every wait
	left  atomic.Int32
	all   sync.WaitGroup
	fault atomic.Pointer[error]

	logs   sync.RWMutex // held for writing to end the recording, for reading to add to it
	frozen bool         // nothing is recorded any more

	ranks  []*runRank
	agents []*runAgent
	fences []*runFence
	meet   *exchange
	ticks  atomic.Int64 // transitions of CPU agents and arrivals
	pulsed int64
	random *rand.Rand
	fresh  []store      // watching thread: executed stores that are not on their way yet
	issued atomic.Int64 // stores executed before this time are on their way
}

// runRank is one rank's state that several threads share.
type runRank struct {
	mu      sync.Mutex
	plan    *rankPlan
	queues  []*runQueue
	life    sync.RWMutex // held for writing while the process ends, or what is active is read
	dead    atomic.Bool
	ignored bool // after a kill no buffer starts
	memory  int64
	ended   int   // counted buffers that have finished
	saw     int64 // when a buffer was last seen to have finished
	late    map[int32]*atomic.Uint32
}

// runAgent is a thread of the CPU: a main thread, a stream, a handler, or one that makes
// calls for a GPU command.
type runAgent struct {
	id     int32
	rank   int
	gpu    bool
	plan   *agentPlan
	log    []event
	state  atomic.Int32 // agentRuns and so on
	pc, to atomic.Int32 // streams: tasks done, tasks handed over
	polls  atomic.Int64 // looks of its waits
	from   int64        // when its last transition had been made, or its last look began
	seen   int64        // watching thread: polls when something last moved
	killed func() bool  // calls: the buffer was killed or has left
	buffer int32
}

const (
	agentRuns = iota
	agentBlocked
	agentDone
)

// Run makes one run and says what happened. The error is of the device; then the runner
// can only be closed, and if the device did not come back, not even that. Or it is
// ErrStopped, with how far the run had come unless it had not begun.
func (r *Runner) Run(c Config) (*Outcome, error) {
	if r.broken {
		return nil, fmt.Errorf("%s: an earlier run was not released", r.device.Info().Name)
	}
	r.config = c.normal()
	if r.stopped.Load() {
		return nil, ErrStopped
	}
	if err := r.clocks(); err != nil {
		return nil, err
	}
	x := r.prepare()
	x.launch()
	out := x.watch()
	x.release(out)
	if p := x.fault.Load(); p != nil {
		return nil, *p
	}
	if r.stopped.Load() {
		return out, ErrStopped
	}
	return out, nil
}

// prepare builds the state of a run.
func (r *Runner) prepare() *run {
	x := &run{Runner: r, m: r.memory(), meet: newExchange(r.plan), random: rand.New(rand.NewPCG(r.config.Seed, 1))}
	x.m.clear()
	for f := range r.plan.fences {
		x.m.store(r.layout.gpu[f], r.plan.fences[f].initial)
		x.m.store(r.layout.cpu[f], r.plan.fences[f].initial)
		x.fences = append(x.fences, &runFence{})
	}
	for i := range r.plan.ranks {
		rk := &runRank{plan: &r.plan.ranks[i], late: map[int32]*atomic.Uint32{}}
		for qi, a := range rk.plan.queues {
			rk.queues = append(rk.queues, &runQueue{x: x, rank: rk, agent: a, index: qi, info: r.plan.agents[a].info, source: &rk.plan.program.Queues[qi]})
		}
		x.ranks = append(x.ranks, rk)
	}
	for f := range r.plan.fences {
		for _, rk := range x.ranks {
			rk.late[int32(f)] = new(atomic.Uint32)
		}
	}
	for a := range r.plan.agents {
		ag := &r.plan.agents[a]
		x.agents = append(x.agents, &runAgent{id: int32(a), rank: ag.rank, plan: ag})
	}
	x.begun = r.now()
	return x
}

// launch starts the threads of the CPU.
func (x *run) launch() {
	for _, a := range x.agents {
		switch a.plan.kind {
		case sim.MainThread:
			x.start(a, x.runMain)
		case sim.CPUStream:
			x.start(a, x.runStream)
		}
	}
}

func (x *run) failed(err error) {
	x.fault.CompareAndSwap(nil, &err)
	x.stop.Store(true)
}
