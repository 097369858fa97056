package check

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/fencesim/fencesim/sim"
)

// levels visits states breadth first, one level at a time, on several cores. What it finds
// does not depend on their number: a level is a list of states; each worker takes a run of
// it and lists the successors, in order, equal ones once; the shards of the visited set
// then take these lists in order, so that the first of equal states is kept; and what is
// kept is, in order, the next level. Most equal states meet within one level, for nearly
// every step is a step forward, so that the small local sets do most of the work. A state remembers its parent's place and the
// transition, from which a shortest run (counted in transitions that are not taken alone)
// is rebuilt.
type levels struct {
	*search
	shards []*visited // by the highest bits of the hash
	shift  uint
	level  []uint64 // states of the present level, one after another
	count  int
	trail  [][]origin // by level: where each state came from
	crew   []*worker
}

// origin is where a state came from: the place of its parent in the level before, and the
// index among the enabled transitions there.
type origin struct {
	parent uint32
	choice uint16
}

// worker is what one goroutine of a level needs for itself.
type worker struct {
	search // own buffers, shared system and settings
	local  *visited
	states []uint64 // candidates
	hashes []uint64
	fresh  []uint64 // hashes of the successors of one state
	recent []uint64 // hashes met lately, by their lowest bits: small enough to stay close by
	from   []origin
	keep   []bool
	stuck  []int32 // places in the level of stuck states
	wrong  []wrong
}

// wrong is a violation met while a successor was made: a state before it, by its place, the
// choice there and the properties.
type wrong struct {
	place  int32
	choice uint16
	what   sim.Violations
}

// recentSize is the number of hashes in worker.recent, a power of two.
const recentSize = 1 << 14

// shardBits is the number of shards as a power of two: enough for any crew.
const shardBits = 6

// runLevels searches with as many workers as cfg asks for.
func (s *search) runLevels(all bool) {
	n := s.cfg.Workers
	if n <= 0 {
		n = runtime.NumCPU()
	}
	l := &levels{search: s, shift: 64 - shardBits}
	for range 1 << shardBits {
		l.shards = append(l.shards, newVisited(s.y.Words(), s.cfg.Exact))
	}
	s.wide = true
	for range min(n, 1<<shardBits) {
		l.crew = append(l.crew, s.hire())
	}
	s.normalise(s.scratch, nil)
	key := s.key(s.scratch)
	h := hash(key)
	l.shards[h>>l.shift].addHashed(key, h)
	l.level, l.count = append([]uint64(nil), s.scratch...), 1
	l.trail = [][]origin{{{}}}
	s.out.states = 1
	for _, word := range s.bad.Words() {
		s.out.violated[word] = l.rebuild(0, -1, word)
	}
	for l.count > 0 {
		l.expand()
		l.settleLevel()
		if len(s.out.stuck) > 0 && !all {
			return
		}
		if l.over() {
			return
		}
		l.next()
	}
	s.out.complete = s.out.bound == ""
	s.out.collision = l.collision()
}

// hire makes a worker with buffers of its own.
func (s *search) hire() *worker {
	w := &worker{search: *s, local: newVisited(s.y.Words(), s.cfg.Exact)}
	w.out = newFound()
	w.recent = make([]uint64, recentSize)
	w.scratch, w.canon = s.y.Initial(), s.y.Initial()
	w.order = slices.Clone(s.order)
	w.buf, w.lists, w.stack, w.states = nil, nil, nil, nil
	return w
}

// each runs f for every worker at once.
func (l *levels) each(f func(i int, w *worker)) {
	var wg sync.WaitGroup
	for i, w := range l.crew {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f(i, w)
		}()
	}
	wg.Wait()
}

// expand lists the successors of the level.
func (l *levels) expand() {
	l.each(func(i int, w *worker) {
		lo, hi := l.count*i/len(l.crew), l.count*(i+1)/len(l.crew)
		w.expand(l, lo, hi)
	})
}

func (w *worker) expand(l *levels, lo, hi int) {
	y, words := w.y, w.y.Words()
	w.local.reset()
	w.states, w.hashes, w.from = w.states[:0], w.hashes[:0], w.from[:0]
	w.stuck, w.wrong = w.stuck[:0], w.wrong[:0]
	for place := lo; place < hi; place++ {
		if place&0xff == 0 && w.ctx.Err() != nil {
			return
		}
		st := sim.State(l.level[place*words : (place+1)*words])
		w.lists = y.Enabled(st, w.lists[:0])
		sure := false
		for i := range w.lists {
			sure = sure || !w.lists[i].Possible
		}
		if !sure {
			if !y.Final(st) {
				w.stuck = append(w.stuck, int32(place))
			} else {
				w.out.canFinish = true
			}
		} else if !w.out.canFinish && y.Final(st) {
			w.out.canFinish = true
		}
		w.successors(st, place)
	}
}

// successors appends the successors of st that are new to the worker. All are made first
// and looked up together, so that the cache misses of the look-ups overlap.
func (w *worker) successors(st sim.State, place int) {
	words := w.y.Words()
	base := len(w.states)
	w.states = slices.Grow(w.states, len(w.lists)*words)
	w.fresh = w.fresh[:0]
	for i := range w.lists {
		w.states = append(w.states, st...)
		next := sim.State(w.states[base+i*words:])
		w.bad = 0
		w.apply(next, w.lists[i])
		w.normalise(next, &w.lists[i])
		if w.bad != 0 {
			w.wrong = append(w.wrong, wrong{int32(place), uint16(i), w.bad})
		}
		w.fresh = append(w.fresh, hash(w.key(next)))
	}
	to := base
	for i, h := range w.fresh {
		next := sim.State(w.states[base+i*words : base+(i+1)*words])
		if recent := &w.recent[h&(recentSize-1)]; *recent == h && !w.cfg.Exact {
			continue
		} else {
			*recent = h
		}
		if !w.local.addHashed(w.key(next), h) {
			continue
		}
		copy(w.states[to:], next)
		to += words
		w.hashes = append(w.hashes, h)
		w.from = append(w.from, origin{uint32(place), uint16(i)})
	}
	w.states = w.states[:to]
}

// key is what a state is stored as: itself, or the least of its permutations.
func (s *search) key(st sim.State) sim.State {
	if s.order == nil {
		return st
	}
	return s.canonical(st)
}

// settleLevel notes the level's stuck states and violations in order, and lets the shards
// take the candidates.
func (l *levels) settleLevel() {
	for _, w := range l.crew {
		l.out.transitions += w.out.transitions
		w.out.transitions = 0
		l.out.canFinish = l.out.canFinish || w.out.canFinish
		for _, place := range w.stuck {
			l.hangAt(place)
		}
		for _, b := range w.wrong {
			for _, word := range b.what.Words() {
				if _, ok := l.out.violated[word]; !ok {
					l.out.violated[word] = l.rebuild(int(b.place), int(b.choice), word)
				}
			}
		}
		w.keep = slices.Grow(w.keep[:0], len(w.hashes))[:len(w.hashes)]
	}
	words := l.y.Words()
	l.each(func(i int, me *worker) {
		n := uint64(len(l.crew))
		for _, w := range l.crew {
			for c, h := range w.hashes {
				if sh := h >> l.shift; sh%n == uint64(i) {
					key := sim.State(w.states[c*words : (c+1)*words])
					w.keep[c] = l.shards[sh].addHashed(me.key(key), h)
				}
			}
		}
	})
}

// next makes the next level of the candidates that were kept.
func (l *levels) next() {
	words := l.y.Words()
	n := 0
	for _, w := range l.crew {
		for _, k := range w.keep {
			n += b2i(k)
		}
	}
	l.level = slices.Grow(l.level[:0], n*words)[:0]
	trail := make([]origin, 0, n)
	for _, w := range l.crew {
		for c, k := range w.keep {
			if k {
				l.level = append(l.level, w.states[c*words:(c+1)*words]...)
				trail = append(trail, w.from[c])
			}
		}
	}
	l.count = n
	l.trail = append(l.trail, trail)
	l.out.states += int64(n)
}

// overflows reports whether some state of the level lacks room.
func (l *levels) overflows() bool {
	words := l.y.Words()
	for i := range l.count {
		if l.y.Overflow(l.level[i*words : (i+1)*words]) {
			return true
		}
	}
	return false
}

// over reports whether a bound is reached, and notes which.
func (l *levels) over() bool {
	bytes := int64(cap(l.level) * 8)
	for _, sh := range l.shards {
		bytes += sh.bytes()
	}
	for _, w := range l.crew {
		bytes += int64(cap(w.states)*8+cap(w.hashes)*8+cap(w.from)*8) + w.local.bytes()
	}
	for _, t := range l.trail {
		bytes += int64(cap(t) * 8)
	}
	if l.cfg.Progress != nil {
		l.cfg.Progress(Progress{l.out.states, l.out.transitions, 0, int64(l.count), time.Since(l.started)})
	}
	switch {
	case l.count > 0 && l.overflows():
		l.out.bound = overflowBound
	case l.cfg.MaxStates > 0 && l.out.states >= l.cfg.MaxStates:
		l.out.bound = l.cfg.bound()
	case l.ctx.Err() != nil:
		l.out.bound = boundOf(l.ctx)
	case bytes > l.memory:
		l.out.bound = "memory"
	}
	return l.out.bound != ""
}

// hangAt notes the stuck state at a place of the level.
func (l *levels) hangAt(place int32) {
	words := l.y.Words()
	st := sim.State(l.level[int(place)*words : int(place+1)*words])
	l.out.stuckStates++
	c := stuckCounters(l.y, st)
	if _, ok := l.out.stuck[c]; !ok {
		l.out.stuck[c] = l.rebuild(int(place), -1, "")
	}
	if l.out.orphans == nil && l.y.Orphan(st) {
		p := l.rebuild(int(place), -1, "")
		l.out.orphans = &p
	}
}

// rebuild is the run to the state at a place of the present level, and if choice is not
// negative on from there until property is violated.
func (l *levels) rebuild(place, choice int, property string) path {
	list := []int{}
	if choice >= 0 {
		list = append(list, choice)
	}
	for depth := len(l.trail) - 1; depth > 0; depth-- {
		o := l.trail[depth][place]
		list = append(list, int(o.choice))
		place = int(o.parent)
	}
	slices.Reverse(list)
	var p path
	st := l.y.Initial()
	var buf []sim.Transition
	done := false
	take := func(t sim.Transition) {
		p.steps = append(p.steps, t)
		p.possible += b2i(t.Possible && t.Kind == sim.KindVisible)
		v := l.y.Apply(st, t)
		done = property != "" && slices.Contains(v.Words(), property)
	}
	between := func() {
		for !done {
			buf = l.y.Enabled(st, buf[:0])
			at := l.pick(st, buf)
			if at < 0 {
				return
			}
			take(buf[at])
		}
	}
	between()
	for _, c := range list {
		if done {
			break
		}
		buf = l.y.Enabled(st, buf[:0])
		take(buf[c])
		between()
	}
	return p
}

// collision is the bound on the chance that some shard dropped a state.
func (l *levels) collision() float64 {
	n := 0
	for _, sh := range l.shards {
		n += sh.n
	}
	if l.cfg.Exact {
		return 0
	}
	return collisionBound(n)
}
