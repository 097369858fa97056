package fencetest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// addDraws gives the corpus choices enough for a scenario.
func addDraws(f *testing.F) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 4))
		b := make([]byte, 4<<10)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
}

// What the generators draw is a scenario whose text reads back, and each run of it, chosen
// by the fuzzer step by step, replays from its file to the same state.
func FuzzReplay(f *testing.F) {
	addDraws(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		sc := Scenarios().Draw(t, "scenario")
		want := []byte(text(sc))
		back, err := model.Parse("drawn", want)
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if again := []byte(text(back)); !bytes.Equal(again, want) {
			t.Fatalf("read back it is\n%s\nwas\n%s", again, want)
		}
		y, err := compile(sc)
		if err != nil {
			t.Fatalf("%v", err)
		}
		run := sim.Run{Last: y.Initial()}
		var enabled []sim.Transition
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if enabled = y.Enabled(run.Last, enabled[:0]); len(enabled) == 0 {
				break
			}
			c := rapid.IntRange(0, len(enabled)-1).Draw(t, "choice")
			run.Choices = append(run.Choices, c)
			run.Violated |= y.Apply(run.Last, enabled[c])
		}
		src, err := json.Marshal(sc)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if err := replays(y, sim.NewTrace(y, src, "steps", 0, -1, run.Choices), run); err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
	}))
}
