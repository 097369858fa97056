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
	case model.StepCommit, model.StepFlush:
		q := rk.queues[st.Target]
		return x.room(a, rk, q) && x.take(a, t, func() bool {
			rk.mu.Lock()
			defer rk.mu.Unlock()
			if st.Kind == model.StepCommit {
				q.commit(q.source.Ends[len(q.buffers)], true)
			} else {
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
	if !x.room(a, rk, q) {
		return false
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
	imposed, blocked, past := choice.imposed(i), false, 0
	if imposed {
		past, blocked = choice.Blocks[i]
	}
	active, blocks, seen, at := 0, false, []int(nil), int64(0)
	ready := x.spin(a, func() bool {
		at = x.now() - x.begun
		// Room is looked at first: it can only grow until this thread commits, so that what
		// is there before the tasks are counted is there at the moment of the count.
		room := !x.anyFull(rk, i)
		active, _, seen = x.active(rk)
		blocks = active > int(st.N)
		switch {
		case blocked:
			blocks = true
		case imposed:
			return !blocks // it passes, as soon as the device lets it
		}
		return !blocks || room
	})
	if !ready {
		return false
	}
	if imposed {
		seen = nil // see event.eager
	}
	if !blocks {
		return x.takeEvent(a, &event{t: t, test: uncontested, seen: seen}, always)
	}
	block := active > 1 || blocked
	if !x.takeEvent(a, &event{ns: at, t: t, test: contested, seen: seen}, func() bool { x.commitOpen(rk, i); return true }) {
		return false
	}
	if !block {
		return true
	}
	return x.spin(a, func() bool {
		n, ended, _ := x.active(rk)
		return blocked && ended > past || !blocked && n < active
	}) && x.take(a, t, always)
}

// commitOpen commits every open buffer of a rank whose schedule comes from a graph, even
// empty ones.
func (x *run) commitOpen(rk *runRank, step int) {
	if !rk.plan.program.FromGraph {
		return
	}
	rk.mu.Lock()
	defer rk.mu.Unlock()
	for _, q := range rk.queues {
		if q.source.FirstUse <= step {
			q.commit(q.encoded, false)
		}
	}
}

// anyFull reports whether a commit of the open buffers would block.
func (x *run) anyFull(rk *runRank, step int) bool {
	for _, q := range rk.queues {
		if rk.plan.program.FromGraph && q.source.FirstUse <= step && x.full(rk, q) {
			return true
		}
	}
	return false
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
