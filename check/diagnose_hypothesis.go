package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Hypothesis is one explanation of hangs: what it says, and the machines on which it is
// tried.
type Hypothesis struct {
	Name  string
	About string
	Rows  []HypothesisRow
}

// A HypothesisRow is a machine, with what is changed beside it.
type HypothesisRow struct {
	Machine string // in results: a preset or words
	machine model.Machine
	twist   twist
}

// twist is what a hypothesis changes in the programs.
type twist uint8

const (
	noTwist  twist = iota
	absent         // peers never arrive at a collective
	foreign        // a kernel of another process spins, and holds a slot from the start
	recycled       // a counter starts with a value of an earlier use
)

func rowsOf(names ...string) []HypothesisRow {
	var rows []HypothesisRow
	for _, n := range names {
		p, _ := model.PresetNamed(n)
		rows = append(rows, HypothesisRow{Machine: n, machine: p.Machine})
	}
	return rows
}

// Hypotheses is the table of explanations. The one-letter names are those under which the
// reported stall was discussed; E1, E4 and E9 are assumptions about machines that were held
// responsible for other reports.
var Hypotheses = []Hypothesis{
	{"S", "a spinning buffer overtakes the updates before it and holds the only slot", rowsOf("overtake")},
	{"V1", "the CPU is sure to see a GPU store only when its buffer has finished", rowsOf("lag-0")},
	{"V2", "the CPU is sure to see a GPU store only when several later buffers have finished", rowsOf("lag-1", "lag-2", "lag-3", "lag-4", "lag-5")},
	{"R", "plain stores reach the CPU in another order: an older value lands last", rowsOf("unordered")},
	{"C", "the CPU re-reads a stale line: nothing makes it see a GPU store", rowsOf("unreliable-read")},
	{"K", "a command buffer was killed or dropped", append(rowsOf("kill-any"),
		HypothesisRow{Machine: "kill-any, then ignored", machine: model.Machine{Watchdog: model.WatchdogAny, AfterKill: model.Ignore}})},
	{"W", "an orphaned kernel of an earlier process spins and holds the device from the start", []HypothesisRow{{Machine: "one-slot, taken", machine: model.Machine{Slots: 1}, twist: foreign}}},
	{"P", "the peers are late or dead: a collective waits for them", []HypothesisRow{{Machine: "ideal, no peers", twist: absent}}},
	{"L", "the waits form a cycle by themselves", rowsOf("ideal")},
	{"Z", "a counter is used again and starts with an old value", []HypothesisRow{{Machine: "ideal, old value", twist: recycled}}},
	{"E1", "the device runs one command buffer at a time", rowsOf("exclusive-device")},
	{"E4", "a queue takes twelve unfinished buffers, then commit blocks", rowsOf("queue-limit-12")},
	{"E9", "nothing makes a running kernel see a CPU store", rowsOf("unreliable-write")},
}

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
	return t.Kind == sim.KindRun && y.AgentKindOf(t.Agent) == sim.Queue && y.Commands(t.Agent)[t.Cmd].Op == model.OpFail
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
	c := &a.y.Commands(t.Agent)[t.Cmd]
	return c.Op == model.OpWait && c.Object == counter && c.Value > a.goal.GPU
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
