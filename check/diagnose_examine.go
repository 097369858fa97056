package check

import (
	"context"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// examination tries one row on one observation.
type examination struct {
	ctx context.Context
	sc  *model.Scenario
	cfg *Config
	h   *Hypothesis
	row *HypothesisRow
	o   *Observation

	programs []*model.Schedule
	sys      *sim.System // of the row, once it is needed
	t        *tally
}

func (x *examination) explain() (Explanation, error) {
	e := Explanation{Hypothesis: x.h.Name, Machine: x.row.Machine, About: x.h.About, Predicts: map[string][]string{}}
	programs, err := x.sc.Programs(x.sc.Effective())
	if err != nil {
		return e, err
	}
	if len(programs) > 1 && decompose(programs) == "" {
		programs = programs[:1]
	}
	x.programs, x.t = programs, newTally(x.o)
	complete, why, err := x.look()
	if err != nil {
		return e, err
	}
	e.Why, e.Complete = why, complete
	if o := x.o; !complete && !x.t.matched && o.Scheduled != nil && o.GPU != nil && o.CPU != nil {
		x.t.goal[model.Counters{Scheduled: *o.Scheduled, GPU: *o.GPU, CPU: *o.CPU}] = true
		x.witness() // it adds what it finds
	}
	switch {
	case x.t.matched && (x.t.spread() || !complete):
		if x.t.luck < 0 {
			if x.t.luck = x.witness(); x.t.luck >= 0 {
				e.Why += "; a run gets there"
			} else {
				e.Why += "; no run was found that gets there"
			}
		}
		switch {
		case x.t.luck == 0:
			e.Reaches = Forced
		case x.t.luck > 0:
			e.Reaches = Luck
		}
		e.Predicts = x.t.predictions()
	case complete:
		e.Reaches = No
	}
	return e, nil
}

// look fills the tally. complete says that every stuck state is in it, or that none is like
// what was observed.
func (x *examination) look() (complete bool, why string, err error) {
	p, m := x.programs[0], x.row.machine.Normal()
	graph := p.FromGraph && len(x.programs) == 1 && evaluatorFragment(p, model.Machine{}.Normal()) == ""
	if !graph {
		return x.search()
	}
	// One queue in order runs one command at a time: a slot for it is always free, and the
	// device is its own.
	if m.Buffers != model.Overlap && x.row.twist != foreign {
		m.Slots, m.Device = 0, model.Shared
	}
	if x.row.twist == noTwist || x.row.twist == recycled {
		if certifyOrder(p, m) == "" {
			why := "every wait refers to an update encoded before it: no run hangs"
			if x.row.twist == recycled {
				why += ", whatever value a counter starts with"
			}
			return true, why, nil
		}
	}
	switch {
	case x.row.twist == recycled:
		return x.search()
	case x.row.twist == noTwist && evaluatorFragment(p, m) == "":
		return x.evaluator(m, false)
	case m.GPUToCPU.Mode == model.VisUnordered:
		m.GPUToCPU.Mode = model.VisUnreliable
		return x.evaluator(m, true)
	}
	newPositions(p, x).enumerate(m)
	return true, "the positions of main thread, queue and stream that fit each other in a stuck state", nil
}

// evaluator takes over the stuck states of the evaluator's own search, all of them. With
// reordered the machine stands for one whose stores arrive each by itself: the agents get
// to the same positions, for what lets a wait pass has been executed in both, and in the
// end the CPU sees the store that came last, which may be any.
func (x *examination) evaluator(m model.Machine, reordered bool) (bool, string, error) {
	p := x.programs[0]
	y := newEvaluatorSystem(p, m, levelWindows)
	g, bound := y.search(x.ctx, searchBounds{states: x.cfg.MaxStates, memory: x.cfg.memory()})
	c := y.counters()
	value := func(k int32) uint32 {
		if k == 0 || !y.late {
			return 0
		}
		return y.cmds[y.marks[k-1]].Value
	}
	var s evaluatorState
	for _, st := range g.stops {
		s.read(g.state(st.id))
		if !x.t.wants(c.scheduled[s.m]) {
			continue
		}
		si := sight{main: "end", stream: "done", device: "busy", fault: "no", executed: c.gpu[s.q]}
		if int(s.m) < len(y.main) {
			si.main = mainLabel(p, &y.main[s.m])
		}
		if s.q == s.start {
			si.device = "idle"
		}
		waits := s.p < y.enq[s.m]
		if waits {
			si.stream = "wait"
		}
		si.later = si.executed
		if !reordered {
			for v := st.low; v <= st.high; v++ {
				si.Counters = c.at(y, &s, v)
				x.t.add(si, int(g.cost[st.id]+v-st.low))
			}
			continue
		}
		executed := y.before[s.q]
		for v := min(1, executed); v <= executed; v++ {
			if waits && y.open[s.p] && v >= y.target[s.p] {
				break
			}
			si.Counters = c.at(y, &s, v)
			si.later = value(v)
			x.t.add(si, -1)
		}
	}
	if bound != "" {
		return false, "the search over where buffers end reached the bound " + bound, nil
	}
	return true, "the search over where buffers end, exhaustive", nil
}

// system is the row's system.
func (x *examination) system() *sim.System {
	if x.sys == nil {
		x.sys = sim.Compile(x.setup(), x.row.machine, sim.Options{})
	}
	return x.sys
}

// setup gives what is run for the row.
func (x *examination) setup() []*model.Schedule {
	switch x.row.twist {
	case absent:
		return append(slices.Clone(x.programs), &model.Schedule{})
	case foreign:
		out := slices.Clone(x.programs)
		out[0] = withForeign(out[0])
		return out
	case recycled:
		p := *x.programs[0]
		p.Fences = slices.Clone(p.Fences)
		for i := range p.Fences {
			p.Fences[i].Initial += 8
		}
		out := slices.Clone(x.programs)
		out[0] = &p
		return out
	}
	return x.programs
}

// withForeign adds a queue whose only buffer spins for ever; it is committed first.
func withForeign(p *model.Schedule) *model.Schedule {
	c := *p
	name := c.Names.Intern("foreign.counter")
	c.Fences = append(slices.Clone(p.Fences), model.Fence{Name: name})
	wait := model.Command{Op: model.OpWait, Name: name, Group: model.NoSym, For: model.NoSym, Value: 1}
	q := model.Queue{Name: "foreign", Commands: []model.Command{wait}}
	at := int32(len(p.Queues))
	c.Queues = slices.Clone(p.Queues)
	steps := []model.Step{{Kind: model.StepCommit, Queue: true, Target: at, Array: model.NoSym}}
	if p.FromGraph {
		q.Forced, q.Section = []int32{model.NeverForced, model.NeverForced}, []int32{model.NeverForced, model.NeverForced}
		steps = []model.Step{{Kind: model.StepUpdate, Target: at, N: 1, Array: model.NoSym}, {Kind: model.StepFlush, Target: at, Array: model.NoSym}}
		for i := range c.Queues {
			c.Queues[i].FirstUse += len(steps)
		}
	} else {
		q.Ends = []int{1}
	}
	c.Queues = append(c.Queues, q)
	c.Main = append(steps, p.Steps()...)
	return &c
}
