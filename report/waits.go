package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A WaitGraph is who waits for whom in one state: blocked agents, stores on their way, and
// what holds each up. Nodes and edges that lie on a cycle are marked.
type WaitGraph struct {
	Nodes []WaitNode
	Edges []WaitEdge
}

// A WaitNode is a blocked agent, or the stores of one fence that are on their way.
type WaitNode struct {
	Name    string // the agent, or memory
	At      string // where it stands
	Needs   string
	Memory  bool
	InCycle bool
}

// A WaitEdge leads from who waits to who must move.
type WaitEdge struct {
	From, To int
	Label    string
	InCycle  bool
}

// NewWaitGraph builds the graph of state s of y, which should be stuck.
func NewWaitGraph(y *sim.System, s sim.State) *WaitGraph {
	b := &waitBuilder{y: y, s: s, g: &WaitGraph{}, node: map[int32]int{}}
	for r := range y.Ranks() {
		for _, x := range y.Blocked(s, r) {
			if _, ok := b.node[x.Index]; !ok {
				b.node[x.Index] = b.add(WaitNode{Name: y.AgentName(x.Index), At: short(x.At), Needs: x.Needs})
				b.agents = append(b.agents, x.Index)
			}
			b.blocked = append(b.blocked, x)
		}
	}
	for _, x := range b.blocked {
		b.edges(x)
	}
	b.g.cycles()
	return b.g
}

type waitBuilder struct {
	y       *sim.System
	s       sim.State
	g       *WaitGraph
	blocked []sim.Blocked
	agents  []int32
	node    map[int32]int
}

func (b *waitBuilder) add(n WaitNode) int {
	b.g.Nodes = append(b.g.Nodes, n)
	return len(b.g.Nodes) - 1
}

func (b *waitBuilder) edge(from, to int, label string) {
	e := WaitEdge{From: from, To: to, Label: label}
	if !slices.Contains(b.g.Edges, e) {
		b.g.Edges = append(b.g.Edges, e)
	}
}

// toAgent adds an edge to an agent; one that is not blocked itself has a node without needs.
func (b *waitBuilder) toAgent(from int, a int32, label string) {
	n, ok := b.node[a]
	if !ok {
		n = b.add(WaitNode{Name: b.y.AgentName(a)})
		b.node[a] = n
	}
	b.edge(from, n, label)
}

func (b *waitBuilder) edges(x sim.Blocked) {
	from := b.node[x.Index]
	switch {
	case strings.HasPrefix(x.Needs, "a free slot"):
		for _, a := range b.y.Held(b.s, x.Rank) {
			b.toAgent(from, a, "holds the slot")
		}
	case x.Fence >= 0:
		b.fence(from, x)
	case strings.HasPrefix(x.At, "await "):
		b.await(from, x)
	case strings.HasPrefix(x.Needs, "every rank"):
		b.peers(from, x, "has not arrived")
	case strings.HasPrefix(x.At, "send "), strings.HasPrefix(x.At, "recv "):
		b.peers(from, x, "is not there")
	default:
		b.others(from, x)
	}
}

// fence finds the stores that a wait needs: on their way, or not executed.
func (b *waitBuilder) fence(from int, x sim.Blocked) {
	name := b.y.FenceName(x.Fence)
	enough := func(st sim.Store) bool {
		return st.Add || st.Value == x.Target || st.Value > x.Target && !isEqual(x.At)
	}
	var onWay []sim.Store
	arrives := false
	stores := b.y.Stores(b.s, x.Fence, x.GPU)
	for _, st := range stores {
		if st.OnItsWay {
			onWay = append(onWay, st)
			arrives = arrives || enough(st)
		}
	}
	if arrives {
		b.onItsWay(from, x, name, onWay)
		return
	}
	for _, st := range stores {
		if !st.Executed && enough(st) {
			b.toAgent(from, st.Agent, "must run "+short(b.y.CommandText(st.Agent, st.Cmd)))
			return
		}
	}
}

func (b *waitBuilder) onItsWay(from int, x sim.Blocked, name string, onWay []sim.Store) {
	lo, hi := onWay[0].Value, onWay[0].Value
	for _, st := range onWay {
		lo, hi = min(lo, st.Value), max(hi, st.Value)
	}
	at := fmt.Sprintf("update %d of %s on its way", lo, name)
	if lo < hi {
		at = fmt.Sprintf("updates %d to %d of %s on their way", lo, hi, name)
	}
	n := slices.IndexFunc(b.g.Nodes, func(n WaitNode) bool { return n.Memory && n.At == at })
	mode := b.y.Machine.GPUToCPU
	if n < 0 {
		needs := "nothing forces it to arrive"
		if mode.Mode == model.VisLag && !x.GPU {
			switch mode.Buffers {
			case 0:
				needs = "sure once its buffer has finished"
			case 1:
				needs = "sure once its buffer and 1 later one have finished"
			default:
				needs = fmt.Sprintf("sure once its buffer and %d later ones have finished", mode.Buffers)
			}
		}
		n = b.add(WaitNode{Name: "memory", At: at, Needs: needs, Memory: true})
	}
	b.edge(from, n, fmt.Sprintf("needs %d, sees %d", x.Target, x.Seen))
	if mode.Mode == model.VisLag && !x.GPU {
		issued := b.y.IssuedIn(b.s, x.Fence, onWay[0])
		label := fmt.Sprintf("must finish buffer %d", issued)
		if mode.Buffers > 0 {
			label += fmt.Sprintf(" and %d later", mode.Buffers)
		}
		b.toAgent(n, onWay[0].Agent, label)
	}
}

// await finds the signals that an await needs. Texts are compared, for a state does not say
// which event a blocked agent awaits.
func (b *waitBuilder) await(from int, x sim.Blocked) {
	y := b.y
	want := slices.IndexFunc(y.Commands(x.Index), func(c sim.CommandInfo) bool { return c.Op == model.OpAwait })
	for i, c := range y.Commands(x.Index) {
		if c.Op == model.OpAwait && y.CommandText(x.Index, int32(i)) == x.At {
			want = i
		}
	}
	if want < 0 {
		return
	}
	target := y.Commands(x.Index)[want]
	for a := range int32(y.NumAgents()) {
		cmds := y.Commands(a)
		for i := max(0, len(cmds)-y.Remaining(b.s, a)); i < len(cmds); i++ {
			if c := cmds[i]; c.Op == model.OpSignal && c.Object == target.Object && c.Value >= target.Value {
				b.toAgent(from, a, "must run "+y.CommandText(a, int32(i)))
				return
			}
		}
	}
}

// peers are the blocked agents of the ranks that a command names, CPU streams first.
func (b *waitBuilder) peers(from int, x sim.Blocked, label string) {
	for r := range b.y.Ranks() {
		if r == x.Rank || !strings.Contains(x.Needs+" ", fmt.Sprintf("rank %d ", r)) {
			continue
		}
		lo, hi := b.y.AgentsOf(int32(r))
		found := false
		for _, kind := range []sim.AgentKind{sim.CPUStream, sim.Queue, sim.MainThread} {
			for a := lo; a < hi && !found; a++ {
				if _, ok := b.node[a]; ok && b.y.AgentKindOf(a) == kind {
					b.toAgent(from, a, label)
					found = true
				}
			}
		}
		if !found {
			b.edge(from, b.add(WaitNode{Name: fmt.Sprintf("rank %d", r), At: "has ended"}), label)
		}
	}
}

// others are the queues and CPU streams that a main thread, or a buffer that cannot start,
// waits for.
func (b *waitBuilder) others(from int, x sim.Blocked) {
	_, only, named := strings.Cut(x.At, "synchronize ")
	if !named {
		_, only, named = strings.Cut(x.At, "commit ")
	}
	for _, a := range b.agents {
		kind := b.y.AgentKindOf(a)
		if int(b.y.RankOf(a)) != x.Rank || a == x.Index || kind != sim.Queue && kind != sim.CPUStream {
			continue
		}
		if named && !strings.HasSuffix(b.y.AgentName(a), " "+only) {
			continue
		}
		b.toAgent(from, a, "must go on")
	}
}

// cycles marks the strongly connected parts of more than one node, and self loops.
func (g *WaitGraph) cycles() {
	n := len(g.Nodes)
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
		stack := []int{i}
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, e := range g.Edges {
				if e.From == v && !reach[i][e.To] {
					reach[i][e.To] = true
					stack = append(stack, e.To)
				}
			}
		}
	}
	for i := range g.Nodes {
		g.Nodes[i].InCycle = reach[i][i]
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		e.InCycle = reach[e.To][e.From]
	}
}

// DOT writes the graph in the language of Graphviz.
func (g *WaitGraph) DOT(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotString(name))
	b.WriteString("  rankdir=LR;\n  bgcolor=transparent;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11, margin=\"0.15,0.08\"];\n  edge [fontname=\"Helvetica\", fontsize=10];\n")
	for i, n := range g.Nodes {
		lines := []string{n.Name}
		if n.At != "" {
			lines = append(lines, "at "+n.At)
		}
		if n.Memory {
			lines[1] = n.At
		}
		if n.Needs != "" {
			lines = append(lines, "needs "+n.Needs)
		}
		if n.Memory && n.Needs != "" {
			lines[2] = n.Needs
		}
		class, color := "free", "gray40"
		switch {
		case n.InCycle:
			class, color = "cycle", "red3"
		case n.Needs != "":
			class, color = "blocked", "darkorange3"
		}
		if n.Memory {
			class += " memory"
		}
		fmt.Fprintf(&b, "  n%d [label=%s, class=%s, color=%s];\n", i, dotString(wrapLabel(lines)), dotString(class), color)
	}
	for _, e := range g.Edges {
		class, color := "free", "gray40"
		if e.InCycle {
			class, color = "cycle", "red3"
		}
		fmt.Fprintf(&b, "  n%d -> n%d [label=%s, class=%s, color=%s];\n", e.From, e.To, dotString(e.Label), class, color)
	}
	b.WriteString("}\n")
	return b.String()
}

// wrapLabel joins lines and breaks those that would make a node wide.
func wrapLabel(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, breakLines(l, 34)...)
	}
	return strings.Join(out, "\n")
}

func dotString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
