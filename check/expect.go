package check

import (
	"context"

	"github.com/fencesim/fencesim/model"
)

// expectation is whether the result is what the scenario's file expects of this run: met,
// missed or none; none also where a bound came before the answer. Counters are searched for among all stuck states, whatever the run was
// asked for, and `always` by asking whether some run finishes.
func expectation(ctx context.Context, sc *model.Scenario, cfg Config, res *Result) string {
	out := "none"
	for _, x := range sc.Expect {
		if !applies(sc, x, res) {
			continue
		}
		if !meets(ctx, sc, cfg, x, res) {
			if leftOpen(x, res) {
				return "none"
			}
			return "missed"
		}
		out = "met"
	}
	return out
}

func meets(ctx context.Context, sc *model.Scenario, cfg Config, x model.Expectation, res *Result) bool {
	cfg.NoShrink, cfg.NoAdvice = true, true
	if !Meets(x, res) {
		if x.Counters == nil || cfg.All || x.Verdict != res.Verdict.String() {
			return false
		}
		cfg.All = true
		c := *sc
		c.Expect = nil
		all, err := Explore(ctx, &c, cfg)
		if err != nil || !Meets(x, all) {
			return false
		}
	}
	if !x.Always {
		return true
	}
	finishes, known, err := Finishes(ctx, sc, cfg)
	return err == nil && known && !finishes
}

// leftOpen reports whether a bound ended a result that might else have been what x asks for.
func leftOpen(x model.Expectation, res *Result) bool {
	switch {
	case res.Bound == "":
		return false
	case res.Verdict == Inconclusive:
		return x.Verdict != res.Verdict.String()
	case x.Verdict == Hang.String():
		return res.Properties["hang"] != Holds
	}
	return x.Verdict == res.Verdict.String()
}

// applies reports whether an expectation speaks of this run: same discipline, machine and
// number of ranks.
func applies(sc *model.Scenario, x model.Expectation, res *Result) bool {
	if x.Discipline != nil && x.Discipline.String() != res.Discipline {
		return false
	}
	if x.Machine != nil && x.Machine.Normal() != res.Machine {
		return false
	}
	if x.Discipline == nil && !sc.Explicit() && sc.Filed().Discipline != res.Discipline {
		return false
	}
	if x.Machine == nil && sc.Filed().Machine != res.Machine {
		return false
	}
	return x.Ranks == 0 || x.Ranks == res.Ranks
}

// Meets reports whether a result is what an expectation asks for.
func Meets(x model.Expectation, res *Result) bool {
	if x.Verdict != res.Verdict.String() {
		return false
	}
	if x.Property != "" && res.Properties[x.Property] != Violated {
		return false
	}
	if x.Counters != nil {
		for _, s := range res.Stuck {
			if s.Counters == *x.Counters {
				return true
			}
		}
		return false
	}
	return true
}
