package check

import (
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// sources is the stores to a fence, or the signals of an event, in the order of their
// commands.
type sources struct {
	agent      int32 // the only writer; -1 none, -2 several
	initial    uint64
	cmds       []int32
	reached    []uint64 // the largest value after each
	top, below uint64   // the two largest values that single ones reach
	best       int32    // the command that reaches the largest
	adds, sets bool     // some add to the value; some do not
}

func newSources(n int) []sources {
	s := make([]sources, n)
	for i := range s {
		s[i].agent = -1
	}
	return s
}

// add appends a command of an agent that stores value, or adds it.
func (s *sources) add(agent, cmd int32, value uint64, adds bool) {
	if s.agent == -1 {
		s.agent = agent
	} else if s.agent != agent {
		s.agent = -2
		return
	}
	last := s.initial
	if n := len(s.reached); n > 0 {
		last = s.reached[n-1]
	}
	if s.adds, s.sets = s.adds || adds, s.sets || !adds; adds {
		value += last
	}
	s.cmds, s.reached = append(s.cmds, cmd), append(s.reached, max(last, value))
	switch {
	case value > s.top || len(s.cmds) == 1:
		s.top, s.below, s.best = value, s.top, cmd
	default:
		s.below = max(s.below, value)
	}
}

// first is the command that must have run where the target was seen, or -1 if none is
// known to. Stores that run in the order of their commands reach it at the first that does;
// otherwise only a single store that does is known to be the one.
func (s *sources) first(target uint64, ordered bool) int32 {
	if target <= s.initial || s.agent < 0 {
		return -1
	}
	if !ordered {
		if target <= s.top && (len(s.cmds) == 1 || target > s.below) {
			return s.best
		}
		return -1
	}
	if i, _ := slices.BinarySearch(s.reached, target); i < len(s.cmds) {
		return s.cmds[i]
	}
	return -1
}

// sourcesOf collects the stores of every fence and the signals of every event.
func (f *fragment) sourcesOf() (stores, signals []sources) {
	stores, signals = newSources(len(f.gpuView)), newSources(len(f.event))
	for i := range stores {
		stores[i].initial = uint64(f.y.FenceInitial(int32(i)))
	}
	for a := range f.commands {
		for i := range f.commands[a] {
			switch c := &f.commands[a][i]; c.Op() {
			case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
				stores[c.Object()].add(int32(a), int32(i), uint64(c.Value()), c.Op() == model.OpAdd)
			case model.OpSignal:
				signals[c.Object()].add(int32(a), int32(i), uint64(c.Value()), false)
			}
		}
	}
	return stores, signals
}

// syncOrder puts each wait behind the update that it must have seen: the first of the
// fence's only writer that reaches the target. Likewise for events.
func (o *order) syncOrder() {
	f := o.f
	if f.from == nil {
		stores, signals := f.sourcesOf()
		f.from = &[2][]sources{stores, signals}
	}
	dropped := f.dropped()
	ordered := f.m.Buffers != model.Overlap && f.m.Dispatch != model.Concurrent
	for a := o.lo; a < o.hi; a++ {
		if dropped && f.y.AgentKindOf(a) == sim.Queue {
			continue
		}
		for i := range f.commands[a] {
			var s *sources
			switch c := &f.commands[a][i]; c.Op() {
			case model.OpWait:
				if f.stores[c.Object()] == "" && !c.Equal() && !c.Late() {
					s = &f.from[0][c.Object()]
				}
			case model.OpAwait:
				s = &f.from[1][c.Object()]
			}
			if s == nil || s.agent < o.lo || s.agent >= o.hi {
				continue
			}
			if s.adds && s.sets && f.m.GPUToCPU.Mode == model.VisUnordered && f.y.AgentKindOf(a) != sim.Queue {
				continue // an add may arrive behind a store that ran behind it, and go further
			}
			if k := s.first(uint64(f.commands[a][i].Value()), ordered); k >= 0 {
				o.edge(o.node(s.agent, k), o.node(a, int32(i)))
			}
		}
	}
}

// dropped reports whether commands of a queue may be skipped, so that what stands behind
// a wait on it need not have waited.
func (f *fragment) dropped() bool { return f.killed || f.spun || f.fails }
