package check

import (
	"context"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// lazyRun is the run of the laziest environment: it takes no merely possible transition,
// and an arrival that is guaranteed only because a queue is idle only when nothing else
// guaranteed is enabled. Where [fragment.oneRun] names no condition that fails, it hangs
// if and only if some run does (semantics section 9: persistence and the laziest
// environment; Keller 1975).
//
// Work is proportional to the steps: an agent is looked at again only when something that
// it may wait for has changed.
type lazyRun struct {
	f        *fragment
	s        sim.State
	steps    []sim.Transition
	violated sim.Violations
	first    map[sim.Violations]int // first step that violates

	queue   []int32 // agents to look at
	queued  []bool
	users   [][]int32 // by fence: agents that wait for it
	waiters [][]int32 // by event
	members [][]int32 // by group part: agents, of all ranks
	arrive  []int32   // fences whose stores travel to the CPU
	senders [][]int32 // by agent: the ranks that it receives from
}

// runLazily runs f's system. It stops early when ctx is done.
func runLazily(ctx context.Context, f *fragment) *lazyRun {
	y := f.y
	r := &lazyRun{f: f, s: y.Initial(), queued: make([]bool, y.NumAgents()), first: map[sim.Violations]int{},
		senders: make([][]int32, y.NumAgents()), users: make([][]int32, y.NumFences()), waiters: make([][]int32, y.NumEvents())}
	r.index()
	for a := range y.NumAgents() {
		r.wake(int32(a))
	}
	var buf []sim.Transition
	for {
		for len(r.queue) > 0 {
			a := r.queue[len(r.queue)-1]
			r.queue = r.queue[:len(r.queue)-1]
			r.queued[a] = false
			for from := len(r.steps); ; {
				buf = y.EnabledOf(r.s, a, buf[:0])
				if len(buf) == 0 {
					if len(r.steps) > from {
						r.wakeSenders(a)
					}
					break
				}
				r.take(buf[0])
				if len(r.steps)&0xfff == 0 && ctx.Err() != nil {
					return r
				}
			}
		}
		if !r.arrivals(buf) {
			return r
		}
	}
}

// index lists who may wait for what.
func (r *lazyRun) index() {
	y := r.f.y
	byName := map[string][]int32{}
	r.members = make([][]int32, y.NumGroups())
	add := func(l []int32, a int32) []int32 {
		if len(l) == 0 || l[len(l)-1] != a {
			l = append(l, a)
		}
		return l
	}
	names := make([]string, y.NumGroups())
	stored := make([]bool, y.NumFences())
	for a := range r.f.commands {
		for i := range r.f.commands[a] {
			switch c := &r.f.commands[a][i]; c.Op {
			case model.OpWait:
				r.users[c.Object] = add(r.users[c.Object], int32(a))
			case model.OpAwait:
				r.waiters[c.Object] = add(r.waiters[c.Object], int32(a))
			case model.OpCollective:
				names[c.Object] = y.GroupText(c.Object)
				byName[names[c.Object]] = add(byName[names[c.Object]], int32(a))
			case model.OpRecv:
				r.senders[a] = add(r.senders[a], c.Peer)
			case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
				stored[c.Object] = stored[c.Object] || y.AgentKindOf(int32(a)) == sim.Queue
			}
		}
	}
	for g := range r.members {
		r.members[g] = byName[names[g]]
	}
	if r.f.m.GPUToCPU.Mode != model.VisImmediate {
		for i, st := range stored {
			if st {
				r.arrive = append(r.arrive, int32(i))
			}
		}
	}
}

func (r *lazyRun) wake(a int32) {
	if !r.queued[a] {
		r.queued[a] = true
		r.queue = append(r.queue, a)
	}
}

func (r *lazyRun) wakeAll(as []int32) {
	for _, a := range as {
		r.wake(a)
	}
}

// wakeSenders wakes the ranks that agent a, which has come to a stop, may receive from: a
// send and its recv are a transition of the sender.
func (r *lazyRun) wakeSenders(a int32) {
	for _, rank := range r.senders[a] {
		lo, hi := r.f.y.AgentsOf(rank)
		for b := lo; b < hi; b++ {
			r.wake(b)
		}
	}
}

// take makes a step and wakes whom it may concern.
func (r *lazyRun) take(t sim.Transition) {
	y := r.f.y
	r.steps = append(r.steps, t)
	v := y.Apply(r.s, t)
	for b := sim.Violations(1); b != 0; b <<= 1 {
		if v&b != 0 && r.violated&b == 0 {
			r.first[b] = len(r.steps)
		}
	}
	r.violated |= v
	if t.Kind == sim.KindVisible {
		r.wakeAll(r.users[t.Agent])
		return
	}
	lo, hi := y.AgentsOf(y.RankOf(t.Agent))
	switch t.Kind {
	case sim.KindStep, sim.KindFinish, sim.KindStart:
		for a := lo; a < hi; a++ {
			if a != t.Agent {
				r.wake(a)
			}
		}
		return
	}
	c := &r.f.commands[t.Agent][t.Cmd]
	switch c.Op {
	case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
		r.wakeAll(r.users[c.Object])
	case model.OpSignal:
		r.wakeAll(r.waiters[c.Object])
	case model.OpCollective:
		if t.Kind == sim.KindArrive && y.Complete(r.s, c.Object) {
			r.wakeAll(r.members[c.Object])
		}
	case model.OpSend, model.OpRecv:
		plo, phi := y.AgentsOf(c.Peer)
		for a := plo; a < phi; a++ {
			r.wake(a)
		}
	}
	if y.AgentKindOf(lo) == sim.MainThread && t.Agent != lo {
		r.wake(lo) // it may synchronize with this agent
	}
}

// arrivals takes the guaranteed arrivals that stay guaranteed, or if there is none one
// that does not; it reports whether it took any.
func (r *lazyRun) arrivals(buf []sim.Transition) bool {
	y := r.f.y
	took := false
	for _, f := range r.arrive {
		for {
			buf = y.EnabledArrivals(r.s, f, buf[:0])
			again := false
			for _, t := range buf {
				if !t.Possible && !y.IdleOnly(r.s, t) {
					r.take(t)
					took, again = true, true
					break
				}
			}
			if !again {
				break
			}
		}
	}
	if took {
		return true
	}
	for _, f := range r.arrive {
		for _, t := range y.EnabledArrivals(r.s, f, buf[:0]) {
			if !t.Possible {
				r.take(t)
				return true
			}
		}
	}
	return false
}

// choices turns transitions taken in order into indexes for a trace.
func choices(y *sim.System, steps []sim.Transition) []int {
	out := make([]int, 0, len(steps))
	s := y.Initial()
	var buf []sim.Transition
	for _, t := range steps {
		buf = y.Enabled(s, buf[:0])
		for i := range buf {
			if same(buf[i], t) {
				out = append(out, i)
				break
			}
		}
		y.Apply(s, t)
	}
	return out
}

// same reports whether two transitions are the same step, whatever their guarantee.
func same(a, b sim.Transition) bool {
	a.Possible = b.Possible
	return a == b
}
