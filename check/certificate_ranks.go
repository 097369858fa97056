package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// certifyTogether shows that ranks of graphs that meet on CPU streams do not hang: each has
// a certificate alone, where whatever meets another rank is passed as soon as it is
// reached, and the meetings can be passed in encode order.
//
// Let every rank do what it does one after the other in its encode order. If that comes to
// an end, it puts all commands of all ranks in one line, in which a meeting of several
// ranks has one place. In a stuck state take the first in line that is unfinished. All that
// its ranks encode before it has finished. So no main thread is blocked before it: in the
// throttle, too few tasks are active; it is encoded, and committed if it is in a buffer.
// If it is a meeting, its ranks stand at it. Else it is a command of one rank to which the
// certificate of that rank applies: encode order as it is; slack, for its CPU stream stands
// at a wait for an update that has run, and its queue is idle or stands at a wait behind
// that update for a task that has not run.
func (e *exploration) certifyTogether(u *unit) (why string) {
	m := e.machine
	switch {
	case m.SpinLimit > 0:
		return "a spin limit"
	case m.Watchdog != model.WatchdogOff:
		return "a watchdog"
	}
	lists := make([][]meet, len(u.programs))
	for r, p := range u.programs {
		if lists[r], why = meetsOf(p, r, len(u.programs)); why != "" {
			return why
		}
	}
	if why := meetInOrder(lists, m.Transport.Buffered); why != "" {
		return "in encode order " + why
	}
	done := map[*model.Schedule]bool{}
	for r, p := range u.programs {
		if done[p] {
			continue
		}
		done[p] = true
		own := &unit{status: map[string]Status{}, proofs: map[string]Proof{}}
		why := e.certify(own, passing(p))
		if own.status["hang"] != Holds {
			return join(fmt.Sprintf("rank %d alone has no certificate", r), why)
		}
		for _, prop := range Properties {
			if s := own.status[prop]; len(done) == 1 || s == Unknown {
				u.know(prop, s, own.proofs[prop])
			}
		}
		if own.slack != nil && (u.slack == nil || *own.slack < *u.slack) {
			u.slack = own.slack
		}
		u.reason = join(u.reason, own.reason)
	}
	u.apart = true
	u.reason = join(u.reason, "ranks can meet in encode order")
	return ""
}

// meetsOf lists what meets other ranks in a graph's schedule, in encode order.
func meetsOf(p *model.Schedule, rank, ranks int) (ms []meet, why string) {
	streams := map[meet]int{} // which stream has the meetings of a kind
	late := false
	encoded(p, func(gpu bool, c *model.Command) {
		late = late || c.Late
		if gpu && (c.Op == model.OpSend || c.Op == model.OpRecv || c.Op == model.OpCollective) {
			why = "ranks meet in buffers"
		}
	})
	switch {
	case !p.FromGraph:
		return nil, "an explicit schedule"
	case late:
		return nil, "the target of a wait grows"
	case why != "":
		return nil, why
	}
	at := make([]int, len(p.Streams))
	for _, st := range p.Main {
		if st.Kind != model.StepTask {
			continue
		}
		s := &p.Streams[st.Target]
		for ; at[st.Target] < int(st.N); at[st.Target]++ {
			m, meets := meetingOf(p, s, &s.Tasks[at[st.Target]], rank, ranks)
			if !meets {
				continue
			}
			kind := m
			kind.name = ""
			if on, ok := streams[kind]; ok && on != int(st.Target) {
				return nil, "several streams meet the same ranks"
			}
			streams[kind] = int(st.Target)
			ms = append(ms, m)
		}
	}
	return ms, ""
}
