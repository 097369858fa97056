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
			m, _ := meetingOf(p, &p.Streams[stream], c, 0, 1)
			at := slices.IndexFunc(all, func(o meeting) bool { return o.group == m.with })
			if at < 0 {
				at = len(all)
				all = append(all, meeting{group: m.with, stream: stream})
			}
			if all[at].stream != stream {
				why = "collectives on two CPU streams"
			}
			all[at].names = append(all[at].names, m.name)
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

// endsEarly reports whether the process of a schedule may end before its work does.
func endsEarly(p *model.Schedule) bool {
	early := false
	eachCommand(p, func(_ int, c *model.Command) { early = early || c.Op == model.OpDie })
	for _, st := range p.Steps() {
		early = early || st.Kind == model.StepExit
	}
	return early
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
