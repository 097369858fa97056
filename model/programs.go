package model

import (
	"maps"
	"slices"
	"strconv"
)

// Programs gives the schedule of every rank; ranks that run the same one share a pointer.
// Graphs are lowered under discipline d, which explicit schedules ignore. A scenario that
// [Parse] returned gives no error; for others it is the *Error of [Scenario.Validate].
func (s *Scenario) Programs(d Discipline) ([]*Schedule, error) {
	c := new(checker)
	p := s.check(c)
	if c.first != nil {
		return nil, c.first
	}
	ranks := s.NumRanks()
	out := make([]*Schedule, ranks)
	switch {
	case s.Schedule != nil:
		for r := range out {
			out[r] = p.schedule.s
			if own := p.ranks[r]; own != nil {
				out[r] = own.s
			}
		}
	case s.Graph != nil:
		fill(out, LowerGraph(p.graph, d, s.Evaluator))
	case s.Generate.Kind == "pipeline":
		lower := func(r int) *Schedule { return LowerGraph(s.Generate.Graph(r, ranks), d, s.Evaluator) }
		out[0] = lower(0)
		if ranks > 2 {
			fill(out[1:ranks-1], lower(1))
		}
		if ranks > 1 {
			out[ranks-1] = lower(ranks - 1)
		}
	default:
		fill(out, LowerGraph(s.Generate.Graph(0, ranks), d, s.Evaluator))
	}
	return out, nil
}

func fill(out []*Schedule, s *Schedule) {
	for i := range out {
		out[i] = s
	}
}

// resolveSchedules resolves the common schedule and those of single ranks, and gives each
// the fences that commands of other ranks touch.
func (s *Scenario) resolveSchedules(c *checker) programs {
	ranks := s.NumRanks()
	p := programs{ranks: make(map[int]*scheduleResolver)}
	p.schedule = resolveSchedule(c, []any{"schedule"}, s.Schedule, ranks)
	for _, r := range slices.Sorted(maps.Keys(s.RankSchedules)) {
		if r < 0 || r >= ranks {
			c.fail([]any{"rank_schedules", keyOf(strconv.Itoa(r))}, "rank %d is outside 0 to %d", r, ranks-1)
			continue
		}
		if f := s.RankSchedules[r]; f != nil {
			p.ranks[r] = resolveSchedule(c, []any{"rank_schedules", r}, f, ranks)
		}
	}
	if c.first != nil {
		return p
	}
	p.link(c, ranks)
	return p
}

// at is what resolves the schedule of rank r.
func (p *programs) at(r int) *scheduleResolver {
	if own := p.ranks[r]; own != nil {
		return own
	}
	return p.schedule
}

// link adds to every rank's schedule the fences of it that others touch.
func (p *programs) link(c *checker, ranks int) {
	touch := func(target *scheduleResolver, f remoteFence) {
		name := target.s.Names.Intern(f.name)
		if target.fences[name] {
			return
		}
		if target.declared {
			c.fail(f.path, "undeclared fence %q of rank %s", shorten(f.name), f.rank)
			return
		}
		target.addFence(name)
	}
	for _, r := range slices.Sorted(maps.Keys(p.ranks)) {
		for _, f := range p.ranks[r].remote {
			touch(p.at(f.rank.Resolve(r, ranks)), f)
		}
	}
	if len(p.ranks) == ranks {
		return // no rank runs the common schedule
	}
	next, prev := p.neighbours(NextRank, ranks), p.neighbours(PrevRank, ranks)
	for _, f := range p.schedule.remote {
		targets := []*scheduleResolver{nil}
		switch f.rank {
		case NextRank:
			targets = next
		case PrevRank:
			targets = prev
		default:
			targets[0] = p.at(f.rank.Resolve(0, ranks))
		}
		for _, t := range targets {
			touch(t, f)
		}
	}
}

// neighbours are the schedules to which ref leads from ranks of the common schedule.
func (p *programs) neighbours(ref RankRef, ranks int) []*scheduleResolver {
	var out []*scheduleResolver
	common := false
	for r := range ranks {
		if p.ranks[r] != nil {
			continue
		}
		switch own := p.ranks[ref.Resolve(r, ranks)]; {
		case own != nil:
			out = append(out, own)
		case !common:
			common = true
			out = append(out, p.schedule)
		}
	}
	return out
}
