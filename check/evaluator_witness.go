package check

import (
	"fmt"
	"math"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// An evaluatorEvent is one choice of an abstract path with the state in which it is made.
type evaluatorEvent struct {
	action  evaluatorAction
	m, q, p int32
}

// events is the path to a state with where each choice is made.
func (g *evaluatorSearch) events(id int32) []evaluatorEvent {
	var s evaluatorState
	var out []evaluatorEvent
	for ; g.parent[id] >= 0; id = g.parent[id] {
		s.read(g.state(g.parent[id]))
		out = append(out, evaluatorEvent{g.action[id], s.m, s.q, s.p})
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// An evaluatorDriver turns an abstract path into a run of the plain simulator. Between two
// contested tests it makes the path's choices in any order, which leaves every answer of
// the throttle as it is. To need few merely possible arrivals it moves the main thread, whose
// commits withdraw guarantees, only on demand, and before that lets all that is guaranteed
// arrive that the CPU will have seen in the end; a merely possible arrival is taken when
// nothing else helps. Possible is so an upper bound on what counters need, and exact at 0.
type evaluatorDriver struct {
	y        *evaluatorSystem
	sys      *sim.System
	at       evaluatorState // where the agents are; flying holds every end
	now      sim.State
	enabled  []sim.Transition
	fresh    bool  // enabled is that of now
	endTo    int32 // counted ends up to this position may be taken now
	taskTo   int32 // counted tasks up to this one may be run now
	goal     int32 // updates that the CPU will have seen in the end
	seen     int32
	choices  []int
	possible int
}

// agents of the simulator: the main thread, then queues, then streams.
func (d *evaluatorDriver) main() int32  { return 0 }
func (d *evaluatorDriver) queue() int32 { return 1 + int32(d.y.queue) }
func (d *evaluatorDriver) stream() int32 {
	return 1 + int32(len(d.sys.Programs[0].Queues)) + int32(d.y.stream)
}

// next is the index of the agent's enabled transition, or -1.
func (d *evaluatorDriver) next(agent int32) int {
	d.look()
	for i, t := range d.enabled {
		if t.Kind != sim.KindVisible && t.Agent == agent {
			return i
		}
	}
	return -1
}

// arrival is the index of an arrival, a guaranteed one if any is, or -1.
func (d *evaluatorDriver) arrival() int {
	d.look()
	at := -1
	for i, t := range d.enabled {
		if t.Kind == sim.KindVisible && (at < 0 || d.enabled[at].Possible && !t.Possible) {
			at = i
		}
	}
	return at
}

// look lists what is enabled: nothing more once the simulator has run out of room.
func (d *evaluatorDriver) look() {
	if d.fresh {
		return
	}
	d.enabled, d.fresh = d.enabled[:0], true
	if !d.sys.Overflow(d.now) {
		d.enabled = d.sys.Enabled(d.now, d.enabled)
	}
}

// take takes enabled transition i and keeps at in step.
func (d *evaluatorDriver) take(i int) {
	t := d.enabled[i]
	switch {
	case t.Kind == sim.KindVisible:
		d.seen++
		if t.Possible {
			d.possible++
		}
	case t.Agent == d.main():
		if d.y.contested(&d.at) {
			d.y.test(&d.at)
		} else {
			d.y.stepMain(&d.at)
		}
	case t.Kind == sim.KindFinish:
		d.at.flying = d.at.flying[1:]
	case t.Kind != sim.KindRun && t.Kind != sim.KindLeave:
	case t.Agent == d.queue():
		d.at.q++
	default:
		d.at.p++
	}
	d.sys.Apply(d.now, t)
	d.choices = append(d.choices, i)
	d.fresh = false
}

// moveMain takes a step of the main thread that is not a contested test.
func (d *evaluatorDriver) moveMain() bool {
	if d.next(d.main()) < 0 || d.y.contested(&d.at) {
		return false
	}
	for d.moveQueue() || d.moveStream() || d.arrive(true) {
	}
	d.take(d.next(d.main())) // nothing disables a step of the main thread
	return true
}

// moveStream takes a step of the CPU, but a counted task only in its turn.
func (d *evaluatorDriver) moveStream() bool {
	i, p := d.next(d.stream()), d.at.p
	if i < 0 || d.y.counted[p+1] > d.y.counted[p] && p > d.taskTo && !d.y.runsFreely(d.at.m) {
		return false
	}
	d.take(i)
	return true
}

// arrive takes an arrival that is wanted in the end, a guaranteed one if sure.
func (d *evaluatorDriver) arrive(sure bool) bool {
	i := d.arrival()
	if i < 0 || d.seen >= d.goal || sure && d.enabled[i].Possible {
		return false
	}
	d.take(i)
	return true
}

// moveQueue takes a step of the queue, but the end of a counted buffer only in its turn.
func (d *evaluatorDriver) moveQueue() bool {
	i := d.next(d.queue())
	if i < 0 {
		return false
	}
	if d.enabled[i].Kind == sim.KindFinish && d.at.flying[0]&1 != 0 && d.at.q > d.endTo && !d.y.endsFreely(d.at.m) {
		return false
	}
	d.take(i)
	return true
}

// runTasks lets the CPU run until it has run n tasks.
func (d *evaluatorDriver) runTasks(n int32) error {
	for d.at.p < n {
		p := d.at.p
		travels := p < d.y.enq[d.at.m] && d.y.awaits[p] > 0 && d.at.q >= d.y.reach[p] && d.next(d.stream()) < 0
		switch {
		case d.moveStream(), travels && d.arrive(true), d.moveQueue(), d.moveMain():
		case travels && d.arrive(false):
		default:
			return d.fail("run task %d", p)
		}
	}
	return nil
}

// unblockQueue lets the queue pass the wait at which it stands.
func (d *evaluatorDriver) unblockQueue() error {
	if q := d.at.q; q < d.at.start && d.y.need[q] > d.at.p {
		return d.runTasks(d.y.need[q])
	}
	return d.fail("move the queue at %d", d.at.q)
}

func (d *evaluatorDriver) fail(format string, args ...any) error {
	return fmt.Errorf("step %d of a witness: the simulator cannot "+format, append([]any{len(d.choices)}, args...)...)
}

// follow drives the run over all choices of a path.
func (d *evaluatorDriver) follow(path []evaluatorEvent) error {
	for i, e := range path {
		if i == 0 || path[i-1].action == actTest {
			d.endTo, d.taskTo = -1, -1
			for _, e := range path[i:] {
				switch e.action {
				case actEnd:
					d.endTo = e.q
				case actTask:
					d.taskTo = e.p
				}
				if e.action == actTest {
					break
				}
			}
		}
		if err := d.event(e); err != nil {
			return err
		}
	}
	return nil
}

// event drives the run up to and over one choice, unless it has been made.
func (d *evaluatorDriver) event(e evaluatorEvent) error {
	switch e.action {
	case actTest:
		for d.at.m != e.m || !d.y.contested(&d.at) {
			if err := d.advanceMain(); err != nil {
				return err
			}
		}
		i := d.next(d.main())
		if i < 0 {
			return d.fail("take the test at main step %d", e.m)
		}
		d.take(i)
	case actEnd:
		for d.at.q < e.q || len(d.at.flying) > 0 && d.at.flying[0] <= 2*e.q+1 {
			var err error
			switch {
			case d.moveQueue(), d.moveMain():
			case d.synchronizes(): // what the queue lacks may not be encoded yet
				err = d.advanceMain()
			default:
				err = d.unblockQueue()
			}
			if err != nil {
				return err
			}
		}
	case actTask:
		return d.runTasks(e.p + 1)
	}
	return nil
}

// advanceMain lets the main thread take a step, or moves what it waits for.
func (d *evaluatorDriver) advanceMain() error {
	if d.moveMain() {
		return nil
	}
	if d.synchronizes() {
		switch {
		case d.y.runsFreely(d.at.m):
			return d.runTasks(d.at.p + 1)
		case d.moveQueue():
			return nil
		}
		return d.unblockQueue()
	}
	return d.fail("move the main thread at step %d", d.at.m)
}

// synchronizes reports whether the main thread stands at a step that waits for all of a
// queue or stream.
func (d *evaluatorDriver) synchronizes() bool {
	return int(d.at.m) < len(d.y.main) && d.y.main[d.at.m].Kind == model.StepSynchronize
}

// settle brings every agent to where it is in s, a stuck state, and takes what is guaranteed.
func (d *evaluatorDriver) settle(s *evaluatorState) error {
	for {
		switch {
		case d.moveMain(), d.moveQueue():
			continue
		case d.at.p < s.p:
			if err := d.runTasks(d.at.p + 1); err != nil {
				return err
			}
			continue
		}
		i := d.arrival()
		if i < 0 || d.enabled[i].Possible {
			break
		}
		d.take(i)
	}
	if d.at.m != s.m || d.at.q != s.q || d.at.p != s.p || d.at.blocked != s.blocked {
		return d.fail("reach main step %d, command %d and task %d: it is at %d, %d and %d", s.m, s.q, s.p, d.at.m, d.at.q, d.at.p)
	}
	return nil
}

// witness is a run of sys to the stuck state of a goal. Under a level that does not track
// all updates the goal's GPU counter is only a lower bound, and what the run ends with counts.
func (g *evaluatorSearch) witness(sys *sim.System, goal evaluatorGoal) (evaluatorStuck, error) {
	y := g.y
	d := &evaluatorDriver{y: y, sys: sys, now: sys.Initial(), goal: math.MaxInt32}
	var s evaluatorState
	s.read(g.state(goal.id))
	exact := y.level != levelSliced || !y.late
	if y.late {
		if d.goal = 0; goal.v > 0 {
			i, _ := slices.BinarySearch(y.updates, y.marks[goal.v-1])
			d.goal = int32(i) + 1
		}
		for p := range y.awaits[:s.p] {
			d.goal = max(d.goal, y.awaits[p])
		}
	}
	err := d.follow(g.events(goal.id))
	if err == nil {
		err = d.settle(&s)
	}
	if sys.Overflow(d.now) {
		return evaluatorStuck{}, errWindow
	}
	if err != nil {
		return evaluatorStuck{}, err
	}
	for exact && d.arrive(false) {
	}
	have, want := sys.Counters(d.now, 0), goal.counters
	if !sys.Stuck(d.now) {
		return evaluatorStuck{}, d.fail("be stuck at %v", have)
	}
	if have.Scheduled != want.Scheduled || have.CPU != want.CPU || have.GPU < want.GPU || exact && have.GPU != want.GPU {
		return evaluatorStuck{}, d.fail("be stuck at %v: it is at %v", want, have)
	}
	return evaluatorStuck{Counters: have, Choices: d.choices, Possible: d.possible}, nil
}
