package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// autoGraph decides a unit whose buffer ends are chosen at run time: by certificates where
// one applies, else by the evaluator's own search, else by running and searching.
func (e *exploration) autoGraph(u *unit) error {
	if len(u.programs) > 1 {
		return e.autoTogether(u)
	}
	p := u.programs[0]
	u.found = newFound()
	why := e.certify(u, p)
	if u.status["hang"] == Unknown {
		outside := evaluatorFragment(p, e.machine)
		if outside != "" {
			u.reason = join(why, "not the evaluator's fragment: "+outside)
			return e.huntBeside(u)
		}
		if err := e.evaluate(u, p); err != nil {
			return err
		}
		u.reason = join(why, u.reason)
	} else {
		u.found.canFinish = true
	}
	for _, prop := range Properties {
		if u.status[prop] == Unknown && u.status["hang"] == Holds && u.found.bound == "" {
			return e.huntBeside(u)
		}
	}
	return nil
}

// join puts clauses together, equal ones once.
func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		for _, clause := range strings.Split(p, "; ") {
			if clause != "" && !slices.Contains(out, clause) {
				out = append(out, clause)
			}
		}
	}
	return strings.Join(out, "; ")
}

// certify tries the linear certificates; it returns why none settles hangs.
func (e *exploration) certify(u *unit, p *model.Schedule) (why string) {
	m := simpler(p, e.machine)
	hold := func(properties ...string) {
		for _, prop := range properties {
			u.know(prop, Holds, Certificate)
		}
	}
	hold("use-after-free", "order-mismatch") // a graph frees nothing, and its collectives agree
	hold("overwritten")                      // and demands no version
	if data := certifyData(p, m); data == "" {
		hold("stale-read")
	}
	serial := m.Buffers == model.InOrder && m.Dispatch == model.Serial
	if m.Watchdog == model.WatchdogOff && (m.Store != model.StoreGuarded || serial) || !hasFences(p) {
		hold("lost-update")
	}
	if m.Watchdog != model.WatchdogOff && m.Watchdog != model.WatchdogAny && serial && certifyKills(p) == "" {
		hold("lost-update")
	}
	if certifyMonotone(p, m) {
		hold("backwards")
	}
	settle := func(name string) string {
		hold("hang", "orphan")
		u.reason = name
		return ""
	}
	order := certifyOrder(p, m)
	if order == "" {
		return settle("every wait refers to an update encoded before it, and every store is sure to be seen: the least unfinished command is always enabled")
	}
	if late := certifyLate(p, m); late == "" {
		return settle("while a wait of a queue lasts the main thread cannot come to an update behind it: targets that grow stay within what has run")
	}
	if free := certifyUnblocked(p, m); free == "" {
		return settle("no wait of a queue can last, and every update runs")
	}
	if evaluatorFragment(p, m) != "" || m.GPUToCPU.Mode != model.VisLag {
		return order
	}
	slacks, ok, reason := slackOf(p)
	if !ok {
		return "no slack certificate: " + reason
	}
	slack, at := tightestSlack(slacks)
	if at < 0 {
		return order
	}
	n := m.GPUToCPU.Buffers
	if slack != slackUnbounded && slack >= 0 {
		u.slack = &slack
	}
	if slack < n {
		return fmt.Sprintf("no slack certificate: update %d has slack %d, the lag is %d", slacks[at].Update, slack, n)
	}
	if bad := verifySlack(p, slacks, n); bad != "" {
		return "slack certificate refused: " + bad
	}
	if slack == slackUnbounded {
		return settle("no wait of the queue stands between an update and its being seen")
	}
	return settle(fmt.Sprintf("slack certificate: safe up to lag %d; update %d is the tightest", slack, slacks[at].Update))
}

// evaluate runs the evaluator's own search.
func (e *exploration) evaluate(u *unit, p *model.Schedule) error {
	r, err := decideEvaluator(e.ctx, p, e.machine, e.cfg, e.cfg.All)
	if err != nil {
		return err
	}
	u.found.states, u.found.transitions, u.found.stuckStates = r.States, r.Transitions, r.StuckStates
	u.found.canFinish, u.found.bound = r.CanFinish, r.Bound
	u.reduced = append(u.reduced, "persistent")
	if e.cfg.reduces("slice") && !e.cfg.All {
		u.reduced = append(u.reduced, "slice")
	}
	u.reason = "the evaluator's search over where buffers end"
	switch {
	case r.Hang:
		u.know("hang", Violated, Exhaustive)
	case r.Bound == "":
		u.know("hang", Holds, Exhaustive)
	}
	// A queue of the fragment can be stuck only at a wait for a task that the CPU has not run.
	u.know("orphan", Holds, Certificate)
	if u.sys == nil {
		u.sys = r.sys
	}
	e.build(u)
	for _, st := range r.Stuck {
		steps, last := follow(u.sys, st.Choices)
		u.found.stuck[st.Counters] = path{steps, st.Possible}
		if u.sys.Orphan(last) { // not in the fragment; the state tells, not the argument
			u.found.orphans = &path{steps, st.Possible}
			u.know("orphan", Violated, Exhaustive)
		}
	}
	return nil
}

// follow turns choices into the transitions that they take, and the state they end in.
func follow(y *sim.System, choices []int) ([]sim.Transition, sim.State) {
	s := y.Initial()
	var buf []sim.Transition
	steps := make([]sim.Transition, 0, len(choices))
	for _, c := range choices {
		buf = y.Enabled(s, buf[:0])
		steps = append(steps, buf[c])
		y.Apply(s, buf[c])
	}
	return steps, s
}

// huntBeside hunts for what the certificates leave open and keeps what they proved.
func (e *exploration) huntBeside(u *unit) error {
	status, proofs, reason, slack := u.status, u.proofs, u.reason, u.slack
	u.certified = status
	u.status, u.proofs = map[string]Status{}, map[string]Proof{}
	err := e.hunt(u)
	u.reason, u.slack = join(reason, u.reason), slack
	for p, s := range status {
		if u.status[p] == Unknown && s != Unknown {
			u.know(p, s, proofs[p])
		}
	}
	return err
}
