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

// collectives lists the collectives of a schedule that has them on one CPU stream, ends with
// its work and shares nothing else with other ranks.
func collectives(p *model.Schedule) ([]string, string) {
	if endsEarly(p) {
		return nil, "a process that ends early"
	}
	ms, why := meetings(p)
	switch {
	case why != "":
		return nil, why
	case len(ms) == 0:
		return nil, ""
	case len(ms) > 1 && ms[0].stream != ms[1].stream:
		return nil, "collectives on two CPU streams"
	case len(ms) > 1:
		return nil, "two groups of collectives"
	}
	var seq []string
	for _, name := range ms[0].names {
		seq = append(seq, ms[0].group+" "+name)
	}
	return seq, ""
}
