package check

import (
	"math/bits"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A product is the space of ranks that meet only in collectives of fixed order: a state is
// one word with the number of each rank's own state, and a step is looked up instead of
// made (local transition caching and collapsed states: Blom, van de Pol and Weber 2010,
// Holzmann 1997). Every rank's part is listed beforehand as if the others let it pass; a
// departure is enabled once all have arrived.
type product struct {
	s      *search
	parts  []*part
	shift  []uint
	mask   []uint64
	groups []string
	alone  bool // departures, and the steps of one rank, may be taken alone
	sleeps bool // see asleep
	begun  sim.Violations
	first  uint64
	taken  int64
}

// maxProductRanks is what a choice has room for.
const maxProductRanks = 1<<(24-choiceRank) - 1

// newProduct is the product for s's system, nil if its ranks meet in another way or are
// too large.
func newProduct(s *search) *product {
	programs := s.y.Programs
	if len(programs) < 2 {
		return nil
	}
	p := &product{s: s, alone: s.persistent(), sleeps: s.cfg.reduces("sleep") && !s.persistent() && s.order == nil}
	var distinct []*model.Schedule
	var met [][]meeting
	for r, program := range programs {
		if slices.Contains(distinct, program) {
			continue
		}
		ms, why := meetings(program)
		if why != "" {
			return nil
		}
		for i := range met {
			if mismatch(i, met[i], r, ms) != "" {
				return nil
			}
		}
		distinct, met = append(distinct, program), append(met, ms)
		for _, m := range ms {
			if !slices.Contains(p.groups, m.group) {
				p.groups = append(p.groups, m.group)
			}
		}
	}
	used := uint(0)
	for r, program := range programs {
		var own *part
		if i := slices.Index(programs, program); i < len(p.parts) {
			own = p.parts[i]
		} else if own = newPart(s, program, p.groups); own == nil {
			return nil
		}
		n := uint(bits.Len(uint(len(own.facts) - 1)))
		p.parts, p.shift, p.mask = append(p.parts, own), append(p.shift, used), append(p.mask, 1<<n-1)
		if used += n; used > 64 || r >= maxProductRanks {
			return nil
		}
	}
	for _, own := range p.parts {
		p.begun |= own.begun
		p.taken += own.taken
	}
	p.first = p.settle(p.first, func(_ int, _ int32, e *step) {
		p.begun |= e.bad
		p.taken += int64(e.taken)
	})
	return p
}

func (p *product) words() int { return 1 }

func (p *product) begin(out *successors) {
	out.states, out.bad, out.transitions = []uint64{p.first}, []sim.Violations{p.begun}, p.taken
}

// at is the number of rank r's state in st.
func (p *product) at(st uint64, r int) int { return int(st >> p.shift[r] & p.mask[r]) }

// passes reports whether every rank has arrived as often as departure e of a rank needs.
func (p *product) passes(st uint64, e *step) bool {
	for r, own := range p.parts {
		if own.arrived[p.at(st, r)*len(p.groups)+int(e.group)] < e.need {
			return false
		}
	}
	return true
}

// move is st after step e of rank r.
func (p *product) move(st uint64, r int, e *step) uint64 {
	return st&^(p.mask[r]<<p.shift[r]) | uint64(e.next)<<p.shift[r]
}

// settle takes departures that may be taken alone until none is enabled, and calls f for
// each.
func (p *product) settle(st uint64, f func(r int, at int32, e *step)) uint64 {
	if !p.alone || len(p.groups) == 0 {
		return st
	}
	for r := 0; r < len(p.parts); r++ {
		own := p.parts[r]
		at := own.alone[p.at(st, r)]
		if at < 0 {
			continue
		}
		if e := &own.steps[at]; p.passes(st, e) {
			f(r, at, e)
			st = p.move(st, r, e)
			r = -1 // from the first rank again
		}
	}
	return st
}

func (p *product) about(states []uint64) (c model.Counters, orphan bool) {
	first := -1
	counted := false
	for r, own := range p.parts {
		i := p.at(states[0], r)
		fact := own.facts[i]
		orphan = orphan || fact&partOrphans != 0
		if fact&partFinal != 0 || counted {
			continue
		}
		if first < 0 {
			first, c = r, own.counters[i]
		}
		if fact&partAwaits == 0 {
			c, counted = own.counters[i], true
		}
	}
	return c, orphan
}

// path rebuilds a run of the system: the choices number the steps of all ranks' states.
func (p *product) path(choices []choice, property string) path {
	y := p.s.y
	var run path
	whole := y.Initial()
	done := false
	emit := func(r int, ts []sim.Transition) {
		agent, _ := y.AgentsOf(int32(r))
		fence, _ := y.FencesOf(int32(r))
		for _, t := range ts {
			if done {
				return
			}
			if t.Kind == sim.KindVisible {
				t.Agent += fence
			} else {
				t.Agent += agent
			}
			run.steps = append(run.steps, t)
			run.possible += b2i(t.Possible && t.Kind == sim.KindVisible)
			v := y.Apply(whole, t)
			done = property != "" && slices.Contains(v.Words(), property)
		}
	}
	st := uint64(0)
	for r, own := range p.parts {
		emit(r, own.run(0, -1))
	}
	settle := func() {
		now := st
		st = p.settle(st, func(r int, at int32, e *step) {
			emit(r, p.parts[r].run(p.at(now, r), int(at)))
			now = p.move(now, r, e)
		})
	}
	settle()
	for _, c := range choices {
		r, j := c.step()
		own := p.parts[r]
		i := p.at(st, r)
		at := int(own.first[i]) + j
		emit(r, own.run(i, at))
		st = p.move(st, r, &own.steps[at])
		settle()
	}
	return run
}

// In a product a choice is a step of a rank's state and the rank.
const choiceRank = 16 // lowest bit

func (c choice) step() (rank, j int) { return int(c >> choiceRank), int(c & (1<<choiceRank - 1)) }

// enough is a rank whose steps need to be taken alone in st, or -1: one that can move for
// sure and is inside no collective. Nothing that others do enables or disables a step of it
// before it moves, and in every run to a stuck state it does (a persistent set, Godefroid
// 1996).
func (p *product) enough(st uint64) int {
	if p.alone {
		for r, own := range p.parts {
			if own.facts[p.at(st, r)]&(partAwaits|partMoves) == partMoves {
				return r
			}
		}
	}
	return -1
}

// asleep is the number of ranks, from the first on, whose steps other than departures need
// not be taken in a state to which by led: rank r moved there last, so for a rank q before
// it each of its steps was enabled before, commutes with that of r, and leads from the
// parent to a state in which the step of r leads to the same successor. That state may
// leave it to another in the same way, but only to a rank after r, so some state takes it
// (sleep sets, Godefroid 1996, of the last transition only: a state that is stored needs
// no more of them than its first parent gives). Permuting ranks would change that order, so
// that symmetry goes without; where only some ranks are taken, the argument does not hold.
func (p *product) asleep(by choice) int {
	if !p.sleeps || by == noChoice {
		return 0
	}
	r, _ := by.step()
	return r
}

// productExplorer lists the successors in a product.
type productExplorer struct {
	*product
	at    []int    // by rank
	order []uint64 // symmetry: for sorting
}

func (p *product) hire() explorer {
	return &productExplorer{product: p, at: make([]int, len(p.parts)), order: make([]uint64, len(p.parts))}
}

func (x *productExplorer) key(st []uint64) []uint64 {
	if x.s.order == nil {
		return st
	}
	for r := range x.parts {
		x.order[r] = st[0] >> x.shift[r] & x.mask[r]
	}
	slices.Sort(x.order)
	least := uint64(0)
	for r, v := range x.order {
		least |= v << x.shift[r]
	}
	return []uint64{least}
}

func (x *productExplorer) expand(states []uint64, by choice, out *successors) {
	st := states[0]
	out.final = true
	asleep, enough := x.asleep(by), x.enough(st)
	for r, own := range x.parts {
		i := x.product.at(st, r)
		out.final = out.final && own.facts[i]&partFinal != 0
		if enough >= 0 && r != enough {
			continue
		}
		steps := own.steps[own.first[i]:own.first[i+1]]
		for j := range steps {
			e := &steps[j]
			if e.group >= 0 && !x.passes(st, e) {
				continue
			}
			out.sure = out.sure || !e.possible
			if r < asleep && e.group < 0 {
				continue
			}
			out.transitions += int64(e.taken)
			bad := e.bad
			next := x.settle(x.move(st, r, e), func(_ int, _ int32, e *step) {
				bad |= e.bad
				out.transitions += int64(e.taken)
			})
			out.states = append(out.states, next)
			out.choices = append(out.choices, choice(r<<choiceRank|j))
			out.bad = append(out.bad, bad)
		}
	}
	if x.s.order == nil {
		for _, st := range out.states {
			out.hashes = append(out.hashes, mix(st))
		}
		return
	}
	for i := range out.states {
		out.hashes = append(out.hashes, hash(x.key(out.states[i:i+1])))
	}
}
