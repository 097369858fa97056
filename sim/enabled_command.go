package sim

import (
	"github.com/fencesim/fencesim/model"
)

// view is a fence's value as an agent's side sees it.
func (y *System) view(s State, f int32, gpu bool) uint32 {
	if gpu {
		return uint32(y.fences[f].gpu.get(s))
	}
	return uint32(y.fences[f].cpu.get(s))
}

// satisfied reports whether a wait, park or await passes now.
func (y *System) satisfied(s State, x *Command) bool {
	if x.op == model.OpAwait {
		return uint32(y.events[x.object].value.get(s)) >= x.value
	}
	v := y.view(s, x.object, y.agents[x.holder].kind == agentQueue)
	if x.equal {
		return v == x.value
	}
	return v >= y.target(s, x)
}

// target is what a wait needs now: fixed, or under late the updates scheduled so far.
func (y *System) target(s State, x *Command) uint32 {
	if !x.late {
		return x.value
	}
	rk := &y.ranks[y.agents[x.holder].rank]
	return rk.late[x.object][rk.at.get(s)]
}

// takesSlot reports whether a command takes a slot in a transition of its own.
func takesSlot(op model.Op) bool {
	return op == model.OpWait || op == model.OpSend || op == model.OpRecv
}

// enabledCommand appends what command x of an agent may do in its phase ph.
func (y *System) enabledCommand(s State, x *Command, agent, b, ph int32, buf []Transition) []Transition {
	t := Transition{Kind: KindRun, Agent: agent, Buffer: b, Cmd: x.index}
	a := &y.agents[agent]
	slotted := y.m.slots > 0 && a.kind == agentQueue
	free := !slotted || y.ranks[a.rank].used.int(s) < y.m.slots
	if slotted && ph == phaseNew && takesSlot(x.op) {
		if !free {
			return buf
		}
		t.Kind = KindTake
		return append(buf, t)
	}
	switch x.op {
	case model.OpUpdate, model.OpRelease:
		if !free {
			return buf
		}
		if a.kind == agentQueue && x.store == storeGuarded && ph == phaseNew {
			t.Kind = KindRead
		}
	case model.OpKernel, model.OpCoherent, model.OpAdd, model.OpReset, model.OpSignal:
		if !free {
			return buf
		}
	case model.OpWait:
		if !y.satisfied(s, x) {
			if a.kind != agentQueue || !y.m.spinLimit {
				return buf
			}
			t.Kind = KindGiveUp
		}
	case model.OpAwait:
		if !y.satisfied(s, x) {
			return buf
		}
	case model.OpPark:
		switch ph {
		case phaseNew:
			t.Kind = KindTest
		case phaseHolding:
			t.Kind = KindSleep
		default:
			return buf
		}
	case model.OpCollective:
		if ph == phaseNew {
			if !free {
				return buf
			}
			t.Kind = KindArrive
			break
		}
		if !y.allArrived(s, x) {
			return buf
		}
		t.Kind = KindLeave
	case model.OpSend:
		if y.m.buffered == 0 {
			return y.enabledJoins(s, x, t, buf)
		}
		if pr := &y.pairs[x.pair]; pr.count.int(s) >= y.m.buffered {
			return buf
		}
	case model.OpRecv:
		if y.m.buffered == 0 {
			return buf
		}
		if pr := &y.pairs[x.pair]; pr.count.get(s) == 0 || !y.matches(pr.from, int32(pr.slots[0].get(s))-1, a.rank, x.name) {
			return buf
		}
	case model.OpAlloc:
		if y.m.memory > 0 && int64(y.ranks[a.rank].memory.get(s))+int64(x.value) > int64(y.m.memory) {
			return buf
		}
	case model.OpIdle:
		rk := &y.ranks[a.rank]
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			if y.unfinished(s, &y.queues[i]) > 0 {
				return buf
			}
		}
	}
	return append(buf, t)
}

// allArrived reports whether every rank has arrived at the collective at which x has.
func (y *System) allArrived(s State, x *Command) bool {
	g := &y.groups[x.object]
	ord := g.arrived.get(s)
	if x.ord > 0 {
		ord = y.ordinal(x).get(s)
	}
	if y.whole != nil {
		return uint64(y.whole[g.first]) >= ord
	}
	for _, p := range g.peers {
		if p < 0 || y.groups[p].arrived.get(s) < ord {
			return false
		}
	}
	return true
}

// matches reports whether what rank r sends as name is what rank o receives as other.
// Graphs send and receive under names of their own, -1, which match anything.
func (y *System) matches(r, name, o, other int32) bool {
	return name < 0 || other < 0 || y.nameOf(r, name) == y.nameOf(o, other)
}

// enabledJoins appends a joint transition of send x with every recv that waits for it.
func (y *System) enabledJoins(s State, x *Command, t Transition, buf []Transition) []Transition {
	own := y.agents[t.Agent].rank
	t.Kind = KindJoin
	y.current(s, x.peer, func(agent, b int32, c *Command, ph int32) {
		if c.op != model.OpRecv || c.peer != own || !y.matches(own, x.name, x.peer, c.name) {
			return
		}
		if y.m.slots > 0 && y.agents[agent].kind == agentQueue && ph == phaseNew {
			return // it has no slot yet
		}
		t.Peer, t.PeerCmd, t.PeerBuffer = agent, c.index, b
		buf = append(buf, t)
	})
	return buf
}

// current calls f for every command that an agent of rank r is at, with the agent, the
// buffer and the phase.
func (y *System) current(s State, r int32, f func(agent, b int32, x *Command, phase int32)) {
	lo, hi := y.AgentsOf(r)
	for a := lo; a < hi; a++ {
		y.currentAt(s, a, f)
	}
}

// currentAt calls f for every command that an agent is at.
func (y *System) currentAt(s State, agent int32, f func(agent, b int32, x *Command, phase int32)) {
	ag := &y.agents[agent]
	rk := &y.ranks[ag.rank]
	if ag.kind == agentQueue {
		q := &y.queues[ag.index]
		for b, com := q.fin.int(s), q.com.int(s); b < com; b++ {
			if y.startedBuffer(s, q, b) {
				y.currentOf(s, q, b, f)
			}
			if !y.m.overlap {
				break
			}
		}
		return
	}
	if rk.dead.get(s) != 0 {
		return
	}
	switch ag.kind {
	case agentMain:
		if at := rk.at.int(s); int(at) < len(rk.main) {
			if x := rk.command(at); x != nil {
				f(agent, 0, x, int32(rk.phase.get(s)))
			}
		}
	case agentStream:
		st := &y.streams[ag.index]
		if pc := st.pc.int(s); pc < st.enq.int(s) {
			f(agent, 0, &st.cmds[pc], int32(st.phase.get(s)))
		}
	case agentHandler:
		h := &y.handlers[ag.index]
		if pc := h.pc.int(s); int(pc) < len(h.cmds) && y.finished(s, &y.queues[h.queue], h.buffer) {
			f(agent, 0, &h.cmds[pc], int32(h.phase.get(s)))
		}
	}
}

// currentOf calls f for the commands that started buffer b is at.
func (y *System) currentOf(s State, q *queue, b int32, f func(agent, b int32, x *Command, phase int32)) {
	_, hi := q.span(s, b)
	pc := y.position(q, b).int(s)
	if pc >= hi {
		return
	}
	if !y.m.concurrent {
		f(q.agent, b, &q.cmds[pc], int32(y.phaseField(q, b).get(s)))
		return
	}
	for i, end := pc, q.sectionEnd(pc, hi); i < end; i++ {
		if ph := int32(q.phases[i].get(s)); ph != phaseDone {
			f(q.agent, b, &q.cmds[i], ph)
		}
	}
}
