package check

import (
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// states is the space of a system's states.
type states struct{ *search }

// space is the space to search: a product where ranks meet only in collectives, and whole
// states otherwise.
func (s *search) space() space {
	if !s.cfg.whole {
		if p := newProduct(s); p != nil {
			s.out.slept = p.sleeps
			return p
		}
	}
	return &states{s.fresh()}
}

// fresh is a copy of s with buffers of its own, for a search in breadth.
func (s *search) fresh() *search {
	c := *s
	c.out = newFound()
	c.wide = true
	c.scratch, c.canon = s.y.Initial(), s.y.Initial()
	c.order = slices.Clone(s.order)
	c.buf, c.lists, c.stack, c.states = nil, nil, nil, nil
	return &c
}

func (p *states) words() int { return p.y.Words() }

func (p *states) begin(out *successors) {
	first := p.y.Initial()
	p.bad, p.out.transitions = 0, 0
	p.normalise(first, nil)
	out.states, out.bad, out.transitions = first, append(out.bad, p.bad), p.out.transitions
}

func (p *states) hire() explorer { return &states{p.fresh()} }

func (p *states) key(st []uint64) []uint64 {
	if p.order == nil {
		return st
	}
	return p.canonical(st)
}

// expand lists all successors of st. All are made first and hashed together.
func (p *states) expand(st []uint64, _ choice, out *successors) {
	p.lists = p.y.Enabled(st, p.lists[:0])
	out.final = p.y.Final(st)
	out.overflow = p.y.Overflow(st)
	before := p.out.transitions
	for i, t := range p.lists {
		out.sure = out.sure || !t.Possible
		at := len(out.states)
		out.states = append(out.states, st...)
		next := sim.State(out.states[at:])
		p.bad = 0
		p.apply(next, t)
		p.normalise(next, &p.lists[i])
		out.bad = append(out.bad, p.bad)
		out.choices = append(out.choices, choice(i))
		out.hashes = append(out.hashes, hash(p.key(next)))
	}
	out.transitions = p.out.transitions - before
}

func (p *states) about(st []uint64) (model.Counters, bool) {
	return stuckCounters(p.y, st), p.y.Orphan(st)
}

func (p *states) path(choices []choice, property string) path {
	var run path
	st := p.y.Initial()
	var buf []sim.Transition
	done := false
	take := func(t sim.Transition) {
		run.steps = append(run.steps, t)
		run.possible += b2i(t.Possible && t.Kind == sim.KindVisible)
		v := p.y.Apply(st, t)
		done = property != "" && slices.Contains(v.Words(), property)
	}
	between := func() { p.settled(st, func() bool { return !done }, take) }
	between()
	for _, c := range choices {
		if done {
			break
		}
		buf = p.y.Enabled(st, buf[:0])
		take(buf[c])
		between()
	}
	return run
}
