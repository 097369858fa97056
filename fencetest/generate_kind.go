package fencetest

import (
	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// sizes of arrays against a limit of max_mb Mi elements: far below it, so that no array
// forces a commit, near it, and so large that each operation does.
func elems(t *rapid.T, e model.Evaluator) int64 {
	limit := int64(e.Normal().MaxMB)
	switch between(t, "size of arrays", 0, 3) {
	case 0:
		return 1 << 10
	case 1:
		return max(1, limit*mebi/4)
	case 2:
		return limit*mebi/3 + mebi
	}
	return limit * mebi
}

// generated finishes a scenario of one of model.Kinds.
func generated(t *rapid.T, kind string, ranks []int, fill func(g *model.Generate)) *model.Scenario {
	s := assumptions(t, &model.Scenario{Name: kind, Ranks: pick(t, "ranks", ranks...)})
	s.Generate = &model.Generate{Kind: kind, Elems: elems(t, s.Evaluator)}
	fill(s.Generate)
	return s
}

// IndependentReductions draws up to eight chains of up to two matmuls around a reduction;
// the width of the evaluator cuts them into groups.
func IndependentReductions() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		return generated(t, "independent-reductions", []int{1, 1, 2, 4}, func(g *model.Generate) {
			g.Reductions, g.Rounds = between(t, "reductions", 1, 8), between(t, "rounds", 0, 2)
		})
	})
}

// ChainedReductions draws one chain with up to six reductions.
func ChainedReductions() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		return generated(t, "chained-reductions", []int{1, 1, 2, 4}, func(g *model.Generate) {
			g.Reductions, g.Rounds = between(t, "reductions", 1, 6), between(t, "rounds", 0, 3)
		})
	})
}

// Pipelines draws two or three stages and up to two micro-batches.
func Pipelines() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		return generated(t, "pipeline", []int{2, 2, 3}, func(g *model.Generate) {
			g.Rounds, g.Reductions = between(t, "rounds", 0, 2), between(t, "micro-batches", 1, 2)
		})
	})
}

// RandomKind draws the kind random: a seed and a number of operations.
func RandomKind() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		return generated(t, "random", []int{1, 1, 2}, func(g *model.Generate) {
			g.Seed, g.Size = rapid.Uint64().Draw(t, "seed"), between(t, "size", 2, 14)
			if !one(t, "equal sizes", 3) {
				g.Elems = 0
			}
		})
	})
}
