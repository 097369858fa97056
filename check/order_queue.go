package check

import "github.com/fencesim/fencesim/model"

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
			for hi < n && cs[hi].Buffer() == cs[lo].Buffer() {
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
		end := (fixed || overlap) && i > 0 && cs[i].Buffer() != cs[i-1].Buffer()
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
		switch cs[i].Op() {
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
		if fixed && overlap && o.f.m.Dispatch == model.Serial && cs[j].Buffer() != cs[i].Buffer() {
			// The whole buffer of j finishes before that of i starts.
			last, first := j, i
			for int(last)+1 < len(cs) && cs[last+1].Buffer() == cs[j].Buffer() {
				last++
			}
			for first > 0 && cs[first-1].Buffer() == cs[i].Buffer() {
				first--
			}
			o.edge(o.node(agent, last), o.node(agent, first))
		}
	}
	for i := range cs {
		c, i := &cs[i], int32(i)
		var reads, writes []int32
		for _, r := range o.f.y.Reads(c) {
			reads = append(reads, r.Array)
		}
		for _, w := range o.f.y.Writes(c) {
			writes = append(writes, w.Array)
		}
		if c.Op() == model.OpCoherent {
			reads = []int32{c.Object()}
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
		if overlap && o.f.m.Tracking == model.TrackAll && fenceOp(c.Op()) {
			behind(touch, c.Object(), i)
			touch[c.Object()] = i
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
