package check

import "github.com/fencesim/fencesim/sim"

// order is a must-happen-before relation on the commands of some agents: if a is before b
// and b runs, a has run before (or, where kills and failures can drop commands, if both
// run then a did first). It is a directed graph, closed by vector clocks over chains:
// program order of serial agents, barriers, tracking, and from the update that satisfies a
// wait to the wait. Commands on a cycle wait for each other and never run.
//
// An order of the agents of one rank leaves out what goes through other ranks: it may
// miss that one command is before another, and is never wrong.
type order struct {
	f      *fragment
	lo, hi int32   // the agents
	base   []int32 // per agent from lo: its first node
	chain  []int32 // per node
	pos    []int32 // per node: position in its chain, from 1
	edges  []edge  // beside those along chains
	chains int32
	clock  []int32 // per node and chain: how much of that chain is before the node; nil if too large
	dead   []bool  // on a cycle
}

type edge struct{ from, to int32 }

// maxClock bounds the entries of the vector clocks (4 bytes each).
const maxClock = 1 << 26

// newOrder builds the relation on agents lo to hi-1 of a fragment whose fences are
// examined.
func newOrder(f *fragment, lo, hi int32) *order {
	o := &order{f: f, lo: lo, hi: hi}
	n := int32(0)
	for a := lo; a < hi; a++ {
		o.base = append(o.base, n)
		n += o.size(a)
	}
	o.chain, o.pos = make([]int32, n), make([]int32, n)
	for a := lo; a < hi; a++ {
		if f.y.AgentKindOf(a) == sim.Queue {
			o.queueOrder(a)
		} else {
			o.serial(a, 0, o.size(a))
		}
	}
	if int64(n)*int64(o.chains) > maxClock {
		return o
	}
	o.mainOrder()
	o.syncOrder()
	o.close()
	return o
}

// size is the number of nodes of an agent: commands, or a main thread's steps.
func (o *order) size(a int32) int32 {
	if o.f.y.AgentKindOf(a) == sim.MainThread {
		return int32(len(o.f.y.MainSteps(o.f.y.RankOf(a))))
	}
	return int32(len(o.f.commands[a]))
}

func (o *order) node(agent, cmd int32) int32 { return o.base[agent-o.lo] + cmd }

func (o *order) edge(a, b int32) {
	if a != b {
		o.edges = append(o.edges, edge{a, b})
	}
}

// serial makes commands [lo, hi) of an agent a chain.
func (o *order) serial(agent, lo, hi int32) {
	for i := lo; i < hi; i++ {
		n := o.node(agent, i)
		o.chain[n], o.pos[n] = o.chains, i-lo+1
	}
	if hi > lo {
		o.chains++
	}
}

// follows reports whether node n is behind node n-1 on one chain.
func (o *order) follows(n int32) bool { return int(n) < len(o.pos) && o.pos[n] > 1 }

// close computes the vector clocks in topological order.
func (o *order) close() {
	n := len(o.chain)
	first, indeg := make([]int32, n+1), make([]int32, n)
	for _, e := range o.edges {
		first[e.from+1]++
		indeg[e.to]++
	}
	for i := range n {
		first[i+1] += first[i]
		indeg[i] += int32(b2i(o.follows(int32(i))))
	}
	next, at := make([]int32, len(o.edges)), append([]int32(nil), first[:n]...)
	for _, e := range o.edges {
		next[at[e.from]] = e.to
		at[e.from]++
	}
	o.edges = nil
	o.clock, o.dead = make([]int32, n*int(o.chains)), make([]bool, n)
	work := make([]int32, 0, n)
	for i := range indeg {
		o.dead[i] = true
		if indeg[i] == 0 {
			work = append(work, int32(i))
		}
	}
	k := int(o.chains)
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		o.dead[i] = false
		own := o.clock[int(i)*k : int(i+1)*k]
		own[o.chain[i]] = max(own[o.chain[i]], o.pos[i])
		tell := func(j int32) {
			to := o.clock[int(j)*k : int(j+1)*k]
			for c, v := range own {
				to[c] = max(to[c], v)
			}
			if indeg[j]--; indeg[j] == 0 {
				work = append(work, j)
			}
		}
		for _, j := range next[first[i]:first[i+1]] {
			tell(j)
		}
		if o.follows(i + 1) {
			tell(i + 1)
		}
	}
}

// known is how much of a chain is before node n, n itself included.
func (o *order) known(n, chain int32) int32 { return o.clock[int(n)*int(o.chains)+int(chain)] }

// before reports whether a must happen before b. A command that never runs is before
// everything.
func (o *order) before(a, b int32) bool {
	if o.dead[a] || o.dead[b] {
		return true
	}
	return a != b && o.known(b, o.chain[a]) >= o.pos[a]
}
