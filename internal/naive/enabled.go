package naive

import (
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
)

// transition is one enabled step of a state.
type transition struct {
	label      string
	guaranteed bool
	do         func(*state) // changes a copy of the state in which it was enabled
}

func label(parts ...any) string { return fmt.Sprint(parts...) }

// enabled lists every transition that can happen in s.
func (w *world) enabled(s *state) []transition {
	var ts []transition
	for r := range s.ranks {
		ts = append(ts, w.mainSteps(s, r)...)
		for q := range s.ranks[r].queues {
			for b := range s.ranks[r].queues[q].buffers {
				ts = append(ts, w.bufferSteps(s, r, q, b)...)
			}
		}
	}
	agents := w.agents(s)
	for _, a := range agents {
		ts = append(ts, w.commandSteps(s, a)...)
	}
	ts = append(ts, w.handovers(s, agents)...)
	return append(ts, w.arrivals(s)...)
}

// apply is the state after t.
func (w *world) apply(s *state, t transition) *state {
	n := s.clone()
	t.do(n)
	for _, a := range w.agents(n) {
		if w.spins(n, a) && n.fences[w.fence(a.rank, a.command)].freed {
			n.violate("use-after-free")
		}
	}
	return n
}

// bufferSteps are start, finish and kill of one committed buffer.
func (w *world) bufferSteps(s *state, r, q, b int) []transition {
	var ts []transition
	buf := &s.ranks[r].queues[q].buffers[b]
	who := fmt.Sprintf("rank %d queue %s buffer %d ", r, w.ranks[r].Queues[q].Name, b)
	switch {
	case buf.finished:
	case !buf.started:
		if w.mayStart(s, r, q, b) {
			ts = append(ts, transition{who + "starts", true, func(s *state) {
				buf := &s.ranks[r].queues[q].buffers[b]
				buf.started, buf.commands = true, make([]progress, buf.to-buf.from)
			}})
		}
	default:
		if !slices.ContainsFunc(buf.commands, func(p progress) bool { return !p.done }) {
			ts = append(ts, transition{who + "finishes", true, func(s *state) { w.endBuffer(s, r, q, b) }})
		}
		if w.mayBeKilled(s, r, q, b) {
			ts = append(ts, transition{who + "is killed", w.m.Watchdog == model.WatchdogMust, func(s *state) { w.kill(s, r, q, b) }})
		}
	}
	return ts
}

func (w *world) mayStart(s *state, r, q, b int) bool {
	rk := &s.ranks[r]
	bufs := rk.queues[q].buffers
	if rk.ignoring {
		return false
	}
	if w.m.Device == model.Exclusive {
		for i := range rk.queues {
			for _, x := range rk.queues[i].buffers {
				if x.started && !x.finished {
					return false
				}
			}
		}
	}
	if w.m.Buffers == model.InOrder {
		return b == 0 || bufs[b-1].finished
	}
	unfinished := 0
	for i := range b {
		if bufs[i].finished {
			continue
		}
		unfinished++
		if w.tracked(r, q, &bufs[i], &bufs[b]) {
			return false
		}
	}
	return w.m.LookAhead == 0 || unfinished < w.m.LookAhead
}

// tracked reports whether the machine makes a buffer wait for an earlier one of its queue.
func (w *world) tracked(r, q int, earlier, later *buffer) bool {
	if w.m.Tracking == model.TrackNone {
		return false
	}
	written := map[model.Sym]bool{}
	fences := map[int]bool{}
	for _, c := range w.commands(r, q, earlier) {
		_, writes := touches(&c)
		if c.Op == model.OpCoherent {
			writes = nil // its kernel is registered as a reader
		}
		for _, a := range writes {
			written[a] = true
		}
		if c.Fence() {
			fences[w.fence(r, &c)] = true
		}
	}
	for _, c := range w.commands(r, q, later) {
		reads, writes := touches(&c)
		for _, a := range append(reads, writes...) {
			if written[a] {
				return true
			}
		}
		if w.m.Tracking == model.TrackAll && c.Fence() && fences[w.fence(r, &c)] {
			return true
		}
	}
	return false
}

func (w *world) mayBeKilled(s *state, r, q, b int) bool {
	switch w.m.Watchdog {
	case model.WatchdogAny:
		return true
	case model.WatchdogMay, model.WatchdogMust:
		buf := &s.ranks[r].queues[q].buffers[b]
		for _, i := range w.current(r, q, buf) {
			c := &w.commands(r, q, buf)[i]
			a := agent{kind: inBuffer, rank: r, owner: q, buffer: b, index: i, command: c}
			if (c.Op == model.OpWait || c.Op == model.OpAwait) && !w.satisfied(s, a) {
				return true
			}
		}
	}
	return false
}

func (w *world) kill(s *state, r, q, b int) {
	buf := &s.ranks[r].queues[q].buffers[b]
	for i, c := range w.commands(r, q, buf) {
		if !buf.commands[i].done && (isUpdate(&c) || c.Op == model.OpAdd) {
			s.violate("lost-update")
		}
	}
	if w.m.AfterKill == model.Ignore {
		s.ranks[r].ignoring = true
	}
	w.endBuffer(s, r, q, b)
}

// mainSteps is the main thread's next step, unless that is a command.
func (w *world) mainSteps(s *state, r int) []transition {
	p, rk := w.ranks[r], &s.ranks[r]
	if rk.dead || rk.pc >= len(p.main) {
		return nil
	}
	st, pc := p.main[rk.pc], rk.pc
	step := func(text string, do func(*rank)) []transition {
		return []transition{{fmt.Sprintf("rank %d main step %d: %s", r, pc, text), true, func(s *state) { do(&s.ranks[r]) }}}
	}
	t := int(st.Target)
	switch st.Kind {
	case model.StepEnqueue:
		return step("enqueue", func(rk *rank) {
			x := &rk.streams[t]
			x.given = min(x.given+int(st.N), len(p.Streams[t].Tasks))
			rk.pc++
		})
	case model.StepTask:
		return step("task", func(rk *rank) { rk.streams[t].given = int(st.N); rk.pc++ })
	case model.StepCommit:
		next, ends := len(rk.queues[t].buffers), p.Queues[t].Ends
		if next >= len(ends) {
			return step("commit nothing", func(rk *rank) { rk.pc++ })
		}
		if !w.room(rk, t) {
			return nil
		}
		return step("commit", func(rk *rank) {
			from := 0
			if next > 0 {
				from = ends[next-1]
			}
			rk.queues[t].buffers = append(rk.queues[t].buffers, buffer{from: from, to: ends[next], counted: true})
			rk.pc++
		})
	case model.StepUpdate:
		return step("update", func(rk *rank) { rk.queues[t].encoded = int(st.N); rk.pc++ })
	case model.StepEncode:
		full := st.N >= p.Queues[t].Forced[rk.queues[t].open]
		if full && !w.room(rk, t) {
			return nil
		}
		return step("encode", func(rk *rank) {
			rk.queues[t].encoded = int(st.N)
			if full {
				rk.queues[t].commitOpen(true)
			}
			rk.pc++
		})
	case model.StepFlush:
		if !w.room(rk, t) {
			return nil
		}
		return step("flush", func(rk *rank) {
			rk.queues[t].commitOpen(false)
			rk.pc++
		})
	case model.StepThrottle:
		return w.throttle(s, r, int(st.N), step)
	case model.StepSynchronize:
		if st.Queue && !allFinished(rk.queues[t].buffers) || !st.Queue && rk.streams[t].at < rk.streams[t].given {
			return nil
		}
		return step("synchronize", func(rk *rank) { rk.pc++ })
	case model.StepExit:
		return step("exit", func(rk *rank) { rk.end() })
	}
	return nil
}

// throttle is the test of the active tasks, with the commits that it makes, and the end of
// its block.
func (w *world) throttle(s *state, r, limit int, step func(string, func(*rank)) []transition) []transition {
	p, rk := w.ranks[r], &s.ranks[r]
	active := w.active(s, r)
	if rk.throttle > 0 {
		if active >= rk.throttle {
			return nil
		}
		return step("throttle ends", func(rk *rank) { rk.throttle = 0; rk.pc++ })
	}
	if active <= limit {
		return step("throttle passes", func(rk *rank) { rk.pc++ })
	}
	var open []int
	if p.FromGraph {
		for q := range rk.queues {
			if p.Queues[q].FirstUse < rk.pc {
				open = append(open, q)
				if !w.room(rk, q) {
					return nil
				}
			}
		}
	}
	return step("throttle", func(rk *rank) {
		for _, q := range open {
			rk.queues[q].commitOpen(false)
		}
		if active <= 1 {
			rk.pc++
			return
		}
		rk.throttle = active
	})
}

// active is the number of a rank's active tasks.
func (w *world) active(s *state, r int) int {
	n := 0
	for q := range s.ranks[r].queues {
		for _, b := range s.ranks[r].queues[q].buffers {
			if b.counted {
				n++
			}
		}
	}
	for i, st := range s.ranks[r].streams {
		for t := st.at; t < st.given && w.ranks[r].Streams[i].Counted != nil; t++ {
			n += int(w.ranks[r].Streams[i].Counted[t])
		}
	}
	return n
}

// room reports whether the in-flight limit lets the main thread commit to a queue.
func (w *world) room(rk *rank, q int) bool {
	n := 0
	for _, b := range rk.queues[q].buffers {
		if !b.finished {
			n++
		}
	}
	return w.m.InFlight == 0 || n < w.m.InFlight
}

func (q *queue) commitOpen(counted bool) {
	q.buffers = append(q.buffers, buffer{from: q.open, to: q.encoded, counted: counted})
	q.open = q.encoded
}

func allFinished(bs []buffer) bool {
	return !slices.ContainsFunc(bs, func(b buffer) bool { return !b.finished })
}

// end ends the process of a rank.
func (rk *rank) end() {
	rk.dead, rk.throttle, rk.step = true, 0, progress{}
	for i := range rk.streams {
		rk.streams[i].step = progress{}
	}
	for q := range rk.queues {
		for b := range rk.queues[q].buffers {
			rk.queues[q].buffers[b].step = progress{}
		}
	}
}
