package naive

import (
	"fmt"
	"math/rand/v2"

	"github.com/fencesim/fencesim/model"
)

// RandomGraph draws a graph of at most eight operations over one or two GPU queues and one
// or two CPU streams, an evaluator whose limits such a graph reaches, a discipline and a
// machine.
func RandomGraph(rng *rand.Rand, cfg Config) (*model.Graph, model.Evaluator, model.Discipline, model.Machine) {
	d := &drawing{Rand: rng, Config: cfg}
	g := &model.Graph{Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}}}
	if d.one(4) {
		g.Streams = append(g.Streams, model.GraphStream{Name: "side"})
	}
	if d.one(4) {
		g.Streams = append(g.Streams, model.GraphStream{Name: "aux", CPU: true})
	}
	g.Arrays = []model.Array{{Name: "x", Elems: int64(1+d.IntN(3)) << 20}}
	used := map[int32]bool{}
	for i := range 3 + d.IntN(6) {
		st := int32(d.IntN(len(g.Streams)))
		if d.one(3) {
			st = 0
		}
		n := len(g.Arrays)
		a := model.Array{Name: fmt.Sprintf("a%d", i), Kind: model.OpKernel, Word: "matmul", Stream: st,
			In: []int32{int32(d.IntN(n))}, Elems: int64(d.number(1, 2, 2, 4, 8)) << 19}
		if d.one(2) {
			a.In[0] = int32(n - 1)
		}
		if d.one(3) {
			if b := int32(d.IntN(n)); b != a.In[0] {
				a.In = append(a.In, b)
			}
		}
		if g.Streams[st].CPU && !d.one(4) {
			a.Kind, a.Word = model.OpCollective, "all_reduce"
		}
		for _, in := range a.In {
			used[in] = true
		}
		g.Arrays = append(g.Arrays, a)
	}
	outputs(g, used)
	if n := len(g.Arrays) - 1; d.one(5) && !cfg.Plain {
		first := []int32{int32(1 + d.IntN(n))}
		g.Evals = []model.GraphEval{{Outputs: first, Sync: d.one(2)}, {Outputs: g.Outputs, Sync: d.one(2)}}
	}
	e := model.Evaluator{BFSWidth: 1 + d.IntN(4), MaxOps: 1 + d.IntN(6), MaxMB: 1 + d.IntN(6),
		MaxActive: 1 + d.IntN(3), DispatchesPerTask: 1 + d.IntN(4)}
	disciplines := []model.Discipline{model.Count, model.Count, model.Count, model.PerUpdate, model.PerUpdate, model.Late, model.Whole, model.EventCount, model.Event}
	m := d.machine()
	if m.InFlight > 0 && d.one(2) {
		m.InFlight += 2
	}
	return g, e, disciplines[d.IntN(len(disciplines))], m
}

// outputs makes what nobody reads, but the input, an output.
func outputs(g *model.Graph, used map[int32]bool) {
	for a := int32(1); int(a) < len(g.Arrays); a++ {
		if !used[a] {
			g.Outputs = append(g.Outputs, a)
		}
	}
}

// RandomGraphPair draws one small graph for each of two ranks, lowered, and a machine. Each
// has a GPU queue and a CPU stream, on which arrays are sent to the other rank, or received
// from it; there are as many receives as sends, which need not be in matching places.
func RandomGraphPair(rng *rand.Rand) ([]*model.Schedule, model.Machine) {
	d := &drawing{Rand: rng, Config: Config{Plain: true}}
	sends := [2]int{1 + d.IntN(2), d.IntN(2)}
	e := model.Evaluator{BFSWidth: 1 + d.IntN(3), MaxOps: d.number(1, 3, 50, 50), MaxMB: d.number(1, 4, 50, 50), MaxActive: 1 + d.IntN(2), DispatchesPerTask: 1 + d.IntN(3)}
	disciplines := []model.Discipline{model.Count, model.PerUpdate, model.Whole, model.Event}
	discipline := disciplines[d.IntN(len(disciplines))]
	var programs []*model.Schedule
	for r := range 2 {
		g := &model.Graph{Streams: []model.GraphStream{{Name: "gpu"}, {Name: "cpu", CPU: true}}, Arrays: []model.Array{{Name: "x", Elems: 1 << 20}}}
		add := func(kind model.Op, word string, stream int32, in ...int32) {
			g.Arrays = append(g.Arrays, model.Array{Name: fmt.Sprintf("a%d", len(g.Arrays)), Kind: kind, Word: word, Stream: stream, In: in,
				Peer: model.NextRank, Elems: int64(d.number(1, 2, 4)) << 19})
		}
		kinds := make([]model.Op, 0, 8)
		for range sends[r] {
			kinds = append(kinds, model.OpSend)
		}
		for range sends[1-r] {
			kinds = append(kinds, model.OpRecv)
		}
		for range 2 + d.IntN(3) {
			kinds = append(kinds, model.OpKernel)
		}
		d.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		used := map[int32]bool{}
		kernels := 0 // on the GPU, on the CPU, on the GPU, …
		for _, k := range kinds {
			in := int32(len(g.Arrays) - 1)
			if d.one(3) {
				in = int32(d.IntN(len(g.Arrays)))
			}
			switch k {
			case model.OpRecv:
				add(k, "recv", 1)
				continue
			case model.OpSend:
				add(k, "send", 1, in)
			default:
				add(k, "matmul", int32(kernels%2), in)
				kernels++
			}
			used[in] = true
		}
		outputs(g, used)
		programs = append(programs, model.LowerGraph(g, discipline, e))
	}
	m := d.machine()
	if d.one(2) { // else there is seldom a hang that is the evaluator's doing
		m = model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: d.IntN(2)}}
	}
	return programs, m
}
