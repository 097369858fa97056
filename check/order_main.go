package check

import (
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// mainOrder puts handed-over work behind the main thread's step, completion handlers
// behind their buffers, and what a main thread synchronizes with before it (explicit
// schedules).
func (o *order) mainOrder() {
	for a := o.lo; a < o.hi; a++ {
		if y := o.f.y; y.AgentKindOf(a) == sim.MainThread && !y.Programs[y.RankOf(a)].FromGraph {
			o.rankOrder(a)
		}
	}
}

// rankOrder is mainOrder of the rank of main thread agent.
func (o *order) rankOrder(agent int32) {
	y := o.f.y
	p := y.Programs[y.RankOf(agent)]
	queue := func(q, i int32) int32 { return o.node(agent+1+q, i) }
	stream := func(s, i int32) int32 { return o.node(agent+1+int32(len(p.Queues))+s, i) }
	lo := func(q int32, b int) int32 {
		if b == 0 {
			return 0
		}
		return int32(p.Queues[q].Ends[b-1])
	}
	ends := func(q int32, b int) (int32, int32) { return lo(q, b), int32(p.Queues[q].Ends[b]) }
	committed, enqueued := make([]int, len(p.Queues)), make([]int32, len(p.Streams))
	synced := make([]int, len(p.Queues)) // buffers behind which a step has synchronized
	for i, st := range y.MainSteps(y.RankOf(agent)) {
		n := o.node(agent, int32(i))
		switch st.Kind {
		case model.StepCommit:
			lo, hi := ends(st.Target, committed[st.Target])
			o.firsts(queue(st.Target, 0), lo, hi, func(j int32) { o.edge(n, j) })
			committed[st.Target]++
		case model.StepEnqueue:
			if st.N > 0 {
				o.edge(n, stream(st.Target, enqueued[st.Target]))
			}
			enqueued[st.Target] += st.N
		case model.StepSynchronize:
			if !st.Queue {
				if k := enqueued[st.Target]; k > 0 {
					o.edge(stream(st.Target, k-1), n)
				}
				break
			}
			for b := synced[st.Target]; b < committed[st.Target]; b++ {
				lo, hi := ends(st.Target, b)
				o.lasts(queue(st.Target, 0), lo, hi, func(j int32) { o.edge(j, n) })
			}
			synced[st.Target] = committed[st.Target]
		}
	}
	h := agent + 1 + int32(len(p.Queues)) + int32(len(p.Streams))
	for q := range p.Queues {
		for b := range p.Queues[q].Ends {
			if len(p.Queues[q].OnFinish[b]) > 0 {
				lo, hi := ends(int32(q), b)
				o.lasts(queue(int32(q), 0), lo, hi, func(j int32) { o.edge(j, o.node(h, 0)) })
				h++
			}
		}
	}
}

// firsts calls f for the nodes from+lo to from+hi-1 that begin a chain or are the first;
// lasts for those that end one or are the last. The others follow, or are followed.
func (o *order) firsts(from, lo, hi int32, f func(node int32)) {
	for j := from + lo; j < from+hi; j++ {
		if j == from+lo || !o.follows(j) {
			f(j)
		}
	}
}

func (o *order) lasts(from, lo, hi int32, f func(node int32)) {
	for j := from + lo; j < from+hi; j++ {
		if j == from+hi-1 || !o.follows(j+1) {
			f(j)
		}
	}
}
