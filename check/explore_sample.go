package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/fencesim/fencesim/sim"
)

// A sampler chooses the transitions of one run. Two built alike choose alike.
type sampler interface {
	choose(s sim.State, enabled []sim.Transition) int
}

// sample runs a unit at random many times. An ok of it is no proof.
func (e *exploration) sample(u *unit) {
	runs := e.cfg.Runs
	if runs == 0 {
		runs = 10000
	}
	u.found = newFound()
	u.proofs = map[string]Proof{}
	u.cover = newCovering(u.sys)
	started := time.Now()
	longest := 0
	for i := range runs {
		rng := rand.New(rand.NewPCG(e.cfg.Seed, uint64(i)))
		steps := e.sampleRun(u, e.sampler(u, rng, longest))
		longest = max(longest, steps)
		u.found.runs++
		if e.ctx.Err() != nil {
			u.found.bound = boundOf(e.ctx)
			break
		}
		if e.cfg.Progress != nil && i&0xff == 0 {
			e.cfg.Progress(Progress{u.found.states, u.found.transitions, u.found.runs, 0, time.Since(started)})
		}
		if len(u.found.stuck) > 0 && !e.cfg.All {
			break
		}
	}
	if u.overflowed {
		u.found.bound = overflowBound
	}
	u.covered, u.cover = u.cover.coverage(u.frag), nil
	u.read(Sampled)
	if u.found.bound == "" {
		for _, p := range Properties {
			if u.status[p] == Unknown {
				u.know(p, Holds, Sampled)
			}
		}
	}
	u.reason = fmt.Sprintf("%d runs chosen by %s: no proof of what was not seen", u.found.runs, e.strategy())
	u.miss = e.miss(u, longest)
}

// doubt is the chance of having missed something at which bounds are stated.
const doubt = 0.05

// miss says what the runs are unlikely to have missed: whatever one run of the strategy
// shows with a large enough chance, for the runs are independent; and of pct a bug of the
// depth asked for, which each run finds with probability at least 1/(n·k^(d−1)) for n
// agents, k steps and depth d (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
func (e *exploration) miss(u *unit, longest int) string {
	d, runs := e.depth(), float64(u.found.runs)
	if e.cfg.Strategy != "pct" {
		return fmt.Sprintf("what one run in %.0f shows, or more often, was missed with a chance of at most %g", max(1, math.Floor(runs/-math.Log(doubt))), doubt)
	}
	n := float64(pctAgents(u.sys))
	p := 1 / (n * math.Pow(float64(max(longest, 1)), float64(d-1)))
	miss := math.Exp(runs * math.Log1p(-p))
	if miss > 0.99 {
		return fmt.Sprintf("no useful bound for bugs of depth %d (%d agents, %d steps): that takes about %.1g runs", d, int(n), longest, math.Log(doubt)/math.Log1p(-p))
	}
	return fmt.Sprintf("a bug of depth %d was missed with a chance of at most %.3g (%d agents, %d steps)", d, miss, int(n), longest)
}

func (e *exploration) depth() int {
	if e.cfg.Depth > 0 {
		return e.cfg.Depth
	}
	return 3
}

// sampleRun makes one run and notes how it ended; it returns its length.
func (e *exploration) sampleRun(u *unit, by sampler) int {
	y := u.sys
	s := y.Initial()
	var buf []sim.Transition
	var p path
	for {
		if len(p.steps)&0xff == 0xff && e.ctx.Err() != nil {
			return len(p.steps)
		}
		if y.Overflow(s) { // what comes may be wrong: the run counts for nothing
			u.overflowed = true
			return len(p.steps)
		}
		if y.Final(s) {
			u.found.canFinish = true
			return len(p.steps)
		}
		buf = y.Enabled(s, buf[:0])
		sure := false
		for _, t := range buf {
			sure = sure || !t.Possible
		}
		if !sure {
			u.found.stuckStates++
			c := stuckCounters(y, s)
			if old, ok := u.found.stuck[c]; !ok || len(p.steps) < len(old.steps) {
				u.found.stuck[c] = p
			}
			if y.Orphan(s) && u.found.orphans == nil {
				o := p
				u.found.orphans = &o
			}
			return len(p.steps)
		}
		t := buf[by.choose(s, buf)]
		if u.cover != nil {
			u.cover.before(s, t)
		}
		p.steps = append(p.steps, t)
		p.possible += b2i(t.Possible && t.Kind == sim.KindVisible)
		u.found.transitions++
		u.found.states++
		for _, w := range y.Apply(s, t).Words() {
			if _, ok := u.found.violated[w]; !ok {
				u.found.violated[w] = path{append([]sim.Transition(nil), p.steps...), p.possible}
			}
		}
		if u.cover != nil {
			u.cover.after(s, t)
		}
	}
}

// sampler is the strategy asked for.
func (e *exploration) sampler(u *unit, rng *rand.Rand, longest int) sampler {
	switch e.cfg.Strategy {
	case "pct":
		return newPCT(u.sys, rng, e.depth(), max(longest, u.sys.Words()))
	case "pos":
		return &pos{u.sys, rng, map[sim.Transition]float64{}}
	case "uniform":
		return &uniform{u.sys, rng, u.frag}
	}
	return &walk{rng}
}

// walk chooses uniformly among what is enabled.
type walk struct{ rng *rand.Rand }

func (w *walk) choose(_ sim.State, enabled []sim.Transition) int { return w.rng.IntN(len(enabled)) }

// actor numbers who moves: an agent, or the memory of a fence, or the watchdog.
func actor(y *sim.System, t sim.Transition) int {
	switch t.Kind {
	case sim.KindVisible:
		return y.NumAgents() + int(t.Agent)
	case sim.KindKill:
		return y.NumAgents() + y.NumFences()
	}
	return int(t.Agent)
}

func pctAgents(y *sim.System) int { return y.NumAgents() + y.NumFences() + 1 }

// pct gives each actor a random priority, always lets the highest move, and at d−1 random
// steps lowers the one that moves below all others (Burckhardt et al. 2010).
type pct struct {
	y        *sim.System
	priority []int
	change   map[int]int // step: new priority
	step     int
}

func newPCT(y *sim.System, rng *rand.Rand, depth, length int) *pct {
	n := pctAgents(y)
	p := &pct{y: y, priority: rng.Perm(n), change: map[int]int{}}
	for i := range p.priority {
		p.priority[i] += depth
	}
	for i := 1; i < depth; i++ {
		p.change[rng.IntN(length)] = i
	}
	return p
}

func (p *pct) choose(_ sim.State, enabled []sim.Transition) int {
	best := 0
	for i, t := range enabled {
		if p.priority[actor(p.y, t)] > p.priority[actor(p.y, enabled[best])] {
			best = i
		}
	}
	if to, ok := p.change[p.step]; ok {
		p.priority[actor(p.y, enabled[best])] = to
	}
	p.step++
	return best
}

// pos gives each enabled transition a random priority when it becomes enabled, takes the
// highest, and draws anew for those that conflict with it: same object or same actor
// (Yuan, Yang, Gu, CAV 2018).
type pos struct {
	y        *sim.System
	rng      *rand.Rand
	priority map[sim.Transition]float64
}

func (p *pos) choose(_ sim.State, enabled []sim.Transition) int {
	best, top := 0, -1.0
	for i, t := range enabled {
		v, ok := p.priority[t]
		if !ok {
			v = p.rng.Float64()
			p.priority[t] = v
		}
		if v > top {
			best, top = i, v
		}
	}
	taken := enabled[best]
	for _, t := range enabled {
		if t == taken || actor(p.y, t) == actor(p.y, taken) || p.y.Touches(t, taken) {
			delete(p.priority, t)
		}
	}
	return best
}

// uniform chooses among actors in proportion to the transitions that each still has, which
// a schedule knows exactly: without blocking every interleaving is then equally likely
// (Zhao et al., ASPLOS 2025).
type uniform struct {
	y   *sim.System
	rng *rand.Rand
	f   *fragment
}

func (u *uniform) choose(s sim.State, enabled []sim.Transition) int {
	weight := make([]int, len(enabled))
	total := 0
	for i, t := range enabled {
		weight[i] = 1
		if t.Kind != sim.KindVisible && t.Kind != sim.KindKill {
			weight[i] = max(1, u.y.Remaining(s, t.Agent))
		}
		total += weight[i]
	}
	n := u.rng.IntN(total)
	for i, w := range weight {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(enabled) - 1
}
