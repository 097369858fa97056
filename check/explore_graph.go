package check

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// autoGraph decides a unit whose buffer ends are chosen at run time: by certificates where
// one applies, else by the evaluator's own search, else by running and searching.
func (e *exploration) autoGraph(u *unit) error {
	if len(u.programs) > 1 {
		u.reason = "ranks together"
		return e.hunt(u)
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

func join(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "; ")
}

// certify tries the linear certificates; it returns why none settles hangs.
func (e *exploration) certify(u *unit, p *model.Schedule) (why string) {
	m := e.machine
	if data := certifyData(p, m); data == "" {
		u.know("stale-read", Holds, Certificate)
		u.know("overwritten", Holds, Certificate)
	}
	serial := m.Buffers == model.InOrder && m.Dispatch == model.Serial
	if m.Watchdog == model.WatchdogOff && (m.Store != model.StoreGuarded || serial) {
		u.know("lost-update", Holds, Certificate)
	}
	u.know("use-after-free", Holds, Certificate)
	u.know("order-mismatch", Holds, Certificate)
	if certifyMonotone(p, m) {
		u.know("backwards", Holds, Certificate)
	}
	settle := func(name string) {
		u.know("hang", Holds, Certificate)
		u.know("orphan", Holds, Certificate)
		u.reason = name
	}
	order := certifyOrder(p, m)
	if order == "" {
		settle("every wait refers to an update encoded before it, and every store is seen at once: the least unfinished command is always enabled")
		return ""
	}
	if free := certifyUnblocked(p, m); free == "" {
		settle("no wait of a queue can last, and every update runs")
		return ""
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
	if slack != slackUnbounded {
		u.slack = &slack
	}
	if slack < n {
		return fmt.Sprintf("no slack certificate: update %d has slack %d, the lag is %d", slacks[at].Update, slack, n)
	}
	if bad := verifySlack(p, slacks, n); bad != "" {
		return "slack certificate refused: " + bad
	}
	if slack == slackUnbounded {
		settle("no wait of the queue stands between an update and its being seen")
	} else {
		settle(fmt.Sprintf("slack certificate: safe up to lag %d; update %d is the tightest", slack, slacks[at].Update))
	}
	return ""
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
		u.know("orphan", Holds, Exhaustive)
		return nil
	}
	e.compile(u)
	for _, st := range r.Stuck {
		steps, last := follow(u.sys, st.Choices)
		u.found.stuck[st.Counters] = path{steps, st.Possible}
		if u.sys.Orphan(last) {
			o := path{steps, st.Possible}
			u.found.orphans = &o
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

// hunt looks for a hang by some runs first, for those are quick to find one where there are
// many, and searches exhaustively if they find none.
func (e *exploration) hunt(u *unit) error {
	e.compile(u)
	if e.cfg.All {
		e.exhaust(u)
		return nil
	}
	first := newFound()
	for i := range uint64(huntRuns) {
		if e.ctx.Err() != nil {
			break
		}
		u.found = first
		e.sampleRun(u, huntSampler(u, e.cfg.Seed, i))
		if len(first.stuck) > 0 {
			break
		}
	}
	if len(first.stuck) > 0 {
		first.runs = 1
		u.read(Exhaustive)
		u.reason = join(u.reason, "a hang was found by running")
		return nil
	}
	e.exhaust(u)
	for p, at := range first.violated {
		if _, ok := u.found.violated[p]; !ok {
			u.found.violated[p] = at
			u.know(p, Violated, Exhaustive)
		}
	}
	return nil
}

// huntRuns is how many runs come before an exhaustive search.
const huntRuns = 48
