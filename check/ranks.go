package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// decompose says why ranks cannot be decided one by one; "" if they can: they meet only in
// collectives, every rank runs the same sequence of them on one CPU stream, and nothing
// else is shared.
//
// Then R ranks together hang exactly when one rank hangs alone, where a collective is
// passed as soon as it is reached. A rank's part of a joint run is a run of that rank
// alone, since leaving late is only its stream being slow. In a joint stuck state take a
// rank that has arrived at the fewest collectives: it is not inside one, for all others
// would have arrived there too and it could leave; so it is stuck alone, or final, and
// then nobody is held in a collective and any rank that is not final is stuck alone.
// Conversely drive a rank into the state in which it is stuck alone: either the others
// reach the collectives that it passes on the way, or one of them gets stuck alone first.
func decompose(programs []*model.Schedule) string {
	if len(programs) < 2 {
		return ""
	}
	var first []string
	for r, p := range programs {
		if r > 0 && p == programs[0] {
			continue
		}
		seq, why := collectives(p)
		if why != "" {
			return why
		}
		if r == 0 {
			first = seq
			continue
		}
		if len(seq) != len(first) {
			return fmt.Sprintf("rank %d has %d collectives, rank 0 has %d", r, len(seq), len(first))
		}
		for i := range seq {
			if seq[i] != first[i] {
				return fmt.Sprintf("collective %d is %q on rank %d and %q on rank 0", i+1, seq[i], r, first[i])
			}
		}
	}
	return ""
}

// collectives lists the collectives of a schedule that has them on one CPU stream and
// shares nothing else with other ranks.
func collectives(p *model.Schedule) ([]string, string) {
	var seq []string
	group := ""
	outside := func(c *model.Command) string {
		switch {
		case c.Op == model.OpSend || c.Op == model.OpRecv:
			return "send and recv"
		case c.Fence() && c.Rank != model.OwnRank:
			return "a fence of another rank"
		case c.Op == model.OpCollective:
			return "a collective outside a CPU stream"
		case c.Op == model.OpDie:
			return "a process that ends early"
		}
		return ""
	}
	for i := range p.Queues {
		for j := range p.Queues[i].Commands {
			if why := outside(&p.Queues[i].Commands[j]); why != "" {
				return nil, why
			}
		}
		for _, h := range p.Queues[i].OnFinish {
			for j := range h {
				if why := outside(&h[j]); why != "" {
					return nil, why
				}
			}
		}
	}
	for _, st := range p.Steps() {
		if st.Kind == model.StepExit {
			return nil, "a process that ends early"
		}
		if st.Command != nil {
			if why := outside(st.Command); why != "" {
				return nil, why
			}
		}
	}
	with := -1
	for i := range p.Streams {
		for j := range p.Streams[i].Tasks {
			c := &p.Streams[i].Tasks[j]
			if c.Op != model.OpCollective {
				if why := outside(c); why != "" {
					return nil, why
				}
				continue
			}
			if with >= 0 && with != i {
				return nil, "collectives on two CPU streams"
			}
			with = i
			name := p.Streams[i].Name
			if c.Group != model.NoSym {
				name = p.Names.Of(c.Group)
			}
			if group != "" && name != group {
				return nil, "two groups of collectives"
			}
			group = name
			seq = append(seq, group+" "+p.Names.Of(c.Name))
		}
	}
	return seq, ""
}
