package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// order is a must-happen-before relation on the commands of a system: if a is before b
// and b runs, a has run before (or, where kills and failures can drop commands, if both
// run then a did first). It is a directed graph, closed by vector clocks over chains:
// program order of serial agents, barriers, tracking, and from the update that satisfies a
// wait to the wait. Commands on a cycle wait for each other and never run.
type order struct {
	f      *fragment
	base   []int32 // per agent: its first node
	chain  []int32 // per node
	pos    []int32 // per node: position in its chain, from 1
	succ   [][]int32
	indeg  []int32
	chains int32
	clock  []int32 // per node and chain: how much of that chain is before the node; nil if too large
	dead   []bool  // on a cycle
}

// maxClock bounds the entries of the vector clocks (4 bytes each).
const maxClock = 1 << 26

// newOrder builds the relation for a fragment whose fences are examined.
func newOrder(f *fragment) *order {
	o := &order{f: f}
	n := int32(0)
	for a := range f.commands {
		o.base = append(o.base, n)
		n += int32(len(f.commands[a]))
	}
	o.base = append(o.base, n)
	o.chain, o.pos = make([]int32, n), make([]int32, n)
	o.succ, o.indeg = make([][]int32, n), make([]int32, n)
	for a := range f.commands {
		if f.y.AgentKindOf(int32(a)) == sim.Queue {
			o.queueOrder(int32(a))
		} else {
			o.serial(int32(a), 0, int32(len(f.commands[a])))
		}
	}
	o.mainOrder()
	o.syncOrder()
	o.close()
	return o
}

func (o *order) node(agent, cmd int32) int32 { return o.base[agent] + cmd }

func (o *order) edge(a, b int32) {
	if a != b {
		o.succ[a] = append(o.succ[a], b)
		o.indeg[b]++
	}
}

// serial makes commands [lo, hi) of an agent a chain.
func (o *order) serial(agent, lo, hi int32) {
	for i := lo; i < hi; i++ {
		n := o.node(agent, i)
		o.chain[n], o.pos[n] = o.chains, i-lo+1
		if i > lo {
			o.edge(n-1, n)
		}
	}
	if hi > lo {
		o.chains++
	}
}

// queueOrder orders the commands of a queue.
func (o *order) queueOrder(agent int32) {
	cs := o.f.commands[agent]
	n := int32(len(cs))
	overlap, concurrent := o.f.m.Buffers == model.Overlap, o.f.m.Dispatch == model.Concurrent
	if !overlap && !concurrent {
		o.serial(agent, 0, n)
		return
	}
	fixed := !o.f.y.Programs[o.f.y.RankOf(agent)].FromGraph
	if !concurrent {
		for lo := int32(0); lo < n; {
			hi := lo + 1
			for hi < n && cs[hi].Buffer == cs[lo].Buffer {
				hi++
			}
			o.serial(agent, lo, hi)
			lo = hi
		}
	} else {
		for i := range n {
			o.serial(agent, i, i+1)
		}
		o.sections(agent, fixed, overlap)
	}
	if overlap && o.f.m.Tracking != model.TrackNone || concurrent && !fixed && !overlap {
		o.tracked(agent, fixed, overlap)
	}
}

// sections orders commands around barriers, and in order also around buffer ends.
func (o *order) sections(agent int32, fixed, overlap bool) {
	cs := o.f.commands[agent]
	lo, divider := int32(0), int32(-1) // the section [lo, i) lies behind the divider
	var previous [2]int32              // the section before a buffer end: everything in it comes first
	for i := range int32(len(cs)) {
		end := (fixed || overlap) && i > 0 && cs[i].Buffer != cs[i-1].Buffer
		if end {
			previous, lo, divider = [2]int32{lo, i}, i, -1
			if overlap {
				previous = [2]int32{}
			}
		}
		for j := previous[0]; j < previous[1]; j++ {
			o.edge(o.node(agent, j), o.node(agent, i))
		}
		if divider >= 0 {
			o.edge(o.node(agent, divider), o.node(agent, i))
		}
		switch cs[i].Op {
		case model.OpBarrier, model.OpEncoder:
			for j := lo; j < i; j++ {
				o.edge(o.node(agent, j), o.node(agent, i))
			}
			divider, lo, previous = i, i+1, [2]int32{}
		case model.OpSignal:
			for j := lo; j < i; j++ {
				o.edge(o.node(agent, j), o.node(agent, i))
			}
		}
	}
}

// tracked orders commands that tracking (overlap) or the lowering's barriers (concurrent
// dispatch of a graph) keep apart: behind the last command that wrote an array that it
// uses, and behind the last that touched its fence under tracking all. The array of a wait
// counts as written by it where barriers are placed.
func (o *order) tracked(agent int32, fixed, overlap bool) {
	cs := o.f.commands[agent]
	write, touch, read := map[int32]int32{}, map[int32]int32{}, map[int32]int32{}
	behind := func(m map[int32]int32, k, i int32) {
		j, ok := m[k]
		if !ok {
			return
		}
		o.edge(o.node(agent, j), o.node(agent, i))
		if fixed && overlap && o.f.m.Dispatch == model.Serial && cs[j].Buffer != cs[i].Buffer {
			// The whole buffer of j finishes before that of i starts.
			last, first := j, i
			for int(last)+1 < len(cs) && cs[last+1].Buffer == cs[j].Buffer {
				last++
			}
			for first > 0 && cs[first-1].Buffer == cs[i].Buffer {
				first--
			}
			o.edge(o.node(agent, last), o.node(agent, first))
		}
	}
	for i := range cs {
		c, i := &cs[i], int32(i)
		reads, writes := c.Reads, c.Writes
		if c.Op == model.OpCoherent {
			reads = []int32{c.Object}
		}
		for _, a := range reads {
			behind(write, a, i)
		}
		for _, a := range writes {
			behind(write, a, i)
			if !overlap {
				behind(read, a, i)
			}
		}
		if overlap && o.f.m.Tracking == model.TrackAll && fenceOp(c.Op) {
			behind(touch, c.Object, i)
			touch[c.Object] = i
		}
		for _, a := range reads {
			read[a] = i
		}
		for _, a := range writes {
			write[a] = i
		}
	}
}

func fenceOp(op model.Op) bool {
	c := model.Command{Op: op}
	return c.Fence()
}

// mainOrder puts handed-over work behind the main thread's step, and completion handlers
// behind their buffers (explicit schedules).
func (o *order) mainOrder() {
	y := o.f.y
	for a := range o.f.commands {
		agent := int32(a)
		if y.AgentKindOf(agent) != sim.MainThread {
			continue
		}
		p := y.Programs[y.RankOf(agent)]
		if p.FromGraph {
			continue
		}
		queueAgent := func(i int32) int32 { return agent + 1 + i }
		streamAgent := func(i int32) int32 { return agent + 1 + int32(len(p.Queues)) + i }
		committed, enqueued := make([]int, len(p.Queues)), make([]int32, len(p.Streams))
		for i, st := range p.Steps() {
			n := o.node(agent, int32(i))
			switch st.Kind {
			case model.StepCommit:
				q := &p.Queues[st.Target]
				lo := 0
				if b := committed[st.Target]; b > 0 {
					lo = q.Ends[b-1]
				}
				for j := lo; j < q.Ends[committed[st.Target]]; j++ {
					o.edge(n, o.node(queueAgent(st.Target), int32(j)))
				}
				committed[st.Target]++
			case model.StepEnqueue:
				for j := enqueued[st.Target]; j < enqueued[st.Target]+st.N; j++ {
					o.edge(n, o.node(streamAgent(st.Target), j))
				}
				enqueued[st.Target] += st.N
			case model.StepSynchronize:
				if st.Queue {
					if b := committed[st.Target]; b > 0 {
						for j := range int32(p.Queues[st.Target].Ends[b-1]) {
							o.edge(o.node(queueAgent(st.Target), j), n)
						}
					}
				} else if k := enqueued[st.Target]; k > 0 {
					o.edge(o.node(streamAgent(st.Target), k-1), n)
				}
			}
		}
		h := streamAgent(int32(len(p.Streams)))
		for q := range p.Queues {
			lo := 0
			for b, hi := range p.Queues[q].Ends {
				if len(p.Queues[q].OnFinish[b]) > 0 {
					for j := lo; j < hi; j++ {
						o.edge(o.node(queueAgent(int32(q)), int32(j)), o.node(h, 0))
					}
					h++
				}
				lo = hi
			}
		}
	}
}

// dropped reports whether commands of a queue may be skipped, so that what stands behind
// a wait on it need not have waited.
func (f *fragment) dropped() bool {
	if f.killed || f.spun {
		return true
	}
	for a := range f.commands {
		if f.y.AgentKindOf(int32(a)) != sim.Queue {
			continue
		}
		for i := range f.commands[a] {
			if f.commands[a][i].Op == model.OpFail {
				return true
			}
		}
	}
	return false
}

// syncOrder puts each wait behind the update that it must have seen: the first of the
// fence's only writer that reaches the target. Likewise for events.
func (o *order) syncOrder() {
	f := o.f
	type source struct {
		node  int32
		agent int32
		value uint64
		op    model.Op
	}
	stores, signals := make([][]source, len(f.gpuView)), make([][]source, len(f.event))
	for a := range f.commands {
		for i := range f.commands[a] {
			c := &f.commands[a][i]
			src := source{o.node(int32(a), int32(i)), int32(a), uint64(c.Value), c.Op}
			switch c.Op {
			case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
				stores[c.Object] = append(stores[c.Object], src)
			case model.OpSignal:
				signals[c.Object] = append(signals[c.Object], src)
			}
		}
	}
	single := func(ss []source) bool {
		for _, s := range ss {
			if s.agent != ss[0].agent {
				return false
			}
		}
		return len(ss) > 0
	}
	dropped := f.dropped()
	parallel := f.m.Buffers == model.Overlap || f.m.Dispatch == model.Concurrent
	// A fence whose stores run in the order of their commands reaches the target at the
	// first that does; otherwise only a single store that does is known to be the one.
	first := func(ss []source, initial, target uint64, ordered bool) int32 {
		if target <= initial || !single(ss) {
			return -1
		}
		value, found := initial, int32(-1)
		for _, s := range ss {
			if s.op == model.OpAdd {
				s.value += value
			}
			value = max(value, s.value)
			if s.value < target {
				continue
			}
			if ordered {
				return s.node
			}
			if found >= 0 {
				return -1
			}
			found = s.node
		}
		return found
	}
	for a := range f.commands {
		gpu := f.y.AgentKindOf(int32(a)) == sim.Queue
		if gpu && dropped {
			continue
		}
		for i := range f.commands[a] {
			c := &f.commands[a][i]
			from := int32(-1)
			switch c.Op {
			case model.OpWait:
				if f.stores[c.Object] == "" && !c.Equal && !c.Late {
					from = first(stores[c.Object], uint64(f.y.FenceInitial(c.Object)), uint64(c.Value), !parallel)
				}
			case model.OpAwait:
				from = first(signals[c.Object], 0, uint64(c.Value), !parallel)
			}
			if from >= 0 {
				o.edge(from, o.node(int32(a), int32(i)))
			}
		}
	}
}

// close computes the vector clocks in topological order.
func (o *order) close() {
	n := len(o.chain)
	if int64(n)*int64(o.chains) > maxClock {
		return
	}
	o.clock = make([]int32, n*int(o.chains))
	o.dead = make([]bool, n)
	work := make([]int32, 0, n)
	for i := range o.indeg {
		o.dead[i] = true
		if o.indeg[i] == 0 {
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
		for _, j := range o.succ[i] {
			to := o.clock[int(j)*k : int(j+1)*k]
			for c, v := range own {
				to[c] = max(to[c], v)
			}
			if o.indeg[j]--; o.indeg[j] == 0 {
				work = append(work, j)
			}
		}
	}
	o.succ, o.indeg = nil, nil
}

// before reports whether a must happen before b. A command that never runs is before
// everything.
func (o *order) before(a, b int32) bool {
	if o.dead[a] || o.dead[b] {
		return true
	}
	return a != b && o.clock[int(b)*int(o.chains)+int(o.chain[a])] >= o.pos[a]
}

// access is one use of an array.
type access struct {
	node    int32
	write   bool
	gpu     bool
	version uint32
}

// data sets why uses of an array are not ordered, and returns why some read is not known
// to see what it must; "" if all do.
func (o *order) data(f *fragment) string {
	y := f.y
	if y.NumArrays() == 0 {
		return ""
	}
	if o.clock == nil {
		for i := range f.array {
			f.array[i] = "is in a system too large to order"
		}
		return "the system is too large to order its reads"
	}
	uses := make([][]access, y.NumArrays())
	coherent := make([][]int32, y.NumArrays())
	for a := range f.commands {
		gpu := y.AgentKindOf(int32(a)) == sim.Queue
		for i := range f.commands[a] {
			c := &f.commands[a][i]
			n := o.node(int32(a), int32(i))
			for k, r := range c.Reads {
				uses[r] = append(uses[r], access{node: n, gpu: gpu, version: y.ReadVersion(int32(a), int32(i), k)})
			}
			for _, w := range c.Writes {
				uses[w] = append(uses[w], access{node: n, write: true, gpu: gpu})
			}
			if c.Op == model.OpCoherent {
				coherent[c.Object] = append(coherent[c.Object], n)
			}
		}
	}
	why := ""
	dropped := f.dropped()
	for a := range uses {
		input := y.Input(int32(a))
		f.array[a] = o.races(uses[a])
		if f.array[a] == "" && f.m.Payload == model.PayloadCoherent {
			f.array[a] = o.hidden(uses[a], coherent[a])
		}
		if why == "" && f.array[a] != "" {
			why = fmt.Sprintf("array %s %s", y.ArrayName(int32(a)), f.array[a])
		}
		if why == "" {
			if u := o.unread(uses[a], input); u != "" {
				why = fmt.Sprintf("array %s %s", y.ArrayName(int32(a)), u)
			} else if dropped && len(uses[a]) > 0 && (!input || len(uses[a]) > 1) && writes(uses[a]) {
				why = "commands may be dropped or waits given up"
			}
		}
	}
	return why
}

func writes(us []access) bool {
	for _, u := range us {
		if u.write {
			return true
		}
	}
	return false
}

// races says whether a write and another use of an array may happen in either order.
func (o *order) races(us []access) string {
	if o.oneChain(us) {
		return ""
	}
	for i := range us {
		if !us[i].write {
			continue
		}
		for j := range us {
			if us[i].node != us[j].node && !o.before(us[i].node, us[j].node) && !o.before(us[j].node, us[i].node) {
				return "is used and written in no fixed order"
			}
		}
	}
	return ""
}

func (o *order) oneChain(us []access) bool {
	for i := range us {
		if o.chain[us[i].node] != o.chain[us[0].node] {
			return false
		}
	}
	return true
}

// hidden says whether a CPU read of a GPU write may come before a `coherent` on it.
func (o *order) hidden(us []access, coherent []int32) string {
	for _, w := range us {
		if !w.write || !w.gpu {
			continue
		}
		for _, r := range us {
			if r.write || r.gpu || !o.before(w.node, r.node) {
				continue
			}
			seen := false
			for _, c := range coherent {
				seen = seen || o.before(w.node, c) && o.before(c, r.node)
			}
			if !seen {
				return "is read by the CPU without a coherent in between"
			}
		}
	}
	return ""
}

// unread says whether some read comes before the write that it needs, given that all uses
// are ordered.
func (o *order) unread(us []access, input bool) string {
	for _, r := range us {
		if r.write || o.dead[r.node] {
			continue
		}
		n := uint32(0)
		if input {
			n = 1
		}
		for _, w := range us {
			if w.write && w.node != r.node && !o.dead[w.node] && o.before(w.node, r.node) {
				n++
			}
		}
		if n == 0 || r.version > 0 && n != r.version {
			return "is read before the write that the read needs"
		}
	}
	return ""
}
