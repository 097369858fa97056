package check_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

// plainLimit bounds the states of the search that the stories' results are held against.
const plainLimit = 20_000

// decide explores the story's scenario for all stuck states, without what a story has no
// use for.
func (st *story) decide(t *testing.T, cfg check.Config) *check.Result {
	cfg.All, cfg.NoShrink, cfg.Seed, cfg.Runs, cfg.Workers = true, true, 1, 200, 1
	res, err := check.Explore(context.Background(), st.sc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// explore gives the verdict of each strategy, and the first one's stuck states. Whatever
// decides the scenario must agree with a search without reductions and with the plain
// second model.
func (st *story) explore(t *testing.T, strategies []string) string {
	var b strings.Builder
	if len(strategies) == 0 {
		strategies = []string{"auto"}
	}
	var first *check.Result
	for _, name := range strategies {
		res := st.decide(t, check.Config{Strategy: name, NoAdvice: true})
		if first == nil {
			first = res
		}
		if len(strategies) > 1 {
			fmt.Fprintf(&b, "%s: ", name)
		}
		fmt.Fprintf(&b, "%s (%s)\n", res.Verdict, res.Proof)
	}
	finishes, known, err := check.Finishes(context.Background(), st.sc, check.Config{Workers: 1})
	switch {
	case err != nil:
		t.Fatal(err)
	case !known:
		b.WriteString("whether a run finishes is not known\n")
	case !finishes:
		b.WriteString("no run finishes\n")
	case first.Verdict == check.Hang:
		b.WriteString("some runs finish\n")
	}
	for _, s := range first.Stuck {
		luck := ""
		if s.Possible > 0 {
			luck = fmt.Sprintf(" (merely possible steps taken: %d)", s.Possible)
		}
		fmt.Fprintf(&b, "stuck at %s%s: %s\n", counters(s.Counters), luck, s.Cause)
	}
	if v := violated(first); len(v) > 0 {
		fmt.Fprintf(&b, "violated: %s\n", strings.Join(v, ", "))
	}
	b.WriteString(st.compare(t, first, finishes))
	return b.String()
}

func counters(c model.Counters) string {
	return fmt.Sprintf("scheduled %d, gpu %d, cpu %d", c.Scheduled, c.GPU, c.CPU)
}

// violated lists the violated properties but hang.
func violated(res *check.Result) []string {
	var v []string
	for _, p := range check.Properties {
		if p != "hang" && res.Properties[p] == check.Violated {
			v = append(v, p)
		}
	}
	return v
}

// compare holds a result against the search without reductions and the second model, and
// says so if it cannot.
func (st *story) compare(t *testing.T, res *check.Result, finishes bool) string {
	programs, err := st.sc.Programs(st.sc.Effective())
	if err != nil {
		t.Fatal(err)
	}
	want, ok := naive.Explore(programs, st.sc.Machine.Normal(), plainLimit)
	if !ok {
		return fmt.Sprintf("more than %d states: not compared with the plain search\n", plainLimit)
	}
	if finishes != want.CanFinish {
		t.Errorf("a run finishes: %v, in the second model: %v", finishes, want.CanFinish)
	}
	full := st.decide(t, check.Config{Strategy: "dfs", Reductions: []string{}, Exact: true, NoAdvice: true})
	for _, r := range []*check.Result{res, full} {
		for _, p := range check.Properties {
			if s := r.Properties[p]; s != check.Unknown && (s == check.Violated) != want.Violated[p] {
				t.Errorf("%s (%s): %s, violated in the second model: %v", p, r.Proof, s, want.Violated[p])
			}
		}
		if r.Ranks > 1 || r.Proof == check.Sampled {
			continue
		}
		var got []string
		for _, s := range r.Stuck {
			got = append(got, fmt.Sprintf("%d,%d,%d", s.Counters.Scheduled, s.Counters.GPU, s.Counters.CPU))
		}
		for _, s := range got {
			if !want.Stuck[s] {
				t.Errorf("stuck at %s (%s), not in the second model", s, r.Proof)
			}
		}
		for s := range want.Stuck {
			if !slices.Contains(got, s) {
				t.Errorf("stuck at %s in the second model, not here (%s)", s, r.Proof)
			}
		}
	}
	return ""
}

func (st *story) violates(t *testing.T) string {
	res := st.decide(t, check.Config{NoAdvice: true})
	var b strings.Builder
	for _, f := range res.Violations {
		fmt.Fprintf(&b, "%s: %s\n", f.Property, f.Where)
	}
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}

func (st *story) lint(t *testing.T) string {
	l, err := check.NewLint(st.sc)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, l.Verdict)
	for _, f := range l.Findings {
		fmt.Fprintf(&b, "%s %s: %s; needs %s\n", f.Level, f.Rule, f.Where, f.Needs)
	}
	if l.Slack != nil {
		fmt.Fprintf(&b, "slack %d\n", *l.Slack)
	}
	return b.String()
}

func (st *story) advice(t *testing.T) string {
	var b strings.Builder
	for _, a := range st.decide(t, check.Config{}).Advice {
		fmt.Fprintf(&b, "%s: %s; needs %s\n", a.Rule, a.Where, a.Needs)
	}
	if b.Len() == 0 {
		return "nothing"
	}
	return b.String()
}
