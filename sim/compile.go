package sim

import (
	"fmt"
	"slices"

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
	c := &compiler{System: &System{Programs: programs, Machine: m, m: compileMachine(m)}, o: o, remote: map[remoteName]int32{}}
	for r := range programs {
		c.declare(int32(r))
	}
	c.reserve()
	c.groupPeers()
	c.pairUp()
	c.storers = make([][]int32, len(programs))
	for r := range programs {
		c.commands(int32(r))
	}
	c.watchers()
	c.storeOrders()
	c.fencesOf = make([][]int32, len(programs))
	for f := range c.fences {
		r := c.fences[f].rank
		c.fencesOf[r] = append(c.fencesOf[r], int32(f))
	}
	for r := range programs {
		c.starts = append(c.starts, c.l.words)
		c.place(int32(r))
		c.l.align()
	}
	c.agree()
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
	at      []objects // per rank
	remote  map[remoteName]int32
	pairsOf [][]int32 // per rank: the pairs to it
	pairAt  map[[2]int32]int32

	versions []uint32 // per array: most writes
	pinned   []bool   // per array: some read demands a version
	writers  []uint32 // per array: GPU writes
	toCPU    [][]storeRef
	toGPU    [][]storeRef
	rules    []uint8  // per fence: the GPU's store rule
	stored   []uint64 // per fence: largest value that is stored
	added    []uint64 // per fence: the sum of all that is added
	values   []uint64 // per fence: largest value
	eventMax []uint32
	freed    []bool
	members  [][]int32 // per group: agents with a collective of it
	sends    []int32   // per pair
	usesDead bool
	usesLate bool
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
	groups := int32(len(c.groups))
	c.at = append(c.at, objects{fences: map[model.Sym]int32{}, events: map[model.Sym]int32{}, groups: map[string]int32{},
		arrays: make([]int32, p.Names.Len())})
	for _, f := range p.Fences {
		i := c.fence(r, f.Name)
		c.fences[i].initial = f.Initial
		c.stored[i] = max(c.stored[i], uint64(f.Initial))
		c.values[i] = max(c.values[i], uint64(f.Initial))
		if f.Store != "" {
			c.rules[i] = storeRule(f.Store)
		}
	}
	each(p, func(holder string, cmd *model.Command) {
		if cmd.Op == model.OpCollective {
			name := holder
			if cmd.Group != model.NoSym {
				name = p.Names.Of(cmd.Group)
			}
			if _, ok := c.at[r].groups[name]; !ok {
				c.at[r].groups[name] = int32(len(c.groups))
				c.groups = append(c.groups, group{rank: r, name: name})
				c.members = append(c.members, nil)
			}
		}
	})
	c.at[r].ownGroups = span{groups, int32(len(c.groups))}
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
	peers := map[string][]int32{}
	for i := range c.groups {
		g := &c.groups[i]
		if peers[g.name] == nil {
			all := make([]int32, len(c.ranks))
			for r := range all {
				at, ok := c.at[r].groups[g.name]
				if !ok {
					at = -1
				}
				all[r] = at
			}
			peers[g.name] = all
		}
		g.peers = peers[g.name]
		g.lone = slices.Contains(g.peers, -1)
		g.first = g.peers[slices.IndexFunc(g.peers, func(p int32) bool { return p >= 0 })]
	}
}

// agree finds the groups whose parts are known to have equal names in the same order, so
// that an arrival has nothing to compare.
func (c *compiler) agree() {
	of := map[string]bool{}
	for i := range c.groups {
		g := &c.groups[i]
		same, done := of[g.name]
		if !done {
			same = c.agreed(g)
			of[g.name] = same
		}
		g.agree = same
	}
}

// agreed compares the parts of g's group with g, its first.
func (c *compiler) agreed(g *group) bool {
	for _, p := range g.peers {
		if p < 0 {
			continue
		}
		o := &c.groups[p]
		if o.fixed == nil {
			return false
		}
		own, other := &c.Programs[g.rank].Names, &c.Programs[o.rank].Names
		for k := range min(len(g.fixed), len(o.fixed)) {
			if own != other && own.Of(g.fixed[k]) != other.Of(o.fixed[k]) || own == other && g.fixed[k] != o.fixed[k] {
				return false
			}
		}
	}
	return true
}

// pairUp makes the buffers of a buffered transport.
func (c *compiler) pairUp() {
	c.pairAt, c.pairsOf = map[[2]int32]int32{}, make([][]int32, len(c.ranks))
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
				c.pairsOf[key[1]] = append(c.pairsOf[key[1]], int32(len(c.pairs)))
				c.pairs = append(c.pairs, pair{from: key[0], to: key[1]})
				c.sends = append(c.sends, 0)
			}
			if cmd.Op == model.OpSend {
				c.sends[c.pairAt[key]]++
			}
		})
	}
}
