package hwreplay

import (
	"slices"
	"sync/atomic"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// runQueue is one command queue of a run. Its fields are guarded by the rank's mu.
type runQueue struct {
	x       *run
	rank    *runRank
	agent   int32
	index   int
	info    []sim.CommandInfo
	source  *model.Queue
	buffers []*buffer // committed
	open    int       // first command of the open buffer
	encoded int       // commands encoded
}

// buffer is one committed command buffer.
type buffer struct {
	index, lo, hi int
	counted       bool
	lane          int
	batch         *Batch
	submitted     bool
	sent          int64 // when it was, since the run began
	finished      bool  // guarded by the rank's mu
	seen          int64 // when that was seen, since the run began; likewise
	killed        atomic.Bool
	spinning      int64 // since when its wait was seen spinning; 0 not
	done          atomic.Bool
	issued        []bool      // watching thread: stores that were put on their way
	callers       []*runAgent // guarded by the rank's mu
}

// drained reports whether the device has left the buffer.
func (b *buffer) drained() bool { return b.done.Load() }

// unfinished is how many committed buffers have not finished.
func (q *runQueue) unfinished() int {
	n := 0
	for _, b := range q.buffers {
		if !b.finished {
			n++
		}
	}
	return n
}

// commit hands commands up to end to the queue as its next buffer.
func (q *runQueue) commit(end int, counted bool) {
	x := q.x
	b := &buffer{index: len(q.buffers), lo: q.open, hi: end, counted: counted, lane: -1, issued: make([]bool, end-q.open)}
	q.open = end
	q.buffers = append(q.buffers, b)
	b.batch = x.batch(q.agent, b.index, b.lo, b.hi)
	for c := b.lo; c < b.hi; c++ {
		if i := &q.info[c]; i.Op == model.OpUpdate || i.Op == model.OpRelease {
			raise(&x.fences[i.Object].scheduled, i.Value)
		}
	}
	if !x.plan.held() {
		b.lane = q.index
		x.submit(q, b)
		return
	}
	x.startHeld(q.rank)
}

// submit hands a buffer to the device.
func (x *run) submit(q *runQueue, b *buffer) {
	b.submitted, b.sent = true, x.now()-x.begun
	x.calls(q, b)
	if err := x.session.Submit(Lane{x.plan.agents[q.agent].rank, b.lane}, b.batch); err != nil {
		x.failed(err)
	}
}

// startHeld starts what may start of a rank whose buffers are held back: overlapping
// ones, those of an exclusive device, and those that a kill may stop.
func (x *run) startHeld(rk *runRank) {
	if rk.ignored || x.stop.Load() {
		return
	}
	for _, q := range rk.queues {
		for _, b := range q.buffers {
			if b.submitted || !x.canStart(rk, q, b) {
				continue
			}
			lane := x.freeLane(rk)
			if lane < 0 {
				return
			}
			b.lane = lane
			x.submit(q, b)
		}
	}
}

// freeLane is a lane that no unfinished buffer of the rank uses, or -1.
func (x *run) freeLane(rk *runRank) int {
	var used [maxLanes]bool
	for _, q := range rk.queues {
		for _, b := range q.buffers {
			if b.submitted && !b.finished {
				used[b.lane] = true
			}
		}
	}
	for i, u := range used[:x.plan.lanes()] {
		if !u {
			return i
		}
	}
	return -1
}

// canStart is package sim's rule of when a waiting buffer may start.
func (x *run) canStart(rk *runRank, q *runQueue, b *buffer) bool {
	m := &x.plan.Machine
	if m.Device == model.Exclusive {
		for _, o := range rk.queues {
			for _, c := range o.buffers {
				if c.submitted && !c.finished {
					return false
				}
			}
		}
	}
	unfinished := 0
	for _, a := range q.buffers[:b.index] {
		if a.finished {
			continue
		}
		unfinished++
		if m.Buffers != model.Overlap || m.Tracking != model.TrackNone && q.tracked(a, b, m.Tracking == model.TrackAll) {
			return false
		}
	}
	return m.LookAhead == 0 || unfinished < m.LookAhead
}

// tracked reports whether b waits for the earlier buffer a: a writes an array that b
// reads or writes, or, with fences, both use one fence.
func (q *runQueue) tracked(a, b *buffer, fences bool) bool {
	writes, touched := map[int32]bool{}, map[int32]bool{}
	for i := a.lo; i < a.hi; i++ {
		for _, w := range q.info[i].Writes {
			writes[w] = true
		}
		if touches(q.info[i].Op) {
			touched[q.info[i].Object] = true
		}
	}
	for i := b.lo; i < b.hi; i++ {
		c := &q.info[i]
		for _, list := range [][]int32{c.Reads, c.Writes} {
			for _, w := range list {
				if writes[w] {
					return true
				}
			}
		}
		if c.Op == model.OpCoherent && writes[c.Object] || fences && touches(c.Op) && touched[c.Object] {
			return true
		}
	}
	return false
}

func touches(op model.Op) bool {
	c := model.Command{Op: op}
	return c.Fence()
}

// poll notes which buffers have finished. The rank's mu is held.
func (x *run) poll(rk *runRank) {
	any := false
	for _, q := range rk.queues {
		for _, b := range q.buffers {
			if b.finished || !b.submitted {
				continue
			}
			if !x.m.result(b.batch.Finish).Load().Outcome.Ended() {
				if !x.plan.held() {
					break
				}
				continue
			}
			// Whatever the clocks of two cores say, in the order in which they were seen.
			rk.saw = max(rk.saw+1, x.now()-x.begun)
			b.finished, b.seen, any = true, rk.saw, true
			b.done.Store(true)
			if b.counted || !rk.plan.program.FromGraph {
				rk.ended++
			}
			if h, ok := rk.plan.handlers[[2]int{q.index, b.index}]; ok && !rk.dead.Load() && !x.stop.Load() {
				x.start(x.agents[h], x.runHandler)
			}
		}
	}
	if any && x.plan.held() {
		x.startHeld(rk)
	}
}

// active is package sim's number of active tasks of a rank, how many counted ones have
// ended, and what it was read from: the buffers finished of each queue and the tasks done
// of each stream. All were so at one moment: they only grow, and are read until two
// readings in a row agree. No thread is between what a task does and the note that it is
// done: a buffer that waited for it may have finished by then.
func (x *run) active(rk *runRank) (active, ended int, seen []int) {
	rk.life.Lock()
	defer rk.life.Unlock()
	var last []int
	for seen == nil || !slices.Equal(last, seen) {
		last = seen
		active, ended, seen = x.tally(rk)
	}
	return active, ended, seen
}

// tally is one reading for active, its parts one after the other.
func (x *run) tally(rk *runRank) (active, ended int, seen []int) {
	seen = make([]int, 0, 4)
	rk.mu.Lock()
	x.poll(rk)
	for _, q := range rk.queues {
		seen = append(seen, len(q.buffers)-q.unfinished())
		for _, b := range q.buffers {
			if !b.finished && (b.counted || !rk.plan.program.FromGraph) {
				active++
			}
		}
	}
	ended = rk.ended
	rk.mu.Unlock()
	for i, a := range rk.plan.streams {
		st, counted := x.agents[a], rk.plan.counted[i]
		pc, to := st.pc.Load(), st.to.Load()
		seen = append(seen, int(pc))
		active += int(counted[to] - counted[pc])
		for t := range pc {
			if counted[t+1] > counted[t] {
				ended++
			}
		}
	}
	return active, ended, seen
}

// spins reports whether some wait of a submitted buffer spins, or, with events, some wait
// for an event.
func (x *run) spins(q *runQueue, b *buffer, events bool) bool {
	for c := b.lo; c < b.hi; c++ {
		if op := q.info[c].Op; op != model.OpWait && !(events && op == model.OpAwait) {
			continue
		}
		if x.m.result(x.layout.queues[q.agent].results[c]).Load().Outcome == kernels.Running {
			return true
		}
	}
	return false
}
