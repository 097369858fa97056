package check

import (
	"context"

	"github.com/fencesim/fencesim/sim"
)

// lazyRun is the run of the laziest environment: it takes no merely possible transition,
// and an arrival that is guaranteed only because a queue is idle only when nothing else
// guaranteed is enabled. Where [fragment.oneRun] names no condition that fails, it hangs
// if and only if some run does (semantics section 9: persistence and the laziest
// environment; Keller 1975).
//
// Work is proportional to the steps: an agent is looked at again only when something that
// it may wait for has changed. Of a step only who made it is kept, four bytes; which one
// it was follows from the state.
type lazyRun struct {
	*sim.Walk
	moves    []int32 // agents, and fences f as ^f for an arrival
	violated sim.Violations
	first    map[sim.Violations]int // first move that violates
	idle     []int32                // fences that may have an arrival that a commit withdraws
	buf      []sim.Transition
	done     bool // nothing guaranteed is left
}

// runLazily runs y. It stops early, not done, when ctx is done.
func runLazily(ctx context.Context, y *sim.System) *lazyRun {
	r := &lazyRun{Walk: sim.NewWalk(y), first: map[sim.Violations]int{}}
	for {
		a, dirty := r.Agent()
		for dirty {
			for r.buf = r.EnabledOf(a, r.buf[:0]); len(r.buf) > 0; r.buf = r.EnabledOf(a, r.buf[:0]) {
				r.take(a, r.buf[0])
				if len(r.moves)&0xfff == 0 && ctx.Err() != nil {
					return r
				}
			}
			a, dirty = r.Agent()
		}
		if !r.arrive() {
			r.done = true
			return r
		}
		if ctx.Err() != nil {
			return r
		}
	}
}

// take makes the move of agent a, or of fence ^a.
func (r *lazyRun) take(a int32, t sim.Transition) {
	r.moves = append(r.moves, a)
	if v := r.Take(t); v&^r.violated != 0 {
		for b := sim.Violations(1); b != 0; b <<= 1 {
			if v&b != 0 && r.violated&b == 0 {
				r.first[b] = len(r.moves)
			}
		}
		r.violated |= v
	}
}

// arrive takes the guaranteed arrivals that stay guaranteed, or if there is none one that
// does not; it reports whether it took any.
func (r *lazyRun) arrive() bool {
	took := false
	for {
		f, dirty := r.Fence()
		if !dirty {
			break
		}
		switch t, sure, stays := arrival(r.Walk, f, &r.buf); {
		case stays:
			r.take(^f, t) // f is dirty again: more may come
			took = true
		case sure:
			r.idle = append(r.idle, f)
		}
	}
	for !took && len(r.idle) > 0 {
		f := r.idle[len(r.idle)-1]
		r.idle = r.idle[:len(r.idle)-1]
		if t, sure, _ := arrival(r.Walk, f, &r.buf); sure { // no commit has come in between
			r.take(^f, t)
			took = true
		}
	}
	return took
}

// arrival is the first guaranteed arrival of fence f: one that stays guaranteed, or else
// one that does not.
func arrival(w *sim.Walk, f int32, buf *[]sim.Transition) (t sim.Transition, sure, stays bool) {
	*buf = w.Arrivals(f, (*buf)[:0])
	for _, u := range *buf {
		if u.Possible {
			continue
		}
		if stays = !w.IdleOnly(u); stays || !sure {
			t, sure = u, true
		}
		if stays {
			break
		}
	}
	return t, sure, stays
}

// steps spells the first n moves out, by making them again.
func (r *lazyRun) steps(y *sim.System, n int) []sim.Transition {
	out := make([]sim.Transition, n)
	w := sim.NewWalk(y)
	var buf []sim.Transition
	for i, a := range r.moves[:n] {
		if a >= 0 {
			buf = w.EnabledOf(a, buf[:0])
			out[i] = buf[0]
		} else {
			out[i], _, _ = arrival(w, ^a, &buf)
		}
		w.Take(out[i])
	}
	return out
}

// choices turns transitions taken in order into indexes for a trace.
func choices(y *sim.System, steps []sim.Transition) []int {
	out := make([]int, len(steps))
	m := sim.NewMenu(y)
	for i, t := range steps {
		out[i] = m.Index(t)
		m.Take(t)
	}
	return out
}
