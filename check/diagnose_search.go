package check

import (
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// searchStates bounds a search for one row where cfg has no bound.
const searchStates = 200_000

// search visits the states of the row's system in the order of how many merely possible
// transitions they need, and takes every stuck one up.
func (x *examination) search() (bool, string, error) {
	y := x.system()
	f := analyse(y)
	type node struct {
		s      sim.State
		killed bool
	}
	most := searchStates
	if x.cfg.MaxStates > 0 {
		most = int(x.cfg.MaxStates)
	}
	seen := map[string]bool{}
	levels := [][]node{{{s: y.Initial()}}}
	var buf, next []sim.Transition
	first := x.row.twist != foreign // the foreign kernel has its slot before anything else
	if !first {
		s := y.Initial()
		for taken := false; !taken; {
			buf = y.Enabled(s, buf[:0])
			i := foreignFirst(y, buf)
			if i < 0 {
				break
			}
			taken = buf[i].Kind == sim.KindTake
			y.Apply(s, buf[i])
		}
		levels[0][0].s = s
	}
	for cost := 0; cost < len(levels); cost++ {
		for len(levels[cost]) > 0 {
			n := levels[cost][len(levels[cost])-1]
			levels[cost] = levels[cost][:len(levels[cost])-1]
			for {
				buf = y.Enabled(n.s, buf[:0])
				i := slices.IndexFunc(buf, func(t sim.Transition) bool { return f.safe(n.s, t) })
				if i < 0 {
					break
				}
				y.Apply(n.s, buf[i])
			}
			key := fmt.Sprint(n.killed, n.s)
			if seen[key] {
				continue
			}
			if len(seen) >= most || x.ctx.Err() != nil {
				return false, fmt.Sprintf("a search of %d states, not finished", len(seen)), nil
			}
			seen[key] = true
			next = append(next[:0], buf...)
			sure := slices.ContainsFunc(next, func(t sim.Transition) bool { return !t.Possible })
			if !sure && !y.Final(n.s) {
				x.t.add(sightOf(y, n.s, n.killed), cost)
			}
			for _, t := range next {
				k := cost + b2i(t.Possible)
				for len(levels) <= k {
					levels = append(levels, nil)
				}
				s := n.s.Clone()
				y.Apply(s, t)
				levels[k] = append(levels[k], node{s, n.killed || t.Kind == sim.KindKill || failed(y, t)})
			}
		}
	}
	return true, fmt.Sprintf("a search of all %d states", len(seen)), nil
}

// failed reports whether t ends a buffer with an error.
func failed(y *sim.System, t sim.Transition) bool {
	return t.Kind == sim.KindRun && y.AgentKindOf(t.Agent) == sim.Queue && y.Table(t.Agent)[t.Cmd].Op() == model.OpFail
}

func foreignFirst(y *sim.System, ts []sim.Transition) int {
	for i, t := range ts {
		if t.Kind == sim.KindVisible || t.Kind == sim.KindKill {
			continue
		}
		if y.AgentName(t.Agent) == "queue foreign" {
			return i
		}
	}
	for i, t := range ts {
		if y.AgentKindOf(t.Agent) == sim.MainThread && (t.Kind == sim.KindStep && t.Cmd < 2) {
			return i
		}
	}
	return -1
}
