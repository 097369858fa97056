package check

import (
	"sort"

	"github.com/fencesim/fencesim/model"
)

// positions lists what a stuck state of a graph's schedule can look like, without running
// it. In a stuck state the main thread is at its end or blocks in a throttle or a
// synchronize, and before either it has committed all that it encoded; the CPU stream is at
// a wait that does not pass or has done all it was given; so is the queue, unless something
// of the machine holds it up. Whoever stands at a position has passed what comes before.
// That leaves few combinations; each stuck state is one of them, not each of them is a
// reachable state.
type positions struct {
	x      *examination
	p      *model.Schedule
	y      *evaluatorSystem
	c      *evaluatorCounters
	hangs  bool    // some run hangs on the ideal machine
	passed []int32 // per command: tasks that must have run for all waits before it
	ran    []int32 // per task: commands that must have run for all waits before it
	seen   []uint32
	waits  []int32 // commands that wait for the CPU
	meets  int32   // first collective
	step   int32   // most active tasks that one step of the main thread adds
	cuts   []int32 // before each step of the main thread: cuts that need not be by size
}

func newPositions(p *model.Schedule, x *examination) *positions {
	s := &positions{x: x, p: p, y: newEvaluatorSystem(p, model.Machine{}.Normal(), levelWindows)}
	s.c = s.y.counters()
	s.hangs = certifyOrder(p, model.Machine{}.Normal()) != ""
	s.passed = make([]int32, len(s.y.cmds)+1)
	for i := range s.y.cmds {
		s.passed[i+1] = max(s.passed[i], s.y.need[i])
		if s.y.need[i] > 0 {
			s.waits = append(s.waits, int32(i))
		}
	}
	s.ran, s.seen = make([]int32, len(s.y.tasks)+1), make([]uint32, len(s.y.tasks)+1)
	s.meets = int32(len(s.y.tasks))
	for i := range s.y.tasks {
		s.ran[i+1], s.seen[i+1] = max(s.ran[i], s.y.reach[i]), s.seen[i]
		if s.y.awaits[i] > 0 {
			s.seen[i+1] = max(s.seen[i+1], s.y.tasks[i].Value)
		}
		if s.y.tasks[i].Op == model.OpCollective {
			s.meets = min(s.meets, int32(i))
		}
	}
	s.step, s.cuts = 1, make([]int32, len(s.y.main)+1)
	for i := range s.y.tasks {
		s.step = max(s.step, int32(s.y.counted[i+1]-s.y.counted[i]))
	}
	for m, st := range s.y.main {
		s.cuts[m+1] = s.cuts[m] + int32(s.y.counted[s.y.enq[m+1]]-s.y.counted[s.y.enq[m]]) + int32(b2i(st.Kind == model.StepFlush))
	}
	return s
}

// A backlog is how many counted buffers can be unfinished, from low to high. The zero value
// is a queue that has nothing left.
type backlog struct {
	left      bool
	low, high int32
}

// blocks reports whether the main thread can stay at step m with this backlog when the
// stream has run p tasks. It stays in a throttle only while as many tasks are active as
// when it tested. That was more than the limit, and hardly: a step adds at most step tasks,
// and the one before went on with no more than the limit (if it is not 0).
func (s *positions) blocks(m int, b backlog, p int32) bool {
	y := s.y
	if m == len(y.main) {
		return true
	}
	st := &y.main[m]
	switch st.Kind {
	case model.StepThrottle:
		tasks := int32(y.counted[y.enq[m]] - y.counted[p])
		return b.high+tasks > st.N && (b.low+tasks <= st.N+s.step || st.N < 1)
	case model.StepSynchronize:
		if st.Queue {
			return b.left
		}
		return p < y.enq[m]
	}
	return false
}

// behind is the backlog when the queue stands somewhere from command first to command last
// and commands up to those of main step at are encoded. At most as many are counted as the
// size rule cuts if it cuts as early as it can. At least as many are as it cuts from last
// on, less one for each cut of another kind: a throttle cuts a buffer that holds something
// only when a task of the CPU stream has raised the number of active tasks, and so does
// the end of an eval.
func (s *positions) behind(first, last int32, at int) backlog {
	f, enc := s.y.forced, s.y.enc[at]
	chain := func(start int32) int32 {
		n := int32(0)
		for int(start) < len(f) && f[start] <= enc {
			n++
			start = f[start]
		}
		return n
	}
	early := int32(sort.Search(int(first), func(i int) bool { return f[i] > first }))
	b := backlog{left: true, low: chain(last), high: chain(early)}
	if int(last) < len(s.y.cmdStep) {
		from := s.y.cmdStep[last]
		b.low -= s.cuts[at] - s.cuts[from]
	}
	b.low = max(b.low, 0)
	return b
}

// enumerate gives the tally every combination for the row's machine.
func (s *positions) enumerate(m model.Machine) {
	for at := range len(s.y.main) + 1 {
		if at < len(s.y.main) {
			if k := s.y.main[at].Kind; k != model.StepThrottle && k != model.StepSynchronize {
				continue
			}
		}
		if !s.x.t.wants(s.c.scheduled[at]) {
			continue
		}
		for p := range s.y.enq[at] + 1 {
			stream := s.stream(p, s.y.enq[at])
			if stream == "" {
				continue
			}
			switch {
			case s.x.row.twist == foreign:
				s.held(at, p, stream)
			case m.Buffers == model.Overlap:
				s.overlapping(at, p, stream, int32(m.LookAhead))
			case m.Watchdog != model.WatchdogOff:
				s.killed(at, p, stream, m.AfterKill == model.Ignore)
			default:
				s.inOrder(at, p, stream, m.CPUToGPU.Mode == model.VisUnreliable)
			}
		}
	}
}

// stream says how the CPU stream can stand at task p, "" if it cannot.
func (s *positions) stream(p, handed int32) string {
	if s.x.row.twist == absent {
		if p > s.meets {
			return ""
		}
		if p == s.meets && p < handed {
			return "collective"
		}
	}
	switch {
	case p == handed:
		return "done"
	case s.y.reach[p] > 0:
		return "wait"
	}
	return ""
}

func (s *positions) sight(at int, p int32, stream string) sight {
	si := sight{main: "end", stream: stream, device: "busy", fault: "no"}
	if at < len(s.y.main) {
		si.main = mainLabel(s.p, &s.y.main[at])
	}
	si.Scheduled, si.CPU = s.c.scheduled[at], s.c.cpu[p]
	return si
}

func (s *positions) see(si sight, gpu, executed uint32) {
	si.GPU, si.executed, si.later = gpu, executed, gpu
	s.x.t.add(si, -1)
}

// inOrder: the queue is at a wait or done, what it has stored is seen at once. With
// unseen, any value up to the last one that the CPU stored may be what the GPU sees.
func (s *positions) inOrder(at int, p int32, stream string, unseen bool) {
	enc := s.y.enc[at]
	for i := range len(s.waits) + 1 {
		q := enc
		if i < len(s.waits) {
			q = s.waits[i]
		}
		done, b := i == len(s.waits), backlog{}
		if !done && q < enc {
			b = s.behind(q, q, at)
		}
		switch {
		case q > enc || s.passed[q] > p || s.ran[p] > q:
			continue
		case !done && q == enc:
			continue
		case !done && !unseen && s.y.need[q] <= p:
			continue
		case stream == "wait" && s.y.reach[p] <= q:
			continue
		case !s.blocks(at, b, p):
			continue
		case at == len(s.y.main) && done && int(p) == len(s.y.tasks):
			continue // the end
		}
		si := s.sight(at, p, stream)
		if done {
			si.device = "idle"
		}
		low, high := s.c.cpu[p], s.c.cpu[p]
		if unseen {
			low = s.c.cpu[s.passed[q]]
			if !done {
				high = min(high, s.y.cmds[q].Value-1)
			}
		}
		for w := low; w <= high; w++ {
			si.CPU = w
			s.see(si, s.c.gpu[q], s.c.gpu[q])
		}
	}
}

// held: another kernel has the slot, so that no command of the queue that needs one runs.
func (s *positions) held(at int, p int32, stream string) {
	q := int32(0)
	for int(q) < len(s.y.cmds) && (s.y.cmds[q].Op == model.OpBarrier || s.y.cmds[q].Op == model.OpEncoder || s.y.cmds[q].Op == model.OpAwait) {
		q++
	}
	q = min(q, s.y.enc[at])
	if s.ran[p] > q || stream == "wait" && s.y.reach[p] <= q || !s.blocks(at, s.behind(q, q, at), p) {
		return
	}
	s.see(s.sight(at, p, stream), s.c.gpu[q], s.c.gpu[q])
}

// values are the values of the counter after some number of the updates encoded at step
// at, 0 first.
func (s *positions) values(at int) []uint32 {
	out := []uint32{0}
	for q := int32(1); q <= s.y.enc[at]; q++ {
		if v := s.c.gpu[q]; v != out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}

// killed: any update may have been dropped, those that were executed are seen in order.
// ignored says that nothing starts behind the first kill.
func (s *positions) killed(at int, p int32, stream string, ignored bool) {
	enc := s.y.enc[at]
	for _, v := range s.values(at) {
		if v < s.seen[p] || stream == "wait" && s.y.awaits[p] > 0 && v >= s.y.tasks[p].Value {
			continue
		}
		add := func(device, fault string, b backlog) {
			if fault == "no" && !s.hangs { // without a kill it is the ideal machine
				return
			}
			if s.blocks(at, b, p) {
				si := s.sight(at, p, stream)
				si.device, si.fault = device, fault
				s.see(si, v, v)
			}
		}
		for _, fault := range []string{"yes", "no"} {
			add("idle", fault, backlog{})
			if ignored && fault == "yes" {
				continue
			}
			for _, q := range s.waits {
				if q < enc && s.y.need[q] > p {
					add("busy", fault, s.behind(q, q, at))
				}
			}
		}
		if ignored { // the killed buffer is behind the last update seen and not behind the next
			first := int32(sort.Search(int(enc), func(i int) bool { return s.c.gpu[i+1] >= v }))
			last := int32(sort.Search(int(enc), func(i int) bool { return s.c.gpu[i+1] > v }))
			if v == 0 {
				first = 0
			}
			b := s.behind(first, last, at)
			b.low = max(b.low-1, 0) // it counts as finished itself
			add("idle", "yes", b)
		}
	}
}

// overlapping: updates may run in any order and be kept from running by a wait that has
// the slot; the one that ran last is seen. When that wait started, fewer buffers than the
// look-ahead were unfinished before it. Later ones may have finished.
func (s *positions) overlapping(at int, p int32, stream string, ahead int32) {
	enc := s.y.enc[at]
	vs := s.values(at)
	last := vs[len(vs)-1]
	spins, b := false, backlog{left: true}
	for _, q := range s.waits {
		if q < enc && s.y.need[q] > p {
			spins = true
			b.high = max(b.high, s.behind(q, q, at).high+ahead-1)
		}
	}
	if ahead == 0 {
		b.high = int32(len(s.y.cmds))
	}
	for i, v := range vs {
		if stream == "wait" && s.y.awaits[p] > 0 && v >= s.y.tasks[p].Value {
			continue
		}
		for _, executed := range []uint32{v, vs[min(i+1, len(vs)-1)], last} {
			if executed < s.seen[p] {
				continue
			}
			if spins && s.blocks(at, b, p) {
				s.see(s.sight(at, p, stream), v, executed)
			}
			if executed == last && s.blocks(at, backlog{}, p) {
				si := s.sight(at, p, stream)
				si.device = "idle"
				s.see(si, v, executed)
			}
		}
	}
}
