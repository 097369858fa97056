package sim

import (
	"github.com/fencesim/fencesim/model"
)

func (q *queue) slot(b int32) *slot { return &q.slots[int(b)%len(q.slots)] }

// span is the range of commands of committed buffer b.
func (q *queue) span(s State, b int32) (lo, hi int32) {
	if q.fixed {
		if b > 0 {
			lo = q.ends[b-1]
		}
		return lo, q.ends[b]
	}
	if b > q.fin.int(s) {
		lo = q.slot(b - 1).end.int(s)
	} else {
		lo = q.base.int(s)
	}
	return lo, q.slot(b).end.int(s)
}

// finished reports whether buffer b of q has finished.
func (y *System) finished(s State, q *queue, b int32) bool {
	if b < q.fin.int(s) {
		return true
	}
	return y.m.overlap && b < q.com.int(s) && q.slot(b).status.get(s) == bufferFinished
}

// startedBuffer reports whether buffer b, committed and not finished, has started.
func (y *System) startedBuffer(s State, q *queue, b int32) bool {
	if y.m.overlap {
		return q.slot(b).status.get(s) == bufferStarted
	}
	return b == q.fin.int(s) && q.started.get(s) != 0
}

func (y *System) enabledQueue(s State, qi int32, buf []Transition) []Transition {
	q := &y.queues[qi]
	fin, com := q.fin.int(s), q.com.int(s)
	last := com
	if !y.m.overlap {
		last = min(com, fin+1)
	}
	for b := fin; b < last; b++ {
		switch {
		case y.startedBuffer(s, q, b):
			buf = y.enabledBuffer(s, q, b, buf)
		case y.m.overlap && q.slot(b).status.get(s) == bufferFinished:
		case y.canStart(s, q, b):
			buf = append(buf, Transition{Kind: KindStart, Agent: q.agent, Buffer: b})
		}
	}
	return buf
}

// canStart reports whether waiting buffer b may start.
func (y *System) canStart(s State, q *queue, b int32) bool {
	rk := &y.ranks[q.rank]
	if rk.ignored.get(s) != 0 {
		return false
	}
	if y.m.exclusive {
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			o := &y.queues[i]
			for c, com := o.fin.int(s), o.com.int(s); c < com; c++ {
				if y.startedBuffer(s, o, c) {
					return false
				}
				if !y.m.overlap {
					break
				}
			}
		}
	}
	if !y.m.overlap {
		return true
	}
	if y.m.lookAhead > 0 {
		unfinished := int32(0)
		for a := q.fin.int(s); a < b; a++ {
			unfinished += int32(b2i(q.slot(a).status.get(s) != bufferFinished))
		}
		if unfinished >= y.m.lookAhead {
			return false
		}
	}
	return y.m.tracking == trackNone || !y.tracked(s, q, b)
}

// tracked reports whether buffer b waits for an earlier unfinished buffer of its queue,
// which writes an array that b reads or writes or (tracking all) uses a fence that b
// uses. Only the last such command before b needs a look: the buffers of earlier ones have
// finished before its buffer started.
func (y *System) tracked(s State, q *queue, b int32) bool {
	lo, hi := q.span(s, b)
	first := q.fin.int(s)
	base, _ := q.span(s, first)
	for i := lo; i < hi; i++ {
		for _, d := range q.behind[i] {
			if d >= lo || d < base {
				continue
			}
			for a := first; a < b; a++ {
				if alo, ahi := q.span(s, a); d >= alo && d < ahi {
					if q.slot(a).status.get(s) != bufferFinished {
						return true
					}
					break
				}
			}
		}
	}
	return false
}

// position is the field of the position in started buffer b.
func (y *System) position(q *queue, b int32) field {
	if y.m.overlap {
		return q.slot(b).pc
	}
	return q.pc
}

func (y *System) phaseField(q *queue, b int32) field {
	if y.m.overlap {
		return q.slot(b).phase
	}
	return q.phase
}

// enabledBuffer appends what a started buffer may do.
func (y *System) enabledBuffer(s State, q *queue, b int32, buf []Transition) []Transition {
	_, hi := q.span(s, b)
	pc := y.position(q, b).int(s)
	if pc >= hi {
		return append(buf, Transition{Kind: KindFinish, Agent: q.agent, Buffer: b})
	}
	if !y.m.concurrent {
		return y.enabledCommand(s, &q.cmds[pc], q.agent, b, int32(y.phaseField(q, b).get(s)), buf)
	}
	end := q.sectionEnd(pc, hi)
	open := false // an earlier command of the section has not ended
	for i := pc; i < end; i++ {
		ph := int32(q.phases[i].get(s))
		if ph == phaseDone {
			continue
		}
		if q.cmds[i].op != model.OpSignal || !open {
			buf = y.enabledCommand(s, &q.cmds[i], q.agent, b, ph, buf)
		}
		open = true
	}
	return buf
}

// sectionEnd is the end of the section that starts at pc in a buffer that ends at hi: a
// barrier or encoder is a section of its own.
func (q *queue) sectionEnd(pc, hi int32) int32 {
	if divides(q.cmds[pc].op) {
		return pc + 1
	}
	end := hi
	if q.section != nil {
		end = min(end, q.section[pc])
	}
	for i := pc + 1; i < end; i++ {
		if divides(q.cmds[i].op) {
			return i
		}
	}
	return end
}

func divides(op model.Op) bool { return op == model.OpBarrier || op == model.OpEncoder }

// enabledKills appends the kills of started buffers of queue qi.
func (y *System) enabledKills(s State, qi int32, buf []Transition) []Transition {
	q := &y.queues[qi]
	for b, com := q.fin.int(s), q.com.int(s); b < com; b++ {
		if y.startedBuffer(s, q, b) {
			hit := y.m.watchdog == dogAny
			if !hit {
				y.currentOf(s, q, b, func(_, _ int32, x *Command, _ int32) {
					hit = hit || (x.op == model.OpWait || x.op == model.OpAwait) && !y.satisfied(s, x)
				})
			}
			if hit {
				buf = append(buf, Transition{Kind: KindKill, Agent: q.agent, Buffer: b, Possible: y.m.watchdog != dogMust})
			}
		}
		if !y.m.overlap {
			break
		}
	}
	return buf
}
