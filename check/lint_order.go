package check

import (
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// lintOrder is what must come before what in explicit schedules, as a graph: a node per
// command or main step, per start and finish of a buffer, per departure from a collective.
// It has no edge that some run could break, so that a cycle is a hang on every machine on
// which waits do not end by themselves.
type lintOrder struct {
	l         *Lint
	y         *sim.System
	m         model.Machine
	info      [][]sim.CommandInfo // by agent
	base      []int32             // by agent: its first node
	nodes     int32
	succ      [][]int32
	agentOf   []int32 // by node; -1 for a node that is no command
	index     []int32
	out       map[int32]int32 // node behind which the next command stands, where it is not the command's
	fences    []lintFence
	queues    []lintQueue // by agent; zero for others
	lagged    []lintLagged
	uncertain string  // why the graph does not say all
	topo      []int32 // nodes in order; those on cycles and behind them are left out
}

// lintLagged is a wait of the CPU for a store of a queue's buffer.
type lintLagged struct{ queue, buffer, wait int32 }

// lintQueue is a queue with its place among all queues.
type lintQueue struct {
	src    *model.Queue
	number int // from 1; 0 for agents that are none
	starts []int32
	ends   []int32
}

// lintStore is one store to a fence, in program order.
type lintStore struct {
	node, agent int32
	gpu         bool
	value       uint64 // the value that it gives if all before it in its agent have run
	info        *sim.CommandInfo
}

type lintFence struct {
	stores                      []lintStore
	waits                       []int32 // nodes
	oneAgent, rising            bool
	allMax                      bool
	adds, maxima, resets, plain bool
	gpuStores                   int
	cpuWaits                    bool
	added                       uint64 // all that is added
	most                        uint64 // the largest store, and all that is added: what it can reach in any order
	awaited                     []bool // by store: some wait needs it
}

// resolved reports whether a target names one store: one agent's, with growing values.
func (f *lintFence) resolved() bool { return f.oneAgent && f.rising }

// store gives the index of the first store that reaches a target, or len(stores).
func (f *lintFence) store(target uint64) int {
	i, _ := slices.BinarySearchFunc(f.stores, target, func(s lintStore, t uint64) int {
		if s.value < t {
			return -1
		}
		return 1
	})
	return i
}

func newLintOrder(l *Lint, y *sim.System) *lintOrder {
	x := &lintOrder{l: l, y: y, m: y.Machine, out: map[int32]int32{}, queues: make([]lintQueue, y.NumAgents()), fences: make([]lintFence, y.NumFences())}
	for a := range int32(y.NumAgents()) {
		x.info = append(x.info, y.Commands(a))
		x.base = append(x.base, x.nodes)
		for i := range x.info[a] {
			x.add(a, int32(i))
		}
	}
	for _, p := range y.Programs {
		for _, st := range p.Steps() {
			if st.Kind == model.StepExit {
				x.doubt("a process that ends early")
				l.broken = true
			}
		}
	}
	x.collect()
	number := 0
	for r := range int32(y.Ranks()) {
		lo, hi := y.AgentsOf(r)
		p := y.Programs[r]
		for i := range p.Queues {
			number++
			x.queues[lo+1+int32(i)] = lintQueue{src: &p.Queues[i], number: number}
		}
		x.meetings(lo, hi)
	}
	x.joins()
	for r := range int32(y.Ranks()) {
		x.agents(r)
	}
	for a := range x.info {
		for i := range x.info[a] {
			x.waitEdge(int32(a), int32(i))
		}
	}
	x.eventEdges()
	return x
}

// add makes a node.
func (x *lintOrder) add(agent, index int32) int32 {
	x.succ = append(x.succ, nil)
	x.agentOf, x.index = append(x.agentOf, agent), append(x.index, index)
	x.nodes++
	return x.nodes - 1
}

func (x *lintOrder) edge(a, b int32) { x.succ[a] = append(x.succ[a], b) }

func (x *lintOrder) node(agent, i int32) int32 { return x.base[agent] + i }

// after is the node behind which what follows command n stands.
func (x *lintOrder) after(n int32) int32 {
	if o, ok := x.out[n]; ok {
		return o
	}
	return n
}

func (x *lintOrder) chain(nodes []int32) {
	for i := 1; i < len(nodes); i++ {
		x.edge(x.after(nodes[i-1]), nodes[i])
	}
}

// doubt notes why some edges are missing.
func (x *lintOrder) doubt(why string) {
	if x.uncertain == "" {
		x.uncertain = why
	}
}

// collect lists the stores and waits of every fence.
func (x *lintOrder) collect() {
	values := make([]uint64, len(x.fences))
	for i := range x.fences {
		values[i] = uint64(x.y.FenceInitial(int32(i)))
		x.fences[i].most = values[i]
		x.fences[i].oneAgent, x.fences[i].rising, x.fences[i].allMax = true, true, true
	}
	for a := range x.info {
		gpu := x.y.AgentKindOf(int32(a)) == sim.Queue
		for i := range x.info[a] {
			c := &x.info[a][i]
			n := x.node(int32(a), int32(i))
			switch c.Op {
			case model.OpWait, model.OpPark:
				f := &x.fences[c.Object]
				f.waits = append(f.waits, n)
				f.cpuWaits = f.cpuWaits || !gpu
			case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
				f := &x.fences[c.Object]
				v := uint64(c.Value)
				if c.Op == model.OpAdd {
					f.adds = true
					f.added += v
					v += values[c.Object]
				} else {
					f.most = max(f.most, v)
				}
				isMax := gpu && c.Store == model.StoreMax && (c.Op == model.OpUpdate || c.Op == model.OpRelease)
				f.maxima, f.allMax = f.maxima || isMax, f.allMax && isMax
				f.plain = f.plain || !isMax && c.Op != model.OpAdd
				f.resets = f.resets || c.Op == model.OpReset
				f.gpuStores += b2i(gpu)
				if len(f.stores) > 0 && f.stores[0].agent != int32(a) {
					f.oneAgent = false
				}
				f.rising = f.rising && v >= values[c.Object]
				values[c.Object] = v
				f.stores = append(f.stores, lintStore{n, int32(a), gpu, v, c})
			case model.OpFree:
				x.doubt("a fence that is freed")
			case model.OpDie:
				x.doubt("a process that ends early")
				x.l.broken = true
			case model.OpIdle:
				x.doubt("a command that waits for an idle device")
			case model.OpFail:
				x.doubt("a command that fails")
				x.l.broken = true
			}
			if c.Op == model.OpPark || c.Op == model.OpWait && (c.Late || c.Equal) {
				x.doubt("waits other than for at least a value")
			}
		}
	}
	for i := range x.fences {
		f := &x.fences[i]
		f.awaited = make([]bool, len(f.stores))
		if f.adds {
			f.most += f.added
		}
		if x.m.Buffers == model.Overlap || x.m.Dispatch == model.Concurrent {
			f.rising = f.rising && (f.gpuStores < 2 || f.allMax)
		}
	}
}

// agents orders the commands of every agent of a rank and what its main thread hands over.
func (x *lintOrder) agents(r int32) {
	lo, hi := x.y.AgentsOf(r)
	for a := lo; a < hi; a++ {
		switch x.y.AgentKindOf(a) {
		case sim.Queue:
			x.queue(a)
		default:
			nodes := make([]int32, len(x.info[a]))
			for i := range nodes {
				nodes[i] = x.node(a, int32(i))
			}
			x.chain(nodes)
		}
	}
	x.handlers(lo, hi)
}

// queue orders the commands of a queue between the starts and finishes of its buffers.
func (x *lintOrder) queue(a int32) {
	q := &x.queues[a]
	first := int32(0)
	for b, end := range q.src.Ends {
		start, finish := x.add(-1, a), x.add(-1, a)
		q.starts, q.ends = append(q.starts, start), append(q.ends, finish)
		if b > 0 && x.m.Buffers == model.InOrder {
			x.edge(q.ends[b-1], start)
		}
		nodes := []int32{start}
		divider := start
		for i := first; i < int32(end); i++ {
			n := x.node(a, i)
			if x.m.Dispatch == model.Serial {
				nodes = append(nodes, n)
				continue
			}
			op := x.info[a][i].Op
			x.edge(divider, n)
			if op == model.OpBarrier || op == model.OpEncoder {
				for _, e := range nodes[1:] {
					x.edge(x.after(e), n)
				}
				divider, nodes = n, nodes[:1]
			} else {
				nodes = append(nodes, n)
			}
		}
		if x.m.Dispatch == model.Serial {
			x.chain(append(nodes, finish))
		} else {
			x.edge(divider, finish)
			for _, e := range nodes[1:] {
				x.edge(x.after(e), finish)
			}
		}
		first = int32(end)
	}
}

// handlers puts completion handlers behind their buffers.
func (x *lintOrder) handlers(lo, hi int32) {
	h := lo
	for h < hi && x.y.AgentKindOf(h) != sim.Handler {
		h++
	}
	for a := lo; a < hi && h < hi; a++ {
		q := &x.queues[a]
		for b := range q.ends {
			if len(q.src.OnFinish[b]) > 0 {
				x.edge(q.ends[b], x.node(h, 0))
				h++
			}
		}
	}
}

// handover puts work behind the main step that hands it over, and notes what never is.
func (x *lintOrder) handover() {
	for r := range int32(x.y.Ranks()) {
		lo, _ := x.y.AgentsOf(r)
		p := x.y.Programs[r]
		streams := lo + 1 + int32(len(p.Queues))
		committed, enqueued := make([]int, len(p.Queues)), make([]int32, len(p.Streams))
		for i, st := range p.Steps() {
			n := x.node(lo, int32(i))
			switch st.Kind {
			case model.StepCommit:
				if q := &x.queues[lo+1+st.Target]; committed[st.Target] < len(q.starts) {
					x.edge(n, q.starts[committed[st.Target]])
					committed[st.Target]++
				}
			case model.StepEnqueue:
				if enqueued[st.Target] < int32(len(x.info[streams+st.Target])) {
					x.edge(n, x.node(streams+st.Target, enqueued[st.Target]))
				}
				enqueued[st.Target] += st.N
			case model.StepSynchronize:
				x.doubt("a main thread that blocks")
				if st.Queue {
					for b := range committed[st.Target] {
						x.edge(x.queues[lo+1+st.Target].ends[b], n)
					}
				} else if k := enqueued[st.Target]; k > 0 {
					x.edge(x.after(x.node(streams+st.Target, k-1)), n)
				}
			default:
				x.doubt("a main thread that blocks")
			}
		}
		if x.l.broken {
			continue
		}
		for i := range p.Queues {
			if c := committed[i]; c < len(p.Queues[i].Ends) && x.commandsFrom(&p.Queues[i], c) {
				x.l.find("never-committed", fmt.Sprintf("%s buffer %d", x.agent(lo+1+int32(i)), c), "a commit for it on the main thread")
			}
		}
		for i := range p.Streams {
			if n := enqueued[i]; n < int32(len(p.Streams[i].Tasks)) {
				x.l.find("never-committed", x.text(x.node(streams+int32(i), n)), "an enqueue for it on the main thread")
			}
		}
	}
}

// commandsFrom reports whether some command stands in buffer b of a queue or behind it.
func (x *lintOrder) commandsFrom(q *model.Queue, b int) bool {
	start := 0
	if b > 0 {
		start = q.Ends[b-1]
	}
	return q.Ends[len(q.Ends)-1] > start
}

// text is a command or main step with its agent.
func (x *lintOrder) text(n int32) string {
	a := x.agentOf[n]
	if a < 0 {
		return "the end of a buffer of " + x.agent(x.index[n])
	}
	if x.info[a][x.index[n]].Op == model.OpNone {
		return fmt.Sprintf("%s: %s", x.agent(a), x.y.StepText(int(x.y.RankOf(a)), int(x.index[n])))
	}
	return fmt.Sprintf("%s: %s", x.place(n), x.y.CommandText(a, x.index[n]))
}

// place is the agent of a command and, on a queue, its buffer.
func (x *lintOrder) place(n int32) string {
	a := x.agentOf[n]
	if x.queues[a].number > 0 {
		return fmt.Sprintf("%s buffer %d", x.agent(a), x.info[a][x.index[n]].Buffer)
	}
	return fmt.Sprintf("%s task %d", x.agent(a), x.index[n])
}

func (x *lintOrder) agent(a int32) string { return x.y.AgentName(a) }
