package check

import (
	"fmt"
	"math"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A History is what a run did to its fences and collectives, as operations with a call and
// a return: what linearizability is about (Herlihy and Wing 1990). It may come from a run
// of the model ([NewHistory]) or from a recording of a device.
//
// The object is a monotone counter as one side sees it: an update raises it to at least
// its value, a read gives it exactly. A history that no order of its operations explains
// shows stores that overtook each other: a fence that went backwards.
type History struct {
	Objects []HistoryObject
	Clients []string // agents, by index
	Ops     []HistoryOp
}

// A HistoryObject is one fence as one side sees it, or one round of a collective group.
type HistoryObject struct {
	Name    string
	Initial uint64
	Meets   int // of a collective: how many ranks meet; 0 for a fence
}

// HistoryKind is what an operation does.
type HistoryKind uint8

// The kinds of operations.
const (
	HistoryUpdate     HistoryKind = iota // raises a counter to at least Value
	HistoryAdd                           // adds Value to a counter
	HistoryReset                         // sets a counter to Value
	HistoryRead                          // gives a counter's value: a wait that passed, or a look at the end
	HistoryContribute                    // a rank arrives at a collective with Value
	HistoryResult                        // a rank leaves a collective with Value, the sum of all contributions
)

// Pending is the Return of an operation that had no effect yet when the run ended; it may
// still have one, or none that anybody saw.
const Pending = math.MaxInt64

// A HistoryOp is one operation. Call and Return are times of one clock; an operation takes
// effect at some time between them, both included.
type HistoryOp struct {
	Client int
	Object int
	Kind   HistoryKind
	Value  uint64 // stored, or seen
	Call   int64
	Return int64
	Text   string // the command, for people
}

// String is "update 3", "read 3".
func (o HistoryOp) String() string {
	return fmt.Sprintf("%s %d", [...]string{"update", "add", "reset", "read", "contribute", "result"}[o.Kind], o.Value)
}

// recorder follows a run and turns its transitions into operations. Times are steps.
type recorder struct {
	y       *sim.System
	h       *History
	now     int64
	view    map[[2]int32]int   // fence and side (0 CPU, 1 GPU) to its object
	rounds  map[[2]int32]int   // first part of a group and round to its object
	order   map[[2]int32]int32 // agent and command of a collective to its round
	clients map[string]int
	since   map[[2]int32]int64 // agent and buffer: when its last transition was
	open    map[[3]int32]int   // fence, agent and command of a store to its operation on the other side
	sums    map[int]uint64
	first   map[string]int32 // group name to its first part
	at      map[int32]int32  // group part to collectives begun

	place    [][2]int // by fence: its rank, and its place among the fences of that
	commands [][]sim.CommandInfo
}

// NewHistory runs choices on y and records what they do. At the end of the run each side
// looks at each of its fences once, as a debugger does.
//
// A wait is a read from the transition that made it its agent's next command to the one in
// which it passes. A store takes effect for its own side when it is executed (a guarded
// one somewhere between its two halves) and for the other side somewhere between then and
// its arrival.
func NewHistory(y *sim.System, choices []int) (*History, error) {
	r := &recorder{y: y, h: &History{}, view: map[[2]int32]int{}, rounds: map[[2]int32]int{}, order: map[[2]int32]int32{},
		clients: map[string]int{}, since: map[[2]int32]int64{}, open: map[[3]int32]int{}, sums: map[int]uint64{},
		first: map[string]int32{}, at: map[int32]int32{}, place: places(y), commands: make([][]sim.CommandInfo, y.NumAgents())}
	for f := range int32(y.NumFences()) {
		for side, word := range [...]string{"CPU", "GPU"} {
			r.view[[2]int32{f, int32(side)}] = len(r.h.Objects)
			r.h.Objects = append(r.h.Objects, HistoryObject{Name: fmt.Sprintf("%s as the %s sees it", y.FenceName(f), word), Initial: uint64(y.FenceInitial(f))})
		}
	}
	s := y.Initial()
	var buf []sim.Transition
	for i, c := range choices {
		r.now = int64(i) + 1
		buf = y.Enabled(s, buf[:0])
		if c < 0 || c >= len(buf) {
			return nil, fmt.Errorf("step %d chooses %d of %d enabled transitions", i+1, c, len(buf))
		}
		t := buf[c]
		if t.Kind == sim.KindVisible {
			r.arrive(s, t)
			continue
		}
		r.record(s, t)
		y.Apply(s, t)
	}
	r.now++
	for f := range int32(y.NumFences()) {
		for side, gpu := range [...]bool{false, true} {
			r.add("debugger", r.view[[2]int32{f, int32(side)}], HistoryRead, r.seen(s, f, gpu), r.now, r.now, "look at "+y.FenceName(f))
		}
	}
	return r.h, nil
}

// TraceHistory is [NewHistory] of a trace, which carries its scenario. The error is a
// *sim.Divergence if the trace is no run of it.
func TraceHistory(t *sim.Trace) (*History, error) {
	sc, err := model.Parse("the scenario of the trace", t.Scenario)
	if err != nil {
		return nil, err
	}
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	if t.Rank >= len(ps) {
		return nil, fmt.Errorf("rank %d alone: the scenario has ranks 0 to %d", t.Rank, len(ps)-1)
	}
	if t.Rank >= 0 {
		ps = ps[t.Rank : t.Rank+1]
	}
	y := sim.Compile(ps, sc.Machine, sim.Options{})
	run, err := t.Replay(y, nil)
	if err != nil {
		return nil, err
	}
	return NewHistory(y, run.Choices)
}

func (r *recorder) client(name string) int {
	i, ok := r.clients[name]
	if !ok {
		i = len(r.h.Clients)
		r.clients[name] = i
		r.h.Clients = append(r.h.Clients, name)
	}
	return i
}

func (r *recorder) add(agent string, object int, kind HistoryKind, value uint64, call, ret int64, text string) int {
	r.h.Ops = append(r.h.Ops, HistoryOp{Client: r.client(agent), Object: object, Kind: kind, Value: value, Call: call, Return: ret, Text: text})
	return len(r.h.Ops) - 1
}

// seen is the value of a fence in s as one side sees it.
func (r *recorder) seen(s sim.State, fence int32, gpu bool) uint64 {
	p := r.place[fence]
	f := r.y.FenceStates(s, p[0])[p[1]]
	if gpu {
		return uint64(f.SeenByGPU)
	}
	return uint64(f.SeenByCPU)
}

// places finds each fence among those of its rank.
func places(y *sim.System) [][2]int {
	out := make([][2]int, 0, y.NumFences())
	count := make([]int, y.Ranks())
	for f := range int32(y.NumFences()) {
		rank := 0
		if y.Ranks() > 1 {
			fmt.Sscanf(y.FenceName(f), "rank %d", &rank)
		}
		out = append(out, [2]int{rank, count[rank]})
		count[rank]++
	}
	return out
}

// arrive lets a store arrive, and finds out which by what is no longer on its way.
func (r *recorder) arrive(s sim.State, t sim.Transition) {
	before := r.y.Stores(s, t.Agent, t.CPU)
	r.y.Apply(s, t)
	for i, x := range r.y.Stores(s, t.Agent, t.CPU) {
		if op, ok := r.open[[3]int32{t.Agent, x.Agent, x.Cmd}]; ok && before[i].OnItsWay && !x.OnItsWay {
			r.h.Ops[op].Return = r.now
		}
	}
}

// record turns a transition that is about to happen in s into operations.
func (r *recorder) record(s sim.State, t sim.Transition) {
	y := r.y
	key := [2]int32{t.Agent, t.Buffer}
	before := r.since[key]
	r.since[key] = r.now
	switch t.Kind {
	case sim.KindRun, sim.KindArrive, sim.KindLeave:
	default:
		return
	}
	if r.commands[t.Agent] == nil {
		r.commands[t.Agent] = y.Commands(t.Agent)
	}
	c := &r.commands[t.Agent][t.Cmd]
	gpu := y.AgentKindOf(t.Agent) == sim.Queue
	agent, text := y.Agent(t), y.CommandText(t.Agent, t.Cmd)
	side := int32(0)
	if gpu {
		side = 1
	}
	switch c.Op {
	case model.OpWait:
		r.add(agent, r.view[[2]int32{c.Object, side}], HistoryRead, r.seen(s, c.Object, gpu), before, r.now, text)
	case model.OpUpdate, model.OpRelease, model.OpAdd, model.OpReset:
		r.store(t, c, agent, text, side, before)
	case model.OpCollective:
		r.collective(t, c, agent, text)
	}
}

// store records a store that is executed now, for both sides.
func (r *recorder) store(t sim.Transition, c *sim.CommandInfo, agent, text string, side int32, before int64) {
	kind := HistoryUpdate
	switch c.Op {
	case model.OpAdd:
		kind = HistoryAdd
	case model.OpReset:
		kind = HistoryReset
	}
	call := r.now
	if side == 1 && c.Store == model.StoreGuarded && kind == HistoryUpdate {
		call = before // the first half
	}
	r.add(agent, r.view[[2]int32{c.Object, side}], kind, uint64(c.Value), call, r.now, text)
	other := r.view[[2]int32{c.Object, 1 - side}]
	v := r.y.Machine.GPUToCPU
	if side == 0 {
		v = r.y.Machine.CPUToGPU
	}
	if v.Mode == model.VisImmediate {
		r.add(agent, other, kind, uint64(c.Value), call, r.now, text)
		return
	}
	r.open[[3]int32{c.Object, t.Agent, t.Cmd}] = r.add(agent, other, kind, uint64(c.Value), call, Pending, text)
}

// collective records an arrival or a departure. Rank r contributes r + 1, so that a result
// tells who was missing.
func (r *recorder) collective(t sim.Transition, c *sim.CommandInfo, agent, text string) {
	name := r.y.GroupText(c.Object)
	first, ok := r.first[name]
	if !ok {
		first = c.Object
		r.first[name] = first
	}
	round := func(k int32) int {
		o, ok := r.rounds[[2]int32{first, k}]
		if !ok {
			o = len(r.h.Objects)
			r.rounds[[2]int32{first, k}] = o
			r.h.Objects = append(r.h.Objects, HistoryObject{Name: fmt.Sprintf("round %d of %s", k+1, name), Meets: r.y.Ranks()})
		}
		return o
	}
	if t.Kind == sim.KindArrive {
		k := r.at[c.Object]
		r.at[c.Object]++
		r.order[[2]int32{t.Agent, t.Cmd}] = k
		mine := uint64(r.y.RankOf(t.Agent)) + 1
		r.sums[round(k)] += mine
		r.add(agent, round(k), HistoryContribute, mine, r.now, r.now, "arrive at "+text)
		return
	}
	o := round(r.order[[2]int32{t.Agent, t.Cmd}])
	r.add(agent, o, HistoryResult, r.sums[o], r.now, r.now, "leave "+text)
}
