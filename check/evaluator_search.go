package check

import (
	"context"
	"errors"
	"hash/maphash"
	"time"
)

// evaluatorAction is a choice between closed states.
type evaluatorAction uint8

const (
	actTest  evaluatorAction = iota // T: M takes a contested test
	actEnd                          // DQ: Q ends a counted buffer
	actTask                         // DP: P runs a counted task
	actStore                        // W: the store that P waits for arrives
)

// An evaluatorStop is a stuck state with what the CPU may see in it: any number of tracked
// updates from low to high.
type evaluatorStop struct {
	id        int32
	low, high int32
}

// An evaluatorSearch visits the closed states in the order of how many merely possible
// arrivals they need (as far as the level tracks updates), those of one number breadth
// first.
type evaluatorSearch struct {
	y     *evaluatorSystem
	bytes []byte  // the states, one after the other
	ends  []int   // where each ends
	table []int32 // open addressing: state + 1
	seed  maphash.Seed

	parent []int32
	action []evaluatorAction
	cost   []int32
	done   []bool
	queue  [][]int32 // by cost

	stops       []evaluatorStop
	transitions int64
	states      int64 // expanded
	canFinish   bool
	exhausted   bool
	buf         []byte
}

// finishStates is how many states a search visits for a run that finishes after it has
// found the hang that it was to find.
const finishStates = 20000

// searchBounds ends a search. The zero value has no bound.
type searchBounds struct {
	states, memory int64
	first          bool // stop soon after the first hang
	progress       func(Progress)
}

func (g *evaluatorSearch) state(id int32) []byte {
	lo := 0
	if id > 0 {
		lo = g.ends[id-1]
	}
	return g.bytes[lo:g.ends[id]]
}

// add puts s, reached from parent by a, into the visited set.
func (g *evaluatorSearch) add(s *evaluatorState, parent int32, a evaluatorAction, cost int32) {
	g.buf = s.appendTo(g.buf[:0])
	mask := uint64(len(g.table) - 1)
	i := maphash.Bytes(g.seed, g.buf) & mask
	for ; g.table[i] != 0; i = (i + 1) & mask {
		id := g.table[i] - 1
		if string(g.state(id)) != string(g.buf) {
			continue
		}
		if cost < g.cost[id] {
			g.cost[id], g.parent[id], g.action[id] = cost, parent, a
			g.push(id, cost)
		}
		return
	}
	id := int32(len(g.ends))
	g.table[i] = id + 1
	g.bytes = append(g.bytes, g.buf...)
	g.ends = append(g.ends, len(g.bytes))
	g.parent, g.action = append(g.parent, parent), append(g.action, a)
	g.cost, g.done = append(g.cost, cost), append(g.done, false)
	g.push(id, cost)
	if 2*len(g.ends) > len(g.table) {
		g.grow()
	}
}

func (g *evaluatorSearch) push(id, cost int32) {
	for len(g.queue) <= int(cost) {
		g.queue = append(g.queue, nil)
	}
	g.queue[cost] = append(g.queue[cost], id)
}

func (g *evaluatorSearch) grow() {
	g.table = make([]int32, 2*len(g.table))
	mask := uint64(len(g.table) - 1)
	for id := range g.ends {
		i := maphash.Bytes(g.seed, g.state(int32(id))) & mask
		for g.table[i] != 0 {
			i = (i + 1) & mask
		}
		g.table[i] = int32(id) + 1
	}
}

// memory is what the search holds, in bytes.
func (g *evaluatorSearch) memory() int64 {
	return int64(cap(g.bytes) + 8*cap(g.ends) + 4*cap(g.table) + 4*cap(g.parent) + cap(g.action) + 4*cap(g.cost) + cap(g.done) + 4*len(g.ends))
}

// search visits what is reachable; the text names the bound that ended it, if one did.
func (y *evaluatorSystem) search(ctx context.Context, b searchBounds) (*evaluatorSearch, string) {
	g := &evaluatorSearch{y: y, table: make([]int32, 1<<10), seed: maphash.MakeSeed()}
	started, after := time.Now(), 0
	var s, n evaluatorState
	y.close(&s)
	g.add(&s, -1, 0, 0)
	for cost := 0; cost < len(g.queue); cost++ {
		for at := 0; at < len(g.queue[cost]); at++ {
			id := g.queue[cost][at]
			if g.done[id] || int(g.cost[id]) != cost {
				continue
			}
			if b.states > 0 && g.states >= b.states {
				return g, maxStates(b.states)
			}
			if g.states&0xfff == 0 {
				if err := ctx.Err(); errors.Is(err, context.DeadlineExceeded) {
					return g, "time"
				} else if err != nil {
					return g, "interrupt"
				}
				if b.memory > 0 && g.memory() > b.memory {
					return g, "memory"
				}
				if b.progress != nil {
					b.progress(Progress{States: g.states, Transitions: g.transitions, Frontier: int64(len(g.ends)) - g.states, Elapsed: time.Since(started)})
				}
			}
			g.done[id] = true
			g.states++
			s.read(g.state(id))
			g.expand(id, &s, &n)
			if b.first && len(g.stops) > 0 {
				if after++; g.canFinish || after > finishStates {
					return g, ""
				}
			}
		}
		g.queue[cost] = nil
	}
	g.exhausted = true
	return g, ""
}

// expand takes every choice in s, a closed state, or finds it final or stuck.
func (g *evaluatorSearch) expand(id int32, s, n *evaluatorState) {
	y := g.y
	moves := false
	take := func(a evaluatorAction, cost int32, f func(*evaluatorState)) {
		n.copy(s)
		f(n)
		y.close(n)
		g.transitions++
		g.add(n, id, a, g.cost[id]+cost)
	}
	if y.contested(s) {
		moves = true
		take(actTest, 0, y.test)
	}
	if _, counted := s.endable(); counted {
		moves = true
		take(actEnd, 0, y.finish)
	}
	if y.passable(s) {
		moves = true
		take(actTask, 0, y.run)
	}
	wants := s.p < y.enq[s.m] && y.open[s.p] && s.v < y.target[s.p] && s.q >= y.reach[s.p]
	idle := y.idle(s) && y.sure
	if wants {
		cost := y.target[s.p] - s.v
		if idle {
			cost = 0
		}
		take(actStore, cost, func(n *evaluatorState) { y.see(n, y.target[n.p]) })
	}
	executed := y.before[s.q]
	switch {
	case moves || wants && idle:
	case wants:
		g.stops = append(g.stops, evaluatorStop{id, s.v, min(executed, y.target[s.p]-1)})
	case y.final(s):
		g.canFinish = true
	case idle:
		g.stops = append(g.stops, evaluatorStop{id, executed, executed})
	default:
		g.stops = append(g.stops, evaluatorStop{id, s.v, executed})
	}
}

func (y *evaluatorSystem) final(s *evaluatorState) bool {
	return int(s.m) == len(y.main) && y.idle(s) && int(s.q) == len(y.cmds) && int(s.p) == len(y.tasks)
}
