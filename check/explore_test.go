package check

import (
	"context"
	"fmt"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// reproducer is the reported workload.
func reproducer(d model.Discipline, machine string, ranks int) *model.Scenario {
	p, ok := model.PresetNamed(machine)
	if !ok {
		panic(machine)
	}
	return &model.Scenario{Version: 1, Name: "independent-reductions", Ranks: ranks, Discipline: &d, Machine: p.Machine,
		Generate: &model.Generate{Kind: "independent-reductions", Reductions: 32, Rounds: 8, Elems: 1 << 24}}
}

// TestReportedWorkload: the reported counters are reached under the reported machine and
// the fix is proved.
func TestReportedWorkload(t *testing.T) {
	res, err := Explore(context.Background(), reproducer(model.Count, "lag-3", 4), Config{All: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%v %v %d states %d stuck, %s", res.Verdict, res.Proof, res.States, len(res.Stuck), res.Reason)
	want := map[model.Counters]bool{}
	for v := uint32(8); v <= 11; v++ {
		want[model.Counters{Scheduled: 12, GPU: v}] = true
		want[model.Counters{Scheduled: 32, GPU: v + 20, CPU: 12}] = true
	}
	if res.Verdict != Hang || len(res.Stuck) != len(want) {
		t.Errorf("verdict %v, stuck %v", res.Verdict, counters(res))
	}
	for _, s := range res.Stuck {
		if !want[s.Counters] {
			t.Errorf("unexpected stuck counters %v", s.Counters)
		}
	}
	t.Log(res.Stuck[0].Cause)
	for _, l := range res.Stuck[0].Cycle {
		t.Log(l)
	}
	for lag := range 6 {
		res, err := Explore(context.Background(), reproducer(model.PerUpdate, fmt.Sprintf("lag-%d", lag), 4), Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("per-update lag %d: %v %v %v %s", lag, res.Verdict, res.Proof, counters(res), res.Reason)
		if lag < 5 && (res.Verdict != OK || res.Proof != Certificate) {
			t.Errorf("per-update under lag %d: %v by %v, want ok by certificate", lag, res.Verdict, res.Proof)
		}
		if lag == 5 && (res.Verdict != Hang || res.Stuck[0].Counters != model.Counters{Scheduled: 12, GPU: 11, CPU: 11}) {
			t.Errorf("per-update under lag 5: %v at %v", res.Verdict, counters(res))
		}
	}
}

func counters(res *Result) (out []model.Counters) {
	for _, s := range res.Stuck {
		out = append(out, s.Counters)
	}
	return out
}
