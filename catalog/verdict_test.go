package catalog

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

func parse(t testing.TB, e Entry) *model.Scenario {
	t.Helper()
	s, err := model.Parse(e.File, e.Source)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decided is one expectation with what came out.
type decided struct {
	name            string
	at              int
	scenario        *model.Scenario // of the expectation
	expect          model.Expectation
	result          *check.Result
	finishes, known bool
}

// decideAll decides every expectation of the catalog once.
var decideAll = sync.OnceValues(func() ([]decided, error) {
	var out []decided
	for _, name := range Names() {
		e, _ := Get(name)
		s, err := model.Parse(e.File, e.Source)
		if err != nil {
			return nil, err
		}
		for i := range s.Expect {
			x := &s.Expect[i]
			d := decided{name: name, at: i, scenario: check.Expected(s, x), expect: *x}
			cfg := check.Config{All: x.Counters != nil, NoShrink: true}
			if d.result, err = check.Explore(context.Background(), d.scenario, cfg); err != nil {
				return nil, err
			}
			if x.Verdict != "ok" {
				d.finishes, d.known, err = check.Finishes(context.Background(), d.scenario, cfg)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, d)
		}
	}
	return out, nil
})

func all(t *testing.T) []decided {
	t.Helper()
	ds, err := decideAll()
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func TestExpectations(t *testing.T) {
	for _, d := range all(t) {
		if why := check.Judge(d.expect, d.result, d.finishes, d.known); why != "" {
			t.Errorf("%s: expectation %d: %s", d.name, d.at, why)
		}
		if d.expect.Verdict == "ok" && d.result.Proof <= check.Sampled {
			t.Errorf("%s: expectation %d: ok is no proof: %v", d.name, d.at, d.result.Proof)
		}
	}
}

// Whatever word of an expectation is changed, it is missed.
func TestFlippedExpectations(t *testing.T) {
	flips := 0
	for _, d := range all(t) {
		missed := func(what string, x model.Expectation) {
			flips++
			if check.Judge(x, d.result, d.finishes, d.known) == "" {
				t.Errorf("%s: expectation %d is still met with %s", d.name, d.at, what)
			}
		}
		for _, v := range model.Verdicts {
			if x := d.expect; v != x.Verdict {
				x.Verdict = v
				missed("verdict "+v, x)
			}
		}
		for _, p := range model.Properties {
			if x := d.expect; x.Property != "" && d.result.Properties[p] != check.Violated {
				x.Property = p
				missed("property "+p, x)
			}
		}
		if d.expect.Counters != nil {
			for i, by := range []model.Counters{{Scheduled: 64}, {GPU: 64}, {CPU: 64}} {
				x, c := d.expect, *d.expect.Counters
				c.Scheduled, c.GPU, c.CPU = c.Scheduled+by.Scheduled, c.GPU+by.GPU, c.CPU+by.CPU
				x.Counters = &c
				missed(fmt.Sprint("counter ", i, " changed"), x)
			}
		}
		if x := d.expect; x.Verdict == "hang" && !x.Always {
			x.Always = true
			missed("always", x)
		}
	}
	if flips < 600 {
		t.Errorf("only %d flips", flips)
	}
}

// What is broken fails on the file's own machine, and some run of it ends well unless it
// says that none does. What is fixed is proved on the file's own machine.
func TestVariants(t *testing.T) {
	own := make(map[string][]decided)
	for _, d := range all(t) {
		e, _ := Get(d.name)
		s := parse(t, e)
		if d.expect.Verdict != "ok" && (!d.known || d.finishes == d.expect.Always) {
			t.Errorf("%s: expectation %d: a run finishes: %v (known %v), always: %v", d.name, d.at, d.finishes, d.known, d.expect.Always)
		}
		if d.scenario.Machine.Normal() == s.Machine.Normal() && (s.Explicit() || d.scenario.Effective() == s.Effective()) {
			own[d.name] = append(own[d.name], d)
		}
	}
	for _, c := range Cases() {
		if c.One {
			continue
		}
		b, f := own[c.Broken().Name], own[c.Fixed().Name]
		if len(b) == 0 || b[0].expect.Verdict == "ok" {
			t.Errorf("%s: the broken one expects no failure on its own machine", c.Name)
		}
		if len(f) == 0 || f[0].expect.Verdict != "ok" {
			t.Errorf("%s: the fixed one does not expect ok on its own machine", c.Name)
		}
	}
}

// The entries of a case differ in the one part that the table names, and if that is the
// machine, in one parameter.
func TestPairs(t *testing.T) {
	for _, c := range Cases() {
		if c.One {
			continue
		}
		b, f := parse(t, c.Broken()), parse(t, c.Fixed())
		var parts []string
		for _, p := range []struct {
			name string
			a, b any
		}{
			{"ranks", b.NumRanks(), f.NumRanks()}, {"generate", b.Generate, f.Generate}, {"graph", b.Graph, f.Graph}, {"evals", b.Evals, f.Evals},
			{"schedule", []any{b.Schedule, b.RankSchedules}, []any{f.Schedule, f.RankSchedules}}, {"discipline", b.Effective(), f.Effective()},
			{"evaluator", b.Evaluator, f.Evaluator}, {"machine", b.Machine.Normal(), f.Machine.Normal()}, {"sources", b.Sources, f.Sources},
		} {
			if !reflect.DeepEqual(p.a, p.b) {
				parts = append(parts, p.name)
			}
		}
		if !slices.Equal(parts, []string{c.Changes}) {
			t.Errorf("%s: the entries differ in %v, the table says %s", c.Name, parts, c.Changes)
		}
		if n := machineDifference(b.Machine, f.Machine); c.Changes == "machine" && n != 1 {
			t.Errorf("%s: %d parameters differ", c.Name, n)
		}
		if (b.Digest() == f.Digest()) != (c.Changes == "machine") {
			t.Errorf("%s: equal digests: %v, the fix changes the %s", c.Name, b.Digest() == f.Digest(), c.Changes)
		}
	}
}

func machineDifference(a, b model.Machine) int {
	n := 0
	for i := range model.Parameters {
		if p := &model.Parameters[i]; p.Value(&a) != p.Value(&b) {
			n++
		}
	}
	return n
}

// No two cases share a schedule.
func TestDigests(t *testing.T) {
	of := make(map[string]string)
	cases := make(map[string]bool)
	for _, name := range Names() {
		e, _ := Get(name)
		s := parse(t, e)
		c, _, ok := CaseOf(name)
		if !ok {
			continue
		}
		group, d := c.Name, s.Digest()
		cases[group] = true
		if other, ok := of[d]; ok && other != group {
			t.Errorf("%s and %s have one schedule", group, other)
		}
		of[d] = group
	}
	if len(of) < 100 || len(cases) < 60 {
		t.Errorf("%d digests of %d cases", len(of), len(cases))
	}
}

func TestCases(t *testing.T) {
	changes := []string{"schedule", "machine", "discipline", "evaluator"}
	for _, c := range Cases() {
		for _, e := range []Entry{c.Broken(), c.Fixed()} {
			if e.Name == "" {
				t.Errorf("%s: an entry is missing", c.Name)
				continue
			}
			if s := parse(t, e); len(s.Sources) == 0 {
				t.Errorf("%s: no source", e.Name)
			}
			got, _, ok := CaseOf(e.Name)
			if !ok || got.Name != c.Name {
				t.Errorf("CaseOf(%q) is %q", e.Name, got.Name)
			}
		}
		if c.Assumes == "" || !slices.Contains(changes, c.Changes) {
			t.Errorf("%s: assumes %q, changes %q", c.Name, c.Assumes, c.Changes)
		}
	}
	for _, name := range Names() {
		_, _, ok := CaseOf(name)
		if example := strings.HasPrefix(name, "example-"); ok == example {
			t.Errorf("%s: belongs to a case: %v", name, ok)
		}
	}
	for e := range evidenceWords {
		if got, ok := ParseEvidence(Evidence(e).String()); !ok || got != Evidence(e) {
			t.Errorf("evidence %d reads back as %v", e, got)
		}
	}
}

// The independent model gives the same verdicts wherever it is small enough for it.
func TestAgainstNaive(t *testing.T) {
	const limit = 2000
	compared := 0
	for _, d := range all(t) {
		if d.scenario.Generate != nil {
			continue
		}
		ps, err := d.scenario.Programs(d.scenario.Effective())
		if err != nil {
			t.Fatal(err)
		}
		r, done := naive.Explore(ps, d.scenario.Machine, limit)
		if !done {
			continue
		}
		compared++
		for _, p := range check.Properties {
			want := r.Violated[p]
			if p == "hang" {
				want = r.StuckStates > 0
			}
			if got := d.result.Properties[p]; got != check.Unknown && (got == check.Violated) != want {
				t.Errorf("%s: expectation %d: %s %v, the independent model says violated: %v", d.name, d.at, p, got, want)
			}
		}
		if d.known && d.finishes != r.CanFinish {
			t.Errorf("%s: expectation %d: a run finishes: %v, the independent model says %v", d.name, d.at, d.finishes, r.CanFinish)
		}
	}
	if compared < 200 {
		t.Errorf("only %d expectations compared", compared)
	}
	t.Logf("%d expectations compared", compared)
}
