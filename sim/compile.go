package sim

import (
	"fmt"
	"math/bits"

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
	throttles, commands := 0, false
	for i := range rk.main {
		if rk.main[i].Kind == model.StepThrottle {
			throttles++
			rk.lastThrottle = int32(i)
		}
		commands = commands || rk.main[i].Kind == model.StepCommand
	}
	if commands {
		rk.phase = l.bits(2)
	}
	active := 0
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		c.placeQueue(&c.System.queues[q], throttles)
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
	for i := range c.arrays {
		if c.arrays[i].rank == r {
			c.placeArray(int32(i))
		}
	}
	for i := range c.events {
		if c.events[i].rank == r {
			c.events[i].value = l.count(int(c.eventMax[i]))
		}
	}
	for i := range c.groups {
		if c.groups[i].rank == r {
			c.placeGroup(int32(i))
		}
	}
	for i := range c.pairs {
		if c.pairs[i].to == r {
			pr := &c.pairs[i]
			n := min(c.m.buffered, max(1, c.sends[i]))
			pr.count = l.count(int(n))
			for range n {
				pr.slots = append(pr.slots, l.count(c.Programs[pr.from].Names.Len()))
			}
		}
	}
	for i := range c.fences {
		if c.fences[i].rank == r {
			c.placeFence(int32(i))
		}
	}
	c.findCounters(r)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// phaseOf is a field for where in its steps a serial agent's command is.
func (c *compiler) phaseOf(cmds []cmd, gpu bool) field {
	most := 0
	for i := range cmds {
		most = max(most, c.phases(&cmds[i], gpu))
	}
	return c.l.count(most)
}

// phases is the largest phase of a command: see phase constants.
func (c *compiler) phases(x *cmd, gpu bool) int {
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

func (c *compiler) placeQueue(q *queue, throttles int) {
	l := &c.l
	n := len(q.cmds)
	most := len(q.ends)
	if !q.fixed {
		most = n + throttles + 1
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
		for _, r := range x.reads {
			note(write, r.array)
		}
		if x.op == model.OpCoherent {
			note(write, x.object)
		}
		for _, w := range x.writes {
			note(write, w.array)
		}
		for _, w := range x.writes {
			write[w.array] = int32(i)
		}
		if c.m.tracking == trackAll && x.src.Fence() {
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
		a.visible = c.l.bits(1)
		a.writer = c.l.count(int(c.writers[i]))
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
		for _, x := range c.commandsOf(m) {
			if x.op == model.OpCollective && x.object == i {
				x.ord = c.l.count(len(g.fixed))
			}
		}
	}
	g.fixed = nil
}

// commandsOf lists all commands of an agent.
func (c *compiler) commandsOf(agent int32) []*cmd {
	a := &c.agents[agent]
	var out []*cmd
	add := func(cmds []cmd) {
		for i := range cmds {
			out = append(out, &cmds[i])
		}
	}
	switch a.kind {
	case agentQueue:
		add(c.System.queues[a.index].cmds)
	case agentStream:
		add(c.System.streams[a.index].cmds)
	case agentHandler:
		add(c.System.handlers[a.index].cmds)
	case agentMain:
		for i := range c.ranks[a.index].main {
			if x := c.ranks[a.index].cmds[int32(i)]; x != nil {
				out = append(out, x)
			}
		}
	}
	return out
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
