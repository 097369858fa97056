package sim

import "math/bits"

// A State is one state of a [System]: a run of machine words that [System] lays out, with
// the part of each rank in whole words of its own. States of one system have one length,
// so copying, comparing and hashing a state are one operation each.
type State []uint64

// Clone returns a copy of s.
func (s State) Clone() State { return append(State(nil), s...) }

// A field is some bits of one word of a state. The zero field has no bits: it reads as 0
// and ignores what is stored, which is how parts that a machine does not need cost nothing.
type field struct {
	word  int32
	shift uint8
	mask  uint64
}

func (f field) get(s State) uint64 { return s[f.word] >> f.shift & f.mask }

func (f field) set(s State, v uint64) {
	w := &s[f.word]
	*w = *w&^(f.mask<<f.shift) | (v&f.mask)<<f.shift
}

func (f field) int(s State) int32 { return int32(s[f.word] >> f.shift & f.mask) }

func (f field) add(s State, d int32) { f.set(s, uint64(int64(f.get(s))+int64(d))) }

func (f field) none() bool { return f.mask == 0 }

// layout hands out fields. A field never crosses a word.
type layout struct {
	words int32
	used  uint // bits used of the last word
}

// align starts a new word.
func (l *layout) align() {
	if l.used > 0 {
		l.words++
		l.used = 0
	}
}

// bits returns a field of n bits, n at most 64.
func (l *layout) bits(n int) field {
	if n == 0 {
		return field{}
	}
	if l.used+uint(n) > 64 {
		l.align()
	}
	f := field{l.words, uint8(l.used), 1<<uint(n) - 1}
	if n == 64 {
		f.mask = ^uint64(0)
	}
	if l.used += uint(n); l.used == 64 {
		l.words++
		l.used = 0
	}
	return f
}

// count returns a field for values from 0 to most.
func (l *layout) count(most int) field { return l.bits(bits.Len64(uint64(most))) }

// size is the length of a state in words, at least 1.
func (l *layout) size() int {
	n := int(l.words)
	if l.used > 0 {
		n++
	}
	return max(n, 1)
}

// A set is some fields that together hold a set of small integers, one bit each.
type set struct{ chunks []field }

func (l *layout) set(n int) set {
	var b set
	for ; n > 0; n -= 64 {
		b.chunks = append(b.chunks, l.bits(min(n, 64)))
	}
	return b
}

func (b set) put(s State, i int32) {
	f := b.chunks[i/64]
	s[f.word] |= 1 << (uint(f.shift) + uint(i%64))
}

func (b set) remove(s State, i int32) {
	f := b.chunks[i/64]
	s[f.word] &^= 1 << (uint(f.shift) + uint(i%64))
}

// first is the least member, or -1.
func (b set) first(s State) int32 {
	for i, f := range b.chunks {
		if v := f.get(s); v != 0 {
			return int32(i*64 + bits.TrailingZeros64(v))
		}
	}
	return -1
}

func (b set) has(s State, i int32) bool { return b.chunks[i/64].get(s)>>uint(i%64)&1 != 0 }
