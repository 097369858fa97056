package hwreplay

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// start runs f on an OS thread of its own.
func (x *run) start(a *runAgent, f func(*runAgent)) {
	x.all.Add(1)
	x.left.Add(1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer x.all.Done()
		f(a)
		a.state.Store(agentDone)
		x.left.Add(-1)
	}()
}

// over reports whether a has to leave: the run is over, its process has ended, or the
// buffer that it serves was killed.
func (x *run) over(a *runAgent) bool {
	if x.stop.Load() || a.killed != nil && a.killed() {
		return true
	}
	return !a.gpu && x.ranks[a.rank].dead.Load()
}

// spin waits for a condition; false: a has to leave.
func (x *run) spin(a *runAgent, f func() bool) bool {
	var p pause
	for first := true; ; first = false {
		a.polls.Add(1)
		if x.over(a) {
			return false
		}
		a.from = x.now() - x.begun
		if f() {
			if !first {
				a.state.Store(agentRuns)
			}
			return true
		}
		if first {
			a.state.Store(agentBlocked)
		}
		if !x.config.Spin {
			p.wait()
		}
	}
}

// take makes one transition of a: f does it and says whether it was possible, with the
// process alive. False: it was not, or a has to leave.
func (x *run) take(a *runAgent, t sim.Transition, f func() bool) bool {
	return x.takeEvent(a, &event{t: t}, f)
}

func (x *run) takeEvent(a *runAgent, e *event, f func() bool) bool {
	rk := x.ranks[a.rank]
	if !a.gpu {
		rk.life.RLock()
		defer rk.life.RUnlock()
	}
	if x.over(a) || !f() {
		return false
	}
	if x.config.stall != nil {
		x.config.stall()
	}
	x.record(a, *e)
	return true
}

func always() bool { return true }

// record appends an event to a's log, with the time.
func (x *run) record(a *runAgent, e event) {
	x.logs.RLock()
	defer x.logs.RUnlock()
	if x.frozen {
		return
	}
	e.from = a.from
	if e.eager = a.plan.kind == sim.MainThread && x.plan.Choices[a.rank].imposed(int(e.t.Cmd)); e.eager {
		e.from = 0
	}
	if e.ns == 0 {
		e.ns = x.now() - x.begun
	}
	e.t.Agent, e.t.Buffer = a.id, a.buffer
	if a.plan.kind != sim.CPUStream {
		e.over = 0
	} else if ends(e.t.Kind) {
		e.over = int64(e.t.Cmd) + 1
	}
	a.log = append(a.log, e)
	if e.over > 0 {
		a.did(e.t.Cmd)
	}
	a.from = x.now() - x.begun
	a.log[len(a.log)-1].to = a.from // others have seen it by now, its end too
	x.ticks.Add(1)
}

// did notes that task i of a stream is done.
func (a *runAgent) did(i int32) {
	if a.plan.kind == sim.CPUStream {
		a.pc.Store(i + 1)
	}
}

// ends reports whether a transition of that kind is the last one of its command; a test
// may be.
func ends(k sim.Kind) bool { return k == sim.KindRun || k == sim.KindLeave || k == sim.KindJoin }

// runStream runs a CPU stream's tasks as they are handed over.
func (x *run) runStream(a *runAgent) {
	for i := range a.plan.info {
		if !x.spin(a, func() bool { return a.to.Load() > int32(i) }) || !x.exec(a, i) {
			return
		}
	}
}

// runHandler runs a completion handler.
func (x *run) runHandler(a *runAgent) {
	for i := range a.plan.info {
		if !x.exec(a, i) {
			return
		}
	}
}

// exec runs command i of a on the CPU; false: a has to leave.
func (x *run) exec(a *runAgent, i int) bool {
	c := &a.plan.info[i]
	t := sim.Transition{Kind: sim.KindRun, Cmd: int32(i)}
	rk := x.ranks[a.rank]
	switch c.Op {
	case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
		return x.take(a, t, func() bool { x.storeCPU(c); return true })
	case model.OpWait:
		// What the last look saw was so when it began, or very soon after.
		return x.spin(a, func() bool { return x.satisfied(a, c) }) && x.takeEvent(a, &event{ns: a.from, t: t}, func() bool { x.consume(c); return true })
	case model.OpSignal:
		return x.take(a, t, func() bool { x.signal(c); return true })
	case model.OpAwait:
		at := x.layout.events[c.Object]
		return x.spin(a, func() bool { return x.m.load(at) >= c.Value }) && x.take(a, t, always)
	case model.OpCollective:
		return x.collective(a, i, t)
	case model.OpSend:
		return x.send(a, i, t)
	case model.OpRecv:
		return x.receive(a, i, t)
	case model.OpPark:
		return x.park(a, i, t)
	case model.OpNotify:
		return x.take(a, t, func() bool { x.meet.notify(c.Object); return true })
	case model.OpAlloc:
		return x.spin(a, func() bool { return x.alloc(rk, int64(c.Value)) }) && x.take(a, t, always)
	case model.OpDealloc:
		return x.take(a, t, func() bool {
			rk.mu.Lock()
			rk.memory = max(0, rk.memory-int64(c.Value))
			rk.mu.Unlock()
			return true
		})
	case model.OpIdle:
		return x.spin(a, func() bool { return x.idle(rk) }) && x.take(a, t, always)
	case model.OpDie:
		x.die(a, t)
		return false
	case model.OpKernel:
		time.Sleep(x.config.Kernel)
		return x.take(a, t, always)
	}
	return x.take(a, t, always) // free, fail
}

// alloc takes units of the machine's memory; false: too few are free.
func (x *run) alloc(rk *runRank, n int64) bool {
	rk.mu.Lock()
	defer rk.mu.Unlock()
	if most := int64(x.plan.Machine.Memory); most > 0 && rk.memory+n > most {
		return false
	}
	rk.memory += n
	return true
}

// idle reports whether every committed buffer of the rank has finished.
func (x *run) idle(rk *runRank) bool {
	rk.mu.Lock()
	defer rk.mu.Unlock()
	for _, q := range rk.queues {
		if q.unfinished() > 0 {
			return false
		}
	}
	return true
}

// die ends the process of a's rank: nobody makes a transition afterwards.
func (x *run) die(a *runAgent, t sim.Transition) {
	rk := x.ranks[a.rank]
	rk.life.Lock()
	defer rk.life.Unlock()
	if x.over(a) {
		return
	}
	x.record(a, event{t: t})
	rk.dead.Store(true)
}

// signal raises an event.
func (x *run) signal(c *sim.CommandInfo) {
	word := x.m.word(x.layout.events[c.Object])
	for {
		v := atomic.LoadUint32(word)
		if v >= c.Value || atomic.CompareAndSwapUint32(word, v, c.Value) {
			return
		}
	}
}
