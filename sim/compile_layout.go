package sim

import (
	"math/bits"

	"github.com/fencesim/fencesim/model"
)

// place lays rank r's part of a state out.
func (c *compiler) place(r int32) {
	rk := &c.ranks[r]
	l := &c.l
	rk.at = l.count(len(rk.main))
	if c.usesDead {
		rk.dead = l.bits(1)
	}
	if c.m.ignoreAfterKill {
		rk.ignored = l.bits(1)
	}
	if c.m.slots > 0 {
		rk.used = l.count(int(c.m.slots))
	}
	if c.m.memory > 0 {
		rk.memory = l.count(int(c.m.memory))
	}
	throttles, flushes, commands := 0, 0, false
	for i := range rk.main {
		switch rk.main[i].Kind {
		case model.StepThrottle:
			throttles++
			rk.lastThrottle = int32(i)
		case model.StepFlush:
			flushes++
		case model.StepCommand:
			commands = true
		}
	}
	if commands {
		rk.phase = l.bits(2)
	}
	active := 0
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		c.placeQueue(&c.System.queues[q], throttles+flushes)
		active += len(c.System.queues[q].cmds) + len(c.System.queues[q].ends)
	}
	for s := rk.streams.lo; s < rk.streams.hi; s++ {
		st := &c.System.streams[s]
		st.enq, st.pc = l.count(len(st.cmds)), l.count(len(st.cmds))
		st.phase = c.phaseOf(st.cmds, false)
		active += int(st.counted[len(st.cmds)])
	}
	if throttles > 0 {
		rk.blocked = l.count(active)
	}
	for h := rk.handlers.lo; h < rk.handlers.hi; h++ {
		hd := &c.System.handlers[h]
		hd.pc, hd.phase = l.count(len(hd.cmds)), c.phaseOf(hd.cmds, false)
	}
	if rk.program.FromGraph && c.o.Window > 0 {
		rk.overflow = l.bits(1)
	}
	own := &c.at[r]
	for i := own.ownArrays.lo; i < own.ownArrays.hi; i++ {
		c.placeArray(i)
	}
	for i := own.ownEvents.lo; i < own.ownEvents.hi; i++ {
		c.events[i].value = l.count(int(c.eventMax[i]))
	}
	for i := own.ownGroups.lo; i < own.ownGroups.hi; i++ {
		c.placeGroup(i)
	}
	if c.m.buffered > 0 {
		for _, i := range c.pairsOf[r] {
			c.placePair(i)
		}
	}
	for _, i := range c.fencesOf[r] {
		c.placeFence(i)
	}
	c.findCounters(r)
}

// placePair lays out what is on its way from one rank to another.
func (c *compiler) placePair(i int32) {
	pr := &c.pairs[i]
	n := min(c.m.buffered, max(1, c.sends[i]))
	pr.count = c.l.count(int(n))
	for range n {
		pr.slots = append(pr.slots, c.l.count(c.Programs[pr.from].Names.Len()))
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// phaseOf is a field for where in its steps a serial agent's command is.
func (c *compiler) phaseOf(cmds []Command, gpu bool) field {
	most := 0
	for i := range cmds {
		most = max(most, c.phases(&cmds[i], gpu))
	}
	return c.l.count(most)
}

// phases is the largest phase of a command: see phase constants.
func (c *compiler) phases(x *Command, gpu bool) int {
	switch x.op {
	case model.OpUpdate, model.OpRelease:
		if gpu && x.store == storeGuarded {
			return phaseRefused
		}
	case model.OpWait, model.OpSend, model.OpRecv:
		if gpu && c.m.slots > 0 {
			return phaseHolding
		}
	case model.OpCollective:
		return phaseHolding
	case model.OpPark:
		return phaseAsleep
	}
	return 0
}

// placeQueue lays out a queue of a main thread with a number of steps that may commit an
// empty buffer.
func (c *compiler) placeQueue(q *queue, empty int) {
	l := &c.l
	n := len(q.cmds)
	most := len(q.ends)
	if !q.fixed {
		most = n + empty
	}
	q.com, q.fin = l.count(most), l.count(most)
	if !c.m.overlap {
		q.started, q.pc = l.bits(1), l.count(n)
		if !c.m.concurrent {
			q.phase = c.phaseOf(q.cmds, true)
		}
	}
	if !q.fixed {
		q.open, q.base = l.count(n), l.count(n)
	}
	room := most
	if !q.fixed && c.o.Window > 0 {
		room = min(room, c.o.Window)
	}
	if c.m.overlap || !q.fixed {
		q.slots = make([]slot, max(1, room))
		for i := range q.slots {
			s := &q.slots[i]
			if !q.fixed {
				s.end, s.counted = l.count(n), l.bits(1)
			}
			if c.m.overlap {
				s.status, s.pc = l.bits(2), l.count(n)
				if !c.m.concurrent {
					s.phase = c.phaseOf(q.cmds, true)
				}
			}
		}
		c.tracks(q)
	}
	if c.m.concurrent {
		q.phases = make([]field, n)
		for i := range q.phases {
			q.phases[i] = l.bits(2)
		}
	}
}

// tracks lists for each command of a queue the last earlier ones that tracking keeps it
// behind: for every array that it reads or writes the last write, for its fence the last
// use.
func (c *compiler) tracks(q *queue) {
	if !c.m.overlap || c.m.tracking == trackNone {
		return
	}
	q.behind = make([][]int32, len(q.cmds))
	write, use := map[int32]int32{}, map[int32]int32{}
	for i := range q.cmds {
		x := &q.cmds[i]
		note := func(last map[int32]int32, k int32) {
			if j, ok := last[k]; ok {
				q.behind[i] = append(q.behind[i], j)
			}
		}
		for _, r := range c.Reads(x) {
			note(write, r.Array)
		}
		if x.op == model.OpCoherent {
			note(write, x.object)
		}
		for _, w := range c.Writes(x) {
			note(write, w.Array)
		}
		for _, w := range c.Writes(x) {
			write[w.Array] = int32(i)
		}
		if c.m.tracking == trackAll && x.usesFence() {
			note(use, x.object)
			use[x.object] = int32(i)
		}
	}
}

func (c *compiler) placeArray(i int32) {
	a := &c.arrays[i]
	if c.pinned[i] {
		a.version = c.l.count(int(c.versions[i]))
	} else {
		a.version = c.l.bits(1)
	}
	if c.m.coherent {
		c.visible = append(c.visible, coherence{visible: c.l.bits(1), writer: c.l.count(int(c.writers[i]))})
	}
}

func (c *compiler) placeGroup(i int32) {
	g := &c.groups[i]
	g.arrived = c.l.count(len(g.fixed))
	a := &c.agents[c.members[i][0]]
	gpu := a.kind == agentQueue
	fails := gpu && c.System.queues[a.index].kinds.has(model.OpFail)
	if len(c.members[i]) == 1 && !(gpu && (c.m.overlap || c.m.concurrent || c.m.watchdog != dogOff || fails)) && a.kind != agentMain {
		return
	}
	p := c.Programs[g.rank]
	for range g.fixed {
		g.names = append(g.names, c.l.count(p.Names.Len()))
	}
	for _, m := range c.members[i] {
		cmds := c.agents[m].cmds
		for j := range cmds {
			if x := &cmds[j]; x.op == model.OpCollective && x.object == i {
				c.ords = append(c.ords, c.l.count(len(g.fixed)))
				x.ord = int32(len(c.ords))
			}
		}
	}
	g.fixed = nil
}

func (c *compiler) placeFence(i int32) {
	f := &c.fences[i]
	l := &c.l
	n := bits.Len64(c.values[i])
	f.gpu = l.bits(n)
	f.cpu = f.gpu
	if f.toCPU.active || f.toGPU.active {
		f.cpu = l.bits(n)
	}
	if c.freed[i] {
		f.freed = l.bits(1)
		c.mortal = append(c.mortal, i)
	}
	for _, p := range []*pending{&f.toCPU, &f.toGPU} {
		if !p.active {
			continue
		}
		if p.fifo {
			for range p.stores {
				p.slots = append(p.slots, l.count(len(p.stores)))
			}
		} else {
			p.members = l.set(len(p.stores))
		}
		for j := range p.stores {
			if s := &p.stores[j]; c.m.toCPU == visLag && s.queue >= 0 && !c.System.queues[s.queue].fixed {
				q := &c.System.queues[s.queue]
				s.issued = l.bits(bits.Len64(q.com.mask))
				if q.com.none() { // placed later: another rank's queue
					s.issued = l.bits(32)
				}
			}
		}
	}
}
