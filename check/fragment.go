package check

import (
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// fragment is what is known of a system before it runs: for each object why its
// operations may depend on their order, or "" if they cannot, and which transitions a
// search may take alone.
//
// The theory (Keller 1975; persistent sets: Godefroid 1996): a guaranteed transition that
// stays enabled and guaranteed until it is taken, and that commutes with everything other
// agents can do before it, occurs in every run to a stuck state and can be moved to that
// run's front. Schedules are acyclic, so nothing is ignored for ever.
type fragment struct {
	y *sim.System
	m model.Machine

	gpuView   []string // by fence: why its stores may not commute, or fall, as the GPU sees them
	cpuView   []string // the same as the CPU sees them
	stores    []string // the same as they are executed, whatever waits for them
	array     []string // by array
	event     []string
	group     []string // by group part
	pair      map[[2]int32]string
	reads     string         // why reads are not known to see what was written; "" if they are
	late      map[int32]bool // fences with a late wait
	idle      []bool         // by rank: some command waits for an idle device
	slots     bool
	killed    bool // any started buffer may be killed
	spun      bool // unsatisfied GPU waits can end by themselves
	exits     []bool
	ignore    bool
	commands  [][]sim.Command // by agent; of a main thread empty unless some step is a command
	gpuWaits  []bool          // by fence
	gpuAwaits []bool          // by event
	remote    bool            // some command names a fence of another rank
	allocs    bool            // some command takes memory
	overdraws bool            // some agent may give back more than it has taken
	fails     bool            // some command of a queue fails
	from      *[2][]sources   // stores by fence and signals by event, once an order asks
}

// analyse examines a system.
func analyse(y *sim.System) *fragment {
	m := y.Machine
	f := &fragment{y: y, m: m,
		gpuView: make([]string, y.NumFences()), cpuView: make([]string, y.NumFences()), array: make([]string, y.NumArrays()), event: make([]string, y.NumEvents()),
		group: make([]string, y.NumGroups()), pair: map[[2]int32]string{}, late: map[int32]bool{},
		idle: make([]bool, y.Ranks()), exits: make([]bool, y.Ranks()),
		// Beside an unsatisfied wait of its section any command of a buffer may be killed.
		slots: m.Slots > 0, killed: m.Watchdog == model.WatchdogAny || m.Watchdog != model.WatchdogOff && m.Dispatch == model.Concurrent,
		spun:     m.SpinLimit > 0 || m.Watchdog == model.WatchdogMay || m.Watchdog == model.WatchdogMust,
		ignore:   m.Watchdog != model.WatchdogOff && m.AfterKill == model.Ignore,
		gpuWaits: make([]bool, y.NumFences()), gpuAwaits: make([]bool, y.NumEvents()),
	}
	for a := range y.NumAgents() {
		f.commands = append(f.commands, y.Table(int32(a)))
	}
	f.objects()
	f.data()
	return f
}

// objects examines fences, events, groups and pairs.
func (f *fragment) objects() {
	y := f.y
	writers := make([]writers, y.NumFences())
	for i := range writers {
		writers[i].start(uint64(y.FenceInitial(int32(i))))
	}
	members := make([][]int32, y.NumGroups())
	sends, recvs := map[[2]int32][]int32{}, map[[2]int32][]int32{}
	for a := range f.commands {
		agent, rank := int32(a), y.RankOf(int32(a))
		gpu := y.AgentKindOf(agent) == sim.Queue
		held := int64(0) // memory taken and not given back
		if y.AgentKindOf(agent) == sim.MainThread {
			for _, st := range y.MainSteps(rank) {
				f.exits[rank] = f.exits[rank] || st.Kind == model.StepExit
			}
		}
		for i := range f.commands[a] {
			c := &f.commands[a][i]
			switch c.Op() {
			case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
				f.writes(&writers[c.Object()], agent, int32(i), gpu)
				f.remote = f.remote || y.FenceRank(c.Object()) != rank
			case model.OpFree:
				f.gpuView[c.Object()], f.cpuView[c.Object()] = "is freed", "is freed"
			case model.OpPark, model.OpNotify:
				f.gpuView[c.Object()], f.cpuView[c.Object()] = "is parked on", "is parked on"
			case model.OpWait:
				if c.Equal() {
					*f.view(c.Object(), gpu) = "has a wait for an exact value"
				}
				if c.Late() {
					f.late[c.Object()] = true
				}
				f.gpuWaits[c.Object()] = f.gpuWaits[c.Object()] || gpu
				f.remote = f.remote || y.FenceRank(c.Object()) != rank
			case model.OpAwait:
				f.gpuAwaits[c.Object()] = f.gpuAwaits[c.Object()] || gpu
			case model.OpCollective:
				if l := members[c.Object()]; len(l) == 0 || l[len(l)-1] != agent {
					members[c.Object()] = append(l, agent)
				}
			case model.OpSend:
				k := [2]int32{rank, c.Peer()}
				if !slices.Contains(sends[k], agent) {
					sends[k] = append(sends[k], agent)
				}
			case model.OpRecv:
				k := [2]int32{c.Peer(), rank}
				if !slices.Contains(recvs[k], agent) {
					recvs[k] = append(recvs[k], agent)
				}
			case model.OpFail:
				// It drops what runs beside it.
				f.killed = f.killed || gpu && f.m.Dispatch == model.Concurrent
				f.fails = f.fails || gpu
			case model.OpAlloc:
				f.allocs = true
				held += int64(c.Value())
			case model.OpDealloc:
				held -= int64(c.Value())
				f.overdraws = f.overdraws || gpu || held < 0
			case model.OpIdle:
				f.idle[rank] = true
			case model.OpDie:
				f.exits[rank] = true
			}
		}
	}
	for i := range f.gpuView {
		f.stores = append(f.stores, f.tame(&writers[i], true))
		for _, gpu := range []bool{true, false} {
			if v := f.view(int32(i), gpu); *v == "" {
				*v = f.tame(&writers[i], gpu)
			}
		}
	}
	parallel := f.m.Buffers == model.Overlap || f.m.Dispatch == model.Concurrent
	for g, l := range members {
		if len(l) > 1 {
			f.group[g] = "is used by several agents"
		} else if len(l) == 1 && parallel && y.AgentKindOf(l[0]) == sim.Queue {
			f.group[g] = "is used by buffers that may run beside each other"
		}
	}
	for k, l := range sends {
		if len(l) > 1 || len(recvs[k]) > 1 {
			f.pair[k] = "has several senders or receivers"
		} else if parallel && (y.AgentKindOf(l[0]) == sim.Queue || len(recvs[k]) == 1 && y.AgentKindOf(recvs[k][0]) == sim.Queue) {
			f.pair[k] = "is used by buffers that may run beside each other"
		}
	}
}

// view is the entry of one view of a fence.
func (f *fragment) view(fence int32, gpu bool) *string {
	if gpu {
		return &f.gpuView[fence]
	}
	return &f.cpuView[fence]
}

// fence says why one of the views is not tame.
func (f *fragment) fence(i int32) string {
	if f.gpuView[i] != "" {
		return f.gpuView[i]
	}
	return f.cpuView[i]
}

// safe reports whether transition t, enabled in s, may be taken alone.
func (f *fragment) safe(s sim.State, t sim.Transition) bool {
	if t.Possible || t.Kind == sim.KindKill || t.Kind == sim.KindGiveUp || t.Kind == sim.KindTake {
		return false
	}
	y := f.y
	if t.Kind == sim.KindVisible {
		if t.CPU || f.cpuView[t.Agent] != "" {
			return false
		}
		return f.m.GPUToCPU.Mode == model.VisUnordered || !y.IdleOnly(s, t)
	}
	rank := y.RankOf(t.Agent)
	gpu := y.AgentKindOf(t.Agent) == sim.Queue
	if f.exits[rank] && !gpu {
		return false
	}
	switch t.Kind {
	case sim.KindStep:
		return f.safeStep(s, t, rank)
	case sim.KindStart:
		return f.m.Device != model.Exclusive && !f.ignore
	}
	if gpu && f.killed {
		return false
	}
	if f.counted(s, t, rank) || t.Kind == sim.KindJoin && f.counted(s, t, y.RankOf(t.Peer)) {
		return false
	}
	if t.Kind == sim.KindFinish {
		return f.m.Payload == model.PayloadIgnored || f.reads == ""
	}
	if !f.safeCommand(&f.commands[t.Agent][t.Cmd], gpu) {
		return false
	}
	if t.Kind == sim.KindJoin {
		peerGPU := y.AgentKindOf(t.Peer) == sim.Queue
		return !(peerGPU && (f.killed || f.slots)) && f.safeWrites(&f.commands[t.Peer][t.PeerCmd]) && !f.exits[y.RankOf(t.Peer)]
	}
	return true
}

// counted reports whether t ends an active task of a rank while a throttle test may come
// there.
func (f *fragment) counted(s sim.State, t sim.Transition, rank int32) bool {
	return f.y.ThrottleAhead(s, rank) && f.y.TasksEnded(s, t, rank) > 0
}

func (f *fragment) safeStep(s sim.State, t sim.Transition, rank int32) bool {
	st := f.y.Step(t)
	switch st.Kind {
	case model.StepThrottle:
		return !f.y.Contested(s, t)
	case model.StepExit:
		return false
	case model.StepUpdate, model.StepTask:
		return len(f.late) == 0 && !f.idle[rank]
	}
	return !f.idle[rank]
}

func (f *fragment) safeCommand(c *sim.Command, gpu bool) bool {
	if f.slots && gpu {
		switch c.Op() {
		case model.OpBarrier, model.OpEncoder, model.OpAwait:
		case model.OpWait: // holds its slot already
		default:
			return false
		}
	}
	switch c.Op() {
	case model.OpUpdate, model.OpAdd, model.OpReset, model.OpRelease:
		// A GPU store that travels changes the other view when it arrives.
		tame := f.gpuView[c.Object()] == "" && (f.cpuView[c.Object()] == "" || gpu && f.m.GPUToCPU.Mode == model.VisUnordered)
		return tame && !(f.spun && f.gpuWaits[c.Object()])
	case model.OpWait:
		return *f.view(c.Object(), gpu) == "" && !c.Late()
	case model.OpSignal:
		return !(f.spun && f.gpuAwaits[c.Object()])
	case model.OpAwait, model.OpBarrier, model.OpEncoder:
		return true
	case model.OpKernel:
		return f.safeReads(c) && f.safeWrites(c)
	case model.OpCollective:
		return f.group[c.Object()] == "" && f.safeReads(c) && f.safeWrites(c)
	case model.OpCoherent:
		return f.m.Payload == model.PayloadIgnored || f.reads == ""
	case model.OpSend, model.OpRecv:
		return f.pairSafe(c) && f.safeReads(c) && f.safeWrites(c)
	case model.OpDealloc: // what is given back too much is lost, so that an alloc may come too late
		return f.m.Memory == 0 || !f.overdraws
	case model.OpAlloc:
		return f.m.Memory == 0
	case model.OpFail:
		return !gpu
	}
	return false
}

func (f *fragment) pairSafe(c *sim.Command) bool {
	for k, why := range f.pair {
		if why != "" && (k[0] == c.Peer() || k[1] == c.Peer()) {
			return false
		}
	}
	return true
}

func (f *fragment) safeReads(c *sim.Command) bool {
	for _, r := range f.y.Reads(c) {
		if f.array[r.Array] != "" {
			return false
		}
	}
	return true
}

func (f *fragment) safeWrites(c *sim.Command) bool {
	for _, w := range f.y.Writes(c) {
		if f.array[w.Array] != "" {
			return false
		}
	}
	return true
}

// silent reports whether t is a step that nothing observes: handing over, commit, start
// or finish. The reduction merge takes these alone when they are safe.
func (f *fragment) silent(s sim.State, t sim.Transition) bool {
	switch t.Kind {
	case sim.KindStart, sim.KindFinish:
	case sim.KindStep:
		switch f.y.Step(t).Kind {
		case model.StepEnqueue, model.StepCommit, model.StepTask, model.StepEncode, model.StepUpdate, model.StepFlush:
		default:
			return false
		}
	default:
		return false
	}
	return f.safe(s, t)
}

// oneRun says why one run does not stand for all as far as hangs go; "" if it does:
// every transition that is not merely possible is safe, arrays apart.
func (f *fragment) oneRun() string {
	y := f.y
	switch {
	case f.slots:
		return "a limited number of slots"
	case f.m.Device == model.Exclusive:
		return "an exclusive device"
	case f.m.Watchdog != model.WatchdogOff:
		return "a watchdog"
	case f.m.SpinLimit > 0:
		return "a spin limit"
	}
	for _, p := range y.Programs {
		if p.FromGraph {
			return "buffer ends chosen at run time"
		}
	}
	for r := range y.Ranks() {
		if f.exits[r] {
			return "a process that ends early"
		}
		if f.idle[r] {
			return "a command that waits for an idle device"
		}
		for _, st := range y.MainSteps(int32(r)) {
			if st.Kind == model.StepThrottle {
				return "a throttle"
			}
		}
	}
	for i := range f.gpuView {
		if why := f.fence(int32(i)); why != "" {
			return fmt.Sprintf("fence %s %s", y.FenceName(int32(i)), why)
		}
	}
	for i, why := range f.group {
		if why != "" {
			return fmt.Sprintf("collective group %s %s", y.GroupName(int32(i)), why)
		}
	}
	for k, why := range f.pair {
		if why != "" {
			return fmt.Sprintf("the pair of ranks %d and %d %s", k[0], k[1], why)
		}
	}
	switch {
	case len(f.late) > 0:
		return "a wait whose target grows"
	case f.allocs && f.m.Memory > 0:
		return "a limited memory"
	case f.fails:
		return "a buffer that fails"
	}
	return ""
}
