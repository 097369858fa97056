package check

import (
	"fmt"
	"sort"

	"github.com/fencesim/fencesim/model"
)

// waitEdge puts a wait behind the store that it needs.
func (x *lintOrder) waitEdge(a, i int32) {
	c := &x.info[a][i]
	if c.Op != model.OpWait || c.Late || c.Equal {
		return
	}
	f := &x.fences[c.Object]
	target := uint64(c.Value)
	if target <= uint64(x.y.FenceInitial(c.Object)) && f.rising {
		return
	}
	if f.resolved() {
		k := f.store(target)
		if k == len(f.stores) && target <= f.most {
			x.l.unproved(fmt.Sprintf("fence %s may end below %d: a store may overwrite what was added", x.y.FenceName(c.Object), target))
		}
		if k < len(f.stores) {
			f.awaited[k] = true
			x.edge(f.stores[k].node, x.node(a, i))
			if s := &f.stores[k]; s.gpu && x.queues[a].number == 0 {
				x.lagged = append(x.lagged, lintLagged{s.agent, s.info.Buffer, x.node(a, i)})
			}
		}
		return
	}
	// Stores in no known order: the wait needs the only one that reaches its target.
	only := -1
	for k := range f.stores {
		if f.adds || f.stores[k].value >= target {
			f.awaited[k] = true
			if only >= 0 || f.adds {
				only = -2
			}
			if only == -1 {
				only = k
			}
		}
		if only == -2 && len(f.stores) > maxScanned {
			break // awaited by this or that; not worth more time
		}
	}
	if only >= 0 && target > uint64(x.y.FenceInitial(c.Object)) {
		x.edge(f.stores[only].node, x.node(a, i))
	}
}

// eventEdges puts each await behind the signal that it needs, where one agent signals.
func (x *lintOrder) eventEdges() {
	type event struct {
		first map[int32][]lintStore // by agent: signals that raise what the agent has signalled
		most  uint64
	}
	events := make([]event, x.y.NumEvents())
	for a := range x.info {
		for i := range x.info[a] {
			c := &x.info[a][i]
			if c.Op != model.OpSignal {
				continue
			}
			e := &events[c.Object]
			if e.first == nil {
				e.first = map[int32][]lintStore{}
			}
			e.most = max(e.most, uint64(c.Value))
			if l := e.first[int32(a)]; len(l) == 0 || l[len(l)-1].value < uint64(c.Value) {
				e.first[int32(a)] = append(l, lintStore{node: x.node(int32(a), int32(i)), value: uint64(c.Value)})
			}
		}
	}
	for a := range x.info {
		for i := range x.info[a] {
			c := &x.info[a][i]
			if c.Op != model.OpAwait || c.Value == 0 {
				continue
			}
			n := x.node(int32(a), int32(i))
			e := &events[c.Object]
			if uint64(c.Value) > e.most {
				x.l.find("never-reached", x.text(n), fmt.Sprintf("a signal of at least %d: the most is %d", c.Value, e.most))
				continue
			}
			if len(e.first) > 1 || x.m.Buffers == model.Overlap || x.m.Dispatch == model.Concurrent {
				x.doubt("an event that several agents signal")
				continue
			}
			for _, l := range e.first {
				k := sort.Search(len(l), func(k int) bool { return l[k].value >= uint64(c.Value) })
				x.edge(l[k].node, n)
			}
		}
	}
}

// maxScanned bounds what one wait on a fence without order may look at.
const maxScanned = 64
