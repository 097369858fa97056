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
	for _, f := range p.schedule.remote {
		if f.rank > OwnRank {
			touch(p.at(f.rank.Resolve(0, ranks)), f)
			continue
		}
		touched := make(map[*scheduleResolver]bool)
		own := append(slices.Sorted(maps.Keys(p.ranks)), 0)
		for _, r := range own { // the common schedule's neighbours are itself and these
			if t := p.at(r); !touched[t] && p.neighbour(f.rank, r, ranks) {
				touched[t] = true
				touch(t, f)
			}
		}
		if !touched[p.schedule] && p.commonMeets(f.rank, ranks) {
			touch(p.schedule, f)
		}
	}
}

// neighbour reports whether rank r is what ref names for a rank of the common schedule.
func (p *programs) neighbour(ref RankRef, r, ranks int) bool {
	from := PrevRank
	if ref == PrevRank {
		from = NextRank
	}
	return p.ranks[from.Resolve(r, ranks)] == nil
}

// commonMeets reports whether ref leads from a rank of the common schedule to another.
func (p *programs) commonMeets(ref RankRef, ranks int) bool {
	for r := range ranks {
		if p.ranks[r] == nil && p.ranks[ref.Resolve(r, ranks)] == nil {
			return true
		}
	}
	return false
}
