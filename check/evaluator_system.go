package check

import (
	"github.com/fencesim/fencesim/model"
)

// evaluatorLevel is how much of [evaluatorSystem]'s reductions is in force. Each is exact
// for the verdict and for whether a run can finish, the first two for stuck counters too.
type evaluatorLevel uint8

const (
	levelSliced     evaluatorLevel = iota // only updates that the slack certificate leaves open are tracked
	levelWindows                          // all updates are tracked; ends that no update sees are dropped
	levelPersistent                       // all ends are kept
)

// An evaluatorSystem is the transition system of one rank of the evaluator's fragment after
// its reductions: states are closed under the transitions that are taken at once.
//
// Let F be the full system: main thread M, queue Q, CPU stream P and deliveries E, which
// are possible as soon as the update has executed; guaranteed is a label that is read only
// when a state is tested for being stuck. F is acyclic. Nothing disables a transition of
// another agent and only M raises the number of active tasks, so two transitions of
// different agents commute (Keller 1975), but for one pair: M's throttle test while more
// tasks are active than its limit (a contested test) against what ends a counted task or
// buffer. Hence each of these alone is a persistent set (Godefroid 1996) and is taken at
// once: a step of M but a contested test, an unblocking among them; a command of Q or the
// end of an uncounted buffer; an uncounted task of P; a delivery whose guarantee is stable,
// its buffer and lag later ones having finished. At M's end, or where M waits for all of
// its agent, counted ends and tasks join them. Each stays enabled and no stuck state has it
// enabled, so every run to a stuck state contains it and it can be moved to the front.
//
// What is left to choose: T, M takes a contested test; DQ, Q ends a counted buffer; DP, P
// runs a counted task; W, the store that P waits for arrives, with all before it. Other
// deliveries change nothing but the visible value; they are put back when counters are
// reported. W must be among the choices for the verdict too. With a throttle the laziest
// environment, which delivers only what is guaranteed, does not decide: where one CPU task
// counts twice, whether P ran it before or after the end of a buffer gives the test
// different numbers, and only an early arrival may let P run it before
// (TestEvaluatorHangThatNeedsLuck). The second clause of the guarantee, every committed buffer has finished, is not
// stable, for a commit withdraws it: it is read only where neither M, Q nor P can move.
//
// Windows. An uncounted end matters only as one of the ends behind an update that is to
// be seen, and only if it can be finished before that: it is dropped unless an unseen
// update lies before it and it lies no later than the update's critical wait, the first
// behind the update that Q cannot pass before P has passed a wait for it or a later one.
// Of a finished end only the last tracked update before it matters, so no more is kept.
//
// Slices. If the certificate covers update u at this lag, no stuck state has P waiting for u
// while u has executed (see [slackOf]; this part of the argument needs no encode order). So
// the arrival of u and P's passing are persistent, taken as soon as u has executed, and no
// end matters for u's sake.
type evaluatorSystem struct {
	*evaluatorLayout
	lag   int32 // later ends that make an arrival stable; unused if none does
	late  bool  // stores arrive late, in order
	sure  bool  // late: arrivals are guaranteed at all (lag, not unreliable)
	level evaluatorLevel

	marks  []int32 // tracked updates: commands, in order
	before []int32 // per position: tracked updates before it
	crit   []int32 // per number of tracked updates: critical wait of the last of them
	target []int32 // per task, a wait for a fence: tracked updates that have arrived when it passes
	open   []bool  // per task: a wait for a tracked update

	plant evaluatorPlant
	watch func(*evaluatorState) // tests: called before ends are dropped
}

// evaluatorPlant names an error to plant, so that a test can show that it would be seen.
type evaluatorPlant uint8

const (
	plantNone      evaluatorPlant = iota
	plantTest                     // a contested test is taken at once
	plantTask                     // a counted task is taken at once
	plantEnd                      // the end of a counted buffer is taken at once
	plantLastEnd                  // the end of a non-empty last buffer is dropped, with its commands, when an empty one follows
	plantIdleClaim                // the unstable clause of the guarantee is read as a stable one
)

func newEvaluatorSystem(p *model.Schedule, m model.Machine, level evaluatorLevel) *evaluatorSystem {
	m = m.Normal()
	y := &evaluatorSystem{evaluatorLayout: newEvaluatorLayout(p), level: level}
	y.late = m.GPUToCPU.Mode == model.VisLag || m.GPUToCPU.Mode == model.VisUnreliable
	y.sure = m.GPUToCPU.Mode == model.VisLag
	y.lag = int32(min(m.GPUToCPU.Buffers, evaluatorNever-1))
	var slacks []updateSlack
	if level == levelSliced && y.sure {
		slacks, _, _ = slackOf(p)
	}
	y.track(slacks)
	y.criticalWaits()
	return y
}

// track chooses the updates whose arrival matters and reads the waits in their terms.
func (y *evaluatorSystem) track(slacks []updateSlack) {
	tracked := make([]bool, len(y.updates))
	if y.late {
		awaited := make([]bool, len(y.updates)+1)
		for t := range y.tasks {
			if u := y.awaits[t]; u > 0 && int(u) <= len(y.updates) {
				awaited[u-1] = true
			}
		}
		covered := map[int32]bool{}
		for i := range slacks {
			covered[slacks[i].At] = slacks[i].Slack() >= int(y.lag)
		}
		for i, at := range y.updates {
			tracked[i] = y.level != levelSliced || awaited[i] && !covered[at]
		}
	}
	upTo := make([]int32, len(y.updates)+2) // tracked among the first u updates
	y.before = make([]int32, len(y.cmds)+1)
	for i, at := range y.updates {
		upTo[i+1] = upTo[i]
		if tracked[i] {
			upTo[i+1]++
			y.marks = append(y.marks, at)
			y.before[at+1] = 1
		}
	}
	upTo[len(y.updates)+1] = upTo[len(y.updates)]
	for e := 1; e <= len(y.cmds); e++ {
		y.before[e] += y.before[e-1]
	}
	y.target, y.open = make([]int32, len(y.tasks)), make([]bool, len(y.tasks))
	for t, u := range y.awaits {
		y.target[t] = upTo[u]
		y.open[t] = u > 0 && int(u) <= len(y.updates) && tracked[u-1]
	}
}

// criticalWaits fills crit: two pointers, for later updates have later critical waits.
func (y *evaluatorSystem) criticalWaits() {
	y.crit = make([]int32, len(y.marks)+1)
	task, wait := 0, int32(0)
	for k := 1; k <= len(y.marks); k++ {
		for task < len(y.tasks) && (y.awaits[task] == 0 || y.target[task] < int32(k)) {
			task++
		}
		wait = max(wait, y.marks[k-1])
		for int(wait) < len(y.cmds) && int(y.need[wait]) <= task {
			wait++
		}
		y.crit[k] = wait
		if int(wait) == len(y.cmds) || task == len(y.tasks) {
			y.crit[k] = evaluatorNever
		}
	}
}

// matters reports whether an uncounted end at e, to come while v tracked updates are seen,
// can be one of the ends behind an unseen update.
func (y *evaluatorSystem) matters(e, v int32) bool {
	if y.level == levelPersistent {
		return true
	}
	k := y.before[e]
	return y.sure && k > v && e <= y.crit[k]
}

// endsFreely and runsFreely report whether at main step m counted ends and tasks cannot
// meet a contested test: M is at its end, or passes only when the agent has done all.
func (y *evaluatorSystem) endsFreely(m int32) bool {
	return int(m) == len(y.main) || y.main[m].Kind == model.StepSynchronize && y.main[m].Queue && int(y.main[m].Target) == y.queue
}

func (y *evaluatorSystem) runsFreely(m int32) bool {
	return int(m) == len(y.main) || y.main[m].Kind == model.StepSynchronize && !y.main[m].Queue && int(y.main[m].Target) == y.stream
}
