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
	for a := 1; a < len(g.Arrays); a++ {
		if !used[int32(a)] {
			g.Outputs = append(g.Outputs, int32(a))
		}
	}
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
