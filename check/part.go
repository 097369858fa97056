package check

import (
	"encoding/binary"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A part is one rank of a product by itself, which leaves a collective whenever it likes:
// all states that it may be in, by number, and the steps between them.
type part struct {
	y      *sim.System // the rank alone
	search *search
	groups []string

	states   []uint64 // one after another
	first    []int32  // by state: its first step, and the end
	steps    []step
	trans    []sim.Transition // by step
	alone    []int32          // by state: a departure to take alone once it is enabled, or -1
	facts    []uint8          // by state: see the constants
	counters []model.Counters // by state
	arrived  []uint16         // by state and group: arrivals so far

	begun sim.Violations // on the way to the first state
	taken int64          // transitions on that way
}

// step is a transition of a part with those after it that are taken at once.
type step struct {
	next     uint32
	taken    uint32 // transitions
	need     uint16 // a departure: how often every rank must have arrived
	group    int16  // a departure: where; else -1
	bad      sim.Violations
	possible bool
}

// What a part's state is.
const (
	partFinal   = 1 << iota // the rank has done all it was given
	partAwaits              // an agent is inside a collective
	partOrphans             // nobody is left to help its GPU
	partMoves               // some step other than a departure is guaranteed
)

// maxPart and maxPartWords bound the states of a part, and the words of all of them.
const (
	maxPart      = 1 << 14
	maxPartWords = 1 << 22
)

// newPart examines program as a rank of s's system, and returns nil where a bound is
// reached.
func newPart(s *search, program *model.Schedule, groups []string) *part {
	p := &part{y: sim.Compile([]*model.Schedule{program}, s.y.Machine, sim.Options{Window: windowBuffers}), groups: groups}
	f := analyse(p.y)
	p.search = s.over(f)
	p.search.wide = true
	p.search.settle = s.settleOf(f)
	if all := p.search.settle; all != nil {
		p.search.settle = func(st sim.State, t sim.Transition) bool { return t.Kind != sim.KindLeave && all(st, t) }
	}
	numbers := map[string]uint32{}
	number := func(st sim.State) uint32 {
		var b []byte
		for _, w := range st {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		n, ok := numbers[string(b)]
		if !ok {
			n = uint32(len(numbers))
			numbers[string(b)] = n
			p.states = append(p.states, st...)
		}
		return n
	}
	st := p.y.Initial()
	p.search.normalise(st, nil)
	p.begun, p.taken = p.search.bad, p.search.out.transitions
	number(st)
	var enabled []sim.Transition
	for i := 0; i < len(numbers); i++ {
		if len(numbers) > maxPart || len(p.states) > maxPartWords || p.y.Overflow(p.state(i)) {
			return nil
		}
		p.note(i)
		enabled = p.y.Enabled(p.state(i), enabled[:0])
		for _, t := range enabled {
			p.search.bad, p.search.out.transitions = 0, 0
			copy(st, p.state(i))
			e := step{group: -1, possible: t.Possible}
			if t.Kind == sim.KindLeave {
				e.group, e.need = p.departure(i, t)
				if s.persistent() && p.alone[i] < 0 && f.safe(st, t) {
					p.alone[i] = int32(len(p.steps))
				}
			}
			p.search.apply(st, t)
			p.search.normalise(st, &t)
			e.next, e.bad, e.taken = number(st), p.search.bad, uint32(p.search.out.transitions)
			p.steps, p.trans = append(p.steps, e), append(p.trans, t)
			if !e.possible && e.group < 0 {
				p.facts[i] |= partMoves
			}
		}
	}
	p.first = append(p.first, int32(len(p.steps)))
	return p
}

// state is state i.
func (p *part) state(i int) sim.State { return p.states[i*p.y.Words() : (i+1)*p.y.Words()] }

// note begins the entries of state i.
func (p *part) note(i int) {
	st := p.state(i)
	p.first = append(p.first, int32(len(p.steps)))
	p.alone = append(p.alone, -1)
	fact := uint8(b2i(p.y.RankFinal(st, 0)) * partFinal)
	fact |= uint8(b2i(p.y.WaitsForPeer(st, 0)) * partAwaits)
	fact |= uint8(b2i(p.y.Orphan(st)) * partOrphans)
	p.facts = append(p.facts, fact)
	p.counters = append(p.counters, p.y.Counters(st, 0))
	at := len(p.arrived)
	p.arrived = append(p.arrived, make([]uint16, len(p.groups))...)
	for g := range p.y.NumGroups() {
		p.arrived[at+slices.Index(p.groups, p.y.GroupText(int32(g)))] = uint16(p.y.Arrived(st, int32(g)))
	}
}

// departure is the group that t leaves in state i, and how often every rank must have
// arrived there.
func (p *part) departure(i int, t sim.Transition) (group int16, need uint16) {
	g := p.search.f.commands[t.Agent][t.Cmd].Object()
	at := slices.Index(p.groups, p.y.GroupText(g))
	return int16(at), p.arrived[i*len(p.groups)+at]
}

// run lists the transitions of step e from state i; with e negative, those to the first
// state.
func (p *part) run(i, e int) []sim.Transition {
	var ts []sim.Transition
	st := p.y.Initial()
	take := func(t sim.Transition) {
		ts = append(ts, t)
		p.y.Apply(st, t)
	}
	if e >= 0 {
		copy(st, p.state(i))
		take(p.trans[e])
	}
	p.search.settled(st, func() bool { return true }, take)
	return ts
}
