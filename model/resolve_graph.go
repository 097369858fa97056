package model

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// collectiveWords are the operations of a graph in which all ranks meet.
var collectiveWords = map[string]bool{"all_reduce": true, "all_gather": true, "sum_scatter": true}

// graphResolver turns the sections graph and evals of a file into a Graph and tells its
// checker about every fault.
type graphResolver struct {
	c      *checker
	file   *GraphFile
	evals  []EvalFile
	ranks  int
	g      *Graph
	stream map[string]int32
	array  map[string]int32
}

// resolveGraph gives the graph of a file. It is complete only if the checker has found
// nothing.
func resolveGraph(c *checker, f *GraphFile, evals []EvalFile, ranks int) *Graph {
	r := &graphResolver{c: c, file: f, evals: evals, ranks: ranks, g: &Graph{},
		stream: make(map[string]int32), array: make(map[string]int32, len(f.Inputs)+len(f.Nodes))}
	r.streams()
	r.arrays()
	r.edges()
	if !c.full() {
		r.cycle()
	}
	r.outputs()
	return r.g
}

func (r *graphResolver) fail(path []any, format string, args ...any) {
	if !r.c.full() {
		r.c.fail(path, format, args...)
	}
}

func (r *graphResolver) streams() {
	streams := r.file.Streams
	if len(streams) == 0 {
		streams = Map[StreamFile]{{"gpu", StreamFile{"gpu"}}, {"cpu", StreamFile{"cpu"}}}
	}
	fence := make(map[string]string)
	for _, e := range streams {
		at := []any{"graph", "streams", keyOf(e.Name)}
		checkWord(r.c, "a stream", e.Name, at)
		if _, twice := r.stream[e.Name]; twice {
			r.fail(at, "duplicate stream %q", e.Name)
		}
		if e.Value.On != "gpu" && e.Value.On != "cpu" {
			r.fail([]any{"graph", "streams", e.Name, "on"}, "%q is none of gpu, cpu", shorten(e.Value.On))
		}
		if other, taken := fence[FenceName(e.Name, 0)]; taken {
			r.fail(at, "stream %q would share the fence name %s with stream %q", e.Name, FenceName(e.Name, 0), other)
		}
		fence[FenceName(e.Name, 0)] = e.Name
		if m := evalSuffix.FindStringSubmatch(e.Name); m != nil && len(r.evals) > 1 {
			r.fail(at, "stream %q: a name that ends in a dot and a number is kept for the fences of several evals", e.Name)
		}
		r.stream[e.Name] = int32(len(r.g.Streams))
		r.g.Streams = append(r.g.Streams, GraphStream{Name: e.Name, CPU: e.Value.On == "cpu"})
	}
}

var evalSuffix = regexp.MustCompile(`^(end\..*|.*\.[0-9]+)$`)

// arrays gives every input and node its index.
func (r *graphResolver) arrays() {
	add := func(path []any, a Array) {
		if _, twice := r.array[a.Name]; twice {
			r.fail(path, "duplicate array %q", shorten(a.Name))
		}
		if a.Elems < 0 || a.Elems > MaxElements {
			r.fail(path, "array %q: %d elements are outside 0 to %d", shorten(a.Name), a.Elems, int64(MaxElements))
		}
		r.array[a.Name] = int32(len(r.g.Arrays))
		r.g.Arrays = append(r.g.Arrays, a)
	}
	for _, e := range r.file.Inputs {
		at := []any{"graph", "inputs", keyOf(e.Name)}
		checkWord(r.c, "an array", e.Name, at)
		add(at, Array{Name: e.Name, Elems: e.Value, Peer: OwnRank})
	}
	for i := range r.file.Nodes {
		if r.c.full() {
			return
		}
		n := &r.file.Nodes[i]
		checkWord(r.c, "an array", n.Name, []any{"graph", "nodes", i, "name"})
		add([]any{"graph", "nodes", i, "name"}, Array{Name: n.Name, Word: n.Op, Elems: n.Elems,
			Kind: r.kind(i, n), Stream: r.streamOf(i, n), Peer: r.peer(i, n)})
	}
}

func (r *graphResolver) kind(i int, n *NodeFile) Op {
	switch {
	case collectiveWords[n.Op]:
		return OpCollective
	case n.Op == "send":
		return OpSend
	case n.Op == "recv":
		return OpRecv
	}
	at := []any{"graph", "nodes", i, "op"}
	checkWord(r.c, "an operation", n.Op, at)
	if near := misspelt(n.Op); near != "" {
		r.fail(at, "%q is no kernel: did you mean %s?", shorten(n.Op), near)
	}
	return OpKernel
}

// misspelt is the operation that a word which is none looks like, or "": ranks would not
// meet in a kernel of that name.
func misspelt(word string) string {
	letters := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return unicode.ToLower(c)
	}, word)
	for _, w := range [][2]string{{"allr", "all_reduce"}, {"allsum", "all_reduce"}, {"allg", "all_gather"}, {"sumsc", "sum_scatter"}, {"reducesc", "sum_scatter"}} {
		if strings.HasPrefix(letters, w[0]) {
			return w[1]
		}
	}
	switch letters {
	case "send":
		return "send"
	case "recv", "receive":
		return "recv"
	}
	return ""
}

// streamOf is the stream of a node: the named one, else the first on the GPU, for
// collectives, send and recv the first on the CPU.
func (r *graphResolver) streamOf(i int, n *NodeFile) int32 {
	onCPU := collectiveWords[n.Op] || n.Op == "send" || n.Op == "recv"
	at := []any{"graph", "nodes", i, "stream"}
	if n.Stream != "" || r.c.has("graph", "nodes", i, "stream") {
		s, ok := r.stream[n.Stream]
		switch {
		case !ok:
			r.fail(at, "no stream is named %q", shorten(n.Stream))
		case collectiveWords[n.Op] && !r.g.Streams[s].CPU:
			r.fail(at, "%s is a collective and needs a CPU stream: %s is on the gpu", n.Op, n.Stream)
		}
		return s
	}
	for s := range r.g.Streams {
		if r.g.Streams[s].CPU == onCPU {
			return int32(s)
		}
	}
	r.fail(at, "node %q needs a stream: none is on the %s", shorten(n.Name), map[bool]string{true: "cpu", false: "gpu"}[onCPU])
	return 0
}

func (r *graphResolver) peer(i int, n *NodeFile) RankRef {
	at := []any{"graph", "nodes", i, "peer"}
	meets := n.Op == "send" || n.Op == "recv"
	switch {
	case n.Peer == "" && meets:
		r.fail(at, "missing key %q: %s needs a rank (a number, next or prev)", "peer", n.Op)
	case n.Peer == "":
	case !meets:
		r.fail(at, "%s has no use for %q", shorten(n.Op), "peer")
	case n.Peer == "next":
		return NextRank
	case n.Peer == "prev":
		return PrevRank
	default:
		v, ok := decimal(n.Peer)
		if !ok || v < 0 {
			r.fail(at, "%q is not a rank: want a number, next or prev", shorten(n.Peer))
			return OwnRank
		}
		if v >= int64(r.ranks) {
			r.fail(at, "rank %d is outside 0 to %d", v, r.ranks-1)
			return OwnRank
		}
		return Rank(int(v))
	}
	return OwnRank
}

func (r *graphResolver) edges() {
	for i := range r.file.Nodes {
		n := &r.file.Nodes[i]
		if r.c.full() {
			return
		}
		a := &r.g.Arrays[len(r.file.Inputs)+i]
		for j, name := range n.In {
			in, ok := r.array[name]
			if !ok {
				r.fail([]any{"graph", "nodes", i, "in", j}, "array %q is neither made by a node nor an input", shorten(name))
				continue
			}
			a.In = append(a.In, in)
		}
		if n.Op == "send" && len(n.In) != 1 {
			r.fail([]any{"graph", "nodes", i, "in"}, "send takes one array, not %d", len(n.In))
		}
	}
}

func (r *graphResolver) outputs() {
	resolve := func(names []string, path ...any) []int32 {
		var out []int32
		for i, name := range names {
			a, ok := r.array[name]
			if !ok {
				r.fail(join(path, i), "output %q is neither made by a node nor an input", shorten(name))
			}
			out = append(out, a)
		}
		return out
	}
	if len(r.file.Outputs) == 0 && len(r.evals) == 0 {
		r.fail([]any{"graph", "outputs"}, "missing key %q: a graph without evals needs outputs", "outputs")
	}
	r.g.Outputs = resolve(r.file.Outputs, "graph", "outputs")
	if int64(len(r.evals))*int64(len(r.g.Arrays)) > maxEvalWork {
		r.fail([]any{"evals"}, "%d evals of %d arrays: more than %d together", len(r.evals), len(r.g.Arrays), int64(maxEvalWork))
		return
	}
	for k, e := range r.evals {
		if e.Mode != "" && e.Mode != "sync" && e.Mode != "async" {
			r.fail([]any{"evals", k, "mode"}, "%q is none of sync, async", shorten(e.Mode))
		}
		r.g.Evals = append(r.g.Evals, GraphEval{Outputs: resolve(e.Outputs, "evals", k, "outputs"), Sync: e.Mode != "async"})
	}
}

// maxEvalWork bounds evals times arrays: each eval walks the arrays once.
const maxEvalWork = 1 << 30

// cycle refuses a graph in which an array needs itself, and names the cycle.
func (r *graphResolver) cycle() {
	const unseen, open, done = 0, 1, 2
	state := make([]uint8, len(r.g.Arrays))
	type frame struct {
		array int32
		next  int
	}
	var stack []frame
	for start := range r.g.Arrays {
		if state[start] != unseen {
			continue
		}
		state[start] = open
		stack = append(stack[:0], frame{array: int32(start)})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			in := r.g.Arrays[top.array].In
			if top.next == len(in) {
				state[top.array] = done
				stack = stack[:len(stack)-1]
				continue
			}
			a := in[top.next]
			top.next++
			switch state[a] {
			case unseen:
				state[a] = open
				stack = append(stack, frame{array: a})
			case open:
				var names []string
				for k := len(stack) - 1; k >= 0; k-- {
					names = append(names, r.g.Arrays[stack[k].array].Name)
					if stack[k].array == a {
						break
					}
				}
				r.cycleFound(names)
				return
			}
		}
	}
}

// cycleFound tells of a cycle at its node that comes first in the file; each name is made
// from the one before it.
func (r *graphResolver) cycleFound(names []string) {
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	first := 0 // names[i] reads names[i+1]
	for i, name := range names {
		if r.array[name] < r.array[names[first]] {
			first = i
		}
	}
	names = append(append([]string{}, names[first:]...), names[:first]...)
	const limit = 8
	text := strings.Join(names[:min(limit, len(names))], " needs ")
	if len(names) > limit {
		text += fmt.Sprintf(" needs … (%d more)", len(names)-limit)
	}
	i := int(r.array[names[0]]) - len(r.file.Inputs)
	r.fail([]any{"graph", "nodes", i, "name"}, "cycle: %s needs %s", text, names[0])
}
