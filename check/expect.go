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
		met, open := meets(ctx, sc, cfg, x, res)
		switch {
		case open:
			return "none"
		case !met:
			return "missed"
		}
		out = "met"
	}
	return out
}

// meets reports whether a result is what x asks for, after a further search where x needs
// one; open: a bound came first, or only some runs were looked at.
func meets(ctx context.Context, sc *model.Scenario, cfg Config, x model.Expectation, res *Result) (met, open bool) {
	cfg.NoShrink, cfg.NoAdvice = true, true
	if !Meets(x, res) {
		if x.Counters == nil || cfg.All || x.Verdict != res.Verdict.String() {
			return false, leftOpen(x, res)
		}
		cfg.All = true
		c := *sc
		c.Expect = nil
		all, err := Explore(ctx, &c, cfg)
		if err != nil {
			return false, false
		}
		if !Meets(x, all) {
			return false, leftOpen(x, all)
		}
	}
	if !x.Always {
		return true, false
	}
	finishes, known, err := Finishes(ctx, sc, cfg)
	return err == nil && known && !finishes, err == nil && !known
}

// leftOpen reports whether a result might have been what x asks for, had no bound ended it
// or had it looked at more than some runs.
func leftOpen(x model.Expectation, res *Result) bool {
	sampled := false
	for _, p := range res.Proofs {
		sampled = sampled || p == Sampled
	}
	switch {
	case res.Bound == "" && !sampled:
		return false
	case res.Verdict == Inconclusive:
		return x.Verdict != res.Verdict.String()
	case x.Verdict == Hang.String():
		return res.Properties["hang"] != Holds || res.Proofs["hang"] == Sampled
	case res.Verdict == OK:
		return sampled
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
