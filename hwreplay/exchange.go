package hwreplay

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// exchange is where agents of all ranks meet: collectives, sends with receives, and
// sleepers with those who wake them.
type exchange struct {
	plan    *Plan
	mu      sync.Mutex
	arrived [][]int // by group and rank
	offers  []*offer
	boxes   map[[2]int][]message // buffered transport, by sender and receiver
	asleep  []*sleeper
}

// offer is a send that waits for its receive.
type offer struct {
	from, to int
	name     string
	sender   *runAgent
	cmd      int32
	taken    atomic.Bool
	peer     sim.Transition // the receiver's part
}

type message struct{ name string }

type sleeper struct {
	fence int32
	awake atomic.Bool
}

func newExchange(p *Plan) *exchange {
	e := &exchange{plan: p, boxes: map[[2]int][]message{}}
	for range p.groups {
		e.arrived = append(e.arrived, make([]int, len(p.ranks)))
	}
	return e
}

// arrive counts an arrival and returns its ordinal, from 1.
func (e *exchange) arrive(group, rank int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.arrived[group][rank]++
	return e.arrived[group][rank]
}

// met reports whether every rank has arrived at the collective of that ordinal.
func (e *exchange) met(group, ordinal int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r, n := range e.arrived[group] {
		if !e.plan.groups[group].members[r] || n < ordinal {
			return false
		}
	}
	return true
}

// collective is a real rendezvous of the ranks.
func (x *run) collective(a *runAgent, i int, t sim.Transition) bool {
	group, ordinal := a.plan.groups[i], 0
	t.Kind = sim.KindArrive
	if !x.take(a, t, func() bool { ordinal = x.meet.arrive(group, a.rank); return true }) {
		return false
	}
	if !x.spin(a, func() bool { return x.meet.met(group, ordinal) }) {
		return false
	}
	if x.config.Rounds > 0 {
		time.Sleep(x.config.Rounds)
	}
	t.Kind = sim.KindLeave
	return x.take(a, t, always)
}

// parcel is the name under which command i of a is sent; "" matches any.
func (x *run) parcel(a *runAgent, i int) string {
	p := x.plan.ranks[a.rank].program
	if p.FromGraph {
		return ""
	}
	return p.Names.Of(a.plan.cmds[i].Name)
}

func matches(a, b string) bool { return a == "" || b == "" || a == b }

// send hands an array over: to a receive that is there, or into the buffer of its pair.
func (x *run) send(a *runAgent, i int, t sim.Transition) bool {
	e, peer := x.meet, int(a.plan.info[i].Peer)
	if most := x.plan.Machine.Transport.Buffered; most > 0 {
		key := [2]int{a.rank, peer}
		return x.spin(a, func() bool {
			return x.take(a, t, func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				if len(e.boxes[key]) >= most {
					return false
				}
				e.boxes[key] = append(e.boxes[key], message{x.parcel(a, i)})
				return true
			})
		})
	}
	o, since := &offer{from: a.rank, to: peer, name: x.parcel(a, i), sender: a, cmd: int32(i)}, a.from
	e.mu.Lock()
	e.offers = append(e.offers, o)
	e.mu.Unlock()
	if !x.spin(a, func() bool { return o.taken.Load() }) && !e.withdraw(o) {
		return false
	}
	t.Kind = sim.KindJoin
	t.Peer, t.PeerCmd, t.PeerBuffer = o.peer.Agent, o.peer.Cmd, o.peer.Buffer
	if !o.taken.Load() {
		return false
	}
	a.from = since // it may have been taken at any moment since it stood there
	x.record(a, event{t: t})
	return !x.over(a)
}

// withdraw takes an offer back and reports whether it was taken before.
func (e *exchange) withdraw(o *offer) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(o)
	return o.taken.Load()
}

func (e *exchange) drop(o *offer) {
	for k := range e.offers {
		if e.offers[k] == o {
			e.offers = append(e.offers[:k], e.offers[k+1:]...)
			return
		}
	}
}

// receive takes what was sent.
func (x *run) receive(a *runAgent, i int, t sim.Transition) bool {
	e, peer := x.meet, int(a.plan.info[i].Peer)
	if x.plan.Machine.Transport.Buffered > 0 {
		key := [2]int{peer, a.rank}
		return x.spin(a, func() bool {
			return x.take(a, t, func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				if len(e.boxes[key]) == 0 || !matches(e.boxes[key][0].name, x.parcel(a, i)) {
					return false
				}
				e.boxes[key] = e.boxes[key][1:]
				return true
			})
		})
	}
	own := sim.Transition{Agent: a.id, Cmd: int32(i), Buffer: a.buffer}
	ok := x.spin(a, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, o := range e.offers {
			if o.from == peer && o.to == a.rank && matches(o.name, x.parcel(a, i)) {
				// Whoever sees anything of what follows sees that both are done.
				o.sender.did(o.cmd)
				a.did(own.Cmd)
				o.peer = own
				o.taken.Store(true)
				e.drop(o)
				return true
			}
		}
		return false
	})
	if ok {
		x.ticks.Add(1) // the sender records the joint transition
	}
	return ok
}

// park tests once, then sleeps until it is woken, then tests again. What is notified
// between the test and the sleep is lost.
func (x *run) park(a *runAgent, i int, t sim.Transition) bool {
	c := &a.plan.info[i]
	for {
		passed := false
		t.Kind = sim.KindTest
		e := event{t: t}
		if !x.caughtUp(a) || !x.takeEvent(a, &e, func() bool {
			if passed = x.satisfied(a, c); passed {
				x.consume(c)
				e.over = int64(i) + 1
			}
			return true
		}) {
			return false
		}
		if passed {
			return true
		}
		s := &sleeper{fence: c.Object}
		t.Kind = sim.KindSleep
		if !x.take(a, t, func() bool { x.meet.sleep(s); return true }) {
			return false
		}
		if !x.spin(a, s.awake.Load) {
			return false
		}
	}
}

// caughtUp waits until the CPU's copies of fences have what the GPU has stored so far, where
// the machine shows it at once and they are copies: a test that fails must not be one that
// came too early. False: a has to leave.
func (x *run) caughtUp(a *runAgent) bool {
	if x.plan.Machine.GPUToCPU.Mode != model.VisImmediate || !x.plan.split() {
		return true
	}
	doubt := int64(0) // a store is dated late by up to twice this
	for i := range x.offset {
		doubt = max(doubt, x.offset[i].doubt)
	}
	since := x.now() - x.begun + 2*doubt
	return x.spin(a, func() bool { return x.issued.Load() > since })
}

func (e *exchange) sleep(s *sleeper) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asleep = append(e.asleep, s)
}

// notify wakes everyone who sleeps on a fence.
func (e *exchange) notify(fence int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	rest := e.asleep[:0]
	for _, s := range e.asleep {
		if s.fence == fence {
			s.awake.Store(true)
		} else {
			rest = append(rest, s)
		}
	}
	e.asleep = rest
}

// call makes command i of a queue on the CPU when the GPU asks for it, and answers.
func (x *run) call(q *runQueue, b *buffer, i int) {
	at := x.layout.queues[q.agent].calls[i]
	a := &runAgent{id: q.agent, rank: x.plan.agents[q.agent].rank, gpu: true, plan: &x.plan.agents[q.agent], buffer: int32(b.index)}
	a.killed = func() bool { return b.killed.Load() || b.drained() }
	b.callers = append(b.callers, a)
	x.all.Add(1)
	go func() {
		defer x.all.Done()
		if x.spin(a, func() bool { return x.m.load(at) != 0 }) && x.exec(a, i) {
			x.m.store(at+line, 1)
		}
		a.state.Store(agentDone)
	}()
}

// calls starts what makes the calls of a buffer's commands.
func (x *run) calls(q *runQueue, b *buffer) {
	for i := b.lo; i < b.hi; i++ {
		if x.layout.queues[q.agent].calls[i] >= 0 && q.info[i].Op != model.OpFail {
			x.call(q, b, i)
		}
	}
}
