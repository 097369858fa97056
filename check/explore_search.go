package check

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// found is what a search knows of one system.
type found struct {
	states, transitions, runs, stuckStates int64

	complete  bool // every state that the reductions leave was visited
	slept     bool // the reduction sleep was in force
	bound     string
	collision float64
	canFinish bool
	stuck     map[model.Counters]path // a shortest known one per counters
	violated  map[string]path         // by property, hang and orphan aside
	orphans   *path
}

// A path is a run as transitions taken.
type path struct {
	steps    []sim.Transition
	possible int
}

func newFound() *found {
	return &found{stuck: map[model.Counters]path{}, violated: map[string]path{}}
}

// search visits states depth first.
type search struct {
	f         *fragment
	y         *sim.System
	cfg       *Config
	ctx       context.Context
	out       *found
	seen      *visited
	stack     []frame
	states    []uint64 // of the frames, one after another
	lists     []sim.Transition
	scratch   sim.State
	canon     sim.State
	buf       []sim.Transition
	settle    func(s sim.State, t sim.Transition) bool
	order     []int32        // symmetry: ranks to sort
	mergeOnly bool           // only silent transitions stand for all
	listed    bool           // buf holds what is enabled in the scratch state
	wide      bool           // breadth first: violations go to bad
	bad       sim.Violations // breadth first: what the step violated
	memory    int64
	work      int  // agents looked at since the last look at the context
	cut       bool // the context is done
	started   time.Time
}

// frame is a state on the stack: its enabled transitions are lists[lo:hi], those before
// next have been taken.
type frame struct{ lo, hi, next int }

// searchSystem explores f's system depth first within the bounds of cfg. With all false it
// stops at the first stuck state.
func searchSystem(ctx context.Context, f *fragment, cfg *Config, all bool) *found {
	s := (&search{cfg: cfg, ctx: ctx, memory: cfg.memory()}).over(f)
	s.settle = s.settleOf(f)
	if cfg.reduces("symmetry") && f.symmetric() {
		for r := range f.y.Ranks() {
			s.order = append(s.order, int32(r))
		}
	}
	if all {
		s.runLevels(all)
		return s.out
	}
	budget := *cfg
	if budget.MaxStates == 0 || budget.MaxStates > deepStates {
		budget.MaxStates = deepStates
	}
	s.cfg = &budget
	s.run(all)
	s.out.collision = s.seen.collision()
	if len(s.out.stuck) > 0 || s.out.complete || s.out.bound != budget.bound() || cfg.MaxStates == budget.MaxStates {
		return s.out
	}
	// Nothing in the depth: go on in breadth, from the start, on all cores.
	deep := s.out
	s.cfg, s.out, s.seen = cfg, newFound(), newVisited(f.y.Words(), cfg.Exact)
	s.stack, s.states, s.lists, s.scratch = nil, nil, nil, f.y.Initial()
	s.runLevels(all)
	for p, at := range deep.violated {
		if _, ok := s.out.violated[p]; !ok {
			s.out.violated[p] = at
		}
	}
	return s.out
}

// over is a search of f's system as s is one of another.
func (s *search) over(f *fragment) *search {
	c := &search{f: f, y: f.y, cfg: s.cfg, ctx: s.ctx, memory: s.memory, out: newFound(), started: time.Now(),
		seen: newVisited(f.y.Words(), s.cfg.Exact), scratch: f.y.Initial(), canon: f.y.Initial()}
	c.mergeOnly = !c.persistent()
	return c
}

// persistent reports whether transitions that commute with all others are taken alone.
func (s *search) persistent() bool { return s.cfg.reduces("persistent") }

// settleOf is which transitions of f's system are taken alone; nil for none.
func (s *search) settleOf(f *fragment) func(sim.State, sim.Transition) bool {
	switch {
	case s.persistent():
		return f.safe
	case s.cfg.reduces("merge"):
		return f.silent
	}
	return nil
}

// overflowBound says that a queue had more unfinished buffers than a state has room for.
const overflowBound = "unfinished buffers of a queue"

// deepStates is how many states the depth-first search visits before the breadth-first one
// takes over: a hang is often deep, and a proof needs all states anyway.
const deepStates = 1 << 20

// bound is the word for the bound on states.
func (c *Config) bound() string { return maxStates(c.MaxStates) }

func maxStates(n int64) string { return fmt.Sprintf("max-states %d", n) }

// symmetric reports whether all ranks run one schedule and none names another.
func (f *fragment) symmetric() bool {
	y := f.y
	if y.Ranks() < 2 {
		return false
	}
	for _, p := range y.Programs {
		if p != y.Programs[0] {
			return false
		}
	}
	for a := range f.commands {
		for i := range f.commands[a] {
			if op := f.commands[a][i].Op(); op == model.OpSend || op == model.OpRecv || y.Remote(int32(a), int32(i)) {
				return false
			}
		}
	}
	return true
}

// normalise takes transitions that stand for all until none is enabled, noting what they
// violate. The state before t (or none) was normal.
func (s *search) normalise(st sim.State, t *sim.Transition) {
	s.listed = false
	if s.mergeOnly {
		if t == nil {
			for r := range s.y.Ranks() {
				s.mergeRank(st, int32(r))
			}
			return
		}
		if t.Kind == sim.KindVisible || s.y.AgentKindOf(t.Agent) == sim.CPUStream && t.Kind != sim.KindJoin {
			return // nothing was handed over or taken back
		}
		s.mergeRank(st, s.y.RankOf(t.Agent))
		if t.Kind == sim.KindJoin {
			s.mergeRank(st, s.y.RankOf(t.Peer))
		}
		return
	}
	for !s.late() {
		s.buf = s.y.Enabled(st, s.buf[:0])
		at := s.pick(st, s.buf)
		if at < 0 {
			s.listed = true
			return
		}
		s.apply(st, s.buf[at])
	}
}

// late reports whether the context is done. It looks now and then, after so much work as
// takes a millisecond or so. A state may then be left on the way to a normal one: the search
// ends, and it is no proof.
func (s *search) late() bool {
	if s.work += s.y.NumAgents(); s.work >= 1<<14 {
		s.work = 0
		s.cut = s.cut || s.ctx.Err() != nil
	}
	return s.cut
}

// mergeRank takes the silent transitions of one rank.
func (s *search) mergeRank(st sim.State, r int32) {
	for {
		s.buf = s.y.EnabledSilent(st, r, s.buf[:0])
		at := s.pick(st, s.buf)
		if at < 0 {
			return
		}
		s.apply(st, s.buf[at])
	}
}

// pick is the first transition that stands for all, or -1.
func (s *search) pick(st sim.State, ts []sim.Transition) int {
	if s.settle != nil {
		for i := range ts {
			if s.settle(st, ts[i]) {
				return i
			}
		}
	}
	return -1
}

// settled takes from st what stands for all, by take, until nothing does or goesOn says so.
func (s *search) settled(st sim.State, goesOn func() bool, take func(sim.Transition)) {
	var buf []sim.Transition
	for goesOn() {
		buf = s.y.Enabled(st, buf[:0])
		at := s.pick(st, buf)
		if at < 0 {
			return
		}
		take(buf[at])
	}
}

func (s *search) apply(st sim.State, t sim.Transition) {
	s.out.transitions++
	if v := s.y.Apply(st, t); v != 0 {
		if s.wide {
			s.bad |= v // a worker of a level notes it with the place
			return
		}
		s.violated(v, st)
	}
}

func (s *search) run(all bool) {
	s.normalise(s.scratch, nil)
	s.push()
	for len(s.stack) > 0 {
		top := &s.stack[len(s.stack)-1]
		if top.next == top.hi {
			s.lists = s.lists[:top.lo]
			s.stack = s.stack[:len(s.stack)-1]
			s.states = s.states[:len(s.stack)*s.y.Words()]
			continue
		}
		t := s.lists[top.next]
		top.next++
		sim.Copy(s.scratch, s.states[(len(s.stack)-1)*s.y.Words():])
		s.apply(s.scratch, t)
		s.normalise(s.scratch, &t)
		s.push()
		if len(s.out.stuck) > 0 && !all || s.out.bound == overflowBound {
			return
		}
		if (s.cut || s.out.states&0x3ff == 0) && s.stop() {
			return
		}
	}
	s.out.complete = s.out.bound == ""
}

// stop reports whether a bound is reached, and notes which.
func (s *search) stop() bool {
	if s.cfg.Progress != nil && s.out.states&0xffff == 0 {
		s.cfg.Progress(Progress{s.out.states, s.out.transitions, 0, int64(len(s.stack)), time.Since(s.started)})
	}
	switch {
	case s.out.bound != "":
	case s.cfg.MaxStates > 0 && s.out.states >= s.cfg.MaxStates:
		s.out.bound = s.cfg.bound()
	case s.ctx.Err() != nil:
		s.out.bound = boundOf(s.ctx)
	case s.seen.bytes()+int64(8*cap(s.states))+int64(40*cap(s.lists)) > s.memory:
		s.out.bound = "memory"
	}
	return s.out.bound != ""
}

// boundOf names why a context is done.
func boundOf(ctx context.Context) string {
	if context.Cause(ctx) == context.DeadlineExceeded {
		return "time"
	}
	return "interrupt"
}

// push puts the scratch state on the stack if it is new.
func (s *search) push() {
	key := s.scratch
	if s.order != nil {
		key = s.canonical(s.scratch)
	}
	if !s.seen.add(key) {
		return
	}
	s.out.states++
	if s.y.Overflow(s.scratch) {
		s.out.bound = overflowBound
		return
	}
	if s.cfg.MaxStates > 0 && s.out.states > s.cfg.MaxStates {
		s.out.bound = s.cfg.bound()
		return
	}
	if !s.listed {
		s.buf = s.y.Enabled(s.scratch, s.buf[:0])
	}
	s.states = append(s.states, s.scratch...)
	lo := len(s.lists)
	s.lists = append(s.lists, s.buf...)
	s.stack = append(s.stack, frame{lo, len(s.lists), lo})
	sure := slices.ContainsFunc(s.buf, func(t sim.Transition) bool { return !t.Possible })
	switch {
	case s.y.Final(s.scratch):
		s.out.canFinish = true
	case !sure:
		s.hang()
	}
}

// hang notes the stuck state on top of the stack.
func (s *search) hang() {
	s.out.stuckStates++
	st := s.scratch
	c := stuckCounters(s.y, st)
	if _, ok := s.out.stuck[c]; !ok {
		s.out.stuck[c] = s.path(st)
	}
	if s.y.Orphan(st) && s.out.orphans == nil {
		p := s.path(st)
		s.out.orphans = &p
	}
}

// violated notes the first path to each property of v: st is the state after the step.
func (s *search) violated(v sim.Violations, st sim.State) {
	for _, w := range v.Words() {
		if _, ok := s.out.violated[w]; !ok {
			s.out.violated[w] = s.path(st)
		}
	}
}

// path is the run to target: the transitions taken from each frame, with those between
// that stand for all, up to the first state that equals target.
func (s *search) path(target sim.State) path {
	var p path
	st := s.y.Initial()
	take := func(t sim.Transition) {
		p.steps = append(p.steps, t)
		p.possible += b2i(t.Possible && t.Kind == sim.KindVisible)
		s.y.Apply(st, t)
	}
	between := func(last bool) {
		s.settled(st, func() bool { return !last || !equal(st, target) }, take)
	}
	taken := 0
	for _, f := range s.stack {
		if f.next > f.lo {
			taken++
		}
	}
	n := 0
	between(taken == 0)
	for _, f := range s.stack {
		if f.next == f.lo {
			break
		}
		n++
		take(s.lists[f.next-1])
		between(n == taken)
	}
	return p
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// canonical is the least of the states that a permutation of identical ranks makes of st.
func (s *search) canonical(st sim.State) sim.State {
	y := s.y
	less := func(a, b int32) int {
		alo, ahi := y.RankWords(int(a))
		blo, _ := y.RankWords(int(b))
		for i := range ahi - alo {
			if st[alo+i] != st[blo+i] {
				if st[alo+i] < st[blo+i] {
					return -1
				}
				return 1
			}
		}
		return 0
	}
	slices.SortFunc(s.order, less)
	for i, r := range s.order {
		lo, hi := y.RankWords(int(r))
		dlo, _ := y.RankWords(i)
		copy(s.canon[dlo:], st[lo:hi])
	}
	return s.canon
}

// stuckCounters are the counters of the lowest rank that is stuck by itself: not final,
// and with no agent that waits for another rank.
func stuckCounters(y *sim.System, st sim.State) model.Counters {
	return y.Counters(st, stuckRank(y, st))
}

func stuckRank(y *sim.System, st sim.State) int {
	first := -1
	for r := range y.Ranks() {
		if y.RankFinal(st, r) {
			continue
		}
		if first < 0 {
			first = r
		}
		if !y.WaitsForPeer(st, r) {
			return r
		}
	}
	return max(first, 0)
}
