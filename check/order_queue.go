package check

import (
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

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
// counts as written by it where barriers are placed. Where buffer ends are fixed, tracking
// orders buffers, and nothing within one.
func (o *order) tracked(agent int32, fixed, overlap bool) {
	cs := o.f.commands[agent]
	write, touch, read := newLatest(cs, fixed), newLatest(cs, fixed), newLatest(cs, fixed)
	behind := func(m *latest, k, i int32) {
		j := m.before(k, i)
		if j < 0 {
			return
		}
		o.edge(o.node(agent, j), o.node(agent, i))
		if fixed && overlap && o.f.m.Dispatch == model.Serial {
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
		// No barrier keeps two uses of a fence apart, and a graph may end a buffer anywhere.
		apart := fixed || o.f.m.Dispatch == model.Serial
		if overlap && apart && o.f.m.Tracking == model.TrackAll && fenceOp(c.Op()) {
			behind(touch, c.Object(), i)
			touch.note(c.Object(), i)
		}
		for _, a := range reads {
			read.note(a, i)
		}
		for _, a := range writes {
			write.note(a, i)
		}
	}
}

// latest knows the last command of a queue, by array or fence, that did something; if apart,
// the last one of an earlier buffer.
type latest struct {
	cs    []sim.Command
	apart bool
	at    map[int32][2]int32 // the last one, and the last one of a buffer before that; -1 none
}

func newLatest(cs []sim.Command, apart bool) *latest {
	return &latest{cs, apart, map[int32][2]int32{}}
}

// before is the command that counts for command i, or -1.
func (l *latest) before(k, i int32) int32 {
	at, ok := l.at[k]
	switch {
	case !ok:
		return -1
	case l.apart && l.cs[at[0]].Buffer() == l.cs[i].Buffer():
		return at[1]
	}
	return at[0]
}

func (l *latest) note(k, i int32) { l.at[k] = [2]int32{i, l.before(k, i)} }

func fenceOp(op model.Op) bool {
	c := model.Command{Op: op}
	return c.Fence()
}
