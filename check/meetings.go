package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// A meeting is a group of collectives of one rank that belongs to one CPU stream.
type meeting struct {
	group  string
	stream int
	names  []string // of its collectives in their order
}

// meetings lists the groups of a schedule, or says why it meets other ranks in another way.
func meetings(p *model.Schedule) ([]meeting, string) {
	var all []meeting
	outside := func(c *model.Command) string {
		switch {
		case c.Op == model.OpSend || c.Op == model.OpRecv:
			return "send and recv"
		case c.Fence() && c.Rank != model.OwnRank:
			return "a fence of another rank"
		case c.Op == model.OpCollective:
			return "a collective outside a CPU stream"
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
		if st.Command != nil {
			if why := outside(st.Command); why != "" {
				return nil, why
			}
		}
	}
	for i := range p.Streams {
		for j := range p.Streams[i].Tasks {
			c := &p.Streams[i].Tasks[j]
			if c.Op != model.OpCollective {
				if why := outside(c); why != "" {
					return nil, why
				}
				continue
			}
			group := p.Streams[i].Name
			if c.Group != model.NoSym {
				group = p.Names.Of(c.Group)
			}
			at := 0
			for at < len(all) && all[at].group != group {
				at++
			}
			if at == len(all) {
				all = append(all, meeting{group: group, stream: i})
			}
			if all[at].stream != i {
				return nil, "collectives on two CPU streams"
			}
			all[at].names = append(all[at].names, p.Names.Of(c.Name))
		}
	}
	return all, ""
}

// mismatch says where collectives of one group differ by name at the same place; "" nowhere.
func mismatch(r int, a []meeting, o int, b []meeting) string {
	for _, m := range a {
		for _, n := range b {
			if m.group != n.group {
				continue
			}
			for i := range min(len(m.names), len(n.names)) {
				if m.names[i] != n.names[i] {
					return fmt.Sprintf("collective %d of group %s is %q on rank %d and %q on rank %d", i+1, m.group, m.names[i], r, n.names[i], o)
				}
			}
		}
	}
	return ""
}
