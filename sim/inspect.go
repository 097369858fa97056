package sim

import "github.com/fencesim/fencesim/model"

// AgentKind tells what kind of agent runs commands.
type AgentKind = agentKind

// The kinds of agents.
const (
	MainThread = agentMain
	Queue      = agentQueue
	CPUStream  = agentStream
	Handler    = agentHandler
)

// NumAgents is the number of agents: per rank its main thread, queues, CPU streams and
// completion handlers, in this order.
func (y *System) NumAgents() int { return len(y.agents) }

// AgentKindOf and RankOf tell what agent a is and whose.
func (y *System) AgentKindOf(a int32) AgentKind { return y.agents[a].kind }

// RankOf is the rank of agent a.
func (y *System) RankOf(a int32) int32 { return y.agents[a].rank }

// A CommandInfo is one command of an agent with its objects as indexes that are unique in
// the system: what a reduction needs to know of it.
type CommandInfo struct {
	Op          model.Op
	Equal, Late bool
	Store       string // the GPU's store rule for its fence
	Value       uint32
	Object      int32 // fence, event, array (coherent) or collective group part; -1
	Peer        int32 // send, recv: the other rank
	Buffer      int32 // queues: its buffer; with run-time ends the main thread's step, whose commands are in one
	Reads       []int32
	Writes      []int32
}

// Commands lists the commands of agent a in its order. Of a main thread entry i belongs to
// step i and has Op OpNone where that is no command.
func (y *System) Commands(a int32) []CommandInfo {
	ag := &y.agents[a]
	table := ag.cmds
	if ag.kind == agentMain && len(table) == 0 {
		table = make([]Command, len(y.ranks[ag.index].main))
	}
	out := make([]CommandInfo, len(table))
	for i := range table {
		x := &table[i]
		if x.op == model.OpNone {
			out[i] = CommandInfo{Object: -1, Peer: -1}
			continue
		}
		c := CommandInfo{Op: x.op, Equal: x.equal, Late: x.late, Value: x.value, Object: x.object, Peer: x.peer, Buffer: x.buffer,
			Store: []string{model.StorePlain, model.StoreGuarded, model.StoreMax}[x.store]}
		for _, r := range y.Reads(x) {
			c.Reads = append(c.Reads, r.Array)
		}
		for _, w := range y.Writes(x) {
			c.Writes = append(c.Writes, w.Array)
		}
		out[i] = c
	}
	return out
}

// MainSteps lists the steps of rank r's main thread. They must not be changed.
func (y *System) MainSteps(r int32) []model.Step { return y.ranks[r].main }

// NumFences, NumArrays, NumEvents and NumGroups count the objects of all ranks.
func (y *System) NumFences() int { return len(y.fences) }

// NumArrays is the number of arrays of all ranks.
func (y *System) NumArrays() int { return len(y.arrays) }

// NumEvents is the number of events of all ranks.
func (y *System) NumEvents() int { return len(y.events) }

// NumGroups is the number of group parts: one per group and rank that has it.
func (y *System) NumGroups() int { return len(y.groups) }

// FenceName, ArrayName and GroupName name objects in reports.
func (y *System) FenceName(f int32) string { return y.prefix(y.fences[f].rank) + y.fences[f].name }

// ArrayName is the name of array a in reports.
func (y *System) ArrayName(a int32) string {
	r := y.arrays[a].rank
	return y.prefix(r) + y.nameOf(r, int32(y.arrays[a].name))
}

// GroupName is the name of group part g in reports.
func (y *System) GroupName(g int32) string { return y.prefix(y.groups[g].rank) + y.groups[g].name }

// FenceRank is the rank of fence f.
func (y *System) FenceRank(f int32) int32 { return y.fences[f].rank }

// FenceInitial is the value of fence f at the start.
func (y *System) FenceInitial(f int32) uint32 { return y.fences[f].initial }

// EnabledOf appends the program transitions of agent a that are enabled in s.
func (y *System) EnabledOf(s State, a int32, buf []Transition) []Transition {
	ag := &y.agents[a]
	if ag.kind == agentQueue {
		return y.enabledQueue(s, ag.index, buf)
	}
	if y.ranks[ag.rank].dead.get(s) != 0 {
		return buf
	}
	switch ag.kind {
	case agentMain:
		return y.enabledMain(s, ag.rank, buf)
	case agentStream:
		st := &y.streams[ag.index]
		if pc := st.pc.int(s); pc < st.enq.int(s) {
			return y.enabledCommand(s, &st.cmds[pc], st.agent, 0, int32(st.phase.get(s)), buf)
		}
	case agentHandler:
		h := &y.handlers[ag.index]
		if pc := h.pc.int(s); int(pc) < len(h.cmds) && y.finished(s, &y.queues[h.queue], h.buffer) {
			return y.enabledCommand(s, &h.cmds[pc], h.agent, 0, int32(h.phase.get(s)), buf)
		}
	}
	return buf
}

// EnabledArrivals appends the arrivals of fence f's stores that are enabled in s.
func (y *System) EnabledArrivals(s State, f int32, buf []Transition) []Transition {
	return y.enabledArrivals(s, f, buf)
}

// IdleOnly reports whether a guaranteed arrival is guaranteed only because every committed
// buffer of its queue has finished, which a commit withdraws.
func (y *System) IdleOnly(s State, t Transition) bool { return !t.CPU && y.idleOnly(s, t) }

// Step is what a main thread's transition of kind KindStep does.
func (y *System) Step(t Transition) model.Step {
	return y.ranks[y.agents[t.Agent].rank].main[t.Cmd]
}

// Contested reports whether the throttle test t would find too many active tasks: only
// then does it matter whether a task ends before.
func (y *System) Contested(s State, t Transition) bool {
	rk := &y.ranks[y.agents[t.Agent].rank]
	return rk.blocked.get(s) == 0 && rk.phase.get(s) == 0 && y.active(s, rk) > rk.main[t.Cmd].N
}

// ThrottleAhead reports whether rank r's main thread has a throttle step at or behind its
// position.
func (y *System) ThrottleAhead(s State, r int32) bool {
	rk := &y.ranks[r]
	return rk.at.int(s) <= rk.lastThrottle
}

// Copy makes dst a copy of src, which has the same length.
func Copy(dst, src State) { copy(dst, src) }

// ReadVersion is the version that read k of command i of agent a demands; 0 any.
func (y *System) ReadVersion(a, i int32, k int) uint32 {
	return y.Reads(y.cmdAt(a, i))[k].Version
}

// Input reports whether array a is written at the start.
func (y *System) Input(a int32) bool { return y.arrays[a].version.get(y.initial) > 0 }

// AgentsOf is the range of agents of rank r; the first is its main thread.
func (y *System) AgentsOf(r int32) (lo, hi int32) {
	lo = y.ranks[r].agent
	hi = int32(len(y.agents))
	if int(r)+1 < len(y.ranks) {
		hi = y.ranks[r+1].agent
	}
	return lo, hi
}

// GroupText is the name of group part g without its rank: parts of equal names meet.
func (y *System) GroupText(g int32) string { return y.groups[g].name }

// Complete reports whether every rank has arrived as often at the group of part g as g's
// rank has.
func (y *System) Complete(s State, g int32) bool {
	n := y.groups[g].arrived.get(s)
	for _, p := range y.groups[g].peers {
		if p < 0 || y.groups[p].arrived.get(s) < n {
			return false
		}
	}
	return true
}

// Remote reports whether command i of agent a names a fence of another rank.
func (y *System) Remote(a, i int32) bool {
	if len(y.agents[a].cmds) == 0 {
		return false
	}
	x := y.cmdAt(a, i)
	return x.usesFence() && y.source(x).Rank != model.OwnRank
}

// RankFinal reports whether rank r has done all it was given.
func (y *System) RankFinal(s State, r int) bool { return y.rankFinal(s, &y.ranks[r]) }

// WaitsForPeer reports whether an agent of rank r waits for another rank: inside a
// collective that some other rank has not reached, at a send or recv, or for a fence of
// another rank.
func (y *System) WaitsForPeer(s State, r int) bool {
	found := false
	y.current(s, int32(r), func(_, _ int32, x *Command, ph int32) {
		switch x.op {
		case model.OpCollective:
			found = found || ph == phaseHolding
		case model.OpSend, model.OpRecv:
			found = found || int(x.peer) != r
		case model.OpWait:
			found = found || int(y.fences[x.object].rank) != r
		}
	})
	return found
}

// A Store is one command that stores to a fence, and where it stands in a state.
type Store struct {
	Agent, Cmd int32
	Value      uint32
	Add        bool
	Executed   bool
	OnItsWay   bool  // executed, and not seen yet by the side asked about
	Order      int   // of those on their way, by when they were executed, where that order is kept
	Handed     bool  // in a committed buffer or an enqueued task
	Buffer     int32 // of a queue's store that is handed over or on its way: its buffer; -1
}

// Stores lists the stores to fence f, and how each stands in s towards the view of the GPU
// or the CPU.
func (y *System) Stores(s State, f int32, gpu bool) []Store {
	p := &y.fences[f].toCPU
	if gpu {
		p = &y.fences[f].toGPU
	}
	queued := map[int32]int{} // by store: its place on the way, from 1
	for at, sl := range p.slots {
		queued[sl.int(s)-1] = at + 1
	}
	place := func(ref int32) int {
		switch {
		case !p.active || ref < 0:
			return 0
		case p.fifo:
			return queued[ref]
		case p.members.has(s, ref):
			return int(ref) + 1
		}
		return 0
	}
	var out []Store
	for a := range y.agents {
		toCPU := y.agents[a].kind == agentQueue
		cmds := y.agents[a].cmds
		for i := range cmds {
			x := &cmds[i]
			if x.object != f || !x.stores() {
				continue
			}
			st := Store{Agent: int32(a), Cmd: x.index, Value: x.value, Add: x.op == model.OpAdd, Buffer: -1}
			if toCPU != gpu {
				st.Order = place(x.ref)
				st.OnItsWay = st.Order > 0
			}
			st.Executed, st.Handed, st.Buffer = y.standing(s, int32(a), x)
			out = append(out, st)
		}
	}
	return out
}

// standing tells whether command x of agent a has run, whether it was handed over, and in
// which buffer of a queue it is (-1: none known).
func (y *System) standing(s State, a int32, x *Command) (executed, handed bool, buffer int32) {
	ag := &y.agents[a]
	switch ag.kind {
	case agentMain:
		return y.ranks[ag.rank].at.int(s) > x.index, true, -1
	case agentStream:
		st := &y.streams[ag.index]
		return st.pc.int(s) > x.index, st.enq.int(s) > x.index, -1
	case agentHandler:
		return y.handlers[ag.index].pc.int(s) > x.index, true, -1
	}
	q := &y.queues[ag.index]
	buffer = -1
	com := q.com.int(s)
	if q.fixed && x.buffer < com {
		buffer = x.buffer
	}
	for b := q.fin.int(s); !q.fixed && b < com; b++ { // of older ones the ends are not known
		if lo, hi := q.span(s, b); x.index >= lo && x.index < hi {
			buffer = b
		}
	}
	if !q.fixed && x.index < q.base.int(s) {
		return true, true, -1
	}
	if buffer < 0 {
		return false, false, -1
	}
	if y.finished(s, q, buffer) {
		return true, true, buffer
	}
	if !y.startedBuffer(s, q, buffer) {
		return false, true, buffer
	}
	pc := y.position(q, buffer).int(s)
	if y.m.concurrent && x.index >= pc && x.index < int32(len(q.cmds)) {
		return q.phases[x.index].get(s) == phaseDone, true, buffer
	}
	return x.index < pc, true, buffer
}

// Held lists the agents of rank r that hold a slot in s.
func (y *System) Held(s State, r int) []int32 {
	var out []int32
	y.current(s, int32(r), func(a, _ int32, x *Command, ph int32) {
		if y.agents[a].kind == agentQueue && ph == phaseHolding && holdsSlot(x.op) {
			out = append(out, a)
		}
	})
	return out
}

// IssuedIn is the buffer in which a store that is on its way to the CPU was executed.
func (y *System) IssuedIn(s State, f int32, st Store) int32 {
	p := &y.fences[f].toCPU
	for i := range p.stores {
		if p.stores[i].agent == st.Agent && p.stores[i].index == st.Cmd {
			if p.stores[i].issued.none() {
				return p.stores[i].buffer
			}
			return p.stores[i].issued.int(s)
		}
	}
	return st.Buffer
}

// CommandText is command i of agent a as written in a file.
func (y *System) CommandText(a, i int32) string { return y.text(y.cmdAt(a, i)) }

// Touches reports whether two transitions use one fence or event.
func (y *System) Touches(a, b Transition) bool {
	oa, ea := y.touched(a)
	ob, eb := y.touched(b)
	return oa >= 0 && oa == ob && ea == eb
}

func (y *System) touched(t Transition) (object int32, isEvent bool) {
	switch t.Kind {
	case KindVisible:
		return t.Agent, false
	case KindStep, KindStart, KindFinish, KindKill:
		return -1, false
	}
	x := y.cmdAt(t.Agent, t.Cmd)
	switch {
	case x.usesFence():
		return x.object, false
	case x.op == model.OpSignal || x.op == model.OpAwait:
		return x.object, true
	}
	return -1, false
}

// Remaining is about how many transitions agent a still has before it.
func (y *System) Remaining(s State, a int32) int {
	ag := &y.agents[a]
	switch ag.kind {
	case agentMain:
		return len(y.ranks[ag.rank].main) - int(y.ranks[ag.rank].at.get(s))
	case agentStream:
		st := &y.streams[ag.index]
		return len(st.cmds) - int(st.pc.get(s))
	case agentHandler:
		h := &y.handlers[ag.index]
		return len(h.cmds) - int(h.pc.get(s))
	}
	q := &y.queues[ag.index]
	if y.m.overlap {
		return len(q.cmds)
	}
	return len(q.cmds) - int(q.pc.get(s))
}

// EnabledSilent appends the enabled steps of rank r that only hand work over or take it
// back: steps of its main thread, and starts and finishes of its buffers.
func (y *System) EnabledSilent(s State, r int32, buf []Transition) []Transition {
	rk := &y.ranks[r]
	if at := rk.at.int(s); int(at) < len(rk.main) && rk.dead.get(s) == 0 && rk.command(at) == nil {
		buf = y.enabledMain(s, r, buf)
	}
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		fin, com := q.fin.int(s), q.com.int(s)
		if !y.m.overlap {
			com = min(com, fin+1)
		}
		for b := fin; b < com; b++ {
			if y.startedBuffer(s, q, b) {
				if _, hi := q.span(s, b); y.position(q, b).int(s) >= hi {
					buf = append(buf, Transition{Kind: KindFinish, Agent: q.agent, Buffer: b})
				}
			} else if !(y.m.overlap && q.slot(b).status.get(s) == bufferFinished) && y.canStart(s, q, b) {
				buf = append(buf, Transition{Kind: KindStart, Agent: q.agent, Buffer: b})
			}
		}
	}
	return buf
}

// Leads reports whether t brings command i of the queue of agent a closer: it starts or
// runs the buffer that holds it, or makes its store visible.
func (y *System) Leads(s State, t Transition, a, i int32) bool {
	if t.Kind == KindVisible {
		if t.CPU {
			return false
		}
		st := &y.fences[t.Agent].toCPU.stores[t.Cmd]
		return st.agent == a && st.index == i
	}
	if t.Agent != a || t.Kind == KindFinish || t.Kind == KindKill {
		return false
	}
	if !y.m.overlap {
		return t.Kind != KindStart && t.Cmd == i
	}
	lo, hi := y.queues[y.agents[a].index].span(s, t.Buffer)
	return i >= lo && i < hi
}

// Executed reports whether command i of agent a has run.
func (y *System) Executed(s State, a, i int32) bool {
	done, _, _ := y.standing(s, a, y.cmdAt(a, i))
	return done
}

// WaitsUnmet calls f for every wait, park or await that an agent of rank r stands at and
// that is not satisfied in s.
func (y *System) WaitsUnmet(s State, r int32, f func(agent, cmd int32)) {
	y.current(s, r, func(a, _ int32, x *Command, _ int32) {
		switch x.op {
		case model.OpWait, model.OpPark, model.OpAwait:
			if !y.satisfied(s, x) {
				f(a, x.index)
			}
		}
	})
}

// Overtakes reports whether arrival t, enabled in s, passes an older store of its fence that
// is still on its way.
func (y *System) Overtakes(s State, t Transition) bool {
	if t.Kind != KindVisible || t.CPU {
		return false
	}
	p := &y.fences[t.Agent].toCPU
	return !p.ordered && p.members.first(s) < t.Cmd
}

// StoreOf is the agent and command whose store an arrival brings.
func (y *System) StoreOf(t Transition) (agent, cmd int32) {
	p := &y.fences[t.Agent].toCPU
	if t.CPU {
		p = &y.fences[t.Agent].toGPU
	}
	return p.stores[t.Cmd].agent, p.stores[t.Cmd].index
}

// Views are the two views of fence f in s.
func (y *System) Views(s State, f int32) (gpu, cpu uint32) {
	return y.view(s, f, true), y.view(s, f, false)
}
