package sim

import (
	"math/rand/v2"
)

// A Strategy chooses the transitions of one run.
type Strategy interface {
	// Choose returns an index into enabled, which is not empty, or -1 to stop.
	Choose(y *System, s State, enabled []Transition) int
}

// Random chooses uniformly among the enabled transitions. Two of equal seed choose alike
// on every platform.
type Random struct{ rng *rand.Rand }

// NewRandom seeds a random strategy.
func NewRandom(seed uint64) *Random {
	return &Random{rand.New(rand.NewPCG(seed, 0x66656e636573696d))}
}

// Choose implements [Strategy].
func (r *Random) Choose(_ *System, _ State, enabled []Transition) int {
	return r.rng.IntN(len(enabled))
}

// Laziest takes the first guaranteed transition that is not an arrival, else the first
// guaranteed arrival that stays guaranteed, else one that holds only because the queue is
// idle; it never takes a merely possible one. In the persistent fragment this one run
// decides whether there is a hang (semantics section 9).
type Laziest struct{}

// Choose implements [Strategy].
func (Laziest) Choose(y *System, s State, enabled []Transition) int {
	best, rank := -1, 0
	for i, t := range enabled {
		if t.Possible {
			continue
		}
		r := 3
		if t.Kind == KindVisible && !t.CPU {
			if r = 2; y.idleOnly(s, t) {
				r = 1
			}
		}
		if r > rank {
			best, rank = i, r
		}
		if rank == 3 {
			break
		}
	}
	return best
}

// idleOnly reports whether a guaranteed arrival is guaranteed only because every committed
// buffer of its queue has finished: a commit withdraws that.
func (y *System) idleOnly(s State, t Transition) bool {
	if y.m.toCPU != visLag {
		return false
	}
	st := &y.fences[t.Agent].toCPU.stores[t.Cmd]
	q := &y.queues[st.queue]
	b := st.buffer
	if !q.fixed {
		b = st.issued.int(s)
	}
	fin := q.fin.int(s)
	if !y.m.overlap {
		return fin-b-1 < y.m.lag
	}
	later := max(0, fin-b-1)
	for c := fin; c < q.com.int(s); c++ {
		if c > b && q.slot(c).status.get(s) == bufferFinished {
			later++
		}
	}
	return later < y.m.lag
}

// UntilStuck is a strategy that stops where nothing is sure to happen any more: that is a
// hang, even if luck could still end it.
type UntilStuck struct{ Strategy }

// Choose implements [Strategy].
func (u UntilStuck) Choose(y *System, s State, enabled []Transition) int {
	for _, t := range enabled {
		if !t.Possible {
			return u.Strategy.Choose(y, s, enabled)
		}
	}
	return -1
}

// Fixed replays a list of choices and then stops.
type Fixed struct {
	Choices []int
	at      int
}

// Choose implements [Strategy]. A choice out of range stops the run.
func (f *Fixed) Choose(_ *System, _ State, enabled []Transition) int {
	if f.at >= len(f.Choices) || f.Choices[f.at] < 0 || f.Choices[f.at] >= len(enabled) {
		return -1
	}
	f.at++
	return f.Choices[f.at-1]
}

// A Run is one run: the choices made, the last state and what was violated on the way.
type Run struct {
	Choices  []int // indexes into Enabled of each state in turn
	Last     State
	Violated Violations
	Stuck    bool // the last state is a hang
	Final    bool // the last state is final
}

// RunWith runs y from its initial state until it is final, no transition is enabled, the
// strategy stops, or most steps were made (0: no bound). A stuck state in which something is
// merely possible does not end it by itself: see [UntilStuck].
func RunWith(y *System, strategy Strategy, most int) Run {
	r := Run{Last: y.Initial()}
	var buf []Transition
	for {
		if y.Final(r.Last) {
			r.Final = true
			return r
		}
		buf = y.Enabled(r.Last, buf[:0])
		sure := false
		for _, t := range buf {
			sure = sure || !t.Possible
		}
		r.Stuck = !sure
		if len(buf) == 0 || most > 0 && len(r.Choices) >= most {
			return r
		}
		i := strategy.Choose(y, r.Last, buf)
		if i < 0 {
			return r
		}
		r.Choices = append(r.Choices, i)
		r.Violated |= y.Apply(r.Last, buf[i])
	}
}
