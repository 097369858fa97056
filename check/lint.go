package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// LintRules lists what [Lint] looks for. A fault of level hang is reachable on the machine
// as it stands; risk may hang or go wrong; advice never fails.
var LintRules = []struct{ Name, Level, Doc string }{
	{"cycle", "hang", "commands that wait for each other, or a wait ahead of its own update on one queue: none of them can run on any machine"},
	{"never-reached", "hang", "a wait for more than all updates of its fence together store"},
	{"never-equal", "hang", "a wait for one value that no store gives"},
	{"never-committed", "hang", "a buffer that is never committed, or a task that is never handed over"},
	{"unmet", "hang", "a collective, send or recv that the other rank never reaches"},
	{"exact-rule", "hang", "under lag n, a wait in buffer b that depends, also through CPU streams, on an update in buffer a of its queue with b - a not above n"},
	{"never-seen", "hang", "a wait for a store that nothing guarantees to be seen"},
	{"slack", "risk", "buffer ends chosen at run time may leave too few ends between an update and the wait that depends on it"},
	{"encode-order", "risk", "a wait for an update that is encoded after it"},
	{"unordered-stores", "risk", "two overwriting stores to one fence that may be executed or arrive in either order"},
	{"add-and-max", "risk", "adds and maxima on one fence do not commute"},
	{"passed-over", "risk", "a wait for one value exactly, which the fence may have left before the wait looks"},
	{"wrap", "risk", "a fence may pass 4294967295 and begin anew"},
	{"reset-early", "risk", "a reset that may come before a waiter has seen what it waits for"},
	{"over-wait", "advice", "a target later than the update that what follows needs"},
	{"never-awaited", "advice", "updates that no wait needs"},
}

// A Lint is what linear-time rules find in a scenario.
type Lint struct {
	Version    int           `json:"fencesim"`
	Scenario   string        `json:"scenario"`
	Discipline string        `json:"discipline,omitempty"`
	Ranks      int           `json:"ranks"`
	Machine    model.Machine `json:"machine"`
	// Verdict is hang (a fault of that level was found), ok (the rules prove that nothing
	// hangs) or inconclusive (neither; Reason says which assumption the rules do not cover).
	Verdict  Verdict       `json:"verdict"`
	Reason   string        `json:"reason"`
	Slack    *int          `json:"slack"` // the greatest lag for which the rules see no fault; null without bound
	Findings []LintFinding `json:"findings"`
	Elapsed  float64       `json:"elapsed_s"`

	broken bool // commands may be skipped: a process that ends early, a command that fails
}

// A LintFinding is one fault or hint.
type LintFinding struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Where string `json:"where"`
	Needs string `json:"needs"`
}

// NewLint applies the rules to a scenario: time and memory are linear in its commands for
// a fixed number of queues and streams. The error is of input.
func NewLint(sc *model.Scenario) (*Lint, error) {
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	return lint(sc, programs), nil
}

// lint is [NewLint] for a scenario whose schedules are at hand.
func lint(sc *model.Scenario, programs []*model.Schedule) *Lint {
	started := time.Now()
	l := &Lint{Version: model.FormatVersion, Scenario: sc.Name, Ranks: sc.NumRanks(), Machine: sc.Machine.Normal(), Findings: []LintFinding{}}
	if !sc.Explicit() {
		l.Discipline = sc.Effective().String()
	}
	apart := decompose(programs) == ""
	var done []*model.Schedule
	for r, p := range programs {
		if slices.Contains(done, p) {
			continue
		}
		done = append(done, p)
		switch {
		case p.FromGraph:
			l.tape(p, apart)
		case apart:
			l.explicit(programs[r : r+1])
		}
	}
	if !apart && !programs[0].FromGraph {
		l.explicit(programs)
	}
	l.Verdict = OK
	if l.Reason != "" {
		l.Verdict = Inconclusive
	}
	for _, f := range l.Findings {
		if f.Level == "hang" {
			l.Verdict = Hang
		}
	}
	rank := map[string]int{}
	for i, r := range LintRules {
		rank[r.Name] = i
	}
	slices.SortStableFunc(l.Findings, func(a, b LintFinding) int { return cmp.Compare(rank[a.Rule], rank[b.Rule]) })
	l.Elapsed = time.Since(started).Seconds()
	return l
}

// find notes a finding of a rule.
func (l *Lint) find(rule, where, needs string) {
	for _, r := range LintRules {
		if r.Name == rule {
			f := LintFinding{rule, r.Level, where, needs}
			if r.Level == "hang" && (l.broken || l.waitsEnd()) {
				f.Level = "risk" // a wait gives up, is killed or never begins
			}
			l.Findings = append(l.Findings, f)
		}
	}
}

// unproved notes why finding nothing proves nothing; the first reason is kept.
func (l *Lint) unproved(why string) {
	if l.Reason == "" {
		l.Reason = why
	}
}

// waitsEnd reports whether unsatisfied waits of queues end by themselves.
func (l *Lint) waitsEnd() bool {
	return l.Machine.SpinLimit > 0 || l.Machine.Watchdog == model.WatchdogMust
}

// keepSlack takes over the slack of one rank or update, if it is the least.
func (l *Lint) keepSlack(n int) {
	if l.Slack == nil || n < *l.Slack {
		l.Slack = &n
	}
}

// explicit applies the rules to explicit schedules that run together.
func (l *Lint) explicit(programs []*model.Schedule) {
	y := sim.Compile(programs, l.Machine, sim.Options{})
	x := newLintOrder(l, y)
	x.fenceRules()
	x.arrayRules()
	x.handover()
	x.sort()
	x.lagRule()
	x.whyUnproved()
}

// whyUnproved says which assumption leaves the class for which the rules are exact: there,
// a schedule without a finding of level hang cannot hang.
//
// In the class every wait, collective and finish has one predecessor that must come first
// and then stays satisfied, the graph of these is acyclic, and the exact rule keeps every
// store that the CPU waits for within the guarantee: the least command that has not run is
// enabled in any state, or the store it waits for is guaranteed to arrive.
func (x *lintOrder) whyUnproved() {
	m := x.l.Machine
	if why := plainMachine(m); why != "" {
		x.l.unproved(why)
	}
	if x.uncertain != "" {
		x.l.unproved(x.uncertain)
	}
	if m.Memory > 0 {
		x.l.unproved("a limited memory")
	}
	for i := range x.fences {
		f := &x.fences[i]
		travels := m.GPUToCPU.Mode == model.VisUnordered && f.gpuStores > 1 && !f.allMax
		if !f.resolved() && len(f.waits) > 0 || travels && f.cpuWaits {
			x.l.unproved(fmt.Sprintf("fence %s has stores whose order is not known", x.y.FenceName(int32(i))))
		}
	}
}
