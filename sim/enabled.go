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
		return y.enabledCommand(s, rk.cmds[at], rk.agent, 0, int32(rk.phase.get(s)), buf)
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
		q := &y.queues[rk.queues.lo+st.Target]
		return q.open.int(s) < q.encoded[at] && y.full(s, q)
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

func (q *queue) slot(b int32) *slot { return &q.slots[int(b)%len(q.slots)] }

// span is the range of commands of committed buffer b.
func (q *queue) span(s State, b int32) (lo, hi int32) {
	if q.fixed {
		if b > 0 {
			lo = q.ends[b-1]
		}
		return lo, q.ends[b]
	}
	if b > q.fin.int(s) {
		lo = q.slot(b - 1).end.int(s)
	} else {
		lo = q.base.int(s)
	}
	return lo, q.slot(b).end.int(s)
}

// finished reports whether buffer b of q has finished.
func (y *System) finished(s State, q *queue, b int32) bool {
	if b < q.fin.int(s) {
		return true
	}
	return y.m.overlap && b < q.com.int(s) && q.slot(b).status.get(s) == bufferFinished
}

// startedBuffer reports whether buffer b, committed and not finished, has started.
func (y *System) startedBuffer(s State, q *queue, b int32) bool {
	if y.m.overlap {
		return q.slot(b).status.get(s) == bufferStarted
	}
	return b == q.fin.int(s) && q.started.get(s) != 0
}

func (y *System) enabledQueue(s State, qi int32, buf []Transition) []Transition {
	q := &y.queues[qi]
	fin, com := q.fin.int(s), q.com.int(s)
	last := com
	if !y.m.overlap {
		last = min(com, fin+1)
	}
	for b := fin; b < last; b++ {
		switch {
		case y.startedBuffer(s, q, b):
			buf = y.enabledBuffer(s, q, b, buf)
		case y.m.overlap && q.slot(b).status.get(s) == bufferFinished:
		case y.canStart(s, q, b):
			buf = append(buf, Transition{Kind: KindStart, Agent: q.agent, Buffer: b})
		}
	}
	return buf
}

// canStart reports whether waiting buffer b may start.
func (y *System) canStart(s State, q *queue, b int32) bool {
	rk := &y.ranks[q.rank]
	if rk.ignored.get(s) != 0 {
		return false
	}
	if y.m.exclusive {
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			o := &y.queues[i]
			for c, com := o.fin.int(s), o.com.int(s); c < com; c++ {
				if y.startedBuffer(s, o, c) {
					return false
				}
				if !y.m.overlap {
					break
				}
			}
		}
	}
	if !y.m.overlap {
		return true
	}
	if y.m.lookAhead > 0 {
		unfinished := int32(0)
		for a := q.fin.int(s); a < b; a++ {
			unfinished += int32(b2i(q.slot(a).status.get(s) != bufferFinished))
		}
		if unfinished >= y.m.lookAhead {
			return false
		}
	}
	return y.m.tracking == trackNone || !y.tracked(s, q, b)
}

// tracked reports whether buffer b waits for an earlier unfinished buffer of its queue,
// which writes an array that b reads or writes or (tracking all) uses a fence that b
// uses. Only the last such command before b needs a look: the buffers of earlier ones have
// finished before its buffer started.
func (y *System) tracked(s State, q *queue, b int32) bool {
	lo, hi := q.span(s, b)
	first := q.fin.int(s)
	base, _ := q.span(s, first)
	for i := lo; i < hi; i++ {
		for _, d := range q.behind[i] {
			if d >= lo || d < base {
				continue
			}
			for a := first; a < b; a++ {
				if alo, ahi := q.span(s, a); d >= alo && d < ahi {
					if q.slot(a).status.get(s) != bufferFinished {
						return true
					}
					break
				}
			}
		}
	}
	return false
}

// position is the field of the position in started buffer b.
func (y *System) position(q *queue, b int32) field {
	if y.m.overlap {
		return q.slot(b).pc
	}
	return q.pc
}

func (y *System) phaseField(q *queue, b int32) field {
	if y.m.overlap {
		return q.slot(b).phase
	}
	return q.phase
}

// enabledBuffer appends what a started buffer may do.
func (y *System) enabledBuffer(s State, q *queue, b int32, buf []Transition) []Transition {
	_, hi := q.span(s, b)
	pc := y.position(q, b).int(s)
	if pc >= hi {
		return append(buf, Transition{Kind: KindFinish, Agent: q.agent, Buffer: b})
	}
	if !y.m.concurrent {
		return y.enabledCommand(s, &q.cmds[pc], q.agent, b, int32(y.phaseField(q, b).get(s)), buf)
	}
	end := q.sectionEnd(pc, hi)
	open := false // an earlier command of the section has not ended
	for i := pc; i < end; i++ {
		ph := int32(q.phases[i].get(s))
		if ph == phaseDone {
			continue
		}
		if q.cmds[i].op != model.OpSignal || !open {
			buf = y.enabledCommand(s, &q.cmds[i], q.agent, b, ph, buf)
		}
		open = true
	}
	return buf
}

// sectionEnd is the end of the section that starts at pc in a buffer that ends at hi: a
// barrier or encoder is a section of its own.
func (q *queue) sectionEnd(pc, hi int32) int32 {
	if divides(q.cmds[pc].op) {
		return pc + 1
	}
	end := hi
	if q.section != nil {
		end = min(end, q.section[pc])
	}
	for i := pc + 1; i < end; i++ {
		if divides(q.cmds[i].op) {
			return i
		}
	}
	return end
}

func divides(op model.Op) bool { return op == model.OpBarrier || op == model.OpEncoder }

// view is a fence's value as an agent's side sees it.
func (y *System) view(s State, f int32, gpu bool) uint32 {
	if gpu {
		return uint32(y.fences[f].gpu.get(s))
	}
	return uint32(y.fences[f].cpu.get(s))
}

// satisfied reports whether a wait, park or await passes now.
func (y *System) satisfied(s State, x *cmd) bool {
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
func (y *System) target(s State, x *cmd) uint32 {
	if !x.late {
		return x.value
	}
	rk := &y.ranks[y.agents[x.holder].rank]
	return rk.late[x.object][rk.at.get(s)]
}

// enabledCommand appends what command x of an agent may do in its phase ph.
func (y *System) enabledCommand(s State, x *cmd, agent, b, ph int32, buf []Transition) []Transition {
	t := Transition{Kind: KindRun, Agent: agent, Buffer: b, Cmd: x.index}
	a := &y.agents[agent]
	slotted := y.m.slots > 0 && a.kind == agentQueue
	free := !slotted || y.ranks[a.rank].used.int(s) < y.m.slots
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
		if slotted && ph == phaseNew {
			if !free {
				return buf
			}
			t.Kind = KindTake
			break
		}
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
		if slotted && ph == phaseNew {
			if !free {
				return buf
			}
			t.Kind = KindTake
			break
		}
		if y.m.buffered == 0 {
			return y.enabledJoins(s, x, t, buf)
		}
		if pr := &y.pairs[x.pair]; pr.count.int(s) >= y.m.buffered {
			return buf
		}
	case model.OpRecv:
		if slotted && ph == phaseNew {
			if !free {
				return buf
			}
			t.Kind = KindTake
			break
		}
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
func (y *System) allArrived(s State, x *cmd) bool {
	g := &y.groups[x.object]
	ord := x.ord.get(s)
	if x.ord.none() {
		ord = g.arrived.get(s)
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
func (y *System) enabledJoins(s State, x *cmd, t Transition, buf []Transition) []Transition {
	own := y.agents[t.Agent].rank
	t.Kind = KindJoin
	y.current(s, x.peer, func(agent, b int32, c *cmd, ph int32) {
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
func (y *System) current(s State, r int32, f func(agent, b int32, x *cmd, phase int32)) {
	rk := &y.ranks[r]
	dead := rk.dead.get(s) != 0
	if at := rk.at.int(s); !dead && int(at) < len(rk.main) && rk.cmds[at] != nil {
		f(rk.agent, 0, rk.cmds[at], int32(rk.phase.get(s)))
	}
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		for b, com := q.fin.int(s), q.com.int(s); b < com; b++ {
			if y.startedBuffer(s, q, b) {
				y.currentOf(s, q, b, f)
			}
			if !y.m.overlap {
				break
			}
		}
	}
	if dead {
		return
	}
	for i := rk.streams.lo; i < rk.streams.hi; i++ {
		st := &y.streams[i]
		if pc := st.pc.int(s); pc < st.enq.int(s) {
			f(st.agent, 0, &st.cmds[pc], int32(st.phase.get(s)))
		}
	}
	for i := rk.handlers.lo; i < rk.handlers.hi; i++ {
		h := &y.handlers[i]
		if pc := h.pc.int(s); int(pc) < len(h.cmds) && y.finished(s, &y.queues[h.queue], h.buffer) {
			f(h.agent, 0, &h.cmds[pc], int32(h.phase.get(s)))
		}
	}
}

// currentOf calls f for the commands that started buffer b is at.
func (y *System) currentOf(s State, q *queue, b int32, f func(agent, b int32, x *cmd, phase int32)) {
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

// enabledArrivals appends what may arrive of fence f's stores.
func (y *System) enabledArrivals(s State, f int32, buf []Transition) []Transition {
	fc := &y.fences[f]
	if p := &fc.toCPU; p.active {
		switch {
		case !p.ordered:
			for ci, c := range p.members.chunks {
				for v, i := c.get(s), int32(0); v != 0; v, i = v>>1, i+1 {
					if v&1 != 0 {
						buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: int32(ci*64) + i})
					}
				}
			}
		default:
			if i := p.oldest(s); i >= 0 {
				sure := y.m.toCPU == visLag && y.arrivalSure(s, &p.stores[i])
				buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: i, Possible: !sure})
			}
		}
	}
	if p := &fc.toGPU; p.active {
		if i := p.oldest(s); i >= 0 {
			buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: i, CPU: true, Possible: true})
		}
	}
	return buf
}

// oldest is the store on its way that was executed first, or -1.
func (p *pending) oldest(s State) int32 {
	if p.fifo {
		return p.slots[0].int(s) - 1
	}
	return p.members.first(s)
}

// arrivalSure reports whether lag guarantees the arrival of a store now: its buffer has
// finished, and n later ones of its queue or all committed ones have.
func (y *System) arrivalSure(s State, st *storeRef) bool {
	q := &y.queues[st.queue]
	b := st.buffer
	if !q.fixed {
		b = st.issued.int(s)
	}
	fin, com := q.fin.int(s), q.com.int(s)
	if !y.m.overlap {
		return b < fin && (fin-b-1 >= y.m.lag || fin == com)
	}
	if !y.finished(s, q, b) {
		return false
	}
	later, all := max(0, fin-b-1), true
	for c := fin; c < com; c++ {
		done := q.slot(c).status.get(s) == bufferFinished
		all = all && done
		if done && c > b {
			later++
		}
	}
	return all || later >= y.m.lag
}

// enabledKills appends the kills of started buffers of queue qi.
func (y *System) enabledKills(s State, qi int32, buf []Transition) []Transition {
	q := &y.queues[qi]
	for b, com := q.fin.int(s), q.com.int(s); b < com; b++ {
		if y.startedBuffer(s, q, b) {
			hit := y.m.watchdog == dogAny
			if !hit {
				y.currentOf(s, q, b, func(_, _ int32, x *cmd, _ int32) {
					hit = hit || (x.op == model.OpWait || x.op == model.OpAwait) && !y.satisfied(s, x)
				})
			}
			if hit {
				buf = append(buf, Transition{Kind: KindKill, Agent: q.agent, Buffer: b, Possible: y.m.watchdog != dogMust})
			}
		}
		if !y.m.overlap {
			break
		}
	}
	return buf
}
