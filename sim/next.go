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
		if q := &y.queues[rk.queues.lo+st.Target]; q.open.int(s) < q.encoded[at] {
			y.commitOpen(s, rk, q, q.encoded[at], false)
		}
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

// commitOpen commits the open buffer of a queue with run-time ends.
func (y *System) commitOpen(s State, rk *rank, q *queue, end int32, counted bool) {
	com := q.com.int(s)
	if int(com-q.fin.int(s)) >= len(q.slots) {
		rk.overflow.set(s, 1)
		return
	}
	sl := q.slot(com)
	sl.end.set(s, uint64(end))
	sl.counted.set(s, uint64(b2i(counted)))
	q.open.set(s, uint64(end))
	q.com.set(s, uint64(com+1))
}

// finish ends buffer b: what it wrote becomes visible, finished buffers without a gap
// leave the queue.
func (y *System) finish(s State, q *queue, b int32) {
	lo, hi := q.span(s, b)
	if y.m.coherent {
		for i := lo; i < hi; i++ {
			for _, w := range q.cmds[i].writes {
				if a := &y.arrays[w.array]; a.writer.get(s) == w.writer {
					a.visible.set(s, 1)
				}
			}
		}
	}
	if y.m.concurrent {
		for i := lo; i < hi; i++ {
			q.phases[i].set(s, 0)
		}
	}
	if !y.m.overlap {
		q.started.set(s, 0)
		q.pc.set(s, uint64(hi))
		q.phase.set(s, 0)
		y.retire(s, q, b, hi)
		return
	}
	sl := q.slot(b)
	sl.status.set(s, bufferFinished)
	sl.pc.set(s, 0)
	sl.phase.set(s, 0)
	for f := q.fin.int(s); f < q.com.int(s) && q.slot(f).status.get(s) == bufferFinished; f++ {
		_, hi := q.span(s, f)
		y.retire(s, q, f, hi)
	}
}

// retire takes finished buffer b, the oldest of its queue, out of it.
func (y *System) retire(s State, q *queue, b, end int32) {
	if len(q.slots) > 0 {
		sl := q.slot(b)
		sl.status.set(s, 0)
		sl.end.set(s, 0)
		sl.counted.set(s, 0)
	}
	q.base.set(s, uint64(end))
	q.fin.set(s, uint64(b+1))
}

// applyKill kills started buffer b: what is left of it never runs.
func (y *System) applyKill(s State, q *queue, b int32) Violations {
	var v Violations
	_, hi := q.span(s, b)
	for i := y.position(q, b).int(s); i < hi; i++ {
		if q.cmds[i].src.Stores() && q.cmds[i].op != model.OpReset && !(y.m.concurrent && q.phases[i].get(s) == phaseDone) {
			v = LostUpdate
		}
	}
	y.ranks[q.rank].ignored.set(s, 1)
	y.abandon(s, q, b)
	return v
}

// holdsSlot reports whether a command that has begun keeps a slot.
func holdsSlot(op model.Op) bool {
	return op == model.OpWait || op == model.OpCollective || op == model.OpSend || op == model.OpRecv
}

// abandon finishes started buffer b without the rest of its commands.
func (y *System) abandon(s State, q *queue, b int32) {
	y.currentOf(s, q, b, func(_, _ int32, x *cmd, ph int32) {
		if ph == phaseHolding && holdsSlot(x.op) {
			y.ranks[q.rank].used.add(s, -1)
		}
		x.ord.set(s, 0)
	})
	y.finish(s, q, b)
}

// advance moves an agent past command x.
func (y *System) advance(s State, agentIndex, b int32, x *cmd) {
	a := &y.agents[agentIndex]
	switch a.kind {
	case agentMain:
		rk := &y.ranks[a.rank]
		if rk.dead.get(s) == 0 {
			rk.at.add(s, 1)
		}
		rk.phase.set(s, 0)
	case agentStream:
		st := &y.streams[a.index]
		st.pc.add(s, 1)
		st.phase.set(s, 0)
	case agentHandler:
		h := &y.handlers[a.index]
		h.pc.add(s, 1)
		h.phase.set(s, 0)
	case agentQueue:
		q := &y.queues[a.index]
		at := y.position(q, b)
		if !y.m.concurrent {
			at.add(s, 1)
			y.phaseField(q, b).set(s, 0)
			return
		}
		q.phases[x.index].set(s, phaseDone)
		_, hi := q.span(s, b)
		pc := at.int(s)
		end := q.sectionEnd(pc, hi)
		for i := pc; i < end; i++ {
			if q.phases[i].get(s) != phaseDone {
				return
			}
		}
		for i := pc; i < end; i++ {
			q.phases[i].set(s, 0)
		}
		at.set(s, uint64(end))
	}
}

// setPhase sets how far an agent is in command x.
func (y *System) setPhase(s State, agentIndex, b int32, x *cmd, ph uint64) {
	a := &y.agents[agentIndex]
	switch a.kind {
	case agentMain:
		y.ranks[a.rank].phase.set(s, ph)
	case agentStream:
		y.streams[a.index].phase.set(s, ph)
	case agentHandler:
		y.handlers[a.index].phase.set(s, ph)
	case agentQueue:
		q := &y.queues[a.index]
		if y.m.concurrent {
			q.phases[x.index].set(s, ph)
		} else {
			y.phaseField(q, b).set(s, ph)
		}
	}
}

func (y *System) phaseNow(s State, agentIndex, b int32, x *cmd) uint64 {
	a := &y.agents[agentIndex]
	switch a.kind {
	case agentMain:
		return y.ranks[a.rank].phase.get(s)
	case agentStream:
		return y.streams[a.index].phase.get(s)
	case agentHandler:
		return y.handlers[a.index].phase.get(s)
	}
	q := &y.queues[a.index]
	if y.m.concurrent {
		return q.phases[x.index].get(s)
	}
	return y.phaseField(q, b).get(s)
}

// applyCommand takes one transition of a command.
func (y *System) applyCommand(s State, t Transition) Violations {
	x := y.cmdAt(t.Agent, t.Cmd)
	a := &y.agents[t.Agent]
	gpu := a.kind == agentQueue
	rk := &y.ranks[a.rank]
	slotted := gpu && y.m.slots > 0
	var v Violations
	switch x.op {
	case model.OpKernel:
		v = y.read(s, x, gpu)
		y.write(s, x)
	case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
		v = y.touch(s, x)
		if gpu && x.store == storeGuarded {
			if t.Kind == KindRead {
				ph := uint64(phaseHolding)
				if uint32(y.fences[x.object].gpu.get(s)) >= x.value {
					ph = phaseRefused
				}
				y.setPhase(s, t.Agent, t.Buffer, x, ph)
				return v
			}
			if y.phaseNow(s, t.Agent, t.Buffer, x) == phaseRefused {
				break
			}
			if uint32(y.fences[x.object].gpu.get(s)) > x.value {
				v |= LostUpdate
			}
		}
		v |= y.store(s, x, gpu, t)
	case model.OpFree:
		v = y.touch(s, x)
		y.fences[x.object].freed.set(s, 1)
	case model.OpWait:
		if t.Kind == KindTake {
			rk.used.add(s, 1)
			y.setPhase(s, t.Agent, t.Buffer, x, phaseHolding)
			return 0
		}
		v = y.touch(s, x)
		y.letGo(s, t.Agent)
	case model.OpPark:
		v = y.touch(s, x)
		switch {
		case t.Kind == KindSleep:
			y.setPhase(s, t.Agent, t.Buffer, x, phaseAsleep)
			return v
		case !y.satisfied(s, x):
			y.setPhase(s, t.Agent, t.Buffer, x, phaseHolding)
			return v
		}
	case model.OpNotify:
		v = y.touch(s, x)
		y.wake(s, x.object)
	case model.OpCoherent:
		if ar := &y.arrays[x.object]; ar.writer.get(s) != 0 {
			ar.visible.set(s, 1)
		}
	case model.OpSignal:
		e := &y.events[x.object]
		e.value.set(s, max(e.value.get(s), uint64(x.value)))
	case model.OpCollective:
		if t.Kind == KindArrive {
			v = y.read(s, x, gpu) | y.arrive(s, x)
			if slotted {
				rk.used.add(s, 1)
			}
			y.setPhase(s, t.Agent, t.Buffer, x, phaseHolding)
			return v
		}
		x.ord.set(s, 0)
		y.letGo(s, t.Agent)
		y.write(s, x)
	case model.OpSend:
		if t.Kind == KindTake {
			rk.used.add(s, 1)
			y.setPhase(s, t.Agent, t.Buffer, x, phaseHolding)
			return 0
		}
		v = y.read(s, x, gpu)
		y.letGo(s, t.Agent)
		if t.Kind == KindJoin {
			z := y.cmdAt(t.Peer, t.PeerCmd)
			y.letGo(s, t.Peer)
			y.write(s, z)
			y.advance(s, t.Agent, t.Buffer, x)
			y.advance(s, t.Peer, t.PeerBuffer, z)
			return v
		}
		pr := &y.pairs[x.pair]
		pr.slots[pr.count.get(s)].set(s, uint64(x.name+1))
		pr.count.add(s, 1)
	case model.OpRecv:
		if t.Kind == KindTake {
			rk.used.add(s, 1)
			y.setPhase(s, t.Agent, t.Buffer, x, phaseHolding)
			return 0
		}
		y.letGo(s, t.Agent)
		pr := &y.pairs[x.pair]
		n := pr.count.int(s) - 1
		for i := int32(0); i < n; i++ {
			pr.slots[i].set(s, pr.slots[i+1].get(s))
		}
		pr.slots[n].set(s, 0)
		pr.count.set(s, uint64(n))
		y.write(s, x)
	case model.OpAlloc:
		rk.memory.add(s, int32(x.value))
	case model.OpDealloc:
		rk.memory.set(s, uint64(max(0, int64(rk.memory.get(s))-int64(x.value))))
	case model.OpFail:
		if gpu {
			y.abandon(s, &y.queues[a.index], t.Buffer)
			return 0
		}
	case model.OpDie:
		rk.dead.set(s, 1)
		rk.at.set(s, uint64(len(rk.main)))
	}
	y.advance(s, t.Agent, t.Buffer, x)
	return v
}

// letGo gives back the slot that an agent's command holds.
func (y *System) letGo(s State, agent int32) {
	if a := &y.agents[agent]; y.m.slots > 0 && a.kind == agentQueue {
		y.ranks[a.rank].used.add(s, -1)
	}
}

func (y *System) nameOf(r, n int32) string { return y.Programs[r].Names.Of(model.Sym(n)) }

// read checks what x reads.
func (y *System) read(s State, x *cmd, gpu bool) Violations {
	var v Violations
	for _, r := range x.reads {
		a := &y.arrays[r.array]
		have := uint32(a.version.get(s))
		switch {
		case have == 0 || have < r.version:
			v |= StaleRead
		case r.version > 0 && have > r.version:
			v |= Overwritten
		}
		if y.m.coherent && !gpu && have != 0 && a.visible.get(s) == 0 {
			v |= StaleRead
		}
	}
	return v
}

// write raises the versions of what x writes.
func (y *System) write(s State, x *cmd) {
	for _, w := range x.writes {
		a := &y.arrays[w.array]
		if n := a.version.get(s) + 1; n <= a.version.mask {
			a.version.set(s, n)
		}
		if y.m.coherent {
			a.writer.set(s, w.writer)
			a.visible.set(s, uint64(b2i(w.writer == 0)))
		}
	}
}

// touch reports a use of a fence that was freed.
func (y *System) touch(s State, x *cmd) Violations {
	if y.fences[x.object].freed.get(s) != 0 {
		return UseAfterFree
	}
	return 0
}

// spinningOnFreed reports whether some agent spins on a fence that was freed.
func (y *System) spinningOnFreed(s State) Violations {
	any := false
	for _, i := range y.mortal {
		any = any || y.fences[i].freed.get(s) != 0
	}
	if !any {
		return 0
	}
	var v Violations
	for r := range y.ranks {
		y.current(s, int32(r), func(_, _ int32, x *cmd, ph int32) {
			spins := x.op == model.OpWait && (ph == phaseHolding || y.m.slots == 0 || y.agents[x.holder].kind != agentQueue) ||
				x.op == model.OpPark && ph != phaseNew
			if spins && y.fences[x.object].freed.get(s) != 0 {
				v |= UseAfterFree
			}
		})
	}
	return v
}

// wake moves every agent that sleeps on fence f back to its test.
func (y *System) wake(s State, f int32) {
	for r := range y.ranks {
		y.current(s, int32(r), func(agent, b int32, x *cmd, ph int32) {
			if x.op == model.OpPark && x.object == f && ph == phaseAsleep {
				y.setPhase(s, agent, b, x, phaseNew)
			}
		})
	}
}

// arrive counts an arrival at a collective and compares its name with those of the ranks
// that have arrived at the same ordinal.
func (y *System) arrive(s State, x *cmd) Violations {
	g := &y.groups[x.object]
	k := g.arrived.int(s) // ordinal, from 0
	g.arrived.set(s, uint64(k+1))
	own := y.nameOf(g.rank, x.name)
	if g.names != nil {
		g.names[k].set(s, uint64(x.name+1))
		x.ord.set(s, uint64(k+1))
	}
	var v Violations
	all := true
	for _, p := range g.peers {
		if p < 0 || p == x.object {
			all = all && p >= 0
			continue
		}
		o := &y.groups[p]
		if o.arrived.int(s) <= k {
			all = false
			continue
		}
		var name string
		if o.names == nil {
			name = y.nameOf(o.rank, int32(o.fixed[k]))
		} else {
			name = y.nameOf(o.rank, int32(o.names[k].get(s))-1)
		}
		if name != own {
			v |= OrderMismatch
		}
	}
	if all { // nobody compares with these any more
		for _, p := range g.peers {
			if o := &y.groups[p]; o.names != nil {
				o.names[k].set(s, 0)
			}
		}
	}
	return v
}
