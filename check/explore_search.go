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
	bound     string
	collision float64
	canFinish bool
	orphan    bool
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
	f       *fragment
	y       *sim.System
	cfg     *Config
	ctx     context.Context
	out     *found
	seen    *visited
	stack   []frame
	states  []uint64 // of the frames, one after another
	lists   []sim.Transition
	scratch sim.State
	canon   sim.State
	buf     []sim.Transition
	settle  func(s sim.State, t sim.Transition) bool
	order   []int32 // symmetry: ranks to sort
	memory  int64
	started time.Time
}

// frame is a state on the stack: its enabled transitions are lists[lo:hi], those before
// next have been taken.
type frame struct{ lo, hi, next int }

// searchSystem explores f's system depth first within the bounds of cfg. With all false it
// stops at the first stuck state.
func searchSystem(ctx context.Context, f *fragment, cfg *Config, all bool) *found {
	s := &search{f: f, y: f.y, cfg: cfg, ctx: ctx, out: newFound(), started: time.Now(),
		seen: newVisited(f.y.Words(), cfg.Exact), scratch: f.y.Initial(), canon: f.y.Initial(), memory: cfg.memory()}
	switch {
	case cfg.reduces("persistent"):
		s.settle = f.safe
	case cfg.reduces("merge"):
		s.settle = f.silent
	default:
		s.settle = func(sim.State, sim.Transition) bool { return false }
	}
	if cfg.reduces("symmetry") && f.symmetric() {
		for r := range f.y.Ranks() {
			s.order = append(s.order, int32(r))
		}
	}
	s.run(all)
	s.out.collision = s.seen.collision()
	return s.out
}

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
			if c := &f.commands[a][i]; c.Op == model.OpSend || c.Op == model.OpRecv || y.Remote(int32(a), int32(i)) {
				return false
			}
		}
	}
	return true
}

// normalise takes transitions that stand for all until none is enabled, noting what they
// violate; it leaves the enabled transitions of the state that it reaches in s.buf.
func (s *search) normalise(st sim.State) {
	for {
		s.buf = s.y.Enabled(st, s.buf[:0])
		at := slices.IndexFunc(s.buf, func(t sim.Transition) bool { return s.settle(st, t) })
		if at < 0 {
			return
		}
		t := s.buf[at]
		s.out.transitions++
		if v := s.y.Apply(st, t); v != 0 {
			s.violated(v, st)
		}
	}
}

func (s *search) run(all bool) {
	s.normalise(s.scratch)
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
		s.out.transitions++
		if v := s.y.Apply(s.scratch, t); v != 0 {
			s.violated(v, s.scratch)
		}
		s.normalise(s.scratch)
		s.push()
		if len(s.out.stuck) > 0 && !all {
			return
		}
		if s.out.states&0x3ff == 0 && s.stop() {
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
	case s.cfg.MaxStates > 0 && s.out.states >= s.cfg.MaxStates:
		s.out.bound = fmt.Sprintf("max-states %d", s.cfg.MaxStates)
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
	if s.cfg.MaxStates > 0 && s.out.states > s.cfg.MaxStates {
		s.out.bound = fmt.Sprintf("max-states %d", s.cfg.MaxStates)
		return
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
	var buf []sim.Transition
	take := func(t sim.Transition) {
		p.steps = append(p.steps, t)
		p.possible += b2i(t.Possible)
		s.y.Apply(st, t)
	}
	between := func(last bool) {
		for {
			if last && equal(st, target) {
				return
			}
			buf = s.y.Enabled(st, buf[:0])
			at := slices.IndexFunc(buf, func(t sim.Transition) bool { return s.settle(st, t) })
			if at < 0 {
				return
			}
			take(buf[at])
		}
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
