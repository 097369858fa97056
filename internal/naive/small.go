package naive

import (
	"bytes"
	"math/rand/v2"

	"github.com/fencesim/fencesim/model"
)

// Small reads a scenario file that fuzzing made: nil unless it is valid and has at most three
// ranks, and at most most commands and steps, so that a run takes milliseconds. Aliases are
// left out, which let a short file stand for a long one.
func Small(src []byte, most int) (*model.Scenario, []*model.Schedule) {
	if len(src) > 1<<13 || bytes.ContainsRune(src, '&') {
		return nil, nil
	}
	sc, err := model.Parse("f.yaml", src)
	if err != nil || sc.NumRanks() > 3 {
		return nil, nil
	}
	if g := sc.Generate; g != nil {
		if k, _ := model.KindNamed(g.Kind); k.Count(g) > float64(most) {
			return nil, nil
		}
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, nil
	}
	n := 0
	for _, p := range programs {
		n += len(p.Main)
		for i := range p.Queues {
			n += len(p.Queues[i].Commands)
			for _, cs := range p.Queues[i].OnFinish {
				n += len(cs)
			}
		}
		for i := range p.Streams {
			n += len(p.Streams[i].Tasks)
		}
	}
	if n > most {
		return nil, nil
	}
	return sc, programs
}

// Drawn is [Random], or [RandomGraph] lowered, with the bytes of a fuzzer as its choices, so
// that a small change of them is a small change of what is drawn.
func Drawn(choices []byte, graph bool) ([]*model.Schedule, model.Machine) {
	rng := rand.New(&byteSource{choices, rand.NewPCG(1, 2)})
	if !graph {
		return Random(rng, Config{})
	}
	g, e, d, m := RandomGraph(rng, Config{})
	return []*model.Schedule{model.LowerGraph(g, d, e)}, m
}

// Either is [Small] of a file or, where that is empty, a drawn schedule as a file.
func Either(src, choices []byte, most int) (*model.Scenario, []*model.Schedule) {
	if len(src) == 0 {
		programs, m := Drawn(choices, false)
		src = []byte(Text(programs, m))
	}
	return Small(src, most)
}

// byteSource gives bytes as random numbers, and others when there are none left.
type byteSource struct {
	bytes []byte
	rest  rand.Source
}

// Uint64 has the byte where IntN looks first: at the top of both halves.
func (s *byteSource) Uint64() uint64 {
	if len(s.bytes) == 0 {
		return s.rest.Uint64()
	}
	b := uint64(s.bytes[0])<<24 | 1<<23
	s.bytes = s.bytes[1:]
	return b<<32 | b
}
