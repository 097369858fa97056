package check

import (
	"math"
	"math/bits"

	"github.com/fencesim/fencesim/sim"
)

// visited is the set of states that a search has seen: 64-bit hashes in open addressing,
// or whole states when exact. With n states hashed the chance that any two of them share a
// hash, so that one is taken for the other and dropped, is at most n²/2⁶⁵ if hashes are
// spread evenly; states of one word have hashes of their own.
type visited struct {
	table []uint64 // hash, or index+1 into states; 0 is free
	n     int
	zero  bool // the hash 0 was seen
	exact bool
	words int
	keep  []uint64 // exact: the states one after another
}

func newVisited(words int, exact bool) *visited {
	return &visited{table: make([]uint64, 1<<6), exact: exact, words: words}
}

// hash mixes the words of a state; it is the same on every platform and in every run.
func hash(s sim.State) uint64 {
	if len(s) == 1 {
		return mix(s[0])
	}
	h := uint64(0x9e3779b97f4a7c15)
	for _, w := range s {
		hi, lo := bits.Mul64(h^w, 0xd6e8feb86659fd93)
		h = hi ^ lo + 0xa0761d6478bd642f
	}
	hi, lo := bits.Mul64(h^0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3)
	return hi ^ lo
}

// mix is a permutation of 64-bit words that spreads them evenly (Steele, Lea and Flood
// 2014, variant 13 of Stafford).
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// add puts s into the set and reports whether it is new.
func (v *visited) add(s sim.State) bool { return v.addHashed(s, hash(s)) }

// addHashed is add for a state whose hash is known.
func (v *visited) addHashed(s sim.State, h uint64) bool {
	if 4*v.n >= 3*len(v.table) {
		v.grow()
	}
	mask := uint64(len(v.table) - 1)
	if v.exact {
		return v.addExact(s, h, mask)
	}
	if h == 0 { // no entry of the table
		fresh := !v.zero
		v.zero = true
		v.n += b2i(fresh)
		return fresh
	}
	for i := h & mask; ; i = (i + 1) & mask {
		switch v.table[i] {
		case 0:
			v.table[i] = h
			v.n++
			return true
		case h:
			return false
		}
	}
}

func (v *visited) addExact(s sim.State, h, mask uint64) bool {
	for i := h & mask; ; i = (i + 1) & mask {
		at := v.table[i]
		if at == 0 {
			v.keep = append(v.keep, s...)
			v.n++
			v.table[i] = uint64(v.n)
			return true
		}
		if equal(v.keep[int(at-1)*v.words:int(at)*v.words], s) {
			return false
		}
	}
}

func equal(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (v *visited) grow() {
	old := v.table
	v.table = populate(make([]uint64, 2*len(old)))
	mask := uint64(len(v.table) - 1)
	for _, e := range old {
		if e == 0 {
			continue
		}
		h := e
		if v.exact {
			h = hash(v.keep[int(e-1)*v.words : int(e)*v.words])
		}
		i := h & mask
		for v.table[i] != 0 {
			i = (i + 1) & mask
		}
		v.table[i] = e
	}
}

// bytes is the memory that the set takes when it holds n more states at most, the copy
// while it grows included.
func (v *visited) bytes() int64 {
	b := int64(8 * len(v.table))
	if 4*(v.n+1) >= 3*len(v.table) {
		b *= 3
	}
	return b + int64(8*cap(v.keep))
}

// collision is the bound on the chance that the set dropped a state.
func (v *visited) collision() float64 {
	if v.exact || v.words == 1 {
		return 0
	}
	return collisionBound(v.n)
}

// collisionBound is the bound for n states with hashes of 64 bits.
func collisionBound(n int) float64 {
	return math.Min(1, float64(n)*float64(n)/math.Pow(2, 65))
}
