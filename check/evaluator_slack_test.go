package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// reportedWorkload is the worked example of semantics section 7: 32 chains.
func reportedWorkload(d model.Discipline, elems int64) *model.Schedule {
	g := (&model.Generate{Kind: "independent-reductions", Reductions: 32, Rounds: 8, Elems: elems}).Graph(0, 1)
	return model.LowerGraph(g, d, model.Evaluator{})
}

const fullSize = 16777216

// slackTable lists the updates of each slack.
func slackTable(slacks []updateSlack) string {
	by, most := map[int][]string{}, -1
	for i := range slacks {
		s := slacks[i].Slack()
		by[s] = append(by[s], fmt.Sprint(slacks[i].Update))
		most = max(most, s)
	}
	var b strings.Builder
	for s := -1; s <= most; s++ {
		if len(by[s]) > 0 {
			fmt.Fprintf(&b, "%d: %s\n", s, strings.Join(by[s], " "))
		}
	}
	return b.String()
}

func TestEvaluatorSlackTable(t *testing.T) {
	for _, c := range []struct {
		d     model.Discipline
		elems int64
		want  string
		ok    bool
	}{
		{model.PerUpdate, fullSize, `4: 12
5: 10 11
6: 8 9
7: 6 7
8: 4 5 32
9: 2 3 30 31
10: 1 28 29
11: 26 27
12: 24 25
13: 22 23
14: 20 21
15: 18 19
16: 16 17
17: 14 15
18: 13
`, true},
		{model.Count, fullSize, "-1: 12 32\n", true},
		{model.Whole, fullSize, "-1: 32\n", false},
	} {
		p := reportedWorkload(c.d, c.elems)
		slacks, ok, why := slackOf(p)
		if have := slackTable(slacks); have != c.want || ok != c.ok || ok != (why == "") {
			t.Errorf("%v: order %v (%s)\n%s", c.d, ok, why, have)
		}
		least, _ := tightestSlack(slacks)
		for n := -1; n < 8; n++ {
			if why := verifySlack(p, slacks, n); (why == "") != (ok && least >= n) {
				t.Errorf("%v: the checker at lag %d: %q", c.d, n, why)
			}
		}
	}
	slacks, _, _ := slackOf(reportedWorkload(model.PerUpdate, fullSize))
	if least, at := tightestSlack(slacks); least != 4 || slacks[at].Update != 12 {
		t.Errorf("slack %d, update %d is the tightest; want 4 and 12", least, slacks[at].Update)
	}
	slacks, _, _ = slackOf(reportedWorkload(model.PerUpdate, 1024*1024))
	shared := 0
	for i := range slacks {
		shared += min(1, max(0, -slacks[i].Slack()))
	}
	if shared != 23 || len(slacks) != 32 {
		t.Errorf("1024 x 1024: %d of %d updates may share a buffer with the wait; want 23 of 32", shared, len(slacks))
	}
}

// TestEvaluatorSlackCheckerRefuses: the checker sees a false certificate.
func TestEvaluatorSlackCheckerRefuses(t *testing.T) {
	p := reportedWorkload(model.PerUpdate, fullSize)
	slacks, _, _ := slackOf(p)
	change := func(f func(s []updateSlack) []updateSlack) []updateSlack {
		return f(append([]updateSlack(nil), slacks...))
	}
	_, at := tightestSlack(slacks)
	for name, c := range map[string]struct {
		lag   int
		claim []updateSlack
	}{
		"one more end":    {5, change(func(s []updateSlack) []updateSlack { s[at].Ends++; s[10].Ends += 9; return s })},
		"no wait":         {5, change(func(s []updateSlack) []updateSlack { s[at].Wait = -1; return s })},
		"update left out": {3, change(func(s []updateSlack) []updateSlack { return append(s[:5], s[6:]...) })},
		"another update":  {3, change(func(s []updateSlack) []updateSlack { s[5].At++; return s })},
		"one too many":    {3, change(func(s []updateSlack) []updateSlack { return append(s, s[31]) })},
	} {
		if verifySlack(p, c.claim, c.lag) == "" {
			t.Errorf("%s: accepted", name)
		}
	}
	whole := reportedWorkload(model.Whole, fullSize)
	slacks, _, _ = slackOf(whole)
	if why := verifySlack(whole, slacks, -1); !strings.Contains(why, "not encoded before") {
		t.Errorf("tape on the ideal machine: %q", why)
	}
}

// BenchmarkEvaluatorCertificate computes and verifies a certificate. Lowering is not timed.
func BenchmarkEvaluatorCertificate(b *testing.B) {
	for _, ops := range []int{10_000, 100_000, 1_000_000} {
		g := (&model.Generate{Kind: "independent-reductions", Reductions: ops / 20, Rounds: 8, Elems: fullSize}).Graph(0, 1)
		p := model.LowerGraph(g, model.PerUpdate, model.Evaluator{})
		slacks, _, _ := slackOf(p)
		b.Run(fmt.Sprintf("compute/ops=%d", ops), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				slackOf(p)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ops), "ns/operation")
		})
		b.Run(fmt.Sprintf("verify/ops=%d", ops), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if why := verifySlack(p, slacks, 4); why != "" {
					b.Fatal(why)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(ops), "ns/operation")
		})
	}
}
