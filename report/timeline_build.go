package report

import (
	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// timelineBuilder walks a run.
type timelineBuilder struct {
	y       *sim.System
	s       sim.State
	t       *Timeline
	time    int
	enabled []sim.Transition
	agents  []int // lane by agent
	memory  []int // lane by rank
	dogs    []int // lane by rank, -1 before the first kill
	rank    []int // rank by fence
	inRank  []int // index among the fences of its rank, by fence
	fences  [][]int
	cmds    [][]sim.CommandInfo
	at      []Standing // the last one by lane
	boxes   map[[2]int]int
	waits   map[waitKey]int // open ones
	flights map[flightKey]int
	raises  map[raiseKey][]raise
	events  map[int32]int // line by event
	violate sim.Violations
	remote  bool // some command names a fence of another rank
}

type waitKey struct {
	lane int
	text string
}

type flightKey struct {
	fence, agent, cmd int32
	gpu               bool
}

type raiseKey struct {
	line int
	gpu  bool
}

// raise is a change of a view: when, to what, and which store did it.
type raise struct {
	step   int // of the change
	source int // of the store
	value  uint32
}

func newTimelineBuilder(y *sim.System) *timelineBuilder {
	b := &timelineBuilder{y: y, s: y.Initial(), t: &Timeline{Ranks: y.Ranks()},
		boxes: map[[2]int]int{}, waits: map[waitKey]int{}, flights: map[flightKey]int{}, raises: map[raiseKey][]raise{}, events: map[int32]int{}}
	n := int32(y.NumAgents())
	b.agents, b.cmds = make([]int, n), make([][]sim.CommandInfo, n)
	kinds := map[sim.AgentKind]LaneKind{sim.MainThread: LaneMain, sim.Queue: LaneQueue, sim.CPUStream: LaneStream, sim.Handler: LaneHandler}
	for r := range int32(y.Ranks()) {
		lo, hi := y.AgentsOf(r)
		for a := lo; a < hi; a++ {
			b.agents[a] = b.lane(y.AgentName(a), kinds[y.AgentKindOf(a)], int(r))
			b.cmds[a] = y.Commands(a)
			for i := range b.cmds[a] {
				b.remote = b.remote || b.cmds[a][i].Op != model.OpNone && y.Remote(a, int32(i))
			}
		}
		b.memory = append(b.memory, b.lane(b.prefixed(int(r), "memory"), LaneMemory, int(r)))
		b.dogs = append(b.dogs, -1)
	}
	b.rank, b.inRank = make([]int, y.NumFences()), make([]int, y.NumFences())
	b.fences = make([][]int, y.Ranks())
	byName := map[string]int{}
	for f := range int32(y.NumFences()) {
		byName[y.FenceName(f)] = int(f)
		b.t.Lines = append(b.t.Lines, CounterLine{Name: y.FenceName(f)})
	}
	for r := range y.Ranks() {
		for i, st := range y.FenceStates(b.s, r) {
			f := byName[b.prefixed(r, st.Name)]
			b.rank[f], b.inRank[f] = r, i
			b.fences[r] = append(b.fences[r], f)
			l := &b.t.Lines[f]
			l.Rank = r
			l.Scheduled, l.GPU, l.CPU = []Point{{0, st.Scheduled}}, []Point{{0, st.SeenByGPU}}, []Point{{0, st.SeenByCPU}}
			l.Most = max(drawn(st.Scheduled), drawn(st.SeenByGPU), drawn(st.SeenByCPU))
		}
	}
	b.enabled = y.Enabled(b.s, nil)
	b.choices()
	return b
}

// drawn is v, or 0 for the value of a release, which would flatten every other step.
func drawn(v uint32) uint32 {
	if v == model.Released {
		return 0
	}
	return v
}

func (b *timelineBuilder) prefixed(r int, name string) string {
	if b.y.Ranks() == 1 {
		return name
	}
	return "rank " + number(uint32(r)) + " " + name
}

func (b *timelineBuilder) lane(name string, kind LaneKind, rank int) int {
	b.t.Lanes = append(b.t.Lanes, Lane{Name: name, Kind: kind, Rank: rank, Rows: 1})
	b.at = append(b.at, Standing{Time: -1})
	return len(b.t.Lanes) - 1
}

func (b *timelineBuilder) laneOf(t sim.Transition) int {
	switch t.Kind {
	case sim.KindVisible:
		return b.memory[b.rank[t.Agent]]
	case sim.KindKill:
		r := b.y.RankOf(t.Agent)
		if b.dogs[r] < 0 {
			b.dogs[r] = b.lane(b.prefixed(int(r), "watchdog"), LaneWatchdog, int(r))
		}
		return b.dogs[r]
	}
	return b.agents[t.Agent]
}

// step takes enabled transition c.
func (b *timelineBuilder) step(c int) {
	y, tr, k := b.y, b.enabled[c], b.time
	full := y.Describe(tr)
	st := LaneStep{Lane: b.laneOf(tr), Kind: tr.Kind, Full: full, Possible: tr.Possible, Choice: c, Buffer: -1}
	if tr.Kind != sim.KindVisible && y.AgentKindOf(tr.Agent) == sim.Queue {
		st.Buffer = int(tr.Buffer)
	}
	st.Text = brief(sim.TraceStep{Agent: b.t.Lanes[st.Lane].Name, Transition: full})
	var info *sim.CommandInfo
	switch tr.Kind {
	case sim.KindVisible, sim.KindStep, sim.KindStart, sim.KindFinish, sim.KindKill:
	default:
		info = &b.cmds[tr.Agent][tr.Cmd]
		st.Op = info.Op
	}
	v := y.Apply(b.s, tr)
	st.Violated = v.Words()
	b.violate |= v
	b.t.Steps = append(b.t.Steps, st)
	b.time++
	switch tr.Kind {
	case sim.KindStep:
		switch y.Step(tr).Kind {
		case model.StepUpdate, model.StepTask, model.StepEnqueue, model.StepCommit:
			b.handed(int(y.RankOf(tr.Agent)), k)
		}
	case sim.KindVisible:
		b.arrive(tr, k)
	case sim.KindStart:
		if i, ok := b.boxes[[2]int{st.Lane, int(tr.Buffer)}]; ok {
			b.t.Boxes[i].Started = k
		}
	case sim.KindFinish, sim.KindKill:
		if i, ok := b.boxes[[2]int{b.agents[tr.Agent], int(tr.Buffer)}]; ok {
			b.t.Boxes[i].Finished = k
			b.t.Boxes[i].Killed = tr.Kind == sim.KindKill
		}
	case sim.KindRun:
		b.ran(tr, info, k)
	}
	b.commits(k)
	b.enabled = y.Enabled(b.s, b.enabled[:0])
	b.standing(b.time)
	b.choices()
}

// ran records what a command that has run did to fences and events.
func (b *timelineBuilder) ran(tr sim.Transition, x *sim.CommandInfo, k int) {
	switch x.Op {
	case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
		b.stored(tr, x, k)
	case model.OpWait, model.OpPark:
		target := x.Value
		if x.Late {
			l := &b.t.Lines[x.Object]
			target = Value(l.Scheduled, k)
		}
		gpu := b.y.AgentKindOf(tr.Agent) == sim.Queue
		b.passed(int(x.Object), gpu, target, x.Equal, b.agents[tr.Agent], k)
	case model.OpSignal:
		i := b.event(tr.Agent, tr.Cmd, x)
		l := &b.t.Lines[i]
		v := max(x.Value, Value(l.GPU, k))
		b.change(i, true, v, k, k)
		l.Scheduled = l.GPU
	case model.OpAwait:
		b.passed(b.event(tr.Agent, tr.Cmd, x), true, x.Value, false, b.agents[tr.Agent], k)
	}
}

// event is the line of an event, which has none before it is first used.
func (b *timelineBuilder) event(agent, cmd int32, x *sim.CommandInfo) int {
	if i, ok := b.events[x.Object]; ok {
		return i
	}
	r := int(b.y.RankOf(agent))
	name := b.prefixed(r, object(b.y.CommandText(agent, cmd)))
	i := len(b.t.Lines)
	b.t.Lines = append(b.t.Lines, CounterLine{Name: name, Rank: r, Event: true, Scheduled: []Point{{0, 0}}, GPU: []Point{{0, 0}}, CPU: []Point{{0, 0}}})
	b.events[x.Object] = i
	return i
}

// passed draws the arrow to a wait that has passed.
func (b *timelineBuilder) passed(line int, gpu bool, target uint32, equal bool, lane, k int) {
	rs := b.raises[raiseKey{line, gpu}]
	for i := len(rs) - 1; i >= 0; i-- {
		enough := func(v uint32) bool { return v == target || !equal && v > target }
		if !enough(rs[i].value) || i > 0 && enough(rs[i-1].value) {
			continue
		}
		a := Arrow{From: rs[i].source, Via: -1, To: k, FromLane: b.t.Steps[rs[i].source].Lane, ToLane: lane, Line: line}
		if rs[i].step != rs[i].source {
			a.Via = rs[i].step
		}
		b.t.Arrows = append(b.t.Arrows, a)
		return
	}
}

// change records a new value of a view.
func (b *timelineBuilder) change(line int, gpu bool, v uint32, k, source int) {
	l := &b.t.Lines[line]
	points := &l.CPU
	if gpu {
		points = &l.GPU
	}
	if (*points)[len(*points)-1].Value == v {
		return
	}
	*points = appendPoint(*points, k+1, v)
	l.Most = max(l.Most, drawn(v))
	key := raiseKey{line, gpu}
	b.raises[key] = append(b.raises[key], raise{k, source, v})
}

func appendPoint(points []Point, time int, v uint32) []Point {
	if n := len(points); points[n-1].Time == time {
		points[n-1].Value = v
		return points
	}
	return append(points, Point{time, v})
}

// views compares the fences of rank r with what was drawn last; source is the step that
// changed them.
func (b *timelineBuilder) views(r, source int) {
	k := b.time - 1
	for i, st := range b.y.FenceStates(b.s, r) {
		f := b.fences[r][i]
		l := &b.t.Lines[f]
		if l.Scheduled[len(l.Scheduled)-1].Value != st.Scheduled {
			l.Scheduled = appendPoint(l.Scheduled, k+1, st.Scheduled)
			l.Most = max(l.Most, drawn(st.Scheduled))
		}
		b.change(f, true, st.SeenByGPU, k, source)
		b.change(f, false, st.SeenByCPU, k, source)
	}
}

// handed records what rank r's main thread has handed over, which may schedule updates of
// other ranks' fences.
func (b *timelineBuilder) handed(r, k int) {
	if !b.remote {
		b.views(r, k)
		return
	}
	for r := range b.fences {
		b.views(r, k)
	}
}

// stored records a store that has run and, if it travels, its flight.
func (b *timelineBuilder) stored(tr sim.Transition, x *sim.CommandInfo, k int) {
	f := x.Object
	b.views(b.rank[f], k)
	toGPU := b.y.AgentKindOf(tr.Agent) != sim.Queue
	for _, st := range b.y.Stores(b.s, f, toGPU) {
		if st.Agent == tr.Agent && st.Cmd == tr.Cmd && st.OnItsWay {
			b.flights[flightKey{f, tr.Agent, tr.Cmd, toGPU}] = len(b.t.Flights)
			b.t.Flights = append(b.t.Flights, Flight{Lane: b.memory[b.rank[f]], Line: int(f), From: k, To: -1, Value: x.Value, Text: b.y.CommandText(tr.Agent, tr.Cmd)})
		}
	}
}

// arrive ends the flight of the store that has become visible.
func (b *timelineBuilder) arrive(tr sim.Transition, k int) {
	source := k
	for _, st := range b.y.Stores(b.s, tr.Agent, tr.CPU) {
		key := flightKey{tr.Agent, st.Agent, st.Cmd, tr.CPU}
		if i, ok := b.flights[key]; ok && !st.OnItsWay {
			b.t.Flights[i].To = k
			source = b.t.Flights[i].From
			delete(b.flights, key)
		}
	}
	b.views(b.rank[tr.Agent], source)
}

// commits adds the buffers that step k has committed.
func (b *timelineBuilder) commits(k int) {
	if b.t.Lanes[b.t.Steps[k].Lane].Kind != LaneMain {
		return
	}
	lo, hi := b.y.AgentsOf(int32(b.t.Lanes[b.t.Steps[k].Lane].Rank))
	for a := lo; a < hi; a++ {
		if b.y.AgentKindOf(a) != sim.Queue {
			continue
		}
		com, _ := b.y.Buffers(b.s, a)
		lane := b.agents[a]
		for n := int(com) - 1; n >= 0; n-- {
			if _, ok := b.boxes[[2]int{lane, n}]; ok {
				break
			}
			b.boxes[[2]int{lane, n}] = len(b.t.Boxes)
			b.t.Boxes = append(b.t.Boxes, Box{Lane: lane, Buffer: n, Committed: k, Started: -1, Finished: -1})
		}
	}
}

// standing records where agents stand and which waits hold, in the state at a time.
func (b *timelineBuilder) standing(time int) {
	y := b.y
	now := make([]Standing, len(b.t.Lanes))
	seen := map[waitKey]bool{}
	for r := range y.Ranks() {
		for _, x := range y.Blocked(b.s, r) {
			lane := b.agents[x.Index]
			at := short(x.At)
			if now[lane].At == "" {
				now[lane].At, now[lane].Needs = at, x.Needs
			} else {
				now[lane].At += "; " + at
				now[lane].Needs += "; " + x.Needs
			}
			if x.Fence < 0 || x.Seen == x.Target {
				continue
			}
			if cmdText, equal := x.At, isEqual(x.At); x.Seen < x.Target || equal {
				key := waitKey{lane, cmdText}
				seen[key] = true
				if i, ok := b.waits[key]; ok {
					b.t.Waits[i].Target = x.Target
					continue
				}
				b.waits[key] = len(b.t.Waits)
				b.t.Waits = append(b.t.Waits, WaitSpan{Lane: lane, Line: int(x.Fence), From: time, To: -1, Target: x.Target, GPU: x.GPU, Text: cmdText})
				l := &b.t.Lines[x.Fence]
				l.Most = max(l.Most, drawn(x.Target))
			}
		}
	}
	for key, i := range b.waits {
		if !seen[key] {
			b.t.Waits[i].To = time
			delete(b.waits, key)
		}
	}
	for _, t := range b.enabled { // what an agent does next, where it stands at no command
		if t.Kind == sim.KindVisible || t.Kind == sim.KindKill {
			continue
		}
		if lane := b.agents[t.Agent]; now[lane].At == "" || now[lane].Needs != "" {
			now[lane].At, now[lane].Needs = short(y.Describe(t)), ""
		}
	}
	for lane := range now {
		now[lane].Time, now[lane].Lane = time, lane
		if last := b.at[lane]; last.Time < 0 || last.At != now[lane].At || last.Needs != now[lane].Needs {
			b.t.At = append(b.t.At, now[lane])
			b.at[lane] = now[lane]
		}
	}
}

// choices records what is enabled.
func (b *timelineBuilder) choices() {
	list := make([]Choice, 0, len(b.enabled))
	for _, t := range b.enabled {
		c := Choice{Text: b.y.Describe(t), Possible: t.Possible}
		if t.Kind == sim.KindKill {
			c.Lane = b.agents[t.Agent]
		} else {
			c.Lane = b.laneOf(t)
		}
		list = append(list, c)
	}
	b.t.Enabled = append(b.t.Enabled, list)
}

// done closes what is open at the end.
func (b *timelineBuilder) done() *Timeline {
	t := b.t
	for i := range t.Waits {
		w := &t.Waits[i]
		if w.To >= 0 {
			continue
		}
		w.To, w.Open = b.time, true
		for _, f := range t.Flights { // the store that it needs has run and is not seen
			if f.Line == w.Line && f.To < 0 && f.Value >= w.Target {
				t.Arrows = append(t.Arrows, Arrow{From: f.From, Via: -1, To: b.time, FromLane: t.Steps[f.From].Lane, ToLane: w.Lane, Line: w.Line, Missing: true})
				break
			}
		}
	}
	t.Verdict, t.Final = b.y.Verdict(b.s, b.violate), b.y.Final(b.s)
	t.Digest = b.y.Digest(b.s)
	t.pack()
	return t
}

// last is the state at the end of a run as results have it.
func last(y *sim.System, choices []int) (sim.State, []check.StuckRank) {
	s := y.Initial()
	var buf []sim.Transition
	for _, c := range choices {
		if buf = y.Enabled(s, buf[:0]); c < 0 || c >= len(buf) {
			break
		}
		y.Apply(s, buf[c])
	}
	var ranks []check.StuckRank
	for r := range y.Ranks() {
		ranks = append(ranks, check.StuckRank{Rank: r, Fences: y.FenceStates(s, r), Blocked: y.Blocked(s, r)})
	}
	return s, ranks
}
