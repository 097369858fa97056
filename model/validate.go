package model

import (
	"slices"
	"strings"
)

// Verdicts are the words for what a run of a scenario gives.
var Verdicts = []string{"ok", "hang", "violation", "inconclusive"}

// Properties are the words for what is checked, in the order in which they are shown.
var Properties = []string{"hang", "stale-read", "overwritten", "order-mismatch", "backwards", "use-after-free", "orphan", "lost-update"}

// Validate reports the first fault of a scenario that was built or changed by hand; what
// [Parse] returns is valid. The error is an *Error without a position.
func (s *Scenario) Validate() error {
	c := new(checker)
	s.check(c)
	if c.first != nil {
		return c.first
	}
	return nil
}

// programs is what the one section of a scenario that says what runs resolves to.
type programs struct {
	graph    *Graph // for graph; nil for generate and explicit schedules
	schedule *scheduleResolver
	ranks    map[int]*scheduleResolver // ranks with schedules of their own
}

// check tells c about every fault of s.
func (s *Scenario) check(c *checker) programs {
	if s.Version != FormatVersion {
		c.fail([]any{"fencesim"}, "version %d of the format: want %d", s.Version, FormatVersion)
	}
	if strings.TrimSpace(s.Name) == "" && (s.Name != "" || c.has("name")) {
		c.fail([]any{"name"}, "the name is empty")
	}
	checkShown(c, "a scenario", s.Name, []any{"name"})
	if s.Ranks < 0 || s.Ranks == 0 && c.has("ranks") || s.Ranks > MaxRanks {
		c.fail([]any{"ranks"}, "%d ranks are outside 1 to %d", s.Ranks, MaxRanks)
		return programs{}
	}
	s.checkMachine(c)
	s.checkExpectations(c)
	forms := 0
	for _, set := range []bool{s.Generate != nil, s.Graph != nil, s.Schedule != nil} {
		if set {
			forms++
		}
	}
	if forms == 0 {
		c.fail(nil, "missing key: want one of generate, graph, schedule")
		return programs{}
	}
	if forms > 1 {
		s.checkForms(c)
		return programs{}
	}
	if s.Graph == nil && len(s.Evals) > 0 {
		c.fail([]any{keyOf("evals")}, "evals need a graph")
	}
	if s.Schedule == nil && len(s.RankSchedules) > 0 {
		c.fail([]any{keyOf("rank_schedules")}, "rank_schedules need an explicit schedule")
	}
	if !s.checkSize(c) {
		return programs{}
	}
	switch {
	case s.Graph != nil:
		return programs{graph: resolveGraph(c, s.Graph, s.Evals, s.NumRanks())}
	case s.Schedule != nil:
		return s.resolveSchedules(c)
	}
	return programs{}
}

// checkForms tells of the second of several sections that say what runs.
func (s *Scenario) checkForms(c *checker) {
	var keys []string
	for _, f := range []struct {
		key string
		set bool
	}{{"generate", s.Generate != nil}, {"graph", s.Graph != nil}, {"schedule", s.Schedule != nil}} {
		if f.set {
			keys = append(keys, f.key)
		}
	}
	line := func(key string) (int, int) {
		if c.root == nil {
			return 0, 0
		}
		n := c.find([]any{keyOf(key)})
		return n.Line, n.Column
	}
	slices.SortStableFunc(keys, func(a, b string) int {
		la, ca := line(a)
		lb, cb := line(b)
		if la != lb {
			return la - lb
		}
		return ca - cb
	})
	c.fail([]any{keyOf(keys[1])}, "%s beside %s: want exactly one of generate, graph, schedule", keys[1], keys[0])
}

func (s *Scenario) checkMachine(c *checker) {
	checkMachine(c, &s.Machine, "machine")
	e := []struct {
		key   string
		value int
	}{{"bfs_width", s.Evaluator.BFSWidth}, {"max_ops", s.Evaluator.MaxOps}, {"max_mb", s.Evaluator.MaxMB},
		{"max_active", s.Evaluator.MaxActive}, {"dispatches_per_task", s.Evaluator.DispatchesPerTask}}
	for _, l := range e {
		if l.value < 0 || l.value > NeverForced {
			c.fail([]any{"evaluator", l.key}, "%d is outside 1 to %d", l.value, NeverForced)
		}
	}
	if s.Explicit() && s.Generate == nil && s.Graph == nil {
		if s.Discipline != nil {
			c.fail([]any{keyOf("discipline")}, "an explicit schedule has no discipline")
		}
		if s.Evaluator != (Evaluator{}) {
			c.fail([]any{keyOf("evaluator")}, "an explicit schedule has no evaluator")
		}
	}
	if s.Discipline != nil && int(*s.Discipline) >= len(Disciplines) {
		c.fail([]any{"discipline"}, "discipline %d is none of the table", *s.Discipline)
	}
}

// checkMachine refuses values that no file could hold.
func checkMachine(c *checker, m *Machine, path ...any) {
	for i := range Parameters {
		p := &Parameters[i]
		switch {
		case p.text != nil:
			if v := *p.text(m); v != "" && !slices.Contains(p.Values, v) {
				c.fail(join(path, p.Name), "%q is none of %s", v, strings.Join(p.Values, ", "))
			}
		case p.number != nil:
			if v := *p.number(m); v < 0 || v > NeverForced {
				c.fail(join(path, p.Name), "%d is outside 0 to %d", v, NeverForced)
			}
		case p.visibility != nil:
			v := *p.visibility(m)
			known := v.Mode == "" || slices.ContainsFunc(p.Values, func(s string) bool {
				return s == v.Mode || v.Mode == VisLag && strings.HasPrefix(s, "{mode: lag")
			})
			if !known || v.Buffers < 0 || v.Buffers > NeverForced {
				c.fail(join(path, p.Name), "%q is none of %s", v.String(), strings.Join(p.Values, ", "))
			}
		default:
			if v := p.transport(m).Buffered; v < 0 || v > NeverForced {
				c.fail(join(path, p.Name), "%d is outside 0 to %d", v, NeverForced)
			}
		}
	}
}

func (s *Scenario) checkExpectations(c *checker) {
	for i := range s.Expect {
		e := &s.Expect[i]
		fail := func(key any, format string, args ...any) { c.fail([]any{"expect", i, key}, format, args...) }
		if !slices.Contains(Verdicts, e.Verdict) {
			fail("verdict", "%q is none of %s", shorten(e.Verdict), strings.Join(Verdicts, ", "))
		}
		if e.Property != "" && !slices.Contains(Properties, e.Property) {
			fail("property", "%q is none of %s", shorten(e.Property), strings.Join(Properties, ", "))
		}
		if e.Property != "" && e.Verdict != "violation" {
			fail(keyOf("property"), "only a violation names a property")
		}
		if e.Verdict != "hang" {
			if e.Counters != nil {
				fail(keyOf("counters"), "only a hang has counters")
			}
			if e.Always {
				fail(keyOf("always"), "only a hang can happen in every run")
			}
		}
		if s.Explicit() && e.Discipline != nil {
			fail(keyOf("discipline"), "an explicit schedule has no discipline")
		}
		if e.Discipline != nil && int(*e.Discipline) >= len(Disciplines) {
			fail("discipline", "discipline %d is none of the table", *e.Discipline)
		}
		if e.Machine != nil {
			checkMachine(c, e.Machine, "expect", i, "machine")
		}
		present := e.Ranks != 0 || c.root != nil && c.find([]any{"expect", i, keyOf("ranks")}) != c.find([]any{"expect", i})
		switch {
		case !present:
		case e.Ranks < 1 || e.Ranks > MaxRanks:
			fail("ranks", "%d ranks are outside 1 to %d", e.Ranks, MaxRanks)
		case len(s.RankSchedules) > 0:
			fail(keyOf("ranks"), "ranks cannot change beside rank_schedules")
		}
		if c.full() {
			return
		}
	}
}

// checkSize refuses, before anything is expanded, what would be too large, and arguments
// of generate out of bounds.
func (s *Scenario) checkSize(c *checker) bool {
	switch {
	case s.Generate != nil:
		return s.Generate.check(c, s.NumRanks())
	case s.Graph != nil:
		if n := len(s.Graph.Nodes); n > MaxOperations {
			c.fail([]any{"graph", "nodes"}, "%d operations: more than %d", n, MaxOperations)
			return false
		}
		return true
	}
	n := s.Schedule.size()
	for _, r := range s.RankSchedules {
		n += r.size()
	}
	if n > MaxOperations {
		c.fail([]any{"schedule"}, "%d operations: more than %d", n, MaxOperations)
		return false
	}
	return true
}

// size counts commands, tasks and main steps.
func (f *ScheduleFile) size() int {
	if f == nil {
		return 0
	}
	n := len(f.Main)
	for _, q := range f.Queues {
		n += len(q.Buffers)
		for _, b := range q.Buffers {
			n += len(b.Commands) + len(b.OnFinish)
		}
	}
	for _, t := range f.Streams {
		n += len(t.Tasks)
	}
	return n
}

// check refuses an unknown kind, arguments out of bounds and too many operations.
func (g *Generate) check(c *checker, ranks int) bool {
	k, ok := KindNamed(g.Kind)
	if !ok {
		var names []string
		for _, k := range Kinds {
			names = append(names, k.Name)
		}
		c.fail([]any{"generate", "kind"}, "unknown kind %q: want one of %s", shorten(g.Kind), strings.Join(names, ", "))
		return false
	}
	before := c.count
	uses := func(name string) bool { return slices.Contains(k.Needs, name) }
	within := func(name string, v, low, high int64) {
		if !uses(name) && v == 0 && !c.has("generate", name) {
			return
		}
		if v < low || v > high {
			c.fail([]any{"generate", name}, "%d is outside %d to %d", v, low, high)
		}
	}
	const most = NeverForced
	within("reductions", int64(g.Reductions), 1, most)
	within("rounds", int64(g.Rounds), 0, most)
	within("elems", g.Elems, 0, MaxElements)
	within("size", int64(g.Size), 1, most)
	if c.count > before {
		return false
	}
	n := k.Count(g)
	if g.Kind == "pipeline" {
		n *= float64(min(ranks, 3)) // the first, the last and those between differ
	}
	if n > MaxOperations {
		c.fail([]any{"generate"}, "%.0f operations: more than %d", n, MaxOperations)
		return false
	}
	return true
}
