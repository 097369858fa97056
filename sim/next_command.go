package sim

import (
	"github.com/fencesim/fencesim/model"
)

// advance moves an agent past command x.
func (y *System) advance(s State, agentIndex, b int32, x *Command) {
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
func (y *System) setPhase(s State, agentIndex, b int32, x *Command, ph uint64) {
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

func (y *System) phaseNow(s State, agentIndex, b int32, x *Command) uint64 {
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
		if y.m.coherent && y.visible[x.object].writer.get(s) != 0 {
			y.visible[x.object].visible.set(s, 1)
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
		y.ordinal(x).set(s, 0)
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
		y.write(s, x) // in a graph a send has a result, what it was given
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
func (y *System) read(s State, x *Command, gpu bool) Violations {
	var v Violations
	for _, r := range y.Reads(x) {
		have := uint32(y.arrays[r.Array].version.get(s))
		switch {
		case have == 0 || have < r.Version:
			v |= StaleRead
		case r.Version > 0 && have > r.Version:
			v |= Overwritten
		}
		if y.m.coherent && !gpu && have != 0 && y.visible[r.Array].visible.get(s) == 0 {
			v |= StaleRead
		}
	}
	return v
}

// write raises the versions of what x writes.
func (y *System) write(s State, x *Command) {
	for _, w := range y.Writes(x) {
		a := &y.arrays[w.Array]
		if n := a.version.get(s) + 1; n <= a.version.mask {
			a.version.set(s, n)
		}
		if y.m.coherent {
			c := &y.visible[w.Array]
			c.writer.set(s, uint64(w.writer))
			c.visible.set(s, uint64(b2i(w.writer == 0)))
		}
	}
}

// touch reports a use of a fence that was freed.
func (y *System) touch(s State, x *Command) Violations {
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
	for _, a := range y.mourners {
		y.currentAt(s, a, func(_, _ int32, x *Command, ph int32) {
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
	if y.sleepers == nil {
		return
	}
	for _, a := range y.sleepers[f] {
		y.currentAt(s, a, func(agent, b int32, x *Command, ph int32) {
			if x.op == model.OpPark && x.object == f && ph == phaseAsleep {
				y.setPhase(s, agent, b, x, phaseNew)
			}
		})
	}
}

// arrive counts an arrival at a collective and compares its name with those of the ranks
// that have arrived at the same ordinal.
func (y *System) arrive(s State, x *Command) Violations {
	g := &y.groups[x.object]
	k := g.arrived.int(s) // ordinal, from 0
	g.arrived.set(s, uint64(k+1))
	if g.agree {
		return 0
	}
	own := y.nameOf(g.rank, x.name)
	if g.names != nil {
		g.names[k].set(s, uint64(x.name+1))
		y.ordinal(x).set(s, uint64(k+1))
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
