package check

import (
	"fmt"
	"slices"
	"sort"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// access is one use of an array.
type access struct {
	node    int32
	write   bool
	gpu     bool
	version uint32
}

// data sets why uses of an array are not ordered, and why some read is not known to see
// what it must. An array is used by the agents of its rank alone, so a rank's own order
// does, unless it lacks what goes through other ranks: then the order of all is asked.
func (f *fragment) data() {
	y := f.y
	if y.NumArrays() == 0 {
		return
	}
	for r := range int32(y.Ranks()) {
		lo, hi := y.AgentsOf(r)
		if why := newOrder(f, lo, hi).data(); f.reads == "" {
			f.reads = why
		}
	}
	if f.reads == "" || y.Ranks() == 1 || !f.remote {
		return
	}
	if all := newOrder(f, 0, int32(y.NumAgents())); all.clock != nil {
		f.reads = all.data()
	}
}

// uses lists the accesses of each array, by array: those of the k-th are us[at[k]:at[k+1]],
// in the order of agents and commands. lo is the first array.
func (o *order) uses() (lo int32, at []int32, us []access, coherent map[int32][]int32) {
	f, y := o.f, o.f.y
	lo = int32(y.NumArrays())
	hi := int32(0)
	each := func(visit func(array int32, u access)) {
		for a := o.lo; a < o.hi; a++ {
			gpu := y.AgentKindOf(a) == sim.Queue
			for i := range f.commands[a] {
				c := &f.commands[a][i]
				n := o.node(a, int32(i))
				for _, r := range y.Reads(c) {
					visit(r.Array, access{node: n, gpu: gpu, version: r.Version})
				}
				for _, w := range y.Writes(c) {
					visit(w.Array, access{node: n, write: true, gpu: gpu})
				}
			}
		}
	}
	each(func(array int32, _ access) { lo, hi = min(lo, array), max(hi, array+1) })
	if hi <= lo {
		return 0, []int32{0}, nil, nil
	}
	at = make([]int32, hi-lo+1)
	each(func(array int32, _ access) { at[array-lo+1]++ })
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	us = make([]access, at[len(at)-1])
	next := append([]int32(nil), at...)
	each(func(array int32, u access) {
		us[next[array-lo]] = u
		next[array-lo]++
	})
	coherent = map[int32][]int32{}
	if f.m.Payload == model.PayloadCoherent {
		for a := o.lo; a < o.hi; a++ {
			for i := range f.commands[a] {
				if c := &f.commands[a][i]; c.Op() == model.OpCoherent {
					coherent[c.Object()] = append(coherent[c.Object()], o.node(a, int32(i)))
				}
			}
		}
	}
	return lo, at, us, coherent
}

// data looks at every array that the agents use, and returns why some read is not known to
// see what it must; "" if all do.
func (o *order) data() (why string) {
	f, y := o.f, o.f.y
	lo, at, us, coherent := o.uses()
	dropped := f.dropped()
	for k := range at[1:] {
		a, us := lo+int32(k), us[at[k]:at[k+1]]
		if o.clock == nil {
			f.array[a] = "is in a system too large to order"
			why = "the system is too large to order its reads"
			continue
		}
		input := y.Input(a)
		live := o.live(us)
		f.array[a] = o.races(live)
		if f.array[a] == "" && f.m.Payload == model.PayloadCoherent {
			f.array[a] = o.hidden(live, o.chained(coherent[a]))
		}
		switch {
		case why != "":
		case f.array[a] != "":
			why = fmt.Sprintf("array %s %s", y.ArrayName(a), f.array[a])
		default:
			if u := o.unread(live, input); u != "" {
				why = fmt.Sprintf("array %s %s", y.ArrayName(a), u)
			} else if dropped && len(us) > 0 && (!input || len(us) > 1) && writes(us) {
				why = "commands may be dropped or waits given up"
			}
		}
	}
	return why
}

func writes(us []access) bool {
	return slices.ContainsFunc(us, func(u access) bool { return u.write })
}

// live leaves out what never runs, and sorts by chain and position.
func (o *order) live(us []access) []access {
	if slices.ContainsFunc(us, func(u access) bool { return o.dead[u.node] }) {
		us = slices.DeleteFunc(slices.Clone(us), func(u access) bool { return o.dead[u.node] })
	}
	return us // agents come in order, and so do the chains of an agent and the commands of a chain
}

// chained leaves out of nodes what never runs and cuts the rest into chains.
func (o *order) chained(nodes []int32) [][]int32 {
	var out [][]int32
	for _, n := range nodes {
		if o.dead[n] {
			continue
		}
		if k := len(out); k > 0 && o.chain[out[k-1][0]] == o.chain[n] {
			out[k-1] = append(out[k-1], n)
		} else {
			out = append(out, []int32{n})
		}
	}
	return out
}

// upTo is how many of a chain's nodes, in order, are before n or n itself.
func (o *order) upTo(nodes []int32, n int32) int {
	k := o.known(n, o.chain[nodes[0]])
	return sort.Search(len(nodes), func(i int) bool { return o.pos[nodes[i]] > k })
}

// races says whether a write and another use of an array may happen in either order. Of a
// chain those up to some point are before a write; all others are behind it if the first
// of them is.
func (o *order) races(us []access) string {
	nodes := make([]int32, len(us))
	for i := range us {
		nodes[i] = us[i].node
	}
	chains := o.chained(nodes)
	if len(chains) <= 1 {
		return ""
	}
	for _, w := range us {
		if !w.write {
			continue
		}
		for _, c := range chains {
			if i := o.upTo(c, w.node); i < len(c) && c[i] != w.node && !o.before(w.node, c[i]) {
				return "is used and written in no fixed order"
			}
		}
	}
	return ""
}

// hidden says whether a CPU read of a GPU write may come before a `coherent` on it.
func (o *order) hidden(us []access, coherent [][]int32) string {
	for _, w := range us {
		if !w.write || !w.gpu {
			continue
		}
		var behind []int32 // of each chain the first coherent behind the write
		for _, c := range coherent {
			if i := sort.Search(len(c), func(i int) bool { return o.before(w.node, c[i]) }); i < len(c) {
				behind = append(behind, c[i])
			}
		}
		for _, r := range us {
			if r.write || r.gpu || !o.before(w.node, r.node) {
				continue
			}
			if !slices.ContainsFunc(behind, func(c int32) bool { return o.before(c, r.node) }) {
				return "is read by the CPU without a coherent in between"
			}
		}
	}
	return ""
}

// unread says whether some read comes before the write that it needs, given that all uses
// are ordered.
func (o *order) unread(us []access, input bool) string {
	var nodes []int32
	for _, w := range us {
		if w.write {
			nodes = append(nodes, w.node)
		}
	}
	chains := o.chained(nodes)
	for _, r := range us {
		if r.write {
			continue
		}
		n := b2i(input)
		for _, c := range chains {
			i := o.upTo(c, r.node)
			if i > 0 && c[i-1] == r.node {
				i-- // a command reads before it writes
			}
			n += i
		}
		if n == 0 || r.version > 0 && n != int(r.version) {
			return "is read before the write that the read needs"
		}
	}
	return ""
}
