package check

import "github.com/fencesim/fencesim/model"

// meetAlone says why the ranks do not meet on one CPU stream each and come to an end of
// their meetings; "" if they do, and share nothing else.
//
// Then the ranks together hang only if one rank alone does, where whatever meets another
// rank is passed as soon as it is reached. A rank's part of a joint run is a run of that
// rank alone, since passing late is only its stream being slow. In a joint stuck state a
// rank that is not stuck alone is final or stands at a meeting, and one that has meetings
// before it is not final. Take the first meeting, in an order in which they all can be
// passed, that has not been: its ranks have passed all meetings before it, so all of them
// stand at it, and it is enabled.
//
// Conversely, drive a rank into the state in which it is stuck alone: either the others
// come to the meetings that it passes on the way, or they stop before, for good.
func meetAlone(programs []*model.Schedule, m model.Machine) string {
	n := len(programs)
	lists := make([][]meet, n)
	for r, p := range programs {
		with := -1
		shared := ""
		eachCommand(p, func(stream int, c *model.Command) {
			switch {
			case shared != "":
			case c.Fence() && c.Rank != model.OwnRank:
				shared = "a fence of another rank"
			case c.Op != model.OpCollective && c.Op != model.OpSend && c.Op != model.OpRecv:
			case stream < 0:
				shared = "ranks meet outside CPU streams"
			case with >= 0 && with != stream:
				shared = "ranks meet on two CPU streams"
			default:
				with = stream
			}
		})
		switch {
		case endsEarly(p):
			return "a process that ends early"
		case shared != "":
			return shared
		}
		if with < 0 {
			continue
		}
		s := &p.Streams[with]
		for i := range s.Tasks {
			if x, meets := meetingOf(p, s, &s.Tasks[i], r, n); meets {
				lists[r] = append(lists[r], x)
			}
		}
	}
	return meetInOrder(lists, m.Transport.Buffered)
}

// passing is p with sends and receives that wait for nobody.
func passing(p *model.Schedule) *model.Schedule {
	q := *p
	q.Streams = append([]model.Stream(nil), p.Streams...)
	for i := range q.Streams {
		s := &q.Streams[i]
		s.Tasks = append([]model.Command(nil), s.Tasks...)
		for j := range s.Tasks {
			if c := &s.Tasks[j]; c.Op == model.OpSend || c.Op == model.OpRecv {
				c.Op, c.Rank = model.OpKernel, model.OwnRank
			}
		}
	}
	return &q
}

// autoTogether decides ranks that cannot be decided one by one by their schedules alone.
func (e *exploration) autoTogether(u *unit) error {
	u.found = newFound()
	no := e.certifyTogether(u)
	if no == "" {
		u.found.canFinish = true
		for _, prop := range Properties {
			if u.status[prop] == Unknown {
				return e.huntBeside(u)
			}
		}
		return nil
	}
	u.status, u.proofs, u.reason, u.slack = map[string]Status{}, map[string]Proof{}, "", nil
	u.reason = join("no certificate: "+no, "ranks together")
	if held, err := e.eachAlone(u); err != nil || held {
		return err
	}
	return e.hunt(u)
}

// eachAlone decides every rank by itself, where the ranks meet so that this does, and
// reports whether all properties hold: then they do together. If one is stuck alone it is
// left to a search of all ranks to show how.
func (e *exploration) eachAlone(u *unit) (held bool, err error) {
	if len(u.programs) < 2 || e.cfg.All || !e.cfg.reduces("ranks") {
		return false, nil
	}
	if meetAlone(u.programs, e.machine) != "" {
		return false, nil
	}
	all := newFound()
	proofs := map[string]Proof{}
	done := map[*model.Schedule]bool{}
	reasons := ""
	for r, p := range u.programs {
		if done[p] {
			continue
		}
		done[p] = true
		own := &unit{rank: r, programs: []*model.Schedule{passing(p)}}
		if err := e.decideRoomy(own); err != nil {
			return false, err
		}
		for _, prop := range Properties {
			if own.status[prop] != Holds {
				return false, nil
			}
			if q, ok := proofs[prop]; ok {
				proofs[prop] = weaker(q, own.proofs[prop])
			} else {
				proofs[prop] = own.proofs[prop]
			}
		}
		all.states += own.found.states
		all.transitions += own.found.transitions
		all.runs += own.found.runs
		all.collision += own.found.collision
		reasons = join(reasons, own.reason)
	}
	u.found = all
	u.found.canFinish = true
	for _, prop := range Properties {
		u.know(prop, Holds, proofs[prop])
	}
	u.apart = true
	u.reason = join("ranks meet on one CPU stream each, in an order that ends: each is decided alone", reasons)
	return true, nil
}
