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
	alone  bool // departures may be taken alone
	begun  sim.Violations
	first  uint64
	taken  int64
}

// newProduct is the product for s's system, nil if its ranks meet in another way or are
// too large.
func newProduct(s *search) *product {
	programs := s.y.Programs
	if len(programs) < 2 {
		return nil
	}
	p := &product{s: s, alone: s.persistent()}
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
	used, choices := uint(0), 0
	for _, program := range programs {
		var own *part
		if i := slices.Index(programs, program); i < len(p.parts) {
			own = p.parts[i]
		} else if own = newPart(s, program, p.groups); own == nil {
			return nil
		}
		n := uint(bits.Len(uint(len(own.facts) - 1)))
		p.parts, p.shift, p.mask = append(p.parts, own), append(p.shift, used), append(p.mask, 1<<n-1)
		if used += n; used > 64 {
			return nil
		}
		most := int32(0)
		for i := range own.facts {
			most = max(most, own.first[i+1]-own.first[i])
		}
		if choices += int(most); choices > 1<<16 {
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
func (p *product) path(choices []int, property string) path {
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
		for r, own := range p.parts {
			i := p.at(st, r)
			n := int(own.first[i+1] - own.first[i])
			if c >= n {
				c -= n
				continue
			}
			at := int(own.first[i]) + c
			emit(r, own.run(i, at))
			st = p.move(st, r, &own.steps[at])
			break
		}
		settle()
	}
	return run
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

func (x *productExplorer) expand(states []uint64, out *successors) {
	st := states[0]
	out.final = true
	choice := 0
	for r, own := range x.parts {
		i := x.product.at(st, r)
		out.final = out.final && own.facts[i]&partFinal != 0
		steps := own.steps[own.first[i]:own.first[i+1]]
		for j := range steps {
			e := &steps[j]
			if e.group >= 0 && !x.passes(st, e) {
				continue
			}
			out.sure = out.sure || !e.possible
			out.transitions += int64(e.taken)
			bad := e.bad
			next := x.settle(x.move(st, r, e), func(_ int, _ int32, e *step) {
				bad |= e.bad
				out.transitions += int64(e.taken)
			})
			out.states = append(out.states, next)
			out.choices = append(out.choices, uint16(choice+j))
			out.bad = append(out.bad, bad)
		}
		choice += len(steps)
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
