package model

import (
	"fmt"
	"math/rand/v2"
)

// A Generate is a rule that makes a graph. Kind is a row of [Kinds]; the other fields are
// its arguments, zero where the kind has no use for them.
type Generate struct {
	Kind       string `json:"kind"`                 // which family
	Reductions int    `json:"reductions,omitempty"` // number of reductions; of micro-batches in a pipeline
	Rounds     int    `json:"rounds,omitempty"`     // matmuls before (and after) each
	Elems      int64  `json:"elems,omitempty"`      // elements of every array
	Seed       uint64 `json:"seed,omitempty"`       // of the random draws
	Size       int    `json:"size,omitempty"`       // number of operations
}

// A Kind is one family of generated graphs: which arguments it needs, which others it
// takes, and how many arrays it makes of them.
type Kind struct {
	Name  string
	Doc   string
	Needs []string
	Takes []string
	Count func(g *Generate) float64
	graph func(g *Generate, rank, ranks int) *Graph
}

// Kinds is the table of all families.
var Kinds = []Kind{
	{"independent-reductions", "per chain two adds, `rounds` matmuls by one shared weight, all_reduce, divide, `rounds` matmuls; `reductions` chains", []string{"reductions", "rounds", "elems"}, nil,
		func(g *Generate) float64 { return float64(g.Reductions) * (2*float64(g.Rounds) + 4) }, independentReductions},
	{"chained-reductions", "`reductions` times (`rounds` matmuls, all_reduce, divide) in one chain", []string{"reductions", "rounds", "elems"}, nil,
		func(g *Generate) float64 { return float64(g.Reductions) * (float64(g.Rounds) + 2) }, chainedReductions},
	{"pipeline", "each rank a stage: recv from prev, `rounds` matmuls, send to next; `reductions` micro-batches (1 if absent)", []string{"rounds", "elems"}, []string{"reductions"},
		func(g *Generate) float64 { return float64(max(1, g.Reductions)) * (float64(g.Rounds) + 2) }, pipeline},
	{"random", "`size` operations drawn with `seed` over a GPU queue and a CPU stream", []string{"seed", "size"}, []string{"elems"},
		func(g *Generate) float64 { return float64(g.Size) }, randomGraph},
}

// KindNamed returns the row of [Kinds] with that name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Graph makes the graph of one of the ranks: only a pipeline's depends on which. The kind must exist and its arguments be in bounds; validation
// of a scenario sees to both.
func (g *Generate) Graph(rank, ranks int) *Graph {
	k, _ := KindNamed(g.Kind)
	return k.graph(g, rank, ranks)
}

// graphBuilder appends operations to a graph on two streams, gpu (0) and cpu (1).
type graphBuilder struct {
	g     *Graph
	elems int64
}

func newGraphBuilder(elems int64) *graphBuilder {
	return &graphBuilder{&Graph{Streams: []GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}}}, elems}
}

func (b *graphBuilder) input(name string) int32 {
	b.g.Arrays = append(b.g.Arrays, Array{Name: name, Elems: b.elems})
	return int32(len(b.g.Arrays) - 1)
}

func (b *graphBuilder) op(kind Op, word string, stream int32, name string, in ...int32) int32 {
	b.g.Arrays = append(b.g.Arrays, Array{Name: name, Kind: kind, Word: word, Stream: stream, In: in, Elems: b.elems})
	return int32(len(b.g.Arrays) - 1)
}

func (b *graphBuilder) kernel(word, name string, in ...int32) int32 {
	return b.op(OpKernel, word, 0, name, in...)
}

func (b *graphBuilder) rounds(n int, prefix string, x, weight int32) int32 {
	for r := range n {
		x = b.kernel("matmul", fmt.Sprintf("%s.%d", prefix, r), x, weight)
	}
	return x
}

func independentReductions(g *Generate, _, _ int) *Graph {
	b := newGraphBuilder(g.Elems)
	b.g.Arrays = make([]Array, 0, g.Reductions*(2*g.Rounds+4)+2)
	x, weight := b.input("x"), b.input("weight")
	for c := range g.Reductions {
		a := b.kernel("add", fmt.Sprintf("a%d.0", c), x)
		a = b.kernel("add", fmt.Sprintf("a%d.1", c), a)
		m := b.rounds(g.Rounds, fmt.Sprintf("m%d", c), a, weight)
		r := b.op(OpCollective, "all_reduce", 1, fmt.Sprintf("r%d", c), m)
		d := b.kernel("divide", fmt.Sprintf("d%d", c), r)
		b.g.Outputs = append(b.g.Outputs, b.rounds(g.Rounds, fmt.Sprintf("p%d", c), d, weight))
	}
	return b.g
}

func chainedReductions(g *Generate, _, _ int) *Graph {
	b := newGraphBuilder(g.Elems)
	b.g.Arrays = make([]Array, 0, g.Reductions*(g.Rounds+2)+2)
	x, weight := b.input("x"), b.input("weight")
	for c := range g.Reductions {
		m := b.rounds(g.Rounds, fmt.Sprintf("m%d", c), x, weight)
		r := b.op(OpCollective, "all_reduce", 1, fmt.Sprintf("r%d", c), m)
		x = b.kernel("divide", fmt.Sprintf("d%d", c), r)
	}
	b.g.Outputs = []int32{x}
	return b.g
}

func pipeline(g *Generate, rank, ranks int) *Graph {
	b := newGraphBuilder(g.Elems)
	weight := b.input("weight")
	for c := range max(1, g.Reductions) {
		var v int32
		if rank == 0 {
			v = b.input(fmt.Sprintf("x%d", c))
		} else {
			v = b.op(OpRecv, "recv", 1, fmt.Sprintf("v%d", c))
			b.g.Arrays[v].Peer = PrevRank
		}
		m := b.rounds(g.Rounds, fmt.Sprintf("m%d", c), v, weight)
		if rank < ranks-1 {
			m = b.op(OpSend, "send", 1, fmt.Sprintf("s%d", c), m)
			b.g.Arrays[m].Peer = NextRank
		}
		b.g.Outputs = append(b.g.Outputs, m)
	}
	return b.g
}

// randomGraph draws each operation's kind, size and one or two inputs; whatever nobody
// reads is an output.
func randomGraph(g *Generate, _, _ int) *Graph {
	rng := rand.New(rand.NewPCG(g.Seed, 0x66656e6365))
	b := newGraphBuilder(1 << 24)
	sizes := []int64{1 << 10, 1 << 20, 1 << 24}
	if g.Elems > 0 {
		sizes, b.elems = []int64{g.Elems}, g.Elems
	}
	b.input("x")
	used := make([]bool, g.Size+1)
	for i := range g.Size {
		in := []int32{b.pick(rng)}
		if rng.IntN(3) == 0 {
			in = append(in, b.pick(rng))
		}
		b.elems = sizes[rng.IntN(len(sizes))]
		for _, a := range in {
			used[a] = true
		}
		if rng.IntN(4) == 0 {
			b.op(OpCollective, "all_reduce", 1, fmt.Sprintf("r%d", i), in...)
		} else {
			b.kernel("matmul", fmt.Sprintf("k%d", i), in...)
		}
	}
	for a := 1; a <= g.Size; a++ {
		if !used[a] {
			b.g.Outputs = append(b.g.Outputs, int32(a))
		}
	}
	return b.g
}

// pick draws an input among the arrays so far, recent ones more often.
func (b *graphBuilder) pick(rng *rand.Rand) int32 {
	n := len(b.g.Arrays)
	return int32(max(rng.IntN(n), rng.IntN(n)))
}
