package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

func reported(t testing.TB, d model.Discipline) *model.Schedule {
	t.Helper()
	g := (&model.Generate{Kind: "independent-reductions", Reductions: 32, Rounds: 8, Elems: 16777216}).Graph(0, 1)
	return model.LowerGraph(g, d, model.Evaluator{})
}

func slackTable(slacks []updateSlack) string {
	by := map[int][]string{}
	most := 0
	for i := range slacks {
		s := slacks[i].Slack()
		by[s] = append(by[s], fmt.Sprint(slacks[i].Update))
		if s != slackUnbounded {
			most = max(most, s)
		}
	}
	var b strings.Builder
	for s := -1; s <= most; s++ {
		if len(by[s]) > 0 {
			fmt.Fprintf(&b, "%d: %s\n", s, strings.Join(by[s], " "))
		}
	}
	if us := by[slackUnbounded]; len(us) > 0 {
		fmt.Fprintf(&b, "unbounded: %s\n", strings.Join(us, " "))
	}
	return b.String()
}

func TestEvaluatorSlackTable(t *testing.T) {
	p := reported(t, model.PerUpdate)
	slacks, ok, why := slackOf(p)
	fmt.Println(ok, why, slackTable(slacks))
	for n := -1; n < 7; n++ {
		fmt.Println(n, verifySlack(p, slacks, n))
	}
	slacks, ok, why = slackOf(reported(t, model.Count))
	fmt.Println(ok, why, slackTable(slacks))
	slacks, ok, why = slackOf(reported(t, model.Whole))
	fmt.Println(ok, why, slackTable(slacks))
}
