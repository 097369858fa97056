package barrier

import (
	"runtime"
	"testing"
	"time"
)

func TestNamesParseBack(t *testing.T) {
	for _, k := range Kinds {
		if got, err := Parse(k.String()); err != nil || got != k {
			t.Errorf("Parse(%q) = %v, %v", k.String(), got, err)
		}
	}
	if _, err := Parse("dmb-sy"); err == nil {
		t.Error("Parse(dmb-sy) accepted a kind that does not exist")
	}
	if got := Kind(9).String(); got != "barrier 9" {
		t.Errorf("Kind(9) = %q", got)
	}
}

// Store and Load touch the word and nothing beside it, for every kind and for the
// values at both ends.
func TestStoreThenLoad(t *testing.T) {
	for _, store := range append(Kinds[:], Kind(200)) {
		for _, load := range append(Kinds[:], Kind(200)) {
			for _, v := range []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff} {
				words := [3]uint32{0xa5a5a5a5, ^v, 0x5a5a5a5a}
				Store(&words[1], v, store)
				if got := Load(&words[1], load); got != v {
					t.Errorf("store %s, load %s: got %#x, want %#x", store, load, got, v)
				}
				if words[0] != 0xa5a5a5a5 || words[2] != 0x5a5a5a5a {
					t.Errorf("store %s of %#x touched a neighbour: %#x", store, v, words)
				}
			}
		}
	}
}

// Message passing: the datum is stored with a barrier, then the flag. Whoever has
// seen the flag through a load with a barrier sees the datum. Plain and ST on the
// reading side promise nothing and are left out.
func TestMessagePassing(t *testing.T) {
	const rounds = 300
	for _, store := range []Kind{ISH, ST, SY} {
		for _, load := range []Kind{ISH, SY} {
			words := make([]uint32, 64) // datum and flag on lines of their own
			datum, flag, back := &words[0], &words[20], &words[40]
			deadline := time.Now().Add(20 * time.Second)
			await := func(p *uint32, v uint32) bool {
				for Load(p, load) != v {
					if time.Now().After(deadline) {
						return false
					}
					runtime.Gosched()
				}
				return true
			}
			go func() {
				for i := uint32(1); i <= rounds; i++ {
					Store(datum, i*3, store)
					Store(flag, i, store)
					if !await(back, i) {
						return
					}
				}
			}()
			for i := uint32(1); i <= rounds; i++ {
				if !await(flag, i) {
					t.Fatalf("store %s, load %s: flag %d not seen in 20 s", store, load, i)
				}
				if got := Load(datum, load); got != i*3 {
					t.Fatalf("store %s, load %s: flag %d, datum %d, want %d", store, load, i, got, i*3)
				}
				Store(back, i, SY)
			}
		}
	}
}
