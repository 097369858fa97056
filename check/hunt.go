package check

import (
	"math/rand/v2"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A hunt is a list of ways to run a system that are likely to end in a hang if there is
// one: who moves first and who last, whether young buffers overtake old ones, and which
// single update is kept back as long as possible. Then come runs at random. A hang that a
// run ends in is a hang; that none does proves nothing.

// huntSteps bounds the transitions of a hunt in the large, huntRuns the random runs.
const (
	huntSteps = 1_000_000
	huntRuns  = 32
)

// hunt looks for a hang by running, and searches exhaustively if no run finds one.
func (e *exploration) hunt(u *unit) error {
	e.compile(u)
	first, most := newFound(), int64(huntSteps)
	if e.cfg.All {
		most /= 4 // what it finds counts only if the search does not end
	}
	u.found = first
	e.huntLazily(u)
	for _, by := range hunters(u, e.cfg.Seed) {
		if len(first.stuck) > 0 || e.ctx.Err() != nil || first.transitions > most {
			break
		}
		e.sampleRun(u, by)
	}
	u.read(Exhaustive)
	if len(first.stuck) > 0 && !e.cfg.All {
		first.runs = 1
		u.reason = join(u.reason, "a hang was found by running")
		return nil
	}
	if e.settled(u) && !e.cfg.All {
		return nil
	}
	e.exhaust(u)
	u.keep(first)
	return nil
}

// keep adds to what a search that met a bound found what runs had shown before.
func (u *unit) keep(first *found) {
	if u.found.complete {
		return
	}
	for p, at := range first.violated {
		if _, ok := u.found.violated[p]; !ok {
			u.found.violated[p] = at
			u.know(p, Violated, Exhaustive)
		}
	}
	for c, at := range first.stuck {
		if _, ok := u.found.stuck[c]; !ok {
			u.found.stuck[c] = at
			u.found.stuckStates++
			u.know("hang", Violated, Exhaustive)
		}
	}
	if u.found.orphans == nil && first.orphans != nil {
		u.found.orphans = first.orphans
		u.know("orphan", Violated, Exhaustive)
	}
}

// huntLazily makes the run of the laziest environment, at the cost of its steps.
func (e *exploration) huntLazily(u *unit) {
	y, f := u.sys, u.found
	r := runLazily(e.ctx, y)
	f.transitions += int64(len(r.moves))
	f.states += int64(len(r.moves))
	if y.Overflow(r.State()) { // what it did may be wrong
		u.overflowed = true
		return
	}
	f.canFinish = f.canFinish || y.Final(r.State())
	u.note(r)
}

// note keeps what a run showed.
func (u *unit) note(r *lazyRun) {
	y, f, s := u.sys, u.found, r.State()
	stuck := r.done && y.Stuck(s)
	if !stuck && r.violated == 0 {
		return
	}
	steps := r.steps(y, len(r.moves))
	for b, n := range r.first {
		f.violated[b.Words()[0]] = path{steps: steps[:n]}
	}
	if !stuck {
		return
	}
	f.stuckStates++
	f.stuck[stuckCounters(y, s)] = path{steps: steps}
	if y.Orphan(s) {
		f.orphans = &path{steps: steps}
	}
}

// settled reports whether what is known decides the verdict: no hang by a certificate, and
// some other property violated.
func (e *exploration) settled(u *unit) bool {
	if u.certified["hang"] != Holds {
		return false
	}
	for _, p := range Properties {
		if u.status[p] == Violated {
			return true
		}
	}
	return false
}

// hunters lists the runs of a hunt.
func hunters(u *unit, seed uint64) []sampler {
	y := u.sys
	var hs []sampler
	orders := [][]class{
		{mover, queued, arriving, streaming, giving, killing},
		{killing, giving, mover, queued, arriving, streaming},
		{queued, mover, streaming, arriving, giving, killing},
		{streaming, arriving, mover, queued, giving, killing},
		{mover, streaming, arriving, queued, giving, killing},
	}
	for _, order := range orders {
		for _, young := range []bool{true, false} {
			hs = append(hs, &eager{y: y, rank: ranked(order), young: young, agent: -1})
		}
	}
	for _, how := range []keeping{behindAll, beforeTasks, untilLast} {
		for a := range u.frag.commands {
			if y.AgentKindOf(int32(a)) != sim.Queue {
				continue
			}
			var updates []int32
			for i := range u.frag.commands[a] {
				if u.frag.commands[a][i].Op() == model.OpUpdate {
					updates = append(updates, int32(i))
				}
			}
			for k := len(updates) - 2; k >= 0; k-- { // the last need not wait for itself
				hs = append(hs, &eager{y: y, rank: ranked(orders[2]), how: how, agent: int32(a), cmd: updates[k], last: updates[len(updates)-1]})
			}
		}
	}
	for i := range uint64(huntRuns) {
		rng := rand.New(rand.NewPCG(seed, i))
		if i%2 == 0 {
			hs = append(hs, &walk{rng})
		} else {
			hs = append(hs, newPCT(y, rng, 3, 64*y.Words()))
		}
	}
	return hs
}

// class sorts transitions by who moves.
type class uint8

const (
	mover class = iota // main thread
	queued
	streaming
	arriving
	giving
	killing
)

func classOf(y *sim.System, t sim.Transition) class {
	switch t.Kind {
	case sim.KindVisible:
		return arriving
	case sim.KindKill:
		return killing
	case sim.KindGiveUp:
		return giving
	}
	switch y.AgentKindOf(t.Agent) {
	case sim.MainThread:
		return mover
	case sim.Queue:
		return queued
	}
	return streaming
}

// keeping is how long a run keeps one update back.
type keeping uint8

const (
	behindAll   keeping = iota // as long as anything else can move
	beforeTasks                // as long as anything but CPU streams can move
	untilLast                  // until the last update of its queue has run; then it goes before CPU streams
)

// eager always takes a transition of the first class in its order that has one; within a
// class the youngest (the last buffer, the last store) or the oldest. What would execute
// or deliver the update that it keeps back comes later.
type eager struct {
	y                *sim.System
	rank             [6]int
	young            bool
	how              keeping
	agent, cmd, last int32 // the update kept back; agent -1: none
}

func ranked(order []class) (rank [6]int) {
	for i, c := range order {
		rank[c] = i
	}
	return rank
}

func (e *eager) choose(s sim.State, enabled []sim.Transition) int {
	const back, slow = 16, 32
	due := e.agent >= 0 && e.how == untilLast && e.y.Executed(s, e.agent, e.last)
	best, at := 1<<30, 0
	for i, t := range enabled {
		c := classOf(e.y, t)
		r := e.rank[c]
		if e.agent >= 0 {
			if c == streaming && (e.how == beforeTasks || due) {
				r = slow
			}
			if e.y.Leads(s, t, e.agent, e.cmd) {
				r += back
				if due {
					r = -1
				}
			}
		}
		if r < best || r == best && e.young {
			best, at = r, i
		}
	}
	return at
}
