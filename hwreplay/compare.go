package hwreplay

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"

	"github.com/fencesim/fencesim/sim"
)

// Agreement is what the comparison of a run with the model gives. The zero value is
// undecided.
type Agreement uint8

// The agreements.
const (
	Undecided Agreement = iota // the search reached its bound
	Allowed                    // some run of the model is what happened
	Outside                    // no run of the model is
)

var agreementWords = [...]string{"undecided", "allowed", "outside"}

// String is the word in results.
func (a Agreement) String() string { return agreementWords[a] }

// MarshalText is String as bytes.
func (a Agreement) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the word back; an unknown one is undecided.
func (a *Agreement) UnmarshalText(b []byte) error {
	*a = Undecided
	for i, w := range agreementWords {
		if w == string(b) {
			*a = Agreement(i)
		}
	}
	return nil
}

// Comparison is the model's word on one run.
type Comparison struct {
	Model    Agreement
	Reason   string         // why not allowed, in a sentence
	Violated sim.Violations // what the run that was found violates on its way
	Tried    int            // transitions tried
}

// compareBound is how many transitions more than it has to place a comparison tries in the
// end, and compareDraws how often it draws the moments anew.
const (
	compareBound = 30000
	compareDraws = 16
)

// Compare holds an outcome against a machine: it looks for a run of package sim that
// makes the recorded transitions, each agent's in its own order, and ends as the outcome
// did. At each point it takes the earliest recorded transition that the model has
// enabled, and goes back when that leads nowhere. y is the plan's System or one of the
// same schedules on another machine.
func Compare(y *sim.System, out *Outcome) Comparison {
	// What a throttle's test has read says between which ends of others it stands, and
	// every transition has an interval that it was made in. Nearly always that leads straight
	// to a run. Where the clocks of two cores are apart, what was read does alone. Where two
	// intervals overlap, and what came first only shows much later, the search goes back
	// through all that lies between; to draw moments from the intervals anew is quicker.
	before := orderTests(y, out)
	try := func(timed bool, draw uint64, bound int) Comparison {
		c := newComparison(y, out)
		c.timed, c.before = timed, before
		if draw > 0 {
			c.draw(draw)
		}
		return c.search(c.total + bound)
	}
	r := try(true, 0, 500)
	if r.Model == Undecided {
		r = try(false, 0, 500)
	}
	for draw := uint64(1); r.Model == Undecided && draw <= compareDraws; draw++ {
		r = try(true, draw, 500)
	}
	if r.Model == Allowed {
		return r
	}
	return try(false, 0, compareBound)
}

func newComparison(y *sim.System, out *Outcome) *comparison {
	c := &comparison{y: y, out: out, at: make([]int, len(out.chains)), s: y.Initial(), dead: map[uint64]bool{}, seed: maphash.MakeSeed()}
	for _, l := range out.chains {
		c.total += len(l)
		when := make([]int64, len(l))
		for i := range l {
			switch e := &l[i]; {
			case !e.eager:
				when[i] = e.ns
			case e.to == ever:
				when[i] = ever
			}
		}
		c.when = append(c.when, when)
	}
	return c
}

// draw draws the moment of each event from its interval.
func (c *comparison) draw(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for i, l := range c.out.chains {
		for k := range l {
			if e := &l[k]; e.eager {
				c.when[i][k] = e.ns
			} else if e.to != ever && e.from < e.to {
				c.when[i][k] = e.from + rng.Int64N(e.to-e.from)
			}
		}
	}
}

// place is one event: its chain and its position there.
type place struct{ chain, at int }

// orderTests gives for every throttle test the ends that it has seen, as before it, and for
// the next ones the test.
func orderTests(y *sim.System, out *Outcome) map[place][]place {
	first := map[int32]int{}
	for i, l := range out.chains {
		for k := range l {
			if l[k].seen != nil {
				first[l[k].t.Agent] = i
			}
		}
	}
	if len(first) == 0 {
		return nil
	}
	before := map[place][]place{}
	// The ends of each agent that comes behind a main thread: its queues and streams.
	ends := map[int32][]place{}
	for i, l := range out.chains {
		for k := range l {
			e := &l[k]
			if e.over > 0 {
				ends[e.t.Agent] = append(ends[e.t.Agent], place{i, k})
			}
			if e.t.Kind == sim.KindJoin && y.AgentKindOf(e.t.Peer) == sim.CPUStream {
				ends[e.t.Peer] = append(ends[e.t.Peer], place{i, k})
			}
		}
	}
	for agent, list := range ends { // of a queue's buffers, which may overlap, in the order seen
		slices.SortStableFunc(list, func(a, b place) int { return cmp.Compare(out.event(a).nth(agent), out.event(b).nth(agent)) })
	}
	for agent, i := range first {
		last, done := place{-1, -1}, map[int32]int{} // the test before, and how many ends of each it saw
		for k := range out.chains[i] {
			e, test := &out.chains[i][k], place{i, k}
			if e.seen == nil {
				continue
			}
			for j, n := range e.seen {
				a := agent + 1 + int32(j)
				n = min(n, len(ends[a]))
				for _, p := range ends[a][done[a]:n] {
					before[test] = append(before[test], p)
					if last.chain >= 0 {
						before[p] = append(before[p], last)
					}
				}
				done[a] = n
			}
			last = test
		}
		for a, n := range done {
			for _, p := range ends[a][n:] {
				before[p] = append(before[p], last)
			}
		}
	}
	return before
}

func (o *Outcome) event(p place) *event { return &o.chains[p.chain][p.at] }

// nth orders the ends of an agent.
func (e *event) nth(agent int32) int64 {
	if agent != e.t.Agent {
		return int64(e.t.PeerCmd) + 1 // of a send, for its receiver
	}
	return e.over
}

// held reports whether something that has to come first has not.
func (c *comparison) held(chain int) bool {
	if c.before == nil {
		return false
	}
	for _, p := range c.before[place{chain, c.at[chain]}] {
		if c.at[p.chain] <= p.at {
			return true
		}
	}
	return false
}

// comparison is one search. It walks forwards and back on one state and one position in
// each chain.
type comparison struct {
	y     *sim.System
	out   *Outcome
	at    []int
	when  [][]int64 // by event: the moment to go by
	total int
	s     sim.State
	path  []placed
	tried int
	dead  map[uint64]bool // states with positions that lead nowhere
	seed  maphash.Seed
	best  int
	why   string
	buf   []sim.Transition

	timed  bool              // a transition that ended before another began comes first
	before map[place][]place // by event: those that have to come first; nil: none
}

// placed is one recorded transition of the run so far, with the state before it.
type placed struct {
	before   sim.State
	chain    int
	skip     int // candidates tried at this point
	violated sim.Violations
}

// search looks for a run, and gives up when so many transitions were tried.
func (c *comparison) search(bound int) Comparison {
	skip := 0
	for {
		if len(c.path) == c.total {
			why := c.ends()
			if why == "" {
				return c.result(Allowed, "")
			}
			if c.best <= c.total {
				c.best, c.why = c.total+1, why
			}
		} else if c.tried < bound && !c.dead[c.hash()] && c.forward(skip) {
			skip = 0
			continue
		}
		if c.tried >= bound {
			return c.result(Undecided, fmt.Sprintf("%d transitions were tried to place %d; last: %s", c.tried, c.total, c.why))
		}
		if len(c.path) < c.total {
			c.dead[c.hash()] = true
		}
		if len(c.path) == 0 {
			return c.result(Outside, c.why)
		}
		last := c.path[len(c.path)-1]
		c.path = c.path[:len(c.path)-1]
		c.s = last.before
		c.at[last.chain]--
		skip = last.skip
	}
}

func (c *comparison) result(a Agreement, why string) Comparison {
	r := Comparison{Model: a, Reason: why, Tried: c.tried}
	for _, p := range c.path {
		r.Violated |= p.violated
	}
	return r
}

// forward takes the earliest enabled recorded transition but skip earlier ones.
func (c *comparison) forward(skip int) bool {
	type head struct {
		ns    int64
		chain int
	}
	var heads []head
	latest := ever // the next transition was made no later than this
	for i, l := range c.out.chains {
		if c.at[i] < len(l) {
			e := &l[c.at[i]]
			heads = append(heads, head{c.when[i][c.at[i]], i})
			latest = min(latest, e.to)
		}
	}
	slices.SortFunc(heads, func(a, b head) int {
		switch {
		case a.ns != b.ns && a.ns < b.ns, a.ns == b.ns && a.chain < b.chain:
			return -1
		}
		return 1
	})
	n := 0
	for _, h := range heads {
		e := &c.out.chains[h.chain][c.at[h.chain]]
		if c.timed && e.from > latest {
			continue
		}
		t, ok := c.enabled(e)
		if !ok || c.held(h.chain) {
			continue
		}
		if n++; n <= skip {
			continue
		}
		c.tried++
		next, v := c.y.Next(c.s, t)
		c.path = append(c.path, placed{c.s, h.chain, n, v})
		c.s = next
		c.at[h.chain]++
		return true
	}
	if skip == 0 && len(c.path) >= c.best && len(heads) > 0 {
		e := &c.out.chains[heads[0].chain][c.at[heads[0].chain]]
		text := e.text
		if text == "" {
			text = c.y.Describe(e.t)
		}
		c.best, c.why = len(c.path), fmt.Sprintf("after %d of %d transitions the model has none of those that follow; the first is %s: %s", len(c.path), c.total, c.y.Agent(e.t), text)
	}
	return false
}

// enabled finds the model's transition of an event, if it is enabled now.
func (c *comparison) enabled(e *event) (sim.Transition, bool) {
	switch {
	case e.t.Kind == sim.KindVisible:
		c.buf = c.y.EnabledArrivals(c.s, e.t.Agent, c.buf[:0])
	case e.t.Kind == sim.KindKill:
		c.buf = c.y.Enabled(c.s, c.buf[:0])
	default:
		c.buf = c.y.EnabledOf(c.s, e.t.Agent, c.buf[:0])
	}
	for _, t := range c.buf {
		if t.Kind != e.t.Kind {
			continue
		}
		if e.t.Kind == sim.KindVisible {
			if c.y.Describe(t) == e.text {
				return t, true
			}
			continue
		}
		same := t
		same.Possible = false
		want := e.t
		switch t.Kind {
		case sim.KindStart, sim.KindFinish, sim.KindKill:
			same.Cmd, want.Cmd = 0, 0
		}
		if same != want || e.test != untested && c.y.Contested(c.s, t) != (e.test == contested) {
			continue
		}
		return t, true
	}
	return sim.Transition{}, false
}

// ends compares the last state with the outcome; "" if they agree.
func (c *comparison) ends() string {
	switch {
	case c.out.Finished && !c.y.Final(c.s):
		return "the run finished, and the model has more to do"
	case c.out.Hung && !c.y.Stuck(c.s):
		for _, t := range c.y.Enabled(c.s, nil) {
			if !t.Possible {
				return fmt.Sprintf("the run hung, and the model guarantees %s: %s", c.y.Agent(t), c.y.Describe(t))
			}
		}
		return "the run hung, and the model's is finished"
	}
	for r := range c.out.Ranks {
		have := &c.out.Ranks[r]
		if got := c.y.Counters(c.s, r); got != have.Counters {
			return fmt.Sprintf("rank %d has the counters %s, the model %s", r, have.Counters, got)
		}
		states := c.y.FenceStates(c.s, r)
		for i, f := range have.Fences {
			if i < len(states) && (states[i].SeenByGPU != f.gpu || states[i].SeenByCPU != f.cpu) {
				return fmt.Sprintf("%s is %d to the GPU and %d to the CPU, in the model %d and %d", f.Name, f.gpu, f.cpu, states[i].SeenByGPU, states[i].SeenByCPU)
			}
		}
	}
	return ""
}

// hash identifies the point of the search.
func (c *comparison) hash() uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, w := range c.s {
		maphash.WriteComparable(&h, w)
	}
	for _, n := range c.at {
		maphash.WriteComparable(&h, n)
	}
	return h.Sum64()
}
