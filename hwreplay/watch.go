package hwreplay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// absence is how long the watching thread may be away between two looks. What is above it
// does not count as time without progress: the machine may have stood still.
const absence = 50 * time.Millisecond

// watch looks after a run until it has finished or hangs: it notes what buffers have
// done, makes the arrivals that are due, keeps the beat, kills what the machine's
// watchdog kills, and declares a hang after Patience without progress.
func (x *run) watch() *Outcome {
	start := time.Now()
	last, looked, progress, busy := start, start, int64(-1), 0
	for tick := 0; ; tick++ {
		x.beat()
		done := x.survey()
		if done || x.stop.Load() || x.stopped.Load() {
			return &Outcome{Finished: done, Elapsed: time.Since(start)}
		}
		now := time.Now()
		if gap := now.Sub(looked); gap > absence {
			last = last.Add(gap - absence)
		}
		looked = now
		if p := x.progress(); p != progress {
			progress, last, busy = p, now, 0
			for _, a := range x.agents {
				a.seen = a.polls.Load()
			}
		}
		still := now.Sub(last)
		x.publish(still >= x.config.Quiet && x.still())
		if x.plan.Machine.Watchdog != model.WatchdogOff {
			x.killSpinning()
		}
		if still >= x.config.Patience && (x.looked() || still >= 10*x.config.Patience) && !x.endsItself() {
			return &Outcome{Elapsed: time.Since(start)}
		}
		switch busy++; {
		case busy < 200:
			time.Sleep(20 * time.Microsecond)
		default:
			time.Sleep(500 * time.Microsecond)
		}
	}
}

// beat tells the buffers on the device that this process lives.
func (x *run) beat() {
	now := x.now()
	if now-x.pulsed < int64(5*time.Millisecond) {
		return
	}
	x.pulsed = now
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				if b.submitted && !b.finished {
					x.m.control(b.batch.Control).Pulse()
				}
			}
		}
		rk.mu.Unlock()
	}
}

// survey notes finished buffers and executed stores, and reports whether the run has
// come to its end.
func (x *run) survey() bool {
	done := x.left.Load() == 0
	begun := x.now() - x.begun
	for _, rk := range x.ranks {
		rk.mu.Lock()
		x.poll(rk)
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				x.stores(q, b)
				done = done && b.finished
			}
			done = done && (rk.dead.Load() || q.open == len(q.info))
		}
		rk.mu.Unlock()
	}
	if done = done && x.left.Load() == 0; done {
		begun = math.MaxInt64
	}
	x.issueBefore(begun)
	x.issued.Store(begun)
	return done
}

// issueBefore puts on their way, in the order in which they were executed, the stores
// that were seen and executed before a time: of a later one it is not known yet whether
// another came before it.
func (x *run) issueBefore(t int64) {
	slices.SortStableFunc(x.fresh, func(a, b store) int { return cmp.Compare(a.executed, b.executed) })
	n := 0
	for n < len(x.fresh) && x.fresh[n].executed < t {
		x.issue(x.fresh[n])
		n++
	}
	x.fresh = append(x.fresh[:0], x.fresh[n:]...)
}

// stores puts the stores on their way that buffer b has executed since the last look.
func (x *run) stores(q *runQueue, b *buffer) {
	if b.issued == nil || !b.submitted {
		return
	}
	whole := b.finished
	results := x.layout.queues[q.agent].results
	for c := b.lo; c < b.hi; c++ {
		switch q.info[c].Op {
		case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
		case model.OpWait:
			if !b.issued[c-b.lo] && x.m.result(results[c]).Load().Outcome == kernels.Passed {
				b.issued[c-b.lo] = true
				x.consume(&q.info[c])
			}
			continue
		default:
			continue
		}
		if b.issued[c-b.lo] {
			continue
		}
		res := x.m.result(results[c]).Load()
		if !res.Outcome.Ended() {
			continue
		}
		b.issued[c-b.lo] = true
		skipped := q.info[c].Store == model.StoreGuarded && res.Detail == 0 && q.info[c].Op != model.OpAdd && q.info[c].Op != model.OpReset
		if res.Outcome == kernels.Passed && !skipped {
			rank := x.plan.agents[q.agent].rank
			at := int64(0) // without a clock at once
			if res.End != 0 {
				at = x.gpuTime(rank, res.End) + x.offset[rank].doubt
			}
			x.fresh = append(x.fresh, store{queue: q, buffer: b, cmd: c, executed: at})
		}
	}
	if whole {
		b.issued = nil
	}
}

// progress is a number that changes whenever anything moves.
func (x *run) progress() int64 {
	n := x.ticks.Load()
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			results := x.layout.queues[q.agent].results
			for _, b := range q.buffers {
				if b.finished {
					n += 2*int64(b.hi-b.lo) + 3
					continue
				}
				if !b.submitted {
					continue
				}
				n += int64(b2u(x.m.result(b.batch.Start).Load().Outcome.Ended()))
				for c := b.lo; c < b.hi; c++ {
					o := x.m.result(results[c]).Load().Outcome
					n += int64(b2u(o != kernels.NotBegun) + b2u(o.Ended()))
				}
			}
		}
		rk.mu.Unlock()
	}
	return n
}

// still reports whether every thread of the CPU waits or has ended.
func (x *run) still() bool {
	for _, a := range x.agents {
		if a.state.Load() == agentRuns && (a.plan.kind == sim.MainThread || a.plan.kind == sim.CPUStream) {
			return false
		}
	}
	return true
}

// looked reports whether every thread of the CPU that waits has looked again since
// something last moved: on a busy machine one may not have run at all.
func (x *run) looked() bool {
	for _, a := range x.agents {
		if (a.plan.kind == sim.MainThread || a.plan.kind == sim.CPUStream) && a.state.Load() != agentDone && a.polls.Load() < a.seen+3 {
			return false
		}
	}
	return true
}

// endsItself reports whether a wait spins that the machine does not let spin for ever: it
// will give up, or its buffer be killed.
func (x *run) endsItself() bool {
	m := &x.plan.Machine
	if m.Watchdog == model.WatchdogOff && m.SpinLimit == 0 {
		return false
	}
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				if b.submitted && !b.finished && !b.killed.Load() && x.spins(q, b, m.Watchdog != model.WatchdogOff) {
					rk.mu.Unlock()
					return true
				}
			}
		}
		rk.mu.Unlock()
	}
	return false
}

// killSpinning kills the buffers whose waits have spun for Kill.
func (x *run) killSpinning() {
	now := x.now()
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				if b.finished || !b.submitted || b.killed.Load() {
					continue
				}
				switch {
				case !x.spins(q, b, true):
					b.spinning = 0
				case b.spinning == 0:
					b.spinning = now
				case now-b.spinning >= int64(x.config.Kill):
					b.killed.Store(true)
					rk.ignored = rk.ignored || x.plan.Machine.AfterKill == model.Ignore
					x.m.control(b.batch.Control).Release()
					x.ticks.Add(1)
				}
			}
		}
		rk.mu.Unlock()
	}
}
