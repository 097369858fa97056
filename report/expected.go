package report

import (
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// Unmet are the expectations of sc that a result of it does not meet, in words: "hang at
// (scheduled 12, gpu 8, cpu 0)". Of an inconclusive result they are those that it leaves
// open. Where the result does not tell which of several it misses, for they differ in
// counters, or in that no run may finish, all of these are given.
func Unmet(sc *model.Scenario, r *check.Result) []string {
	var sure, open []string
	for i := range sc.Expect {
		x := sc.Expect[i]
		if !speaksOf(sc, &x, r) {
			continue
		}
		met := check.Meets(x, r)
		wrong := x.Verdict != r.Verdict.String() || x.Property != "" && r.Properties[x.Property] != check.Violated
		x.Discipline, x.Machine, x.Ranks = nil, nil, 0 // they are the run's
		switch {
		case wrong:
			sure = append(sure, expectation(&x))
		case r.Expect == "missed" && (!met || x.Always):
			open = append(open, expectation(&x))
		}
	}
	if len(sure) > 0 {
		return sure
	}
	return open
}

// speaksOf reports whether an expectation is about a result's discipline, machine and
// number of ranks.
func speaksOf(sc *model.Scenario, x *model.Expectation, r *check.Result) bool {
	of := check.Expected(sc, x)
	return of.Machine.Normal() == r.Machine.Normal() && (sc.Explicit() || of.Effective().String() == r.Discipline) &&
		(x.Ranks == 0 || x.Ranks == r.Ranks)
}

// expected says whether a result is as expected (yes, no or not decided; "" where nothing
// was expected) and what was expected instead. unmet is what [Unmet] gives; nil where the
// scenario is not known.
func expected(r *check.Result, unmet []string) (says, instead string) {
	instead = "the scenario expects another outcome"
	if len(unmet) > 0 {
		instead = "the scenario expects " + strings.Join(unmet, "; ")
	}
	switch {
	case r.Expect == "met":
		return "yes, by the scenario", ""
	case r.Verdict == check.Inconclusive && (r.Expect == "missed" || len(unmet) > 0):
		return "not decided", instead
	case r.Expect == "missed":
		return "no", instead
	}
	return "", ""
}
