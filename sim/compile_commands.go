package sim

import "github.com/fencesim/fencesim/model"

// commands resolves every command of rank r.
func (c *compiler) commands(r int32) {
	rk := &c.ranks[r]
	p := rk.program
	arrays, events := int32(len(c.arrays)), int32(len(c.events))
	for _, s := range p.Inputs {
		c.versions[c.array(r, s)]++
	}
	for i := range p.Queues {
		src := &p.Queues[i]
		q := &c.System.queues[rk.queues.lo+int32(i)]
		q.fixed = !p.FromGraph
		q.firstUse, q.forced, q.section = int32(src.FirstUse), src.Forced, src.Section
		buffer, buffers := int32(0), len(src.Ends)
		for _, e := range src.Ends {
			q.ends = append(q.ends, int32(e))
		}
		q.cmds = make([]Command, len(src.Commands))
		for j := range src.Commands {
			for int(buffer) < buffers && j >= src.Ends[buffer] {
				buffer++
			}
			q.cmds[j] = c.command(r, q.agent, src.Name, &src.Commands[j], int32(j), rk.queues.lo+int32(i), buffer)
			q.kinds |= 1 << src.Commands[j].Op
		}
		c.agents[q.agent].cmds = q.cmds
	}
	for i := range p.Streams {
		src := &p.Streams[i]
		st := &c.System.streams[rk.streams.lo+int32(i)]
		st.cmds = make([]Command, len(src.Tasks))
		st.counted = src.ActiveTasks()
		for j := range src.Tasks {
			st.cmds[j] = c.command(r, st.agent, src.Name, &src.Tasks[j], int32(j), -1, 0)
		}
		c.agents[st.agent].cmds = st.cmds
	}
	for i := rk.handlers.lo; i < rk.handlers.hi; i++ {
		h := &c.System.handlers[i]
		src := &p.Queues[h.queue-rk.queues.lo]
		list := src.OnFinish[int(h.buffer)]
		h.cmds = make([]Command, len(list))
		for j := range list {
			h.cmds[j] = c.command(r, h.agent, src.Name, &list[j], int32(j), -1, 0)
		}
		c.agents[h.agent].cmds = h.cmds
	}
	rk.main = p.Steps()
	for i := range rk.main {
		switch st := &rk.main[i]; st.Kind {
		case model.StepExit:
			c.usesDead = true
		case model.StepCommand:
			if rk.cmds == nil {
				rk.cmds = make([]Command, len(rk.main))
				c.agents[rk.agent].cmds = rk.cmds
			}
			rk.cmds[i] = c.command(r, rk.agent, "main", st.Command, int32(i), -1, 0)
		}
	}
	c.encodedBefore(r)
	c.at[r].ownArrays = span{arrays, int32(len(c.arrays))}
	c.at[r].ownEvents = span{events, int32(len(c.events))}
}

// encodedBefore fills the tables of a graph's main thread: commands encoded and updates
// scheduled before each step.
func (c *compiler) encodedBefore(r int32) {
	rk := &c.ranks[r]
	if !rk.program.FromGraph {
		return
	}
	n := len(rk.main)
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		c.System.queues[q].encoded = make([]int32, n+1)
	}
	for i := range rk.main {
		for q := rk.queues.lo; q < rk.queues.hi; q++ {
			c.System.queues[q].encoded[i+1] = c.System.queues[q].encoded[i]
		}
		if k := rk.main[i].Kind; k == model.StepEncode || k == model.StepUpdate {
			q := &c.System.queues[rk.queues.lo+rk.main[i].Target]
			for j := q.encoded[i]; j < rk.main[i].N; j++ {
				q.cmds[j].buffer = int32(i)
			}
			q.encoded[i+1] = rk.main[i].N
		}
	}
}

// scheduledBefore is how many updates of fence f the main thread of its rank has
// scheduled before each of its steps (graphs only).
func (c *compiler) scheduledBefore(r, f int32) []uint32 {
	rk := &c.ranks[r]
	out := make([]uint32, len(rk.main)+1)
	done := make([]int32, len(c.agents)-int(rk.agent)) // by agent: commands encoded
	for i := range rk.main {
		out[i+1] = out[i]
		st := &rk.main[i]
		agent := int32(-1)
		switch st.Kind {
		case model.StepEncode, model.StepUpdate:
			agent = c.System.queues[rk.queues.lo+st.Target].agent
		case model.StepTask:
			agent = c.System.streams[rk.streams.lo+st.Target].agent
		default:
			continue
		}
		cmds, n := c.agents[agent].cmds, &done[agent-rk.agent]
		for ; *n < st.N; *n++ {
			if x := &cmds[*n]; x.op == model.OpUpdate && x.object == f {
				out[i+1]++
			}
		}
	}
	return out
}

// command resolves one command and notes what it may do to each object.
func (c *compiler) command(r, holder int32, holderName string, src *model.Command, index, queue, buffer int32) Command {
	p := c.Programs[r]
	gpu := queue >= 0
	x := Command{op: src.Op, equal: src.Equal, late: src.Late, value: src.Value, index: index, holder: holder, buffer: buffer, object: -1, ref: -1, name: -1, pair: -1, peer: -1}
	c.usesLate = c.usesLate || x.late
	switch {
	case src.Fence():
		x.object = c.remoteFence(r, src.Name, src.Rank)
		c.fenceCommand(&x, gpu, queue)
	case src.Op == model.OpSignal || src.Op == model.OpAwait:
		x.object = c.event(r, src.Name)
		c.eventMax[x.object] = max(c.eventMax[x.object], src.Value)
		if src.Op == model.OpAwait {
			break
		}
	case src.Op == model.OpCoherent:
		x.object = c.array(r, src.Name)
	case src.Op == model.OpCollective:
		name := holderName
		if src.Group != model.NoSym {
			name = p.Names.Of(src.Group)
		}
		x.object = c.at[r].groups[name]
		x.name = int32(src.Name)
		if m := c.members[x.object]; len(m) == 0 || m[len(m)-1] != holder {
			c.members[x.object] = append(m, holder)
		}
		c.groups[x.object].fixed = append(c.groups[x.object].fixed, src.Name)
	case src.Op == model.OpSend || src.Op == model.OpRecv:
		x.peer = int32(src.Rank.Resolve(int(r), len(c.ranks)))
		if !p.FromGraph {
			x.name = int32(src.Name)
		}
		key := [2]int32{r, x.peer}
		if src.Op == model.OpRecv {
			key[0], key[1] = key[1], key[0]
		}
		if i, ok := c.pairAt[key]; ok {
			x.pair = i
		}
	case src.Op == model.OpDie:
		c.usesDead = true
	}
	x.reads.lo = int32(len(c.System.reads))
	for _, rd := range src.Reads {
		a := c.array(r, rd.Array)
		c.pinned[a] = c.pinned[a] || rd.Version > 0
		c.System.reads = append(c.System.reads, Read{a, rd.Version})
	}
	x.reads.hi, x.writes.lo = int32(len(c.System.reads)), int32(len(c.System.writes))
	for _, w := range src.Writes {
		a := c.array(r, w)
		c.versions[a]++
		ref := Write{Array: a}
		if gpu {
			c.writers[a]++
			ref.writer = c.writers[a]
		}
		c.System.writes = append(c.System.writes, ref)
	}
	x.writes.hi = int32(len(c.System.writes))
	return x
}

// fenceCommand notes what a command may do to its fence.
func (c *compiler) fenceCommand(x *Command, gpu bool, queue int32) {
	f := x.object
	switch x.op {
	case model.OpUpdate, model.OpReset, model.OpRelease:
		c.stored[f] = max(c.stored[f], uint64(x.value))
		c.values[f] = min(c.stored[f]+c.added[f], model.Released)
	case model.OpAdd:
		c.added[f] += uint64(x.value)
		c.values[f] = min(c.stored[f]+c.added[f], model.Released)
	case model.OpFree:
		c.freed[f] = true
	}
	if !x.stores() {
		return
	}
	x.store = c.rules[f]
	if owner := c.fences[f].rank; owner != c.agents[x.holder].rank {
		c.storers[owner] = join(c.storers[owner], c.agents[x.holder].rank)
	}
	if x.op == model.OpAdd || x.op == model.OpReset {
		x.store = storePlain
	}
	if gpu && c.m.toCPU != visImmediate {
		x.ref = int32(len(c.toCPU[f]))
		c.toCPU[f] = append(c.toCPU[f], storeRef{queue: queue, agent: x.holder, index: x.index, buffer: x.buffer})
	}
	if !gpu && c.m.toGPUUnreliable {
		x.ref = int32(len(c.toGPU[f]))
		c.toGPU[f] = append(c.toGPU[f], storeRef{queue: -1, agent: x.holder, index: x.index})
	}
}

// watchers finds the agents that sleep, and those that may spin on a fence that is freed.
func (c *compiler) watchers() {
	parks := false
	for a := range c.agents {
		for i := range c.agents[a].cmds {
			x := &c.agents[a].cmds[i]
			if (x.op == model.OpWait || x.op == model.OpPark) && c.freed[x.object] {
				c.mourners = join(c.mourners, int32(a))
			}
			parks = parks || x.op == model.OpPark
		}
	}
	if !parks {
		return
	}
	c.sleepers = make([][]int32, len(c.fences))
	for a := range c.agents {
		for i := range c.agents[a].cmds {
			if x := &c.agents[a].cmds[i]; x.op == model.OpPark {
				c.sleepers[x.object] = join(c.sleepers[x.object], int32(a))
			}
		}
	}
}
