package fencetest

import (
	"testing"

	"pgregory.net/rapid"
)

// What the generators draw, cut down, is decided as the naive model decides it.
func FuzzLaws(f *testing.F) {
	addDraws(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		sc := cutDown(Scenarios().Draw(t, "scenario"))
		if err := equalsNaive(sc); err != nil && err != errSkip {
			t.Fatalf("%v\n%s", err, text(sc))
		}
	}))
}
