package model

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// worked is the graph of semantics section 7.
func worked(chains int) *Generate {
	return &Generate{Kind: "independent-reductions", Reductions: chains, Rounds: 8, Elems: 1 << 24}
}

// groups are how many updates of G are scheduled between one wait for C and the next.
func groups(s *Schedule) []int {
	var out []int
	last := uint32(0)
	for _, c := range s.Streams[0].Tasks {
		if c.Op == OpWait && c.Value > last {
			out = append(out, int(c.Value-last))
			last = c.Value
		}
	}
	return out
}

func TestWorkedExample(t *testing.T) {
	g := worked(32).Graph(0, 1)
	tape := g.Tape(g.Outputs, DefaultEvaluator.BFSWidth, nil)
	if len(tape) != 640 {
		t.Errorf("%d tape entries, want 640", len(tape))
	}
	s := LowerGraph(g, Count, Evaluator{})
	q, st := s.Queues[0], s.Streams[0]
	if q.Name != "gpu" || len(q.Commands) != 736 || st.Name != "cpu" || len(st.Tasks) != 96 {
		t.Errorf("%s has %d commands, %s %d tasks; want 736 and 96", q.Name, len(q.Commands), st.Name, len(st.Tasks))
	}
	updates := 0
	for i := range q.Commands {
		if q.Commands[i].Op == OpUpdate {
			updates++
		}
		if q.Commands[i].Op == OpWait {
			break
		}
	}
	if updates != 12 {
		t.Errorf("%d updates before the first wait, want 12", updates)
	}
	counted := 0
	for _, n := range st.Counted {
		counted += int(n)
	}
	if counted != 6 { // 64 dispatches, every tenth
		t.Errorf("%d counted tasks, want 6", counted)
	}
	for d, want := range map[Discipline]uint32{Count: 12, PerUpdate: 1, Whole: 32} {
		if got := LowerGraph(g, d, Evaluator{}).Streams[0].Tasks[0].Value; got != want {
			t.Errorf("%s: the first wait has target %d, want %d", d, got, want)
		}
	}
}

func TestGroupsFollowTheWidth(t *testing.T) {
	ones := slices.Repeat([]int{1}, 32)
	for _, c := range []struct {
		chains, width int
		want          []int
	}{
		{32, 20, []int{12, 20}},
		{50, 20, []int{10, 20, 20}},
		{64, 20, []int{4, 20, 20, 20}},
		{20, 20, []int{20}},
		{32, 1, ones},
		{32, 100, []int{32}},
	} {
		got := groups(LowerGraph(worked(c.chains).Graph(0, 1), Count, Evaluator{BFSWidth: c.width}))
		if !slices.Equal(got, c.want) {
			t.Errorf("%d chains, width %d: groups %v, want %v", c.chains, c.width, got, c.want)
		}
	}
}

// TestTapeIsATopologicalOrder: whatever the width, every needed array stands once, behind
// its inputs.
func TestTapeIsATopologicalOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawLowered(t)
		tape := g.Tape(g.Outputs, rapid.IntRange(1, 8).Draw(t, "width"), nil)
		at := make(map[int32]int)
		for i, a := range tape {
			if _, twice := at[a]; twice {
				t.Fatalf("array %d twice in %v", a, tape)
			}
			at[a] = i + 1
		}
		var need func(a int32)
		needed := make(map[int32]bool)
		need = func(a int32) {
			if g.Arrays[a].Kind == OpNone || needed[a] {
				return
			}
			needed[a] = true
			for _, in := range g.Arrays[a].In {
				need(in)
				if at[in] > at[a] {
					t.Fatalf("array %d before its input %d in %v", a, in, tape)
				}
			}
		}
		for _, a := range g.Outputs {
			need(a)
		}
		if len(needed) != len(tape) {
			t.Fatalf("%d entries, %d needed", len(tape), len(needed))
		}
	})
}

func drawLowered(t *rapid.T) *Graph {
	s := &Scenario{Version: FormatVersion}
	if rapid.Bool().Draw(t, "generated") {
		return (&Generate{Kind: "random", Seed: rapid.Uint64().Draw(t, "seed"), Size: rapid.IntRange(1, 40).Draw(t, "size")}).Graph(0, 1)
	}
	drawGraph(t, s)
	for _, e := range s.Evals {
		s.Graph.Outputs = append(s.Graph.Outputs, e.Outputs...)
	}
	c := new(checker)
	g := resolveGraph(c, s.Graph, nil, 1)
	if c.first != nil {
		t.Fatal(c.first)
	}
	return g
}

// TestForcedAndSection compares both with a computation by their definition.
func TestForcedAndSection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawLowered(t)
		e := Evaluator{MaxOps: rapid.IntRange(1, 9).Draw(t, "ops"), MaxMB: rapid.IntRange(1, 60).Draw(t, "mb"), BFSWidth: rapid.IntRange(1, 8).Draw(t, "width")}
		s := LowerGraph(g, rapid.SampledFrom(Disciplines).Draw(t, "discipline").Discipline, e)
		for q := range s.Queues {
			queue := &s.Queues[q]
			if got, want := queue.Forced, naiveForced(s, q, g, e.Normal()); !slices.Equal(got, want) {
				t.Fatalf("forced %v, want %v\n%s", got, want, s.ShowText())
			}
			if got, want := queue.Section, naiveSection(queue.Commands); !slices.Equal(got, want) {
				t.Fatalf("sections %v, want %v\n%s", got, want, s.ShowText())
			}
		}
	})
}

func naiveForced(s *Schedule, q int, g *Graph, e Evaluator) []int32 {
	elems := make(map[string]int64)
	for _, a := range g.Arrays {
		elems[a.Name] = a.Elems
	}
	test := make(map[int]bool)
	for _, m := range s.Main {
		if m.Kind == StepEncode && int(m.Target) == q {
			test[int(m.N)] = true
		}
	}
	cs := s.Queues[q].Commands
	var out []int32
	for start := 0; start <= len(cs); start++ {
		ops, arrays := 0, make(map[Sym]bool)
		end := int32(NeverForced)
		for i := start; i < len(cs); i++ {
			switch cs[i].Op {
			case OpKernel, OpCollective, OpSend, OpRecv:
				ops++
				for _, r := range cs[i].Reads {
					arrays[r.Array] = true
				}
				for _, w := range cs[i].Writes {
					arrays[w] = true
				}
			case OpCoherent:
				ops++
				arrays[cs[i].Name] = true
			case OpWait, OpUpdate:
				ops++
			}
			sum := int64(0)
			for a := range arrays {
				sum += elems[s.Names.Of(a)]
			}
			if test[i+1] && (ops > e.MaxOps || sum/(1<<20) > int64(e.MaxMB)) {
				end = int32(i + 1)
				break
			}
		}
		out = append(out, end)
	}
	return out
}

func naiveSection(cs []Command) []int32 {
	reads := func(c *Command) map[Sym]bool {
		m := make(map[Sym]bool)
		for _, r := range c.Reads {
			m[r.Array] = true
		}
		if c.Op == OpCoherent {
			m[c.Name] = true
		}
		return m
	}
	writes := func(c *Command) map[Sym]bool {
		m := make(map[Sym]bool)
		for _, w := range c.Writes {
			m[w] = true
		}
		switch c.Op {
		case OpCoherent:
			m[c.Name] = true
		case OpWait, OpAwait:
			if c.For != NoSym {
				m[c.For] = true
			}
		}
		return m
	}
	meet := func(a, b map[Sym]bool) bool {
		for s := range a {
			if b[s] {
				return true
			}
		}
		return false
	}
	out := make([]int32, len(cs)+1)
	for s := range out {
		out[s] = NeverForced
	search:
		for i := s + 1; i < len(cs); i++ {
			for j := s; j < i; j++ {
				overwrites := meet(writes(&cs[i]), writes(&cs[j])) && cs[i].Op != OpWait && cs[i].Op != OpAwait
				if overwrites || meet(reads(&cs[i]), writes(&cs[j])) || meet(writes(&cs[i]), reads(&cs[j])) {
					out[s] = int32(i)
					break search
				}
			}
		}
	}
	return out
}
