package sim

import "github.com/fencesim/fencesim/model"

// Enabled appends to buf the transitions enabled in s, in the order of the package
// comment, and returns it. Guaranteed ones have Possible false.
func (y *System) Enabled(s State, buf []Transition) []Transition {
	for r := range y.ranks {
		buf = y.enabledRank(s, int32(r), buf)
	}
	if y.m.toCPU != visImmediate || y.m.toGPUUnreliable {
		for f := range y.fences {
			buf = y.enabledArrivals(s, int32(f), buf)
		}
	}
	if y.m.watchdog != dogOff {
		for q := range y.queues {
			buf = y.enabledKills(s, int32(q), buf)
		}
	}
	return buf
}

func (y *System) enabledRank(s State, r int32, buf []Transition) []Transition {
	rk := &y.ranks[r]
	dead := rk.dead.get(s) != 0
	if !dead {
		buf = y.enabledMain(s, r, buf)
	}
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		buf = y.enabledQueue(s, q, buf)
	}
	if dead {
		return buf
	}
	for i := rk.streams.lo; i < rk.streams.hi; i++ {
		st := &y.streams[i]
		if pc := st.pc.int(s); pc < st.enq.int(s) {
			buf = y.enabledCommand(s, &st.cmds[pc], st.agent, 0, int32(st.phase.get(s)), buf)
		}
	}
	for i := rk.handlers.lo; i < rk.handlers.hi; i++ {
		h := &y.handlers[i]
		if pc := h.pc.int(s); int(pc) < len(h.cmds) && y.finished(s, &y.queues[h.queue], h.buffer) {
			buf = y.enabledCommand(s, &h.cmds[pc], h.agent, 0, int32(h.phase.get(s)), buf)
		}
	}
	return buf
}

// enabledMain appends the next step of rank r's main thread if it does not block.
func (y *System) enabledMain(s State, r int32, buf []Transition) []Transition {
	rk := &y.ranks[r]
	at := rk.at.int(s)
	if int(at) >= len(rk.main) {
		return buf
	}
	st := &rk.main[at]
	if st.Kind == model.StepCommand {
		return y.enabledCommand(s, rk.command(at), rk.agent, 0, int32(rk.phase.get(s)), buf)
	}
	if y.mainBlocks(s, rk, st, at) {
		return buf
	}
	return append(buf, Transition{Kind: KindStep, Agent: rk.agent, Cmd: at})
}

// mainBlocks reports whether step at of a main thread cannot be taken.
func (y *System) mainBlocks(s State, rk *rank, st *model.Step, at int32) bool {
	switch st.Kind {
	case model.StepCommit:
		return y.full(s, &y.queues[rk.queues.lo+st.Target])
	case model.StepFlush:
		return y.full(s, &y.queues[rk.queues.lo+st.Target])
	case model.StepEncode:
		q := &y.queues[rk.queues.lo+st.Target]
		return q.forced[q.open.get(s)] <= st.N && y.full(s, q)
	case model.StepThrottle:
		if n := rk.blocked.int(s); n > 0 {
			return y.active(s, rk) >= n
		}
		if y.m.inFlight == 0 || !rk.program.FromGraph || y.active(s, rk) <= st.N {
			return false
		}
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			if q := &y.queues[i]; q.firstUse <= at && y.full(s, q) {
				return true
			}
		}
	case model.StepSynchronize:
		if st.Queue {
			return y.unfinished(s, &y.queues[rk.queues.lo+st.Target]) > 0
		}
		sr := &y.streams[rk.streams.lo+st.Target]
		return sr.pc.get(s) < sr.enq.get(s)
	}
	return false
}

// full reports whether a commit on q blocks.
func (y *System) full(s State, q *queue) bool {
	return y.m.inFlight > 0 && y.unfinished(s, q) >= y.m.inFlight
}

// unfinished is the number of committed buffers of q that have not finished.
func (y *System) unfinished(s State, q *queue) int32 {
	fin, com := q.fin.int(s), q.com.int(s)
	n := com - fin
	if y.m.overlap {
		for b := fin; b < com; b++ {
			n -= int32(b2i(q.slot(b).status.get(s) == bufferFinished))
		}
	}
	return n
}

// active is the number of active tasks of a rank. In an explicit schedule they are the
// committed buffers until they finish; with run-time ends the buffers that the size rule
// committed, and the counted CPU tasks that were handed over and have not run.
func (y *System) active(s State, rk *rank) int32 {
	n := int32(0)
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		if q.fixed {
			n += y.unfinished(s, q)
			continue
		}
		for b, com := q.fin.int(s), q.com.int(s); b < com; b++ {
			sl := q.slot(b)
			if sl.counted.get(s) != 0 && sl.status.get(s) != bufferFinished {
				n++
			}
		}
	}
	for i := rk.streams.lo; i < rk.streams.hi; i++ {
		st := &y.streams[i]
		n += int32(st.counted[st.enq.get(s)] - st.counted[st.pc.get(s)])
	}
	return n
}

// TasksEnded returns how many of a rank's counted buffers and CPU tasks t ends: 0, 1, or 2
// where both sides of a join are such tasks.
func (y *System) TasksEnded(s State, t Transition, rank int32) int {
	n := 0
	if a := &y.agents[t.Agent]; a.rank == rank {
		switch a.kind {
		case agentQueue:
			q := &y.queues[a.index]
			n += b2i((t.Kind == KindFinish || t.Kind == KindKill) && (q.fixed || q.slot(t.Buffer).counted.get(s) != 0))
		case agentStream:
			n += b2i((t.Kind == KindRun || t.Kind == KindLeave || t.Kind == KindJoin) && y.streams[a.index].counts(t.Cmd))
		}
	}
	if t.Kind == KindJoin {
		if a := &y.agents[t.Peer]; a.rank == rank && a.kind == agentStream {
			n += b2i(y.streams[a.index].counts(t.PeerCmd))
		}
	}
	return n
}

// counts reports whether task i of a stream is an active task.
func (st *stream) counts(i int32) bool { return st.counted[i+1] > st.counted[i] }
