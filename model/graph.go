package model

// A Graph is arrays and the operations that make them, resolved to indexes: what a
// scenario's `graph` or `generate` section means.
type Graph struct {
	Streams []GraphStream
	Arrays  []Array
	Outputs []int32 // their order fixes the tape
	Evals   []GraphEval
}

// A GraphStream is a GPU queue or a CPU stream.
type GraphStream struct {
	Name string
	CPU  bool
}

// An Array is the output of one operation, or an input (Kind OpNone), which is evaluated
// before the first eval.
type Array struct {
	Name   string
	Kind   Op // OpNone (an input), OpKernel, OpCollective, OpSend, OpRecv
	Word   string
	Stream int32
	Peer   RankRef
	In     []int32
	Elems  int64 // size in elements
}

// A GraphEval is one call of eval on some outputs. Sync blocks the main thread until
// their streams have done all they were given.
type GraphEval struct {
	Outputs []int32
	Sync    bool
}

// Evaluator holds the limits of the evaluator of semantics section 7. Zero fields mean the
// defaults of [DefaultEvaluator].
type Evaluator struct {
	BFSWidth          int `json:"bfs_width,omitempty"`           // arrays appended to the tape but not yet taken
	MaxOps            int `json:"max_ops,omitempty"`             // operations of a buffer beyond which it is committed
	MaxMB             int `json:"max_mb,omitempty"`              // Mi elements of a buffer beyond which it is committed
	MaxActive         int `json:"max_active,omitempty"`          // active tasks beyond which the main thread blocks
	DispatchesPerTask int `json:"dispatches_per_task,omitempty"` // CPU dispatches for one active task
}

// DefaultEvaluator is the public source of MLX in August 2026: at most 20 arrays appended
// but not taken, buffers of 50 operations or 50 Mi elements, 10 active tasks, every tenth
// CPU dispatch an active task.
var DefaultEvaluator = Evaluator{BFSWidth: 20, MaxOps: 50, MaxMB: 50, MaxActive: 10, DispatchesPerTask: 10}

// Normal returns e with defaults filled in.
func (e Evaluator) Normal() Evaluator {
	fill := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	fill(&e.BFSWidth, DefaultEvaluator.BFSWidth)
	fill(&e.MaxOps, DefaultEvaluator.MaxOps)
	fill(&e.MaxMB, DefaultEvaluator.MaxMB)
	fill(&e.MaxActive, DefaultEvaluator.MaxActive)
	fill(&e.DispatchesPerTask, DefaultEvaluator.DispatchesPerTask)
	return e
}

// Tape is the order in which the main thread encodes the arrays that the outputs need and
// that done does not mark: breadth first from a root that consumes the outputs, at most
// width arrays appended but not yet taken, encoded from the back. Semantics section 7,
// steps 1 and 2; mlx/transforms.cpp since #1568.
func (g *Graph) Tape(outputs []int32, width int, done []bool) []int32 {
	degree := make([]int32, len(g.Arrays))
	seen := make([]bool, len(g.Arrays))
	open := func(a int32) bool { return g.Arrays[a].Kind != OpNone && !(done != nil && done[a]) }
	var stack []int32
	count := func(in []int32) {
		for _, a := range in {
			if !open(a) {
				continue
			}
			degree[a]++
			if !seen[a] {
				seen[a] = true
				stack = append(stack, a)
			}
		}
	}
	count(outputs)
	for len(stack) > 0 {
		a := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		count(g.Arrays[a].In)
	}

	const root = -1
	inputs := func(a int32) []int32 {
		if a == root {
			return outputs
		}
		return g.Arrays[a].In
	}
	type deferred struct {
		array int32
		next  int
	}
	tape := []int32{root}
	var deep []deferred
	for taken := 0; taken < len(tape) || len(deep) > 0; {
		var at deferred
		if taken < len(tape) {
			at.array = tape[taken]
			taken++
		} else {
			at = deep[len(deep)-1]
			deep = deep[:len(deep)-1]
		}
		in := inputs(at.array)
		for j := at.next; j < len(in); j++ {
			a := in[j]
			if !open(a) {
				continue
			}
			if len(tape)-taken >= width {
				deep = append(deep, deferred{at.array, j})
				break
			}
			if degree[a]--; degree[a] == 0 {
				tape = append(tape, a)
			}
		}
	}
	tape = tape[1:]
	for i, j := 0, len(tape)-1; i < j; i, j = i+1, j-1 {
		tape[i], tape[j] = tape[j], tape[i]
	}
	return tape
}
