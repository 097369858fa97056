package check

import (
	"fmt"
	"slices"

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
	why := ""
	eachCommand(p, func(stream int, c *model.Command) {
		switch {
		case why != "":
		case c.Op == model.OpSend || c.Op == model.OpRecv:
			why = "send and recv"
		case c.Fence() && c.Rank != model.OwnRank:
			why = "a fence of another rank"
		case c.Op == model.OpCollective && stream < 0:
			why = "a collective outside a CPU stream"
		case c.Op == model.OpCollective:
			group := p.Streams[stream].Name
			if c.Group != model.NoSym {
				group = p.Names.Of(c.Group)
			}
			at := slices.IndexFunc(all, func(m meeting) bool { return m.group == group })
			if at < 0 {
				at = len(all)
				all = append(all, meeting{group: group, stream: stream})
			}
			if all[at].stream != stream {
				why = "collectives on two CPU streams"
			}
			all[at].names = append(all[at].names, p.Names.Of(c.Name))
		}
	})
	if why != "" {
		return nil, why
	}
	return all, ""
}

// eachCommand calls f for every command of a schedule, with the CPU stream that has it; -1
// for those of others.
func eachCommand(p *model.Schedule, f func(stream int, c *model.Command)) {
	for i := range p.Queues {
		for j := range p.Queues[i].Commands {
			f(-1, &p.Queues[i].Commands[j])
		}
		for _, h := range p.Queues[i].OnFinish {
			for j := range h {
				f(-1, &h[j])
			}
		}
	}
	for _, st := range p.Steps() {
		if st.Command != nil {
			f(-1, st.Command)
		}
	}
	for i := range p.Streams {
		for j := range p.Streams[i].Tasks {
			f(i, &p.Streams[i].Tasks[j])
		}
	}
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
