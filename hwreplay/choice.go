package hwreplay

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Choice is what one rank's main thread does at its throttle steps, imposed. Blocks
// holds the steps at which it finds too many active tasks, commits what is open and
// blocks, each with the number of counted tasks and buffers that had ended by then: it
// goes on when one more has. At every other throttle step before step Until it passes, as
// soon as the device has no more active tasks than the step allows; from there on it is free.
// Together with the size rule this fixes where every buffer ends that is committed before.
type Choice struct {
	Blocks map[int]int `json:"blocks,omitempty"`
	Until  int         `json:"until,omitempty"`
}

// imposed reports whether the choice covers a step.
func (c *Choice) imposed(step int) bool { return c != nil && step < c.Until }

// FastDevice is a strategy for runs to be replayed: the GPU and the CPU streams go before
// the main thread, stores arrive when it is guaranteed by buffers that have finished, and
// only when nothing else moves because the queue is idle. It takes no merely possible
// transition. On the reported workload it is the run in which the throttle cuts nothing
// before the first wait.
type FastDevice struct{}

// Choose implements [sim.Strategy].
func (FastDevice) Choose(y *sim.System, s sim.State, enabled []sim.Transition) int {
	best, rank := -1, 0
	for i, t := range enabled {
		if t.Possible {
			continue
		}
		r := 3
		switch {
		case t.Kind == sim.KindVisible && y.IdleOnly(s, t):
			r = 1
		case t.Kind != sim.KindVisible && y.AgentKindOf(t.Agent) == sim.MainThread:
			r = 2
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

// Impose makes the plan follow a run, given as a trace or as choices: its buffer ends, its
// main threads' choices, and its merely possible arrivals, which are made as soon as the
// store has executed. The run may be one of all ranks, or one of a single rank alone
// (t.Rank not negative), which every rank with the same schedule then follows. The error is a *sim.Divergence if
// the run is not one of the schedule.
func (p *Plan) Impose(t *sim.Trace) (sim.Run, error) {
	y, alone := p.System, t.Rank >= 0
	if alone {
		r := min(t.Rank, len(p.ranks)-1)
		y = sim.Compile([]*model.Schedule{p.ranks[r].program}, p.Machine, sim.Options{})
	}
	w := newWalk(y)
	run, err := t.Replay(y, w.each)
	if err != nil {
		return run, err
	}
	if have := y.Verdict(run.Last, run.Violated); have != t.Verdict {
		return run, &sim.Divergence{Step: len(t.Steps) + 1, Want: "verdict " + t.Verdict, Have: "verdict " + have}
	}
	if !alone {
		copy(p.Choices, w.choices)
		p.Early = w.early
		return run, nil
	}
	p.Early = map[int32]int{}
	leader := p.ranks[min(t.Rank, len(p.ranks)-1)].program
	for r := range p.Choices {
		if p.ranks[r].program == leader {
			p.Choices[r] = w.choices[0]
		}
	}
	for f := range p.fences {
		own := strings.TrimPrefix(p.fences[f].name, fmt.Sprintf("rank %d ", p.fences[f].rank))
		for g, n := range w.early {
			if p.ranks[p.fences[f].rank].program == leader && y.FenceName(g) == own {
				p.Early[int32(f)] = n
			}
		}
	}
	return run, nil
}

// walk reads the choices off a run.
type walk struct {
	y       *sim.System
	choices []*Choice
	ended   []int // by rank: counted buffers and tasks that have ended
	at      []int // by rank: throttle step tested last, not known yet whether it blocked; -1 none
	early   map[int32]int
}

func newWalk(y *sim.System) *walk {
	w := &walk{y: y, choices: make([]*Choice, y.Ranks()), ended: make([]int, y.Ranks()), at: make([]int, y.Ranks()), early: map[int32]int{}}
	for i := range w.choices {
		w.choices[i], w.at[i] = &Choice{Blocks: map[int]int{}}, -1
	}
	return w
}

func (w *walk) each(s sim.State, enabled []sim.Transition, choice int) {
	t := enabled[choice]
	if t.Kind == sim.KindVisible {
		if t.Possible {
			w.early[t.Agent]++
		}
		return
	}
	r := int(w.y.RankOf(t.Agent))
	if w.y.AgentKindOf(t.Agent) == sim.MainThread {
		if t.Kind == sim.KindStep && w.y.Step(t).Kind == model.StepThrottle && w.at[r] != int(t.Cmd) {
			w.choices[r].Until = int(t.Cmd) + 1
			if w.y.Contested(s, t) {
				w.at[r] = int(t.Cmd)
				w.choices[r].Blocks[int(t.Cmd)] = w.ended[r]
			}
		}
		return
	}
	for i := range w.ended {
		w.ended[i] += w.y.TasksEnded(s, t, int32(i))
	}
}
