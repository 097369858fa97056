// Package barrier stores and loads a 32-bit word of shared memory with a chosen
// ARM barrier instruction, or none, after it. They are the variants that the
// reports about CPU and GPU fences on Apple silicon argue over, so that each can
// be tried on a machine.
//
// On arm64 every variant is the plain instruction STR or LDR of an aligned word,
// then the barrier, in Go assembly; a test checks the encodings. Elsewhere every
// variant, Plain too, is the sequentially consistent operation of sync/atomic:
// at least as strong as each in its effect on other CPUs, and without any meaning
// for a GPU. Native tells the two apart.
//
// What an instruction does to the view of a GPU is not documented by Apple; that
// DSB SY publishes a store to it is a hypothesis. The arm64 code has been run
// under emulation only, which shows values and encodings and not visibility.
//
// The race detector does not see the arm64 accesses.
package barrier

import "fmt"

// A Kind is the barrier instruction that follows the access. The zero Kind is no
// barrier.
type Kind uint8

// The kinds, weakest first. ISH reaches the CPUs, the others the full system; DMB
// orders, DSB also waits for completion; ST is about stores alone.
const (
	Plain Kind = iota // no barrier
	ISH               // DMB ISH
	ST                // DSB ST
	SY                // DSB SY
)

// Kinds is every kind in order.
var Kinds = [...]Kind{Plain, ISH, ST, SY}

var names = [...]string{"none", "dmb-ish", "dsb-st", "dsb-sy"}

// String is the kind's name: none, dmb-ish, dsb-st or dsb-sy.
func (k Kind) String() string {
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("barrier %d", uint8(k))
}

// Parse is the inverse of String.
func Parse(name string) (Kind, error) {
	for i, n := range names {
		if n == name {
			return Kind(i), nil
		}
	}
	return Plain, fmt.Errorf("barrier %q is not one of none, dmb-ish, dsb-st, dsb-sy", name)
}

// Store stores v and then executes the barrier. Nothing orders the store after
// earlier accesses: to publish data before a flag, Store the data with the
// barrier and the flag after it. A kind that is not of Kinds counts as SY.
func Store(p *uint32, v uint32, k Kind) {
	switch k {
	case Plain:
		storePlain(p, v)
	case ISH:
		storeISH(p, v)
	case ST:
		storeST(p, v)
	default:
		storeSY(p, v)
	}
}

// Load loads the word and then executes the barrier, which stands between two
// polls of a loop and between the last poll and the reads that follow. ST orders
// no load; it is here for completeness. A kind that is not of Kinds counts as SY.
func Load(p *uint32, k Kind) uint32 {
	switch k {
	case Plain:
		return loadPlain(p)
	case ISH:
		return loadISH(p)
	case ST:
		return loadST(p)
	default:
		return loadSY(p)
	}
}
