package hwreplay

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// runFence is one fence of a run: stores of the GPU on their way to the CPU's copy, and
// what was seen of it.
type runFence struct {
	mu        sync.Mutex
	pending   []store
	early     int // merely possible arrivals made so far
	scheduled atomic.Uint32
	executed  atomic.Uint32
	consumed  atomic.Uint32
	log       []event
}

// store is an executed GPU store.
type store struct {
	queue    *runQueue
	buffer   *buffer
	cmd      int
	after    int64 // unordered: not before
	executed int64 // when, at the latest
}

func raise(to *atomic.Uint32, v uint32) {
	for {
		have := to.Load()
		if have >= v || to.CompareAndSwap(have, v) {
			return
		}
	}
}

// satisfied reports whether a wait passes now on a's side.
func (x *run) satisfied(a *runAgent, c *sim.CommandInfo) bool {
	at := x.layout.cpu[c.Object]
	if a.gpu {
		at = x.layout.gpu[c.Object]
	}
	v := x.m.load(at)
	switch {
	case c.Late:
		return v >= x.ranks[a.rank].late[c.Object].Load()
	case c.Equal:
		return v == c.Value
	}
	return v >= c.Value
}

// consume notes that a wait has passed.
func (x *run) consume(c *sim.CommandInfo) { raise(&x.fences[c.Object].consumed, c.Value) }

// storeCPU makes a store of the CPU: it overwrites both copies, or only its own where the
// machine does not promise that the GPU sees it.
func (x *run) storeCPU(c *sim.CommandInfo) {
	f := x.fences[c.Object]
	gpu, cpu := x.layout.gpu[c.Object], x.layout.cpu[c.Object]
	if gpu == cpu {
		if c.Op == model.OpAdd {
			atomic.AddUint32(x.m.word(cpu), c.Value)
		} else {
			x.m.store(cpu, c.Value)
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, at := range []int{cpu, gpu} {
		switch {
		case at == gpu && x.plan.Machine.CPUToGPU.Mode == model.VisUnreliable:
		case c.Op == model.OpAdd:
			atomic.AddUint32(x.m.word(at), c.Value)
		default:
			x.m.store(at, c.Value)
		}
	}
}

// issue puts an executed store of the GPU on its way.
func (x *run) issue(s store) {
	c := &s.queue.info[s.cmd]
	f := x.fences[c.Object]
	raise(&f.executed, c.Value)
	if x.plan.Machine.GPUToCPU.Mode == model.VisImmediate {
		if x.plan.split() {
			f.mu.Lock()
			x.apply(c)
			f.mu.Unlock()
		}
		return
	}
	s.after = x.now() + x.random.Int64N(int64(400*time.Microsecond))
	f.pending = append(f.pending, s)
}

// apply lets a store arrive in the CPU's copy.
func (x *run) apply(c *sim.CommandInfo) {
	word := x.m.word(x.layout.cpu[c.Object])
	switch {
	case c.Op == model.OpAdd:
		atomic.AddUint32(word, c.Value)
	case c.Store == model.StoreMax && c.Op != model.OpReset:
		if atomic.LoadUint32(word) < c.Value {
			atomic.StoreUint32(word, c.Value)
		}
	default:
		atomic.StoreUint32(word, c.Value)
	}
}

// publish makes the arrivals that are due. quiet: nothing else moves. It runs on the
// watching thread alone.
func (x *run) publish(quiet bool) {
	mode := x.plan.Machine.GPUToCPU
	for i, f := range x.fences {
		for k := 0; k < len(f.pending); {
			s := f.pending[k]
			due := false
			switch mode.Mode {
			case model.VisUnordered:
				due = x.now() >= s.after
			case model.VisLag:
				due = s.sure(mode.Buffers, quiet)
			}
			if !due && mode.Mode != model.VisUnordered && f.early < x.plan.Early[int32(i)] {
				due = true
				f.early++
			}
			if !due {
				if mode.Mode != model.VisUnordered {
					break // a younger store waits for it
				}
				k++
				continue
			}
			f.pending = append(f.pending[:k], f.pending[k+1:]...)
			x.arrive(int32(i), s)
		}
	}
}

// arrive makes one arrival and records it.
func (x *run) arrive(fence int32, s store) {
	f := x.fences[fence]
	c := &s.queue.info[s.cmd]
	from := x.now() - x.begun
	f.mu.Lock()
	x.apply(c)
	f.mu.Unlock()
	to := x.now() - x.begun
	text := x.plan.agents[s.queue.agent].cmds[s.cmd].Text(&s.queue.rank.plan.program.Names) + " becomes visible to the CPU"
	f.log = append(f.log, event{ns: to, from: from, to: to, t: sim.Transition{Kind: sim.KindVisible, Agent: fence}, text: text})
	x.ticks.Add(1)
}

// sure reports whether lag n guarantees the arrival of s: its buffer has finished, and so
// have n later ones of its queue, or, when nothing else moves, all committed ones.
func (s *store) sure(n int, quiet bool) bool {
	s.queue.rank.mu.Lock()
	defer s.queue.rank.mu.Unlock()
	if !s.buffer.finished {
		return false
	}
	later := 0
	for _, b := range s.queue.buffers[s.buffer.index+1:] {
		if b.finished {
			later++
		}
	}
	return later >= n || quiet && s.queue.unfinished() == 0
}
