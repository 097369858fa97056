package check

import (
	"math/rand/v2"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// witnessRuns is how many runs aim at each combination of counters.
const witnessRuns = 12

// witness looks for a run to a stuck state that is as observed. It gives the merely
// possible transitions that it took, or -1 when it found none, which proves nothing.
func (x *examination) witness() int {
	y := x.system()
	for goal := range x.t.goals() {
		for i := range uint64(witnessRuns) {
			if x.ctx.Err() != nil {
				return -1
			}
			a := aim{y: y, goal: goal, rng: rand.New(rand.NewPCG(x.cfg.Seed, i)), how: int(i), foreign: x.row.twist == foreign}
			if s, possible, ok := a.run(); ok && s.Counters == goal && s.looks(x.o) {
				x.t.add(s, possible)
				return possible
			}
		}
	}
	return -1
}

// goals are the counters to aim at, in order.
func (t *tally) goals() func(func(model.Counters) bool) {
	var gs []model.Counters
	for g := range t.goal {
		gs = append(gs, g)
	}
	slices.SortFunc(gs, compareCounters)
	if len(gs) > 8 {
		gs = gs[:8]
	}
	return slices.Values(gs)
}

// aim is a strategy that keeps the three counters from passing a goal: what would carry one
// beyond is left until nothing else can be done. A buffer whose next command is such an
// update may be killed; of stores that arrive in any order the goal's arrives last.
type aim struct {
	y       *sim.System
	goal    model.Counters
	rng     *rand.Rand
	how     int // 0 first, 1 last, else at random
	foreign bool
}

// aimSteps bounds a run.
const aimSteps = 100_000

func (a *aim) run() (sight, int, bool) {
	y := a.y
	s, n := y.Initial(), y.Initial()
	counter := counterOf(y)
	var buf, free, late []sim.Transition
	possible, killed, taken := 0, false, !a.foreign
	for range aimSteps {
		buf = y.Enabled(s, buf[:0])
		if !slices.ContainsFunc(buf, func(t sim.Transition) bool { return !t.Possible }) {
			if y.Final(s) {
				return sight{}, 0, false
			}
			return sightOf(y, s, killed), possible, true
		}
		var t sim.Transition
		if !taken {
			i := foreignFirst(y, buf)
			if i < 0 {
				return sight{}, 0, false
			}
			t, taken = buf[i], buf[i].Kind == sim.KindTake
			y.Apply(s, t)
			continue
		}
		free, late = free[:0], late[:0]
		kill := -1
		for i, t := range buf {
			switch {
			case t.Kind == sim.KindKill:
				kill = i
			case t.Possible:
			case t.Kind == sim.KindVisible && t.Agent == counter:
				late = append(late, t)
			case t.Kind == sim.KindRun && y.AgentKindOf(t.Agent) == sim.CPUStream && a.passes(t, counter):
			default:
				sim.Copy(n, s)
				y.Apply(n, t)
				if c := y.Counters(n, 0); c.Scheduled <= a.goal.Scheduled && c.CPU <= a.goal.CPU && (c.GPU <= a.goal.GPU || t.Kind == sim.KindVisible) {
					free = append(free, t)
				}
			}
		}
		switch {
		case len(free) > 0:
			t = free[a.pick(len(free))]
		case len(late) > 0:
			t = late[0]
			for _, l := range late {
				if a.valueOf(s, n, l) != a.goal.GPU {
					t = l
					break
				}
			}
		case kill >= 0:
			t, killed = buf[kill], true
		default:
			return sight{}, 0, false
		}
		possible += b2i(t.Possible)
		y.Apply(s, t)
	}
	return sight{}, 0, false
}

// valueOf is the GPU counter behind t.
func (a *aim) valueOf(s, n sim.State, t sim.Transition) uint32 {
	sim.Copy(n, s)
	a.y.Apply(n, t)
	return a.y.Counters(n, 0).GPU
}

// passes reports whether t is a wait that could not pass if the counter were at the goal.
func (a *aim) passes(t sim.Transition, counter int32) bool {
	c := &a.y.Table(t.Agent)[t.Cmd]
	return c.Op() == model.OpWait && c.Object() == counter && c.Value() > a.goal.GPU
}

func (a *aim) pick(n int) int {
	switch a.how {
	case 0:
		return 0
	case 1:
		return n - 1
	}
	return a.rng.IntN(n)
}
