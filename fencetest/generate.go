package fencetest

import (
	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// The families of generated scenarios. Each is a rapid generator, so that it can be mapped,
// filtered and combined with a user's own, and what it draws is an ordinary scenario: those
// of the kinds of model.Kinds are `generate` sections, which
// `fencesim explore --generate KIND` makes too; the others are graphs and schedules.
// Machine, ranks and discipline are drawn with them; a test that wants others sets them.
//
// What is drawn is small, so that a search of all runs is quick, and the evaluator's limits
// are drawn as small as the graphs, so that width, size rule and throttle all matter.

// Family is one generator with its name, for tables.
type Family struct {
	Name      string
	About     string
	Scenarios func() *rapid.Generator[*model.Scenario]
}

// Families lists all generators of scenarios.
var Families = []Family{
	{"independent-reductions", "groups of chains that meet nowhere but in their order", IndependentReductions},
	{"chained-reductions", "one reduction behind the other, as in tensor parallel decoding", ChainedReductions},
	{"pipeline", "each rank a stage with a recv and a send", Pipelines},
	{"all-gather", "layers that gather their weights, compute and scatter their sums", AllGathers},
	{"random", "the kind random of explore --generate", RandomKind},
	{"graph", "any operations on up to two queues and two CPU streams", Graphs},
	{"schedule", "explicit schedules, mostly right, sometimes with a fault", Schedules},
}

// Scenarios draws from all [Families].
func Scenarios() *rapid.Generator[*model.Scenario] {
	var gs []*rapid.Generator[*model.Scenario]
	for _, f := range Families {
		gs = append(gs, f.Scenarios())
	}
	return rapid.OneOf(gs...)
}

// mebi is 1 Mi elements, the unit of the size rule.
const mebi = 1 << 20

// pick draws one of a few values.
func pick[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

// one is true in one of n draws.
func one(t *rapid.T, label string, n int) bool {
	return rapid.SampledFrom(upTo(n)).Draw(t, label) == n-1 // shrinks towards false
}

// between draws evenly.
func between(t *rapid.T, label string, low, high int) int {
	return low + rapid.SampledFrom(upTo(high-low+1)).Draw(t, label)
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Evaluators draws limits that graphs of ten operations reach.
func Evaluators() *rapid.Generator[model.Evaluator] {
	return rapid.Custom(func(t *rapid.T) model.Evaluator {
		return model.Evaluator{
			BFSWidth:          between(t, "bfs_width", 1, 5),
			MaxOps:            between(t, "max_ops", 1, 8),
			MaxMB:             between(t, "max_mb", 1, 8),
			MaxActive:         between(t, "max_active", 1, 4),
			DispatchesPerTask: between(t, "dispatches_per_task", 1, 5),
		}
	})
}

// Disciplines draws a discipline, those that are in use more often.
func Disciplines() *rapid.Generator[model.Discipline] {
	return rapid.SampledFrom([]model.Discipline{model.Count, model.PerUpdate, model.Count, model.PerUpdate,
		model.Event, model.EventCount, model.Whole, model.Late})
}

// assumptions fills in what a graph's scenario needs besides the graph.
func assumptions(t *rapid.T, s *model.Scenario) *model.Scenario {
	s.Version = model.FormatVersion
	d := Disciplines().Draw(t, "discipline")
	s.Discipline = &d
	s.Evaluator = Evaluators().Draw(t, "evaluator")
	s.Machine = Machines().Draw(t, "machine")
	return s
}
