package sim

import "github.com/fencesim/fencesim/model"

// Next returns the state after t, which must be enabled in s, and the properties that
// the step violates. It does not change s.
func (y *System) Next(s State, t Transition) (State, Violations) {
	n := s.Clone()
	return n, y.Apply(n, t)
}

// Apply is Next in place: it changes s.
func (y *System) Apply(s State, t Transition) Violations {
	switch t.Kind {
	case KindVisible:
		return y.applyVisible(s, t)
	case KindStart:
		q := y.queueOf(t.Agent)
		if y.m.overlap {
			lo, _ := q.span(s, t.Buffer)
			sl := q.slot(t.Buffer)
			sl.status.set(s, bufferStarted)
			sl.pc.set(s, uint64(lo))
		} else {
			q.started.set(s, 1)
		}
		return y.spinningOnFreed(s)
	case KindFinish:
		y.finish(s, y.queueOf(t.Agent), t.Buffer)
		return y.spinningOnFreed(s)
	case KindKill:
		return y.applyKill(s, y.queueOf(t.Agent), t.Buffer)
	case KindStep:
		y.applyStep(s, t)
		return y.spinningOnFreed(s)
	}
	return y.applyCommand(s, t) | y.spinningOnFreed(s)
}

func (y *System) queueOf(agent int32) *queue { return &y.queues[y.agents[agent].index] }

// Overflow reports whether a queue had more unfinished buffers than [Options.Window].
func (y *System) Overflow(s State) bool {
	for r := range y.ranks {
		if y.ranks[r].overflow.get(s) != 0 {
			return true
		}
	}
	return false
}

// applyStep takes the main thread's step.
func (y *System) applyStep(s State, t Transition) {
	rk := &y.ranks[y.agents[t.Agent].rank]
	at := t.Cmd
	st := &rk.main[at]
	done := true
	switch st.Kind {
	case model.StepEnqueue:
		y.streams[rk.streams.lo+st.Target].enq.add(s, st.N)
	case model.StepTask:
		y.streams[rk.streams.lo+st.Target].enq.set(s, uint64(st.N))
	case model.StepCommit:
		y.queues[rk.queues.lo+st.Target].com.add(s, 1)
	case model.StepFlush:
		q := &y.queues[rk.queues.lo+st.Target]
		y.commitOpen(s, rk, q, q.encoded[at], false)
	case model.StepEncode:
		if q := &y.queues[rk.queues.lo+st.Target]; q.forced[q.open.get(s)] <= st.N {
			y.commitOpen(s, rk, q, st.N, true)
		}
	case model.StepThrottle:
		done = y.throttle(s, rk, st, at)
	case model.StepExit:
		rk.dead.set(s, 1)
		rk.at.set(s, uint64(len(rk.main)))
		return
	}
	if done {
		rk.at.add(s, 1)
	}
}

// throttle is the step of that name; it reports whether the main thread goes on.
func (y *System) throttle(s State, rk *rank, st *model.Step, at int32) bool {
	if rk.blocked.get(s) > 0 { // fewer are active now
		rk.blocked.set(s, 0)
		return true
	}
	if y.active(s, rk) <= st.N {
		return true
	}
	if rk.program.FromGraph {
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			if q := &y.queues[i]; q.firstUse <= at {
				y.commitOpen(s, rk, q, q.encoded[at], false)
			}
		}
	}
	n := y.active(s, rk)
	if n <= 1 {
		return true
	}
	rk.blocked.set(s, uint64(n))
	return false
}
