package hwreplay

import (
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// runMain takes a main thread's steps.
func (x *run) runMain(a *runAgent) {
	for i := range x.ranks[a.rank].plan.steps {
		if !x.step(a, i) {
			return
		}
	}
}

// step takes step i of main thread a; false: it has to leave.
func (x *run) step(a *runAgent, i int) bool {
	rk := x.ranks[a.rank]
	st := &rk.plan.steps[i]
	t := sim.Transition{Kind: sim.KindStep, Cmd: int32(i)}
	switch st.Kind {
	case model.StepCommand:
		return x.exec(a, i)
	case model.StepEnqueue, model.StepTask:
		return x.take(a, t, func() bool { x.handOver(rk, st); return true })
	case model.StepCommit:
		q := rk.queues[st.Target]
		return x.room(a, rk, q) && x.take(a, t, func() bool {
			rk.mu.Lock()
			defer rk.mu.Unlock()
			q.commit(q.source.Ends[len(q.buffers)], true)
			return true
		})
	case model.StepFlush:
		q := rk.queues[st.Target]
		if q.open < q.encoded && !x.room(a, rk, q) {
			return false
		}
		return x.take(a, t, func() bool {
			rk.mu.Lock()
			defer rk.mu.Unlock()
			if q.open < q.encoded {
				q.commit(q.encoded, false)
			}
			return true
		})
	case model.StepEncode:
		return x.encode(a, rk, st, t)
	case model.StepUpdate:
		return x.take(a, t, func() bool { x.encoded(rk, rk.queues[st.Target], st.N); return true })
	case model.StepThrottle:
		return x.throttle(a, rk, st, i, t)
	case model.StepSynchronize:
		return x.spin(a, func() bool { return x.synchronized(rk, st) }) && x.take(a, t, always)
	}
	x.die(a, t) // exit
	return false
}

// handOver gives tasks to a stream.
func (x *run) handOver(rk *runRank, st *model.Step) {
	s := x.agents[rk.plan.streams[st.Target]]
	from := s.to.Load()
	to := st.N
	if st.Kind == model.StepEnqueue {
		to += from
	}
	for _, c := range s.plan.info[from:to] {
		if c.Op == model.OpUpdate || c.Op == model.OpRelease {
			raise(&x.fences[c.Object].scheduled, c.Value)
			rk.late[c.Object].Add(b2u(c.Op == model.OpUpdate))
		}
	}
	s.to.Store(to)
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// encoded notes that commands up to n stand in the open buffer.
func (x *run) encoded(rk *runRank, q *runQueue, n int32) {
	for _, c := range q.info[q.encoded:n] {
		if c.Op == model.OpUpdate {
			rk.late[c.Object].Add(1)
			raise(&x.fences[c.Object].scheduled, c.Value)
		}
	}
	q.encoded = int(n)
}

// room waits until a commit does not block.
func (x *run) room(a *runAgent, rk *runRank, q *runQueue) bool {
	return x.spin(a, func() bool { return !x.full(rk, q) })
}

func (x *run) full(rk *runRank, q *runQueue) bool {
	if x.plan.Machine.InFlight == 0 {
		return false
	}
	rk.mu.Lock()
	defer rk.mu.Unlock()
	x.poll(rk)
	return q.unfinished() >= x.plan.Machine.InFlight
}

// encode appends an operation to the open buffer, which the size rule may then commit.
func (x *run) encode(a *runAgent, rk *runRank, st *model.Step, t sim.Transition) bool {
	q := rk.queues[st.Target]
	if q.source.Forced[q.open] > st.N {
		return x.take(a, t, func() bool { x.encoded(rk, q, st.N); return true })
	}
	if x.full(rk, q) { // the operation is encoded, its commit blocks
		if !x.take(a, t, always) || !x.room(a, rk, q) {
			return false
		}
	}
	return x.take(a, t, func() bool {
		x.encoded(rk, q, st.N)
		rk.mu.Lock()
		defer rk.mu.Unlock()
		q.commit(int(st.N), true)
		return true
	})
}

// throttle is the step of that name. It passes, or commits what is open and blocks until
// an active task has ended; an imposed choice says which.
func (x *run) throttle(a *runAgent, rk *runRank, st *model.Step, i int, t sim.Transition) bool {
	choice := x.plan.Choices[a.rank]
	active, ended := x.active(rk)
	blocks := active > int(st.N)
	if choice != nil {
		ended, blocks = choice.Blocks[i], false
		if _, blocks = choice.Blocks[i]; !blocks && !x.spin(a, func() bool { n, _ := x.active(rk); return n <= int(st.N) }) {
			return false
		}
	}
	if !blocks {
		return x.takeEvent(a, event{t: t, test: uncontested}, always)
	}
	test := contested
	for _, q := range rk.queues {
		if !rk.plan.program.FromGraph || q.source.FirstUse > i {
			continue
		}
		if x.full(rk, q) {
			x.blockedAt(a, t, test)
			test = untested
			if !x.room(a, rk, q) {
				return false
			}
		}
		rk.mu.Lock()
		if !x.over(a) {
			q.commit(q.encoded, false)
		}
		rk.mu.Unlock()
	}
	if choice == nil {
		// What was active at the test counts: an end since then has to let it go on.
		if active <= 1 {
			return x.take(a, t, always)
		}
	}
	x.blockedAt(a, t, test)
	goesOn := func() bool { n, _ := x.active(rk); return n < active }
	if choice != nil {
		goesOn = func() bool { _, n := x.active(rk); return n > ended }
	}
	return x.spin(a, goesOn) && x.take(a, t, always)
}

// blockedAt records the first half of a step that blocks in its middle.
func (x *run) blockedAt(a *runAgent, t sim.Transition, test throttleTest) {
	rk := x.ranks[a.rank]
	rk.life.RLock()
	defer rk.life.RUnlock()
	if !x.over(a) {
		x.record(a, event{t: t, test: test})
	}
}

// synchronized reports whether a queue or stream has done all that it was given.
func (x *run) synchronized(rk *runRank, st *model.Step) bool {
	if st.Queue {
		rk.mu.Lock()
		defer rk.mu.Unlock()
		x.poll(rk)
		return rk.queues[st.Target].unfinished() == 0
	}
	s := x.agents[rk.plan.streams[st.Target]]
	return s.pc.Load() >= s.to.Load()
}
