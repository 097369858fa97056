package check

import (
	"math"
	"sort"

	"github.com/fencesim/fencesim/model"
)

// evaluatorNever stands for a position that no agent reaches.
const evaluatorNever = math.MaxInt32

// An evaluatorLayout is a schedule with run-time buffer ends as arrays of positions. Tape
// order fixes the sequence of GPU commands, of CPU tasks and of main-thread steps, so who
// waits for whom is a matter of positions alone: the GPU passes command c once need[c]
// tasks have run, the CPU passes task t once reach[t] commands have run and, if the store
// that it waits for is of a fence, is visible.
type evaluatorLayout struct {
	queue, stream int // the queue and stream with commands; 0 if none has
	cmds, tasks   []model.Command
	main          []model.Step
	forced        []int32
	firstUse      int32

	enc, enq         []int32  // commands and tasks handed over before each main step, and at the end
	cmdStep, taskStp []int32  // the main step that hands each command and task over
	counted          []uint32 // active tasks among the first t tasks
	need             []int32  // per command
	reach            []int32  // per task
	updates          []int32  // commands that are GPU updates, in order
	awaits           []int32  // per task: how many updates must be visible; 0 for events and other tasks
}

// newEvaluatorLayout lays p out. p must have at most one queue with commands and at most one
// stream with tasks.
func newEvaluatorLayout(p *model.Schedule) *evaluatorLayout {
	l := &evaluatorLayout{main: p.Main, forced: []int32{evaluatorNever}, firstUse: evaluatorNever}
	for i := range p.Queues {
		if q := &p.Queues[i]; len(q.Commands) > 0 {
			l.queue, l.cmds, l.forced, l.firstUse = i, q.Commands, q.Forced, int32(q.FirstUse)
		}
	}
	var counted []uint8
	for i := range p.Streams {
		if st := &p.Streams[i]; len(st.Tasks) > 0 {
			l.stream, l.tasks, counted = i, st.Tasks, st.Counted
		}
	}
	l.counted = make([]uint32, len(l.tasks)+1)
	for i := range l.tasks {
		l.counted[i+1] = l.counted[i]
		if counted != nil {
			l.counted[i+1] += uint32(counted[i])
		}
	}
	l.handOver()
	l.depend()
	return l
}

// handOver walks the main thread once.
func (l *evaluatorLayout) handOver() {
	l.enc, l.enq = make([]int32, len(l.main)+1), make([]int32, len(l.main)+1)
	l.cmdStep, l.taskStp = make([]int32, len(l.cmds)), make([]int32, len(l.tasks))
	for i, st := range l.main {
		enc, enq := l.enc[i], l.enq[i]
		switch st.Kind {
		case model.StepEncode, model.StepUpdate:
			for ; enc < st.N; enc++ {
				l.cmdStep[enc] = int32(i)
			}
		case model.StepTask:
			for ; enq < st.N; enq++ {
				l.taskStp[enq] = int32(i)
			}
		}
		l.enc[i+1], l.enq[i+1] = enc, enq
	}
}

// An evaluatorStores lists what one side stores into each fence and event: values, which do not
// decrease, and positions.
type evaluatorStores map[model.Sym]*struct {
	values []uint32
	at     []int32
}

func evaluatorStoresOf(cmds []model.Command) evaluatorStores {
	s := evaluatorStores{}
	for i := range cmds {
		if c := &cmds[i]; c.Op == model.OpUpdate || c.Op == model.OpSignal {
			e := s[c.Name]
			if e == nil {
				e = new(struct {
					values []uint32
					at     []int32
				})
				s[c.Name] = e
			}
			e.values, e.at = append(e.values, c.Value), append(e.at, int32(i))
		}
	}
	return s
}

// first is the position of the first store that lets c, a wait or await, pass; -1 if the
// initial 0 does, evaluatorNever if none does.
func (s evaluatorStores) first(c *model.Command) int32 {
	if c.Value == 0 {
		return -1
	}
	e := s[c.Name]
	if e == nil {
		return evaluatorNever
	}
	k := sort.Search(len(e.values), func(k int) bool { return e.values[k] >= c.Value })
	if k == len(e.values) {
		return evaluatorNever
	}
	return e.at[k]
}

func waitsForStore(c *model.Command) bool { return c.Op == model.OpWait || c.Op == model.OpAwait }

// depend fills need, reach, updates and awaits.
func (l *evaluatorLayout) depend() {
	gpu, cpu := evaluatorStoresOf(l.cmds), evaluatorStoresOf(l.tasks)
	after := func(pos int32) int32 {
		if pos == evaluatorNever {
			return evaluatorNever
		}
		return pos + 1
	}
	l.need, l.reach, l.awaits = make([]int32, len(l.cmds)), make([]int32, len(l.tasks)), make([]int32, len(l.tasks))
	seen := make([]int32, len(l.cmds)) // updates up to each command
	for i := range l.cmds {
		c := &l.cmds[i]
		if waitsForStore(c) {
			l.need[i] = after(cpu.first(c))
		}
		if c.Op == model.OpUpdate {
			l.updates = append(l.updates, int32(i))
		}
		seen[i] = int32(len(l.updates))
	}
	for i := range l.tasks {
		c := &l.tasks[i]
		if !waitsForStore(c) {
			continue
		}
		l.reach[i] = after(gpu.first(c))
		if c.Op != model.OpWait || l.reach[i] == 0 {
			continue
		}
		l.awaits[i] = int32(len(l.updates)) + 1 // nothing that comes lets it pass
		if l.reach[i] != evaluatorNever {
			l.awaits[i] = seen[l.reach[i]-1]
		}
	}
}
