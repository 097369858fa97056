package check

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// levels visits the states of a space breadth first, one level at a time, on several cores.
// What it finds does not depend on their number: a round takes a run of the level in pieces;
// of each piece the successors are dealt out, in order, to the shards of the visited set;
// each shard then takes what was dealt to it, piece after piece, so that the first of equal
// states is kept; and the next level is what the shards kept, in the order of the parents. A
// shard's table is small enough to stay close to the core while the shard is at work, so
// that a look-up is rarely a trip to memory (delayed duplicate detection: Korf 2003). A state
// remembers its parent's place and the choice there, from which a shortest run, counted in
// choices, is rebuilt.
type levels struct {
	*search
	space  space
	words  int
	shards []*shard
	level  []uint64 // states of the present level, one after another
	spare  []uint64 // room for the next
	count  int
	trail  [][]origin // by level: where each state came from
	crew   []*worker
	pieces []*piece // of a round

	trailed  int64 // states in trail
	measured int64 // states when memory was last looked at
}

// A space is states of a fixed length and their successors.
type space interface {
	words() int
	// begin gives the first state as a successor.
	begin(out *successors)
	// hire makes an explorer of the space for one goroutine.
	hire() explorer
	// about describes a stuck state.
	about(st []uint64) (c model.Counters, orphan bool)
	// path is the run along choices from the first state on, up to the step that violates
	// property if one is named.
	path(choices []choice, property string) path
}

// An explorer lists successors.
type explorer interface {
	// expand lists the successors of st, to which choice by led (noChoice: the first).
	expand(st []uint64, by choice, out *successors)
	// key is what a state is stored as: itself, or the least of its permutations.
	key(st []uint64) []uint64
}

// successors is what an explorer says of one state: its successors one after another, for
// each its hash, the choice that leads to it and what that violates.
type successors struct {
	states      []uint64
	hashes      []uint64
	choices     []choice
	bad         []sim.Violations
	transitions int64
	final       bool
	sure        bool // some successor is guaranteed
	overflow    bool // the state lacks room
}

func (s *successors) reset() {
	*s = successors{states: s.states[:0], hashes: s.hashes[:0], choices: s.choices[:0], bad: s.bad[:0]}
}

// origin is where a state came from: the place of its parent in the level before times
// 2²⁴, plus the choice there.
type origin uint64

// A choice is one of a state's successors, as its space numbers them: less than noChoice.
type choice uint32

const noChoice choice = 1<<24 - 1

func originOf(place int, c choice) origin { return origin(place)<<24 | origin(c) }

func (o origin) place() int     { return int(o >> 24) }
func (o origin) choice() choice { return choice(o) & noChoice }

// shard is a part of the visited set, and of the next level.
type shard struct {
	seen   *visited
	states []uint64 // kept of the next level
	from   []origin
}

// worker is what one goroutine needs for itself.
type worker struct {
	explorer
	next   successors
	recent []uint64 // hashes dealt out lately, by their lowest bits: small enough to stay close by
	live   []*shard // shards of which this worker was the first to keep something of the next level
	kept   int64
	at     []int32 // places of the next level: see gather
}

// piece is what came of a run of the level. A worker takes pieces in their order.
type piece struct {
	deal        [][]uint64 // by shard: hash, origin and words of each state that awaits it
	touched     []int      // shards that something was dealt to
	transitions int64
	canFinish   bool
	overflow    bool
	stuck       []int32 // places in the level of stuck states
	wrong       []wrong
}

// wrong is a violation met while a successor was made: a state before it, by its place, the
// choice there and the properties.
type wrong struct {
	place  int32
	choice choice
	what   sim.Violations
}

const (
	// shardBits is the number of shards as a power of two.
	shardBits = 8
	shardOf   = 64 - shardBits
	// roundWords bounds the words of the states of one round.
	roundWords = 1 << 18
	// recentSize is the number of hashes in worker.recent, a power of two.
	recentSize = 1 << 14
	// smallRound is how many states one worker takes without waking others.
	smallRound = 1 << 8
)

// runLevels searches with as many workers as cfg asks for.
func (s *search) runLevels(all bool) {
	n := s.cfg.Workers
	if n <= 0 {
		n = runtime.NumCPU()
	}
	l := &levels{search: s, space: s.space()}
	l.words = l.space.words()
	for range 1 << shardBits {
		l.shards = append(l.shards, &shard{seen: newVisited(l.words, s.cfg.Exact)})
	}
	n = min(n, 1<<shardBits)
	for range n {
		l.crew = append(l.crew, &worker{explorer: l.space.hire(), recent: make([]uint64, recentSize)})
		l.crew[len(l.crew)-1].recent[0] = 1 // no hash 0 yet
	}
	for range pieceCount(n) {
		l.pieces = append(l.pieces, &piece{deal: make([][]uint64, 1<<shardBits)})
	}
	l.begin()
	for l.count > 0 {
		round := max(smallRound, roundWords/l.words)
		for lo := 0; lo < l.count; lo += round {
			l.expand(lo, min(lo+round, l.count))
			if l.settle(); l.over() || len(s.out.stuck) > 0 && !all {
				return
			}
		}
		l.next()
	}
	s.out.complete = s.out.bound == ""
	s.out.collision = l.collision()
}

// begin makes the first level.
func (l *levels) begin() {
	var first successors
	l.space.begin(&first)
	l.level, l.count = first.states, 1
	l.trail = [][]origin{{originOf(0, noChoice)}}
	key := l.crew[0].key(first.states)
	h := hash(key)
	l.shards[h>>shardOf].seen.addHashed(key, h)
	l.out.states, l.out.transitions = 1, first.transitions
	for _, word := range first.bad[0].Words() {
		l.out.violated[word] = l.rebuild(0, noChoice, word)
	}
}

// crewFor is how many workers n states are worth.
func (l *levels) crewFor(n int) []*worker {
	if n < smallRound {
		return l.crew[:1]
	}
	return l.crew
}

// pieceCount is how many pieces a crew divides work into: more than one each, for a worker may
// be slower than another.
func pieceCount(crew int) int {
	if crew == 1 {
		return 1
	}
	return 2 * crew
}

// share runs f for the numbers below n, each on the next worker of a crew that is free.
func share(crew []*worker, n int, f func(k int, w *worker)) {
	if len(crew) == 1 {
		for k := range n {
			f(k, crew[0])
		}
		return
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for _, w := range crew {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				f(k, w)
			}
		})
	}
	wg.Wait()
}

// expand deals the successors of the states lo to hi of the level to the shards, which keep
// the new ones.
func (l *levels) expand(lo, hi int) {
	crew := l.crewFor(hi - lo)
	pieces := l.pieces[:pieceCount(len(crew))]
	n := hi - lo
	share(crew, len(pieces), func(k int, w *worker) {
		l.dealOut(w, pieces[k], lo+n*k/len(pieces), lo+n*(k+1)/len(pieces))
	})
	if len(pieces) == 1 {
		for _, sh := range pieces[0].touched {
			l.take(sh, pieces, crew[0])
		}
	} else {
		share(crew, len(l.shards), func(sh int, w *worker) { l.take(sh, pieces, w) })
	}
	for _, p := range pieces {
		p.touched = p.touched[:0]
	}
}

// dealOut lists the successors of the states lo to hi for the shards.
func (l *levels) dealOut(w *worker, p *piece, lo, hi int) {
	words, came := l.words, l.trail[len(l.trail)-1]
	for place := lo; place < hi; place++ {
		if place&0xff == 0 && l.ctx.Err() != nil {
			return
		}
		next := &w.next
		next.reset()
		w.explorer.expand(l.level[place*words:(place+1)*words], came[place].choice(), next)
		p.transitions += next.transitions
		p.canFinish = p.canFinish || next.final
		p.overflow = p.overflow || next.overflow
		if !next.sure && !next.final {
			p.stuck = append(p.stuck, int32(place))
		}
		for i, h := range next.hashes {
			if b := next.bad[i]; b != 0 {
				p.wrong = append(p.wrong, wrong{int32(place), next.choices[i], b})
			}
			if recent := &w.recent[h&(recentSize-1)]; !l.cfg.Exact {
				if *recent == h {
					continue
				}
				*recent = h
			}
			d := p.deal[h>>shardOf]
			if len(d) == 0 {
				p.touched = append(p.touched, int(h>>shardOf))
			}
			d = append(d, h, uint64(originOf(place, next.choices[i])))
			if words == 1 {
				d = append(d, next.states[i])
			} else {
				d = append(d, next.states[i*words:(i+1)*words]...)
			}
			p.deal[h>>shardOf] = d
		}
	}
}

// take keeps in a shard what is new of the states that were dealt to it.
func (l *levels) take(sh int, pieces []*piece, w *worker) {
	s, size := l.shards[sh], 2+l.words
	before := len(s.from)
	for _, p := range pieces {
		for dealt := p.deal[sh]; len(dealt) > 0; dealt = dealt[size:] {
			h, st := dealt[0], dealt[2:size]
			key := st
			if l.cfg.Exact {
				key = w.key(st)
			}
			if s.seen.addHashed(key, h) {
				s.states = append(s.states, st...)
				s.from = append(s.from, origin(dealt[1]))
			}
		}
		p.deal[sh] = p.deal[sh][:0]
	}
	if before == 0 && len(s.from) > 0 {
		w.live = append(w.live, s)
	}
	w.kept += int64(len(s.from) - before)
}

// settle notes what was met in a round, in order.
func (l *levels) settle() {
	for _, p := range l.pieces {
		if p.overflow {
			l.out.bound = overflowBound
			return
		}
	}
	for _, p := range l.pieces {
		l.out.transitions += p.transitions
		l.out.canFinish = l.out.canFinish || p.canFinish
		for _, place := range p.stuck {
			l.hangAt(place)
		}
		for _, b := range p.wrong {
			for _, word := range b.what.Words() {
				if _, ok := l.out.violated[word]; !ok {
					l.out.violated[word] = l.rebuild(int(b.place), b.choice, word)
				}
			}
		}
		p.transitions, p.stuck, p.wrong = 0, p.stuck[:0], p.wrong[:0]
	}
	for _, w := range l.crew {
		l.out.states += w.kept
		w.kept = 0
	}
}

// next makes the next level of what the shards kept, in the order of the parents: then equal
// successors come close to each other, and worker.recent knows most of them.
func (l *levels) next() {
	n := 0
	var live []*shard
	for _, w := range l.crew {
		live = append(live, w.live...)
		w.live = w.live[:0]
	}
	for _, s := range live {
		n += len(s.from)
	}
	words := l.words
	l.spare = slices.Grow(l.spare[:0], n*words)[:n*words]
	trail := populate(make([]origin, n))
	crew := l.crewFor(n)
	pieces := pieceCount(len(crew))
	share(crew, pieces, func(k int, w *worker) {
		w.gather(live, l.spare, trail, l.count*k/pieces, l.count*(k+1)/pieces)
	})
	for _, s := range live {
		s.states, s.from = s.states[:0], s.from[:0]
	}
	l.level, l.spare = l.spare, l.level
	l.count = n
	l.trail = append(l.trail, trail)
	l.trailed += int64(n)
}

// gather puts the children of the parents lo to hi in their places.
func (w *worker) gather(live []*shard, level []uint64, trail []origin, lo, hi int) {
	w.at = slices.Grow(w.at[:0], hi-lo+1)[:hi-lo+1]
	clear(w.at)
	before := func(s *shard, place int) int {
		at, _ := slices.BinarySearch(s.from, originOf(place, 0))
		return at
	}
	at := 0
	for _, s := range live {
		from, to := before(s, lo), before(s, hi)
		at += from
		for _, o := range s.from[from:to] {
			w.at[o.place()-lo]++
		}
	}
	first := at
	for i, n := range w.at {
		w.at[i] = int32(at)
		at += int(n)
	}
	words := len(level) / max(1, len(trail))
	for _, s := range live {
		for c := before(s, lo); c < len(s.from) && s.from[c].place() < hi; c++ {
			to := &w.at[s.from[c].place()-lo]
			trail[*to] = s.from[c]
			if words == 1 {
				level[*to] = s.states[c]
			} else {
				copy(level[int(*to)*words:], s.states[c*words:(c+1)*words])
			}
			*to++
		}
	}
	// Children of one parent come from several shards: in the order of the choices.
	for c := first + 1; c < at; c++ {
		for d := c; d > first && trail[d] < trail[d-1]; d-- {
			trail[d], trail[d-1] = trail[d-1], trail[d]
			for i := range words {
				level[d*words+i], level[(d-1)*words+i] = level[(d-1)*words+i], level[d*words+i]
			}
		}
	}
}

// over reports whether a bound is reached, and notes which.
func (l *levels) over() bool {
	if l.cfg.Progress != nil {
		l.cfg.Progress(Progress{l.out.states, l.out.transitions, 0, int64(l.count), time.Since(l.started)})
	}
	switch {
	case l.out.bound != "":
	case l.cfg.MaxStates > 0 && l.out.states >= l.cfg.MaxStates:
		l.out.bound = l.cfg.bound()
	case l.ctx.Err() != nil:
		l.out.bound = boundOf(l.ctx)
	case l.out.states-l.measured < 1<<12:
	default:
		if l.measured = l.out.states; l.bytes() > l.memory {
			l.out.bound = "memory"
		}
	}
	return l.out.bound != ""
}

// bytes is the memory in use.
func (l *levels) bytes() int64 {
	n := int64(cap(l.level)+cap(l.spare))*8 + l.trailed*8
	for _, s := range l.shards {
		n += s.seen.bytes() + int64(cap(s.states)*8+cap(s.from)*8)
	}
	for _, p := range l.pieces {
		for i := range p.deal {
			n += int64(cap(p.deal[i]) * 8)
		}
	}
	return n
}

// hangAt notes the stuck state at a place of the level.
func (l *levels) hangAt(place int32) {
	st := l.level[int(place)*l.words : int(place+1)*l.words]
	l.out.stuckStates++
	c, orphan := l.space.about(st)
	if _, ok := l.out.stuck[c]; !ok {
		l.out.stuck[c] = l.rebuild(int(place), noChoice, "")
	}
	if l.out.orphans == nil && orphan {
		p := l.rebuild(int(place), noChoice, "")
		l.out.orphans = &p
	}
}

// rebuild is the run to the state at a place of the present level, and with a choice on
// from there until property is violated.
func (l *levels) rebuild(place int, c choice, property string) path {
	var list []choice
	if c != noChoice {
		list = append(list, c)
	}
	for depth := len(l.trail) - 1; depth > 0; depth-- {
		o := l.trail[depth][place]
		list = append(list, o.choice())
		place = o.place()
	}
	slices.Reverse(list)
	return l.space.path(list, property)
}

// collision is the bound on the chance that some shard dropped a state.
func (l *levels) collision() float64 {
	n := 0
	for _, s := range l.shards {
		if s.seen.collision() == 0 {
			continue
		}
		n += s.seen.n
	}
	return collisionBound(n)
}
