package check

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// fenceRules looks at each fence by itself.
func (x *lintOrder) fenceRules() {
	for i := range x.fences {
		f := &x.fences[i]
		name := "fence " + x.y.FenceName(int32(i))
		x.reach(f, name)
		x.mixed(f, name)
		x.exact(f, name, uint64(x.y.FenceInitial(int32(i))))
		x.early(f)
		x.unawaited(f, name)
	}
}

// reach looks for waits above everything that is stored, and for fences that wrap.
func (x *lintOrder) reach(f *lintFence, name string) {
	for _, s := range f.stores {
		if s.info.Op == model.OpAdd && f.most > math.MaxUint32 {
			x.l.find("wrap", name, fmt.Sprintf("adds that end below 4294967296: together they reach %d", f.most))
			x.l.unproved(name + " may wrap")
			return // what it reaches is not known
		}
	}
	x.hidden(f)
	found := 0
	for _, n := range f.waits {
		c := &x.info[x.agentOf[n]][x.index[n]]
		if c.Late || c.Equal || uint64(c.Value) <= f.most {
			continue
		}
		if found++; found > mostFindings {
			break
		}
		x.l.find("never-reached", x.text(n), fmt.Sprintf("an update of %s to %d: the most that all its updates store is %d", name, c.Value, f.most))
	}
}

// mostFindings is how many findings of one rule one fence can have.
const mostFindings = 20

// hidden looks for waits for stores that nothing guarantees to be seen.
func (x *lintOrder) hidden(f *lintFence) {
	read, write := x.m.GPUToCPU.Mode == model.VisUnreliable, x.m.CPUToGPU.Mode == model.VisUnreliable
	if !read && !write {
		return
	}
	for _, n := range f.waits {
		a := x.agentOf[n]
		c := &x.info[a][x.index[n]]
		gpu := x.y.AgentKindOf(a) == sim.Queue
		if c.Late || c.Equal || gpu && !write || !gpu && !read || uint64(c.Value) <= uint64(x.y.FenceInitial(c.Object)) {
			continue
		}
		// The own side's stores are seen at once: what they reach is safe.
		own := uint64(0)
		for _, s := range f.stores[:min(len(f.stores), maxScanned)] {
			if s.gpu == gpu {
				own = math.MaxUint64 // it may be that one
			}
		}
		if own == 0 && len(f.stores) > 0 {
			x.l.find("never-seen", x.text(n), "a machine that guarantees that this store is seen at some time")
			return
		}
		x.l.unproved("stores that nothing guarantees to be seen")
	}
}

// mixed looks for stores that do not commute.
func (x *lintOrder) mixed(f *lintFence, name string) {
	if f.adds && f.maxima {
		x.l.find("add-and-max", name, "only adds or only maxima: mixed, its value depends on their order")
	}
	overwriting := 0
	agents := map[int32]bool{}
	for _, s := range f.stores {
		isMax := s.gpu && s.info.Store == model.StoreMax && (s.info.Op == model.OpUpdate || s.info.Op == model.OpRelease)
		if isMax || s.info.Op == model.OpAdd {
			continue
		}
		overwriting++
		agents[s.agent] = true
		if len(agents) > 1 {
			break
		}
	}
	switch {
	case len(agents) > 1:
		x.l.find("unordered-stores", name, fmt.Sprintf("one writer, or a store that takes the maximum: %s also overwrites", x.text(f.stores[len(f.stores)-1].node)))
	case overwriting > 1 && f.gpuStores > 1 && x.m.GPUToCPU.Mode == model.VisUnordered && f.cpuWaits:
		x.l.find("unordered-stores", name, "a store that takes the maximum: a younger store may be overwritten by an older one that arrives later")
	case overwriting > 1 && f.gpuStores > 1 && x.beside(f):
		x.l.find("unordered-stores", name, "a store that takes the maximum, or buffers that track fences and barriers: its updates may run beside each other")
	}
}

// beside reports whether two neighbouring stores of a fence by one queue may run at once.
func (x *lintOrder) beside(f *lintFence) bool {
	for i := 1; i < len(f.stores); i++ {
		a, b := &f.stores[i-1], &f.stores[i]
		apart := a.info.Buffer != b.info.Buffer
		if apart && x.m.Buffers == model.Overlap && x.m.Tracking != model.TrackAll {
			return true
		}
		if !apart && x.m.Dispatch == model.Concurrent && !x.divided(a.agent, x.index[a.node], x.index[b.node]) {
			return true
		}
	}
	return false
}

func (x *lintOrder) divided(a, lo, hi int32) bool {
	for i := lo + 1; i < hi; i++ {
		if op := x.info[a][i].Op; op == model.OpBarrier || op == model.OpEncoder {
			return true
		}
	}
	return false
}

// exact looks at waits for one value.
func (x *lintOrder) exact(f *lintFence, name string, initial uint64) {
	given := map[uint64]int{}
	for k, s := range f.stores {
		given[s.value] = k
	}
	for _, n := range f.waits {
		c := &x.info[x.agentOf[n]][x.index[n]]
		if !c.Equal {
			continue
		}
		v := uint64(c.Value)
		k, ok := given[v]
		switch {
		case !ok && v != initial && f.oneAgent:
			x.l.find("never-equal", x.text(n), fmt.Sprintf("a store that gives %s the value %d", name, c.Value))
		case ok && k+1 < len(f.stores) && f.stores[k+1].value != v, v == initial && len(f.stores) > 0 && !ok:
			x.l.find("passed-over", x.text(n), fmt.Sprintf("at least %d instead of exactly %d, or the next store behind this wait", c.Value, c.Value))
		}
	}
}

// early looks for resets that another agent's wait may miss the value before of.
func (x *lintOrder) early(f *lintFence) {
	if !f.resets {
		return
	}
	// The waits of each agent in order of their program.
	byAgent := map[int32][]int32{}
	var agents []int32
	for _, n := range f.waits {
		a := x.agentOf[n]
		if byAgent[a] == nil {
			agents = append(agents, a)
		}
		byAgent[a] = append(byAgent[a], n)
	}
	found := 0
	for _, s := range f.stores {
		if s.info.Op != model.OpReset || found >= mostFindings {
			continue
		}
		known := x.knownBefore(s.agent, x.index[s.node])
		for _, a := range agents {
			if a == s.agent {
				continue // in program order
			}
			list := byAgent[a]
			// The first wait that is not known to have passed.
			at := sort.Search(len(list), func(k int) bool { return x.index[list[k]] >= known[a] })
			if at == len(list) || uint64(x.info[a][x.index[list[at]]].Value) <= uint64(s.info.Value) {
				continue
			}
			x.l.find("reset-early", x.text(s.node), fmt.Sprintf("a wait before it for what follows %s: otherwise that wait may come late and find the fence reset", x.text(list[at])))
			found++
			break
		}
	}
}

// knownBefore gives for each agent how many of its commands have run for sure when command i
// of agent a runs, as its own waits tell: each waits for a store of another agent.
func (x *lintOrder) knownBefore(a, i int32) map[int32]int32 {
	known := map[int32]int32{}
	for j := i - 1; j >= 0 && j > i-maxScanned; j-- {
		c := &x.info[a][j]
		if c.Op != model.OpWait || c.Late || c.Equal {
			continue
		}
		if f := &x.fences[c.Object]; f.resolved() {
			if k := f.store(uint64(c.Value)); k < len(f.stores) {
				s := &f.stores[k]
				known[s.agent] = max(known[s.agent], x.index[s.node])
			}
		}
	}
	return known
}

// unawaited lists the updates that no wait needs, in one finding.
func (x *lintOrder) unawaited(f *lintFence, name string) {
	if f.adds { // an update is a part of every sum behind it
		return
	}
	var values []string
	more := 0
	for k, s := range f.stores {
		if f.awaited[k] || s.info.Op != model.OpUpdate {
			continue
		}
		if len(values) < 8 {
			values = append(values, fmt.Sprint(s.info.Value))
		} else {
			more++
		}
	}
	if values == nil {
		return
	}
	list := strings.Join(values, ", ")
	if more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	x.l.find("never-awaited", name, fmt.Sprintf("nothing: no wait needs its update to %s", list))
}

// arrayRules looks for waits with a target later than what the reads behind them need: an
// array that the fence's writer made is there with the first update behind its write.
func (x *lintOrder) arrayRules() {
	type write struct{ agent, at int32 }
	writes := make([]write, x.y.NumArrays())
	count := make([]int, x.y.NumArrays())
	stores := make([][]int32, x.y.NumAgents()) // per agent: fences of which it is the only writer
	for a := range x.info {
		for i := range x.info[a] {
			for _, w := range x.info[a][i].Writes {
				writes[w] = write{int32(a), int32(i)}
				count[w]++
			}
		}
	}
	for i := range x.fences {
		if f := &x.fences[i]; f.resolved() && len(f.stores) > 0 {
			a := f.stores[0].agent
			stores[a] = append(stores[a], int32(i))
		}
	}
	for a := range x.info {
		open := map[int32]int32{}     // by fence: the last wait
		needed := map[int32]uint64{}  // by fence: the most that reads behind it need
		settle := func(fence int32) { // compares when the next wait comes, and at the end
			if n, ok := open[fence]; ok && needed[fence] > 0 {
				c := &x.info[a][x.index[n]]
				f := &x.fences[fence]
				if have := f.store(uint64(c.Value)); have < len(f.stores) && f.stores[have].value > needed[fence] {
					x.l.find("over-wait", x.text(n), fmt.Sprintf("%d: what is read behind it is there with that update", needed[fence]))
				}
			}
			delete(needed, fence)
		}
		var order []int32
		for i := range x.info[a] {
			c := &x.info[a][i]
			for _, r := range c.Reads {
				w := writes[r]
				if count[r] != 1 || w.agent == int32(a) {
					continue
				}
				for _, fence := range stores[w.agent] {
					f := &x.fences[fence]
					k := sort.Search(len(f.stores), func(k int) bool { return x.index[f.stores[k].node] > w.at })
					if k < len(f.stores) {
						needed[fence] = max(needed[fence], f.stores[k].value)
					}
				}
			}
			if c.Op == model.OpWait && !c.Late && !c.Equal {
				settle(c.Object)
				if _, ok := open[c.Object]; !ok {
					order = append(order, c.Object)
				}
				open[c.Object] = x.node(int32(a), int32(i))
			}
		}
		for _, fence := range order {
			settle(fence)
		}
	}
}
