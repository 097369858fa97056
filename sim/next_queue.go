package sim

import (
	"github.com/fencesim/fencesim/model"
)

// commitOpen commits the open buffer of a queue with run-time ends.
func (y *System) commitOpen(s State, rk *rank, q *queue, end int32, counted bool) {
	com := q.com.int(s)
	if int(com-q.fin.int(s)) >= len(q.slots) {
		rk.overflow.set(s, 1)
		return
	}
	sl := q.slot(com)
	sl.end.set(s, uint64(end))
	sl.counted.set(s, uint64(b2i(counted)))
	q.open.set(s, uint64(end))
	q.com.set(s, uint64(com+1))
}

// finish ends buffer b: what it wrote becomes visible, finished buffers without a gap
// leave the queue.
func (y *System) finish(s State, q *queue, b int32) {
	lo, hi := q.span(s, b)
	if y.m.coherent {
		for i := lo; i < hi; i++ {
			for _, w := range y.Writes(&q.cmds[i]) {
				if a := &y.visible[w.Array]; a.writer.get(s) == uint64(w.writer) {
					a.visible.set(s, 1)
				}
			}
		}
	}
	if y.m.concurrent {
		for i := lo; i < hi; i++ {
			q.phases[i].set(s, 0)
		}
	}
	if !y.m.overlap {
		q.started.set(s, 0)
		q.pc.set(s, uint64(hi))
		q.phase.set(s, 0)
		y.retire(s, q, b, hi)
		return
	}
	sl := q.slot(b)
	sl.status.set(s, bufferFinished)
	sl.pc.set(s, 0)
	sl.phase.set(s, 0)
	for f := q.fin.int(s); f < q.com.int(s) && q.slot(f).status.get(s) == bufferFinished; f++ {
		_, hi := q.span(s, f)
		y.retire(s, q, f, hi)
	}
}

// retire takes finished buffer b, the oldest of its queue, out of it.
func (y *System) retire(s State, q *queue, b, end int32) {
	if len(q.slots) > 0 {
		sl := q.slot(b)
		sl.status.set(s, 0)
		sl.end.set(s, 0)
		sl.counted.set(s, 0)
	}
	q.base.set(s, uint64(end))
	q.fin.set(s, uint64(b+1))
}

// applyKill kills started buffer b: what is left of it never runs.
func (y *System) applyKill(s State, q *queue, b int32) Violations {
	var v Violations
	_, hi := q.span(s, b)
	for i := y.position(q, b).int(s); i < hi; i++ {
		if q.cmds[i].stores() && q.cmds[i].op != model.OpReset && !(y.m.concurrent && q.phases[i].get(s) == phaseDone) {
			v = LostUpdate
		}
	}
	y.ranks[q.rank].ignored.set(s, 1)
	y.abandon(s, q, b)
	return v
}

// holdsSlot reports whether a command that has begun keeps a slot.
func holdsSlot(op model.Op) bool {
	return op == model.OpCollective || takesSlot(op)
}

// abandon finishes started buffer b without the rest of its commands.
func (y *System) abandon(s State, q *queue, b int32) {
	y.currentOf(s, q, b, func(_, _ int32, x *Command, ph int32) {
		if ph == phaseHolding && holdsSlot(x.op) {
			y.ranks[q.rank].used.add(s, -1)
		}
		y.ordinal(x).set(s, 0)
	})
	y.finish(s, q, b)
}
