package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestParseEqualsFormat draws scenarios of every form: written as JSON and as YAML and
// read back they are equal, and so are the digests of their programs.
func TestParseEqualsFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		if err := s.Validate(); err != nil {
			t.Fatalf("drawn, but not valid: %v", err)
		}
		j, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		y, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		var direct Scenario
		if err := json.Unmarshal(j, &direct); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, &direct, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
			t.Fatal(diff)
		}
		for _, text := range [][]byte{j, y} {
			back, err := Parse("s.yaml", text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := cmp.Diff(s, back, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
				t.Fatalf("%s\n%s", diff, text)
			}
			if d := s.Digest(); d == "" || back.Digest() != d {
				t.Fatalf("digest %s, read back %s", d, back.Digest())
			}
		}
	})
}

func drawScenario(t *rapid.T) *Scenario {
	s := &Scenario{Version: FormatVersion, Name: drawTitle(t), About: rapid.String().Draw(t, "about")}
	s.Sources = drawList(t, "sources", 2, func(int) string { return rapid.String().Draw(t, "source") })
	s.Ranks = rapid.IntRange(0, 4).Draw(t, "ranks")
	s.Machine = drawMachine(t)
	switch rapid.IntRange(0, 2).Draw(t, "form") {
	case 0:
		s.Generate = drawGenerate(t)
	case 1:
		drawGraph(t, s)
	case 2:
		drawSchedules(t, s)
	}
	if !s.Explicit() && rapid.Bool().Draw(t, "has discipline") {
		s.Discipline = drawDiscipline(t)
	}
	if !s.Explicit() {
		limit := rapid.IntRange(0, 3)
		s.Evaluator = Evaluator{limit.Draw(t, "width"), limit.Draw(t, "ops"), limit.Draw(t, "mb"), limit.Draw(t, "active"), limit.Draw(t, "dispatches")}
	}
	s.Expect = drawList(t, "expect", 2, func(int) Expectation { return drawExpectation(t, s) })
	return s
}

// drawTitle draws the name of a scenario: none, or printable characters of any script.
func drawTitle(t *rapid.T) string {
	shown := rapid.RuneFrom([]rune(` #:"'-{}[]&*!|>%@,\`), unicode.L, unicode.N, unicode.P, unicode.S)
	shown = shown.Filter(func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError })
	name := rapid.StringOf(shown).Draw(t, "name")
	if strings.TrimSpace(name) == "" {
		return ""
	}
	return name
}

// drawList draws up to most members; nil for none.
func drawList[T any](t *rapid.T, label string, most int, each func(int) T) []T {
	var out []T
	for i := range rapid.IntRange(0, most).Draw(t, label) {
		out = append(out, each(i))
	}
	return out
}

func drawDiscipline(t *rapid.T) *Discipline {
	d := rapid.SampledFrom(Disciplines).Draw(t, "discipline").Discipline
	return &d
}

func drawMachine(t *rapid.T) Machine {
	var m Machine
	for i := range Parameters {
		p := &Parameters[i]
		if rapid.IntRange(0, 2).Draw(t, "set "+p.Name) > 0 {
			continue
		}
		n := rapid.IntRange(0, 9).Draw(t, p.Name)
		switch {
		case p.text != nil:
			*p.text(&m) = p.Values[n%len(p.Values)]
		case p.number != nil:
			*p.number(&m) = n
		case p.visibility != nil:
			v := Visibility{Mode: p.Values[n%len(p.Values)]}
			if v.Mode[0] == '{' {
				v = Visibility{VisLag, n}
			}
			*p.visibility(&m) = v
		default:
			p.transport(&m).Buffered = n
		}
	}
	return m.sparse()
}

func drawGenerate(t *rapid.T) *Generate {
	n, r := rapid.IntRange(1, 3).Draw(t, "n"), rapid.IntRange(0, 2).Draw(t, "rounds")
	elems := rapid.Int64Range(0, MaxElements).Draw(t, "elems")
	return rapid.SampledFrom([]*Generate{
		{Kind: "independent-reductions", Reductions: n, Rounds: r, Elems: elems},
		{Kind: "chained-reductions", Reductions: n, Rounds: r, Elems: elems},
		{Kind: "pipeline", Reductions: n - 1, Rounds: r, Elems: elems},
		{Kind: "random", Seed: rapid.Uint64().Draw(t, "seed"), Size: n, Elems: elems},
	}).Draw(t, "generate")
}

func drawGraph(t *rapid.T, s *Scenario) {
	g := &GraphFile{}
	streams := []string{"gpu", "cpu"}
	if rapid.Bool().Draw(t, "own streams") {
		g.Streams = Map[StreamFile]{{"main", StreamFile{"gpu"}}, {"side", StreamFile{"gpu"}}, {"host", StreamFile{"cpu"}}}
		streams = []string{"main", "side", "host"}
	}
	cpu := streams[len(streams)-1]
	var arrays []string
	g.Inputs = drawList(t, "inputs", 2, func(i int) Entry[int64] {
		name := fmt.Sprintf("in%d", i)
		arrays = append(arrays, name)
		return Entry[int64]{name, rapid.Int64Range(0, MaxElements).Draw(t, "elems")}
	})
	g.Nodes = drawList(t, "nodes", 6, func(i int) NodeFile {
		n := NodeFile{Name: fmt.Sprintf("%s%d", drawName(t), i), Elems: rapid.Int64Range(0, 1<<25).Draw(t, "elems")}
		if len(arrays) > 0 {
			n.In = drawList(t, "in", 2, func(int) string { return rapid.SampledFrom(arrays).Draw(t, "array") })
		}
		switch k := rapid.IntRange(0, 4).Draw(t, "op"); {
		case k == 0:
			n.Op, n.Stream = "all_reduce", cpu
		case k == 1:
			n.Op, n.Peer = "recv", rapid.SampledFrom([]string{"next", "prev", "0"}).Draw(t, "peer")
		case k == 2 && len(arrays) > 0:
			n.Op, n.Peer, n.In = "send", "next", []string{arrays[len(arrays)-1]}
		default:
			n.Op, n.Stream = "matmul", rapid.SampledFrom(append(streams, "")).Draw(t, "stream")
		}
		arrays = append(arrays, n.Name)
		return n
	})
	if len(arrays) == 0 {
		g.Inputs = Map[int64]{{"x", 1}}
		arrays = []string{"x"}
	}
	g.Outputs = drawList(t, "outputs", 3, func(int) string { return rapid.SampledFrom(arrays).Draw(t, "output") })
	s.Graph = g
	s.Evals = drawList(t, "evals", 2, func(int) EvalFile {
		return EvalFile{[]string{rapid.SampledFrom(arrays).Draw(t, "output")}, rapid.SampledFrom([]string{"", "sync", "async"}).Draw(t, "mode")}
	})
	if len(s.Evals) == 0 && len(g.Outputs) == 0 {
		g.Outputs = arrays[:1]
	}
}

func drawSchedules(t *rapid.T, s *Scenario) {
	s.Schedule = drawSchedule(t)
	for r := 1; r < s.Ranks; r++ {
		if rapid.IntRange(0, 3).Draw(t, "own schedule") == 0 {
			if s.RankSchedules == nil {
				s.RankSchedules = make(map[int]*ScheduleFile)
			}
			s.RankSchedules[r] = drawSchedule(t)
		}
	}
}

// drawSchedule draws a valid schedule: all names are from one small pool, all declared.
func drawSchedule(t *rapid.T) *ScheduleFile {
	f := &ScheduleFile{Inputs: []string{"a", "b", "c"}}
	name := func(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }
	command := func(may func(OpInfo) bool) func(int) string {
		return func(int) string {
			n := new(Names)
			c := drawCommand(t, n, may, name)
			return c.Text(n)
		}
	}
	gpu, cpu := command(func(i OpInfo) bool { return i.GPU }), command(func(i OpInfo) bool { return i.CPU })
	if rapid.Bool().Draw(t, "fences") {
		initial := rapid.Int64Range(0, Released).Draw(t, "initial")
		f.Fences = Map[FenceFile]{{"c", FenceFile{CopyOf: "b"}}, {"b", FenceFile{Initial: &initial}}, {"a", FenceFile{Store: StoreMax}}}
	}
	f.Queues = drawList(t, "queues", 2, func(i int) QueueFile {
		return QueueFile{fmt.Sprintf("q%d", i), drawList(t, "buffers", 3, func(int) BufferFile {
			return BufferFile{drawList(t, "commands", 3, gpu), drawList(t, "handler", 1, cpu)}
		})}
	})
	f.Streams = drawList(t, "streams", 2, func(i int) TaskFile {
		return TaskFile{fmt.Sprintf("s%d", i), drawList(t, "tasks", 3, cpu)}
	})
	if rapid.Bool().Draw(t, "main") {
		f.Main = drawList(t, "steps", 3, cpu)
		if len(f.Streams) > 0 {
			f.Main = append(f.Main, fmt.Sprintf("enqueue s0 %d", len(f.Streams[0].Tasks)), "synchronize s0")
		}
		if len(f.Queues) > 0 && len(f.Queues[0].Buffers) > 0 {
			f.Main = append(f.Main, "commit q0", "synchronize q0")
		}
		f.Main = append(f.Main, "throttle 3", "exit")
	}
	return f
}

func drawExpectation(t *rapid.T, s *Scenario) Expectation {
	e := Expectation{Verdict: rapid.SampledFrom(Verdicts).Draw(t, "verdict")}
	switch e.Verdict {
	case "violation":
		e.Property = rapid.SampledFrom(append(Properties, "")).Draw(t, "property")
	case "hang":
		e.Always = rapid.Bool().Draw(t, "always")
		if rapid.Bool().Draw(t, "counters") {
			v := rapid.Uint32()
			e.Counters = &Counters{v.Draw(t, "scheduled"), v.Draw(t, "gpu"), v.Draw(t, "cpu")}
		}
	}
	if !s.Explicit() && rapid.Bool().Draw(t, "discipline") {
		e.Discipline = drawDiscipline(t)
	}
	if rapid.Bool().Draw(t, "machine") {
		m := drawMachine(t)
		e.Machine = &m
	}
	if len(s.RankSchedules) == 0 {
		e.Ranks = rapid.IntRange(0, 3).Draw(t, "ranks")
	}
	return e
}
