package sim

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// Options are choices of the layout. The zero value is the default.
type Options struct {
	// Window is how many unfinished buffers of a queue with run-time ends a state has room
	// for; 0 means as many as there can be. A run that needs more sets [System.Overflow] and
	// is worth nothing from there on.
	Window int
}

// Compile lays out a schedule per rank on a machine. Ranks may share a schedule. The
// schedules must be valid (see model.Scenario.Programs).
func Compile(programs []*model.Schedule, m model.Machine, o Options) *System {
	m = m.Normal()
	c := &compiler{System: &System{Programs: programs, Machine: m, m: compileMachine(m)}, o: o}
	for r := range programs {
		c.declare(int32(r))
	}
	c.groupPeers()
	c.pairUp()
	for r := range programs {
		c.commands(int32(r))
	}
	for i := range c.agents {
		switch a := &c.agents[i]; a.kind {
		case agentQueue:
			a.cmds = c.System.queues[a.index].cmds
		case agentStream:
			a.cmds = c.System.streams[a.index].cmds
		case agentHandler:
			a.cmds = c.System.handlers[a.index].cmds
		}
	}
	c.storeOrders()
	for r := range programs {
		c.starts = append(c.starts, c.l.words)
		c.place(int32(r))
		c.l.align()
	}
	c.words = c.l.size()
	c.starts = append(c.starts, int32(c.words))
	c.start()
	return c.System
}

// compiler holds what only compilation needs.
type compiler struct {
	*System
	o       Options
	l       layout
	fenceAt []map[model.Sym]int32 // per rank
	arrayAt [][]int32             // per rank and name: array+1, 0 none
	eventAt []map[model.Sym]int32
	groupAt []map[string]int32
	pairAt  map[[2]int32]int32

	versions []uint32 // per array: most writes
	pinned   []bool   // per array: some read demands a version
	writers  []uint64 // per array: GPU writes
	toCPU    [][]storeRef
	toGPU    [][]storeRef
	values   []uint64 // per fence: largest value
	eventMax []uint32
	freed    []bool
	members  [][]int32 // per group: agents with a collective of it
	sends    []int32   // per pair
	usesDead bool
}

// declare makes the agents and objects of rank r.
func (c *compiler) declare(r int32) {
	p := c.Programs[r]
	rk := rank{program: p, agent: int32(len(c.agents)), gpuFence: -1, cpuFence: -1, lastThrottle: -1}
	c.agents = append(c.agents, agent{kind: agentMain, rank: r, index: r, name: "main"})
	rk.queues.lo, rk.streams.lo, rk.handlers.lo = int32(len(c.System.queues)), int32(len(c.System.streams)), int32(len(c.System.handlers))
	for i := range p.Queues {
		c.System.queues = append(c.System.queues, queue{rank: r, agent: int32(len(c.agents)), name: p.Queues[i].Name})
		c.agents = append(c.agents, agent{kind: agentQueue, rank: r, index: int32(len(c.System.queues) - 1), name: "queue " + p.Queues[i].Name})
	}
	for i := range p.Streams {
		c.System.streams = append(c.System.streams, stream{rank: r, agent: int32(len(c.agents)), name: p.Streams[i].Name})
		c.agents = append(c.agents, agent{kind: agentStream, rank: r, index: int32(len(c.System.streams) - 1), name: "stream " + p.Streams[i].Name})
	}
	for i := range p.Queues {
		q := rk.queues.lo + int32(i)
		for b := range p.Queues[i].Ends {
			if len(p.Queues[i].OnFinish[b]) == 0 {
				continue
			}
			c.System.handlers = append(c.System.handlers, handler{rank: r, agent: int32(len(c.agents)), queue: q, buffer: int32(b)})
			name := fmt.Sprintf("handler %s[%d]", p.Queues[i].Name, b)
			c.agents = append(c.agents, agent{kind: agentHandler, rank: r, index: int32(len(c.System.handlers) - 1), name: name})
		}
	}
	rk.queues.hi, rk.streams.hi, rk.handlers.hi = int32(len(c.System.queues)), int32(len(c.System.streams)), int32(len(c.System.handlers))
	c.ranks = append(c.ranks, rk)
	c.fenceAt = append(c.fenceAt, map[model.Sym]int32{})
	c.arrayAt = append(c.arrayAt, make([]int32, p.Names.Len()))
	c.eventAt = append(c.eventAt, map[model.Sym]int32{})
	c.groupAt = append(c.groupAt, map[string]int32{})
	for _, f := range p.Fences {
		i := c.fence(r, f.Name)
		c.fences[i].initial = f.Initial
		c.values[i] = max(c.values[i], uint64(f.Initial))
	}
	each(p, func(holder string, cmd *model.Command) {
		if cmd.Op == model.OpCollective {
			name := holder
			if cmd.Group != model.NoSym {
				name = p.Names.Of(cmd.Group)
			}
			if _, ok := c.groupAt[r][name]; !ok {
				c.groupAt[r][name] = int32(len(c.groups))
				c.groups = append(c.groups, group{rank: r, name: name})
				c.members = append(c.members, nil)
			}
		}
	})
}

// each calls f for every command of a schedule with the name of its queue or stream.
func each(p *model.Schedule, f func(holder string, cmd *model.Command)) {
	for i := range p.Queues {
		q := &p.Queues[i]
		for j := range q.Commands {
			f(q.Name, &q.Commands[j])
		}
		for b := range q.Ends {
			for j := range q.OnFinish[b] {
				f(q.Name, &q.OnFinish[b][j])
			}
		}
	}
	for i := range p.Streams {
		for j := range p.Streams[i].Tasks {
			f(p.Streams[i].Name, &p.Streams[i].Tasks[j])
		}
	}
	for _, st := range p.Steps() {
		if st.Command != nil {
			f("main", st.Command)
		}
	}
}

// groupPeers links the parts of each group. Groups meet by name.
func (c *compiler) groupPeers() {
	for i := range c.groups {
		g := &c.groups[i]
		for r := range c.ranks {
			at, ok := c.groupAt[r][g.name]
			if !ok {
				at = -1
			}
			g.peers = append(g.peers, at)
		}
	}
}

// pairUp makes the buffers of a buffered transport.
func (c *compiler) pairUp() {
	c.pairAt = map[[2]int32]int32{}
	if c.m.buffered == 0 {
		return
	}
	for r := range c.ranks {
		each(c.Programs[r], func(_ string, cmd *model.Command) {
			key := [2]int32{int32(r), int32(cmd.Rank.Resolve(r, len(c.ranks)))}
			switch cmd.Op {
			case model.OpRecv:
				key[0], key[1] = key[1], key[0]
			case model.OpSend:
			default:
				return
			}
			if _, ok := c.pairAt[key]; !ok {
				c.pairAt[key] = int32(len(c.pairs))
				c.pairs = append(c.pairs, pair{from: key[0], to: key[1]})
				c.sends = append(c.sends, 0)
			}
			if cmd.Op == model.OpSend {
				c.sends[c.pairAt[key]]++
			}
		})
	}
}

func (c *compiler) fence(r int32, s model.Sym) int32 {
	if i, ok := c.fenceAt[r][s]; ok {
		return i
	}
	i := int32(len(c.fences))
	c.fenceAt[r][s] = i
	c.fences = append(c.fences, fence{rank: r, name: c.Programs[r].Names.Of(s)})
	c.values, c.freed = append(c.values, 0), append(c.freed, false)
	c.toCPU, c.toGPU = append(c.toCPU, nil), append(c.toGPU, nil)
	return i
}

// remoteFence is fence s of rank r's names, at the rank that ref names.
func (c *compiler) remoteFence(r int32, s model.Sym, ref model.RankRef) int32 {
	to := int32(ref.Resolve(int(r), len(c.ranks)))
	if to == r {
		return c.fence(r, s)
	}
	name := c.Programs[r].Names.Of(s)
	if t := c.Programs[to].Names.Lookup(name); t != model.NoSym {
		return c.fence(to, t)
	}
	// Nobody at that rank names the fence: it exists all the same.
	for i := range c.fences {
		if c.fences[i].rank == to && c.fences[i].name == name {
			return int32(i)
		}
	}
	i := int32(len(c.fences))
	c.fences = append(c.fences, fence{rank: to, name: name})
	c.values, c.freed = append(c.values, 0), append(c.freed, false)
	c.toCPU, c.toGPU = append(c.toCPU, nil), append(c.toGPU, nil)
	return i
}

func (c *compiler) array(r int32, s model.Sym) int32 {
	if i := c.arrayAt[r][s]; i > 0 {
		return i - 1
	}
	i := int32(len(c.arrays))
	c.arrayAt[r][s] = i + 1
	c.arrays = append(c.arrays, array{rank: r, name: c.Programs[r].Names.Of(s)})
	c.versions, c.pinned, c.writers = append(c.versions, 0), append(c.pinned, false), append(c.writers, 0)
	return i
}

func (c *compiler) event(r int32, s model.Sym) int32 {
	if i, ok := c.eventAt[r][s]; ok {
		return i
	}
	i := int32(len(c.events))
	c.eventAt[r][s] = i
	c.events = append(c.events, event{rank: r, name: c.Programs[r].Names.Of(s)})
	c.eventMax = append(c.eventMax, 0)
	return i
}

// commands resolves every command of rank r.
func (c *compiler) commands(r int32) {
	rk := &c.ranks[r]
	p := rk.program
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
		q.cmds = make([]cmd, len(src.Commands))
		for j := range src.Commands {
			for int(buffer) < buffers && j >= src.Ends[buffer] {
				buffer++
			}
			q.cmds[j] = c.command(r, q.agent, src.Name, &src.Commands[j], int32(j), rk.queues.lo+int32(i), buffer)
			q.kinds |= 1 << src.Commands[j].Op
		}
	}
	for i := range p.Streams {
		src := &p.Streams[i]
		st := &c.System.streams[rk.streams.lo+int32(i)]
		st.cmds = make([]cmd, len(src.Tasks))
		st.counted = countTasks(src)
		for j := range src.Tasks {
			st.cmds[j] = c.command(r, st.agent, src.Name, &src.Tasks[j], int32(j), -1, 0)
		}
	}
	for i := rk.handlers.lo; i < rk.handlers.hi; i++ {
		h := &c.System.handlers[i]
		src := &p.Queues[h.queue-rk.queues.lo]
		list := src.OnFinish[int(h.buffer)]
		h.cmds = make([]cmd, len(list))
		for j := range list {
			h.cmds[j] = c.command(r, h.agent, src.Name, &list[j], int32(j), -1, 0)
		}
		q := &c.System.queues[h.queue]
		for len(q.handler) <= len(q.ends) {
			q.handler = append(q.handler, -1)
		}
		q.handler[h.buffer] = i
	}
	rk.main = p.Steps()
	for i := range rk.main {
		switch st := &rk.main[i]; st.Kind {
		case model.StepExit:
			c.usesDead = true
		case model.StepCommand:
			if rk.cmds == nil {
				rk.cmds = map[int32]*cmd{}
			}
			x := c.command(r, rk.agent, "main", st.Command, int32(i), -1, 0)
			rk.cmds[int32(i)] = &x
		}
	}
	c.encodedBefore(r)
}

// countTasks is the number of active tasks among the first i tasks of a stream.
func countTasks(s *model.Stream) []uint32 {
	out := make([]uint32, len(s.Tasks)+1)
	for i := range s.Tasks {
		out[i+1] = out[i]
		if s.Counted != nil {
			out[i+1] += uint32(s.Counted[i])
		}
	}
	return out
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
			c.System.queues[rk.queues.lo+rk.main[i].Target].encoded[i+1] = rk.main[i].N
		}
	}
}

// scheduledBefore is how many updates of fence f the main thread of its rank has
// scheduled before each of its steps (graphs only).
func (c *compiler) scheduledBefore(r, f int32) []uint32 {
	rk := &c.ranks[r]
	out := make([]uint32, len(rk.main)+1)
	count := func(cmds []cmd, from, to int32) (n uint32) {
		for i := from; i < to; i++ {
			if cmds[i].op == model.OpUpdate && cmds[i].object == f {
				n++
			}
		}
		return n
	}
	done := make(map[*cmd]int32)
	for i := range rk.main {
		out[i+1] = out[i]
		st := &rk.main[i]
		var cmds []cmd
		switch st.Kind {
		case model.StepEncode, model.StepUpdate:
			cmds = c.System.queues[rk.queues.lo+st.Target].cmds
		case model.StepTask:
			cmds = c.System.streams[rk.streams.lo+st.Target].cmds
		}
		if len(cmds) > 0 {
			out[i+1] += count(cmds, done[&cmds[0]], st.N)
			done[&cmds[0]] = st.N
		}
	}
	return out
}

// command resolves one command and notes what it may do to each object.
func (c *compiler) command(r, holder int32, holderName string, src *model.Command, index, queue, buffer int32) cmd {
	p := c.Programs[r]
	gpu := queue >= 0
	x := cmd{op: src.Op, equal: src.Equal, late: src.Late, value: src.Value, src: src, index: index, holder: holder, object: -1, ref: -1, name: -1, pair: -1, peer: -1}
	switch {
	case src.Fence():
		x.object = c.remoteFence(r, src.Name, src.Rank)
		c.fenceCommand(&x, gpu, queue, buffer)
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
		x.object = c.groupAt[r][name]
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
	for _, rd := range src.Reads {
		a := c.array(r, rd.Array)
		c.pinned[a] = c.pinned[a] || rd.Version > 0
		x.reads = append(x.reads, readRef{a, rd.Version})
	}
	for _, w := range src.Writes {
		a := c.array(r, w)
		c.versions[a]++
		ref := writeRef{array: a}
		if gpu {
			c.writers[a]++
			ref.writer = c.writers[a]
		}
		x.writes = append(x.writes, ref)
	}
	return x
}

// fenceCommand notes what a command may do to its fence.
func (c *compiler) fenceCommand(x *cmd, gpu bool, queue, buffer int32) {
	f := x.object
	fc := &c.fences[f]
	switch x.op {
	case model.OpUpdate, model.OpReset, model.OpRelease:
		c.values[f] = max(c.values[f], uint64(x.value))
	case model.OpAdd:
		c.values[f] = min(c.values[f]+uint64(x.value), model.Released)
	case model.OpFree:
		c.freed[f] = true
	}
	if !x.src.Stores() {
		return
	}
	owner := &c.ranks[fc.rank]
	rule := c.Machine.Store
	for _, d := range owner.program.Fences {
		if owner.program.Names.Of(d.Name) == fc.name && d.Store != "" {
			rule = d.Store
		}
	}
	x.store = indexOf([]string{model.StorePlain, model.StoreGuarded, model.StoreMax}, rule)
	if x.op == model.OpAdd || x.op == model.OpReset {
		x.store = storePlain
	}
	if gpu && c.m.toCPU != visImmediate {
		x.ref = int32(len(c.toCPU[f]))
		c.toCPU[f] = append(c.toCPU[f], storeRef{queue: queue, buffer: buffer})
	}
	if !gpu && c.m.toGPUUnreliable {
		x.ref = int32(len(c.toGPU[f]))
		c.toGPU[f] = append(c.toGPU[f], storeRef{queue: -1})
	}
}

// storeOrders decides for each fence how its stores on the way are kept.
func (c *compiler) storeOrders() {
	// The commands stand still now: point each store at its command, find who writes.
	writers := make([][2]map[int32]bool, len(c.fences))
	note := func(x *cmd, gpu bool) {
		if x.ref < 0 {
			return
		}
		side, list := 0, c.toCPU
		if !gpu {
			side, list = 1, c.toGPU
		}
		list[x.object][x.ref].cmd = x
		if writers[x.object][side] == nil {
			writers[x.object][side] = map[int32]bool{}
		}
		writers[x.object][side][x.holder] = true
	}
	for q := range c.System.queues {
		for i := range c.System.queues[q].cmds {
			note(&c.System.queues[q].cmds[i], true)
		}
	}
	for s := range c.System.streams {
		for i := range c.System.streams[s].cmds {
			note(&c.System.streams[s].cmds[i], false)
		}
	}
	for h := range c.System.handlers {
		for i := range c.System.handlers[h].cmds {
			note(&c.System.handlers[h].cmds[i], false)
		}
	}
	for r := range c.ranks {
		for i := range c.ranks[r].main {
			if x := c.ranks[r].cmds[int32(i)]; x != nil {
				note(x, false)
			}
		}
	}
	for f := range c.fences {
		fc := &c.fences[f]
		serial := !c.m.overlap && !c.m.concurrent
		fc.toCPU = pending{active: len(c.toCPU[f]) > 0, stores: c.toCPU[f], ordered: c.m.toCPU != visUnordered}
		fc.toCPU.fifo = fc.toCPU.ordered && !(len(writers[f][0]) <= 1 && serial)
		fc.toGPU = pending{active: len(c.toGPU[f]) > 0, stores: c.toGPU[f], ordered: true}
		fc.toGPU.fifo = len(writers[f][1]) > 1
	}
}

// findCounters finds the fences of the three counters of rank r.
func (c *compiler) findCounters(r int32) {
	rk := &c.ranks[r]
	if rk.queues.lo < rk.queues.hi {
		q := &c.System.queues[rk.queues.lo]
		for i := range q.cmds {
			if q.cmds[i].updates() && c.fences[q.cmds[i].object].rank == r {
				rk.gpuFence = q.cmds[i].object
				break
			}
		}
	}
	if rk.streams.lo < rk.streams.hi {
		st := &c.System.streams[rk.streams.lo]
		for i := range st.cmds {
			if st.cmds[i].updates() && c.fences[st.cmds[i].object].rank == r {
				rk.cpuFence = st.cmds[i].object
				break
			}
		}
	}
	rk.late = map[int32][]uint32{}
	need := func(x *cmd) {
		if x.op == model.OpWait && x.late && rk.late[x.object] == nil {
			rk.late[x.object] = c.scheduledBefore(r, x.object)
		}
	}
	for a := rk.agent; int(a) < len(c.agents) && c.agents[a].rank == r; a++ {
		for _, x := range c.commandsOf(a) {
			need(x)
		}
	}
	if rk.gpuFence < 0 {
		return
	}
	if rk.program.FromGraph {
		rk.late[rk.gpuFence] = c.scheduledBefore(r, rk.gpuFence)
		return
	}
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		qu := &c.System.queues[q]
		qu.scheduledMax = make([]uint32, len(qu.ends)+1)
		j := int32(0)
		for b, e := range qu.ends {
			qu.scheduledMax[b+1] = qu.scheduledMax[b]
			for ; j < e; j++ {
				if x := &qu.cmds[j]; x.updates() && x.object == rk.gpuFence {
					qu.scheduledMax[b+1] = max(qu.scheduledMax[b+1], x.value)
				}
			}
		}
	}
}

// start builds the initial state: fences at their initial value in both views, inputs
// written and visible, nothing committed.
func (c *compiler) start() {
	s := make(State, c.words)
	for i := range c.fences {
		f := &c.fences[i]
		f.gpu.set(s, uint64(f.initial))
		f.cpu.set(s, uint64(f.initial))
	}
	for r := range c.ranks {
		for _, sym := range c.Programs[r].Inputs {
			a := &c.arrays[c.arrayAt[r][sym]-1]
			a.version.set(s, 1)
			a.visible.set(s, 1)
		}
	}
	if c.m.coherent {
		for i := range c.arrays {
			c.arrays[i].visible.set(s, 1)
		}
	}
	c.initial = s
}
