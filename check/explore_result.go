package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// result puts the units together.
func (e *exploration) result() *Result {
	sc := e.sc
	res := &Result{Version: model.FormatVersion, Scenario: sc.Name, Ranks: sc.NumRanks(), Machine: e.machine, Seed: e.cfg.Seed,
		Properties: map[string]Status{}, Proofs: map[string]Proof{}, Stuck: []Stuck{}, Advice: []Advice{}, Reductions: []string{}, Source: e.source}
	if !sc.Explicit() {
		res.Discipline = sc.Effective().String()
	}
	var reasons []string
	for _, u := range e.units {
		res.States += u.found.states
		res.Transitions += u.found.transitions
		res.Runs += u.found.runs
		res.StuckStates += u.found.stuckStates
		res.Collision += u.found.collision
		if u.found.bound != "" && res.Bound == "" {
			res.Bound = u.found.bound
		}
		if u.slack != nil && (res.Slack == nil || *u.slack < *res.Slack) {
			res.Slack = u.slack
		}
		if u.covered != nil && res.Coverage == nil {
			res.Coverage, res.Miss = u.covered, u.miss
		}
		if u.reason != "" && !slices.Contains(reasons, u.reason) {
			reasons = append(reasons, u.reason)
		}
		for _, r := range u.reduced {
			if !slices.Contains(res.Reductions, r) {
				res.Reductions = append(res.Reductions, r)
			}
		}
	}
	if len(e.programs) > 1 {
		if e.units[0].rank >= 0 {
			reasons = append(reasons, "ranks meet only in one sequence of collectives on one CPU stream: each is decided alone")
		} else if e.apart != "" && !e.units[0].apart {
			reasons = append(reasons, "ranks are decided together: "+e.apart)
		}
	}
	res.Reason = strings.Join(reasons, "; ")
	e.properties(res)
	e.counterexamples(res)
	res.Verdict, res.Proof = verdict(res)
	return res
}

// properties joins what is known of each: violated in some unit, or holding in all.
func (e *exploration) properties(res *Result) {
	for _, p := range Properties {
		status, proof := Holds, OneRun
		for _, u := range e.units {
			switch u.status[p] {
			case Violated:
				if status != Violated {
					status, proof = Violated, u.proofs[p]
				}
			case Unknown:
				if status == Holds {
					status, proof = Unknown, NoProof
				}
			case Holds:
				if status == Holds {
					proof = weaker(proof, u.proofs[p])
				}
			}
		}
		res.Properties[p] = status
		if status != Unknown {
			res.Proofs[p] = proof
		}
	}
}

// weaker is the weaker of two proofs that a property holds; where one run and a
// certificate both have a part, the certificate is named.
func weaker(a, b Proof) Proof { return min(a, b) }

func verdict(res *Result) (Verdict, Proof) {
	if res.Properties["hang"] == Violated {
		return Hang, res.Proofs["hang"]
	}
	v, proof := OK, OneRun
	for _, p := range Properties {
		switch res.Properties[p] {
		case Violated:
			if v != Violation {
				v, proof = Violation, res.Proofs[p]
			}
		case Unknown:
			if v == OK {
				v, proof = Inconclusive, NoProof
			}
		case Holds:
			if v == OK {
				proof = weaker(proof, res.Proofs[p])
			}
		}
	}
	return v, proof
}

// counterexamples fills Stuck and Violations, each with its run replayed step by step.
func (e *exploration) counterexamples(res *Result) {
	for _, u := range e.units {
		rank := u.rank
		if len(e.programs) == 1 {
			rank = -1
		}
		for c, p := range u.found.stuck {
			if slices.ContainsFunc(res.Stuck, func(s Stuck) bool { return s.Counters == c }) {
				continue
			}
			e.build(u)
			res.Stuck = append(res.Stuck, Stuck{Counters: c, Possible: p.possible, Steps: len(p.steps), path: p, unit: u, alone: rank})
		}
		for _, prop := range Properties {
			p, ok := u.found.violated[prop]
			if !ok || slices.ContainsFunc(res.Violations, func(f Found) bool { return f.Property == prop }) {
				continue
			}
			e.build(u)
			f := Found{Property: prop, Steps: len(p.steps), path: p, unit: u, alone: rank}
			if n := len(p.steps); n > 0 {
				f.Where = u.sys.Agent(p.steps[n-1]) + ": " + u.sys.Describe(p.steps[n-1])
			}
			res.Violations = append(res.Violations, f)
		}
	}
	slices.SortFunc(res.Stuck, func(a, b Stuck) int {
		return cmp.Or(cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.Counters.Scheduled, b.Counters.Scheduled),
			cmp.Compare(a.Counters.GPU, b.Counters.GPU), cmp.Compare(a.Counters.CPU, b.Counters.CPU))
	})
	for i := range res.Stuck {
		e.describe(&res.Stuck[i])
	}
	if len(res.Stuck) > 0 {
		s := &res.Stuck[0]
		s.Trace = e.trace(s.unit, s.alone, s.path)
	} else if len(res.Violations) > 0 {
		f := &res.Violations[0]
		f.Trace = e.trace(f.unit, f.alone, f.path)
	}
}

// maxSteps bounds the steps of a run that is turned into a trace: a file of more is of no
// use to a person.
const maxSteps = 200_000

// trace is a run as a file.
func (e *exploration) trace(u *unit, alone int, p path) *sim.Trace {
	if len(p.steps) > maxSteps {
		return nil
	}
	return sim.NewTrace(u.sys, e.source, e.strategy(), e.cfg.Seed, alone, choices(u.sys, p.steps))
}

func (e *exploration) strategy() string {
	if e.cfg.Strategy == "" {
		return "auto"
	}
	return e.cfg.Strategy
}

// describe replays a stuck entry's run and says what is stuck and why.
func (e *exploration) describe(s *Stuck) {
	y := s.unit.sys
	st := y.Initial()
	for _, t := range s.path.steps {
		y.Apply(st, t)
	}
	for r := range y.Ranks() {
		s.Ranks = append(s.Ranks, StuckRank{Rank: r, Fences: y.FenceStates(st, r), Blocked: y.Blocked(st, r)})
	}
	s.Cause, s.Cycle, s.kind = explain(y, st, stuckRank(y, st))
}
