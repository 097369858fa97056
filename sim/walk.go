package sim

import "github.com/fencesim/fencesim/model"

// A Walk is one run in progress: a state, and which agents and fences a step may have
// concerned since they were last looked at. What an agent may do depends on few others, so
// that a run costs time proportional to its steps and not to its steps times its agents.
//
// An agent that is not dirty has the program transitions that it had when it was last
// looked at, and a fence the arrivals.
type Walk struct {
	y      *System // with whole set
	s      State
	to     *listeners
	agents worklist
	fences worklist
	met    []int32 // by group: parts that have arrived more often than all have
}

// worklist is a stack of what is to be looked at, each at most once.
type worklist struct {
	stack []int32
	in    []bool
}

func (l *worklist) push(i int32) {
	if !l.in[i] {
		l.in[i] = true
		l.stack = append(l.stack, i)
	}
}

func (l *worklist) pop() (int32, bool) {
	n := len(l.stack)
	if n == 0 {
		return 0, false
	}
	i := l.stack[n-1]
	l.stack, l.in[i] = l.stack[:n-1], false
	return i, true
}

// NewWalk starts a run of y. Every agent and every fence is dirty.
func NewWalk(y *System) *Walk {
	own := *y
	w := &Walk{y: &own, s: y.Initial(), to: newListeners(y), met: make([]int32, len(y.groups))}
	own.whole = make([]int32, len(y.groups))
	w.agents.in, w.fences.in = make([]bool, len(y.agents)), make([]bool, len(y.fences))
	for a := range y.agents {
		w.agents.push(int32(a))
	}
	for f := len(y.fences) - 1; f >= 0; f-- {
		w.fences.push(int32(f))
	}
	return w
}

// State is the present state. It changes with the next step.
func (w *Walk) State() State { return w.s }

// Agent takes a dirty agent off the list, the one that was marked last; false if none is.
func (w *Walk) Agent() (a int32, dirty bool) { return w.agents.pop() }

// Fence takes a dirty fence off the list; false if none is.
func (w *Walk) Fence() (f int32, dirty bool) { return w.fences.pop() }

// EnabledOf appends the program transitions of agent a that are enabled now.
func (w *Walk) EnabledOf(a int32, buf []Transition) []Transition { return w.y.EnabledOf(w.s, a, buf) }

// Arrivals appends the arrivals of fence f's stores that are enabled now.
func (w *Walk) Arrivals(f int32, buf []Transition) []Transition {
	return w.y.enabledArrivals(w.s, f, buf)
}

// Take takes t, which must be enabled, marks whom it may concern and returns the
// properties that it violates.
func (w *Walk) Take(t Transition) Violations {
	y := w.y
	if t.Kind == KindVisible {
		v := y.Apply(w.s, t)
		w.fences.push(t.Agent)
		w.mark(w.to.waiting[t.Agent])
		return v
	}
	a := &y.agents[t.Agent]
	v := y.Apply(w.s, t)
	w.touch(t.Agent)
	w.main(a.rank)
	switch t.Kind {
	case KindStep:
		w.stepped(a.rank, t.Cmd)
	case KindStart:
		if w.y.m.exclusive {
			w.queues(a.rank)
		}
	case KindFinish, KindKill:
		w.finished(t)
	default:
		w.ran(t, &a.cmds[t.Cmd])
	}
	return v
}

// touch marks agent a, and whoever may send to it: a send and its recv are a transition of
// the sender.
func (w *Walk) touch(a int32) {
	w.agents.push(a)
	if w.to.receives[a] {
		for _, b := range w.to.sending[w.y.agents[a].rank] {
			w.agents.push(b)
		}
	}
}

func (w *Walk) mark(as []int32) {
	for _, a := range as {
		w.touch(a)
	}
}

// main marks rank r's main thread unless it has ended: it may synchronize or throttle.
func (w *Walk) main(r int32) {
	if rk := &w.y.ranks[r]; rk.at.int(w.s) < int32(len(rk.main)) {
		w.touch(rk.agent)
	}
}

// queues marks the queues of rank r.
func (w *Walk) queues(r int32) {
	for i := w.y.ranks[r].queues.lo; i < w.y.ranks[r].queues.hi; i++ {
		w.touch(w.y.queues[i].agent)
	}
}

// all marks every agent of rank r.
func (w *Walk) all(r int32) {
	lo, hi := w.y.AgentsOf(r)
	for a := lo; a < hi; a++ {
		w.touch(a)
	}
}

// stepped marks whom step at of rank r's main thread concerns.
func (w *Walk) stepped(r, at int32) {
	y := w.y
	rk := &y.ranks[r]
	switch st := &rk.main[at]; st.Kind {
	case model.StepEnqueue, model.StepTask:
		w.touch(y.streams[rk.streams.lo+st.Target].agent)
	case model.StepCommit, model.StepEncode, model.StepFlush:
		a := y.queues[rk.queues.lo+st.Target].agent
		w.touch(a)
		w.issued(a)
	case model.StepThrottle:
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			w.touch(y.queues[i].agent)
			w.issued(y.queues[i].agent)
		}
	case model.StepExit:
		w.all(r)
	}
	w.mark(w.to.idling[r])
	w.mark(w.to.late[r])
}

// finished marks whom the end of a buffer concerns.
func (w *Walk) finished(t Transition) {
	r := w.y.agents[t.Agent].rank
	w.issued(t.Agent)
	if h, ok := w.to.handler[place{t.Agent, t.Buffer}]; ok {
		w.touch(h)
	}
	w.mark(w.to.idling[r])
	if w.y.m.exclusive || w.y.m.slots > 0 || t.Kind == KindKill {
		w.queues(r)
	}
}

// issued marks the fences that queue agent a stores to: what is sure to arrive depends on
// its buffers.
func (w *Walk) issued(a int32) {
	for _, f := range w.to.issues[a] {
		w.fences.push(f)
	}
}

// ran marks whom a transition of command x concerns.
func (w *Walk) ran(t Transition, x *Command) {
	y := w.y
	a := &y.agents[t.Agent]
	if y.m.slots > 0 && a.kind == agentQueue {
		w.queues(a.rank)
	}
	switch x.op {
	case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
		w.fences.push(x.object)
		w.mark(w.to.waiting[x.object])
	case model.OpNotify:
		w.mark(w.to.waiting[x.object])
	case model.OpSignal:
		w.mark(w.to.awaiting[x.object])
	case model.OpCollective:
		if t.Kind == KindArrive && w.arrived(&y.groups[x.object]) {
			w.mark(w.to.meeting[y.groups[x.object].first])
		}
	case model.OpSend, model.OpRecv:
		if t.Kind == KindJoin {
			w.touch(t.Peer)
			w.main(y.agents[t.Peer].rank)
			break
		}
		from, to := a.rank, x.peer
		if x.op == model.OpRecv {
			from, to = to, from
		}
		w.mark(w.to.sending[to])
		w.mark(w.to.receiving[from])
	case model.OpAlloc, model.OpDealloc:
		if y.m.memory > 0 {
			w.all(a.rank)
		}
	case model.OpFail:
		if a.kind == agentQueue {
			w.finished(t)
		}
	case model.OpDie:
		w.all(a.rank)
	}
}

// arrived counts an arrival of part g and reports whether by it every part has arrived
// once more.
func (w *Walk) arrived(g *group) bool {
	y, all := w.y, w.y.whole
	if g.lone || g.arrived.int(w.s) != all[g.first]+1 {
		return false
	}
	w.met[g.first]++
	if int(w.met[g.first]) < len(g.peers) {
		return false
	}
	for int(w.met[g.first]) == len(g.peers) {
		all[g.first]++
		w.met[g.first] = 0
		for _, p := range g.peers {
			w.met[g.first] += int32(b2i(y.groups[p].arrived.int(w.s) > all[g.first]))
		}
	}
	return true
}

// IdleOnly is [System.IdleOnly] now.
func (w *Walk) IdleOnly(t Transition) bool { return w.y.IdleOnly(w.s, t) }
