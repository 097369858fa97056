package check

import (
	"fmt"
	"sort"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// maxLagEntries bounds the table of [lintOrder.pairs]: one number per node and queue.
const maxLagEntries = 1 << 27

// lagRule is the exact rule for buffers in order with fixed ends under lag n: the order in
// which a wait of the CPU stands behind the finish that guarantees it a store has no cycle.
// Of one queue this says that a wait in buffer b that depends on an update in buffer a,
// also through CPU streams, has b - a > n.
//
// It is exact. Without a cycle take a stuck state and a node that has not happened while
// all before it have, which exists: a command could run, a finish could happen, or a store
// is guaranteed to arrive, as n later buffers have finished or, where there are fewer, all.
// With a cycle nothing on it happens unless some store arrives before it must. The
// guarantee that all committed buffers have finished gives no more than that of the last
// one, for the main thread commits all.
func (x *lintOrder) lagRule() {
	if x.m.GPUToCPU.Mode != model.VisLag || len(x.topo) < int(x.nodes) {
		return
	}
	if x.uncertain != "" || plainMachine(x.m) != "" {
		x.l.unproved("the exact rule is for buffers in order that are all handed over at once")
		return
	}
	holds := func(lag int) bool {
		order, _, _ := x.order(lag)
		return len(order) == int(x.nodes)
	}
	most := 0 // from this lag on every wait stands behind the last finish
	for a := range x.queues {
		most = max(most, len(x.queues[a].ends))
	}
	if !holds(most) {
		x.l.keepSlack(sort.Search(most, func(n int) bool { return !holds(n) }) - 1)
	}
	lag := x.m.GPUToCPU.Buffers
	if x.l.Slack == nil || *x.l.Slack >= lag {
		return
	}
	if !x.pairs() {
		_, indegree, lagged := x.order(lag)
		words := x.cycle(indegree, lagged)
		x.l.find("exact-rule", words[0], fmt.Sprintf("more buffers between: under lag %d each of these waits keeps a buffer from finishing that another needs to have finished: %s", lag, strings.Join(words, "; ")))
	}
}

// pairs names each wait of a queue that is too near the update that it depends on. Along
// every edge it hands on, per queue, the last buffer whose updates the CPU must have seen
// before. It reports whether there is any: a cycle through several queues has none.
func (x *lintOrder) pairs() bool {
	queues := 0
	for a := range x.queues {
		queues = max(queues, x.queues[a].number)
	}
	if queues == 0 || int64(queues)*int64(x.nodes) > maxLagEntries {
		return false
	}
	// from[node*queues+q-1]: the last buffer of queue q, from 1, that must have been seen.
	from := make([]int32, int(x.nodes)*queues)
	seen := map[[2]int32]bool{}
	for _, n := range x.topo {
		own := from[int(n)*queues : int(n+1)*queues]
		x.atWait(n, own, seen)
		a := x.agentOf[n]
		stores := a >= 0 && x.queues[a].number > 0 && isStore(x.info[a][x.index[n]].Op)
		for _, b := range x.succ[n] {
			to := from[int(b)*queues : int(b+1)*queues]
			for q, v := range own {
				to[q] = max(to[q], v)
			}
			if c := x.agentOf[b]; stores && c >= 0 && x.queues[c].number == 0 && x.info[c][x.index[b]].Op == model.OpWait {
				q := x.queues[a].number - 1
				to[q] = max(to[q], x.info[a][x.index[n]].Buffer+1)
			}
		}
	}
	return len(seen) > 0
}

func isStore(op model.Op) bool {
	return op == model.OpUpdate || op == model.OpAdd || op == model.OpRelease || op == model.OpReset
}

// atWait compares a command that waits on a queue with the last buffer of that queue which
// it needs.
func (x *lintOrder) atWait(n int32, own []int32, seen map[[2]int32]bool) {
	a := x.agentOf[n]
	if a < 0 || x.queues[a].number == 0 {
		return
	}
	c := &x.info[a][x.index[n]]
	if c.Op != model.OpWait && c.Op != model.OpAwait && c.Op != model.OpCollective {
		return
	}
	needs := own[x.queues[a].number-1]
	if needs == 0 {
		return
	}
	distance := int(c.Buffer - (needs - 1))
	lag := x.m.GPUToCPU.Buffers
	if k := [2]int32{a, needs}; distance <= lag && !seen[k] && len(seen) < mostFindings {
		seen[k] = true
		x.l.find("exact-rule", x.text(n), fmt.Sprintf("%d more buffers between: it depends on an update in buffer %d, and under lag %d that is sure to be seen only when %d later buffers have finished",
			lag+1-distance, needs-1, lag, lag))
	}
}
