package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// Coverage says what the runs of a sample came across: a wait that never blocked and stores
// that never overtook each other are behaviour that the sample says nothing about.
type Coverage struct {
	Waits         int      `json:"waits"`
	Blocked       int      `json:"blocked"`
	NeverBlocked  []string `json:"never_blocked,omitempty"` // at most 20
	Stores        int      `json:"stores"`
	Overtook      int      `json:"overtook"`
	NeverOvertook []string `json:"never_overtook,omitempty"` // at most 20; only where stores may
}

// place is a command of an agent.
type place struct{ agent, cmd int32 }

// covering collects coverage while runs are made.
type covering struct {
	y                 *sim.System
	blocked, overtook map[place]bool
}

func newCovering(y *sim.System) *covering {
	return &covering{y, map[place]bool{}, map[place]bool{}}
}

// before notes what transition t, about to be taken in s, shows.
func (c *covering) before(s sim.State, t sim.Transition) {
	if c.y.Overtakes(s, t) {
		a, i := c.y.StoreOf(t)
		c.overtook[place{a, i}] = true
	}
}

// after notes who waits in s once t was taken.
func (c *covering) after(s sim.State, t sim.Transition) {
	if t.Kind == sim.KindVisible {
		return // an arrival starts no wait
	}
	c.y.WaitsUnmet(s, c.y.RankOf(t.Agent), func(a, i int32) { c.blocked[place{a, i}] = true })
}

// coverage sums up.
func (c *covering) coverage(f *fragment) *Coverage {
	const most = 20
	out := &Coverage{}
	unordered := f.m.GPUToCPU.Mode == model.VisUnordered
	for a := range f.commands {
		gpu := c.y.AgentKindOf(int32(a)) == sim.Queue
		for i := range f.commands[a] {
			at := place{int32(a), int32(i)}
			switch f.commands[a][i].Op() {
			case model.OpWait, model.OpPark, model.OpAwait:
				out.Waits++
				if c.blocked[at] {
					out.Blocked++
				} else if len(out.NeverBlocked) < most {
					out.NeverBlocked = append(out.NeverBlocked, c.text(at))
				}
			case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
				if !gpu || !unordered {
					continue
				}
				out.Stores++
				if c.overtook[at] {
					out.Overtook++
				} else if len(out.NeverOvertook) < most {
					out.NeverOvertook = append(out.NeverOvertook, c.text(at))
				}
			}
		}
	}
	return out
}

func (c *covering) text(p place) string {
	return fmt.Sprintf("%s: %s", c.y.AgentName(p.agent), c.y.CommandText(p.agent, p.cmd))
}

// advice turns what linear-time rules hint at into the result's list.
func advice(sc *model.Scenario, programs []*model.Schedule) []Advice {
	out := []Advice{}
	for _, f := range lint(sc, programs).Findings {
		if f.Level == "advice" {
			out = append(out, Advice{f.Rule, f.Where, f.Needs})
		}
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Where, b.Where)) })
	return out
}
