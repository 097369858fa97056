package fencetest

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// Graphs draws graphs of up to twelve operations on one or two GPU queues and one or two CPU
// streams, sometimes with two evals. Whatever nobody reads is an output.
func Graphs() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		s := assumptions(t, &model.Scenario{Name: "graph", Ranks: pick(t, "ranks", 1, 1, 1, 2)})
		s.Graph = graph(t)
		if n := s.Graph.Nodes; one(t, "two evals", 6) {
			first := rapid.SampledFrom(n).Draw(t, "first output").Name
			s.Evals = []model.EvalFile{
				{Outputs: []string{first}, Mode: pick(t, "first mode", "sync", "async")},
				{Outputs: s.Graph.Outputs, Mode: pick(t, "second mode", "sync", "async")},
			}
		}
		return s
	})
}

func graph(t *rapid.T) *model.GraphFile {
	g := &model.GraphFile{
		Streams: model.Map[model.StreamFile]{{Name: "gpu", Value: model.StreamFile{On: "gpu"}}, {Name: "cpu", Value: model.StreamFile{On: "cpu"}}},
		Inputs:  model.Map[int64]{{Name: "x", Value: mebi}},
	}
	if one(t, "second queue", 4) {
		g.Streams = append(g.Streams, model.Entry[model.StreamFile]{Name: "side", Value: model.StreamFile{On: "gpu"}})
	}
	if one(t, "second CPU stream", 4) {
		g.Streams = append(g.Streams, model.Entry[model.StreamFile]{Name: "aux", Value: model.StreamFile{On: "cpu"}})
	}
	arrays := []string{"x"}
	used := map[string]bool{}
	input := func(label string) string {
		i := max(between(t, label, 0, len(arrays)-1), between(t, label+" again", 0, len(arrays)-1)) // recent ones more often
		used[arrays[i]] = true
		return arrays[i]
	}
	for i := range between(t, "operations", 3, 12) {
		st := g.Streams[pick(t, "stream", streamWeights[len(g.Streams)]...)]
		n := model.NodeFile{Name: fmt.Sprintf("a%d", i), Op: "matmul", Stream: st.Name, In: []string{input("input")},
			Elems: pick[int64](t, "elements", mebi, mebi/2, 2*mebi, 4*mebi)}
		if st.Value.On == "cpu" && !one(t, "CPU kernel", 5) {
			n.Op = pick(t, "collective", "all_reduce", "all_reduce", "all_gather", "sum_scatter")
		}
		if one(t, "two inputs", 3) {
			if b := input("second input"); b != n.In[0] {
				n.In = append(n.In, b)
			}
		}
		g.Nodes = append(g.Nodes, n)
		arrays = append(arrays, n.Name)
	}
	for _, a := range arrays[1:] {
		if !used[a] {
			g.Outputs = append(g.Outputs, a)
		}
	}
	return g
}

// streamWeights are the streams of an operation, the GPU queue more often, by their number.
var streamWeights = map[int][]int{2: {0, 1, 0}, 3: {0, 1, 2, 0}, 4: {0, 1, 2, 3, 0}}

// AllGathers draws one to three layers as sharded training has them: the weights are
// gathered on a CPU stream, two kernels compute with them, and a scattered sum may follow.
// The gathers of all layers wait for nothing, so that they can run ahead.
func AllGathers() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		s := assumptions(t, &model.Scenario{Name: "all-gather", Ranks: pick(t, "ranks", 1, 2, 2, 4)})
		size := elems(t, s.Evaluator)
		s.Graph = allGather(t, size)
		return s
	})
}

func allGather(t *rapid.T, size int64) *model.GraphFile {
	g := &model.GraphFile{Inputs: model.Map[int64]{{Name: "x", Value: size}}}
	add := func(op, name string, in ...string) string {
		stream := "gpu"
		if op == "all_gather" || op == "sum_scatter" || op == "all_reduce" {
			stream = "cpu"
		}
		g.Nodes = append(g.Nodes, model.NodeFile{Name: name, Op: op, Stream: stream, In: slices.Clone(in), Elems: size})
		return name
	}
	x := "x"
	scatter := one(t, "scatter", 2)
	for i := range between(t, "layers", 1, 3) {
		shard := fmt.Sprintf("w%d", i)
		g.Inputs = append(g.Inputs, model.Entry[int64]{Name: shard, Value: size})
		if one(t, "shard is computed", 2) {
			shard = add("cast", fmt.Sprintf("c%d", i), shard)
		}
		w := add("all_gather", fmt.Sprintf("g%d", i), shard)
		x = add("matmul", fmt.Sprintf("m%d", i), x, w)
		x = add("gelu", fmt.Sprintf("e%d", i), x)
		if scatter {
			x = add(pick(t, "sum", "sum_scatter", "all_reduce"), fmt.Sprintf("s%d", i), x)
		}
	}
	g.Outputs = []string{x}
	return g
}
