package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// noLag leaves the guarantee of lag out of the order.
const noLag = -1

// order lists the nodes in an order that the edges allow; those on cycles and behind them
// are left out and keep a positive indegree. Under lag n a wait of the CPU for a store in
// buffer a stands behind the finish of buffer a + n or, if there is none, of the last one:
// until then nothing guarantees that the store is seen.
func (x *lintOrder) order(lag int) (order, indegree []int32, lagged map[int32][]int32) {
	indegree = make([]int32, x.nodes)
	for _, list := range x.succ {
		for _, b := range list {
			indegree[b]++
		}
	}
	if lag != noLag {
		lagged = make(map[int32][]int32)
		for _, w := range x.lagged {
			ends := x.queues[w.queue].ends
			end := ends[min(int64(w.buffer)+int64(lag), int64(len(ends)-1))]
			lagged[end] = append(lagged[end], w.wait)
			indegree[w.wait]++
		}
	}
	order = make([]int32, 0, x.nodes)
	for n, d := range indegree {
		if d == 0 {
			order = append(order, int32(n))
		}
	}
	for i := 0; i < len(order); i++ {
		for _, list := range [2][]int32{x.succ[order[i]], lagged[order[i]]} {
			for _, b := range list {
				if indegree[b]--; indegree[b] == 0 {
					order = append(order, b)
				}
			}
		}
	}
	return order, indegree, lagged
}

// sort orders the nodes and notes a cycle if there is one.
func (x *lintOrder) sort() {
	var indegree []int32
	if x.topo, indegree, _ = x.order(noLag); len(x.topo) == int(x.nodes) {
		return
	}
	words := x.cycle(indegree, nil)
	if len(words) == 1 {
		x.l.find("cycle", words[0], "its update to come first: it stands behind this wait")
		return
	}
	x.l.find("cycle", words[0], "one of these waits removed, each of which waits for what stands behind another: "+strings.Join(words, "; "))
}

// cycle names the waits of a cycle among the nodes with positive indegree.
func (x *lintOrder) cycle(indegree []int32, lagged map[int32][]int32) []string {
	// Every node that is left has a predecessor that is left: walk back to a cycle.
	from := make([]int32, x.nodes)
	start := int32(-1)
	for n := range x.succ {
		if indegree[n] == 0 {
			continue
		}
		start = int32(n)
		for _, list := range [2][]int32{x.succ[n], lagged[int32(n)]} {
			for _, b := range list {
				if indegree[b] > 0 {
					from[b] = int32(n)
				}
			}
		}
	}
	step := make([]int32, x.nodes)
	n := start
	for i := int32(1); step[n] == 0; i++ {
		step[n] = i
		n = from[n]
	}
	var words []string
	last := ""
	for m, first := n, true; first || m != n; m, first = from[m], false {
		if x.agentOf[m] < 0 {
			continue
		}
		if c := &x.info[x.agentOf[m]][x.index[m]]; c.Op == model.OpWait || c.Op == model.OpAwait || c.Op == model.OpCollective {
			words = append(words, x.text(m))
		} else {
			last = x.text(m)
		}
	}
	if words == nil {
		words = []string{last}
	}
	slices.Reverse(words)
	if i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "queue ") }); i > 0 {
		words = append(words[i:], words[:i]...) // the fault is easiest to see on a queue
	}
	if len(words) > mostCycle {
		words = append(words[:mostCycle], fmt.Sprintf("… %d more", len(words)-mostCycle))
	}
	return words
}

// mostCycle is how many waits of a cycle are named.
const mostCycle = 6
