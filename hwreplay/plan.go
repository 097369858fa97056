package hwreplay

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Plan is what a device is to run: a schedule per rank with every name resolved, on a
// machine whose assumptions are imposed. It never changes after [NewPlan]; any number of
// runs may use one.
type Plan struct {
	System  *sim.System
	Machine model.Machine // defaults filled in
	// Choices says, by rank, what the main thread does at its throttle steps; a rank
	// without one decides by the tasks that are active on the device.
	Choices []*Choice
	// Early is how many merely possible arrivals of each fence are made: see [Plan.Impose].
	Early map[int32]int

	agents []agentPlan
	ranks  []rankPlan
	fences []fencePlan
	groups []groupPlan
	events int
	pairs  bool // send or recv occurs
}

// agentPlan is one agent, numbered as System numbers it.
type agentPlan struct {
	kind   sim.AgentKind
	rank   int
	name   string // of the queue or stream
	index  int    // among the rank's queues or streams; of a handler its buffer
	queue  int    // handlers: the queue
	info   []sim.CommandInfo
	cmds   []*model.Command
	groups []int // by command: the group of a collective, else -1
}

// rankPlan is one rank: its agents and what its main thread does.
type rankPlan struct {
	program            *model.Schedule
	steps              []model.Step
	main               int32
	queues, streams    []int32
	handlers           map[[2]int]int32 // by queue and buffer
	counted            [][]uint32       // by stream: counted tasks before task i
	gpuFence, cpuFence int32
}

// fencePlan is one fence. A split fence has a copy for each side.
type fencePlan struct {
	rank    int
	name    string
	initial uint32
}

// groupPlan is one collective group: which ranks have it.
type groupPlan struct {
	name    string
	members []bool
}

// NewPlan resolves a schedule per rank, as model.Scenario.Programs gives them, on a
// machine.
func NewPlan(programs []*model.Schedule, m model.Machine) *Plan {
	y := sim.Compile(programs, m, sim.Options{})
	p := &Plan{System: y, Machine: y.Machine, Choices: make([]*Choice, len(programs))}
	p.agents = make([]agentPlan, y.NumAgents())
	groups := make(map[string]int)
	a := int32(0)
	for r, s := range programs {
		rk := rankPlan{program: s, steps: s.Steps(), main: a, handlers: map[[2]int]int32{}, gpuFence: -1, cpuFence: -1}
		p.main(a, r, &rk)
		a++
		for i := range s.Queues {
			p.agent(a, agentPlan{kind: sim.Queue, rank: r, name: s.Queues[i].Name, index: i}, s.Queues[i].Commands)
			rk.queues = append(rk.queues, a)
			a++
		}
		for i := range s.Streams {
			p.agent(a, agentPlan{kind: sim.CPUStream, rank: r, name: s.Streams[i].Name, index: i}, s.Streams[i].Tasks)
			rk.streams = append(rk.streams, a)
			rk.counted = append(rk.counted, s.Streams[i].ActiveTasks())
			a++
		}
		for i := range s.Queues {
			for b := range s.Queues[i].Ends {
				if list := s.Queues[i].OnFinish[b]; len(list) > 0 {
					p.agent(a, agentPlan{kind: sim.Handler, rank: r, name: s.Queues[i].Name, queue: i, index: b}, list)
					rk.handlers[[2]int{i, b}] = a
					a++
				}
			}
		}
		p.ranks = append(p.ranks, rk)
	}
	for i := range p.agents {
		p.resolve(&p.agents[i], groups)
	}
	for f := range int32(y.NumFences()) {
		p.fences = append(p.fences, fencePlan{rank: p.rankOfFence(f), name: y.FenceName(f), initial: y.FenceInitial(f)})
	}
	p.events = y.NumEvents()
	for r := range p.ranks {
		rk := &p.ranks[r]
		rk.gpuFence, rk.cpuFence = p.firstUpdated(r, rk.queues), p.firstUpdated(r, rk.streams)
	}
	return p
}

// main fills in a main thread: the commands among its steps.
func (p *Plan) main(a int32, r int, rk *rankPlan) {
	ag := agentPlan{kind: sim.MainThread, rank: r, name: "main", info: p.System.Commands(a)}
	for i := range rk.steps {
		ag.cmds = append(ag.cmds, rk.steps[i].Command)
	}
	p.agents[a] = ag
}

func (p *Plan) agent(a int32, ag agentPlan, list []model.Command) {
	ag.info = p.System.Commands(a)
	for i := range list {
		ag.cmds = append(ag.cmds, &list[i])
	}
	p.agents[a] = ag
}

// resolve finds the groups of an agent's collectives. Groups meet by name.
func (p *Plan) resolve(ag *agentPlan, groups map[string]int) {
	ag.groups = make([]int, len(ag.cmds))
	names := &p.ranks[ag.rank].program.Names
	for i, c := range ag.cmds {
		ag.groups[i] = -1
		if c == nil {
			continue
		}
		if c.Op == model.OpSend || c.Op == model.OpRecv {
			p.pairs = true
		}
		if c.Op != model.OpCollective {
			continue
		}
		name := ag.name
		if c.Group != model.NoSym {
			name = names.Of(c.Group)
		}
		g, ok := groups[name]
		if !ok {
			g = len(p.groups)
			groups[name] = g
			p.groups = append(p.groups, groupPlan{name, make([]bool, len(p.System.Programs))})
		}
		p.groups[g].members[ag.rank] = true
		ag.groups[i] = g
	}
}

// firstUpdated is the first fence of rank r that the first of the agents updates, or -1.
func (p *Plan) firstUpdated(r int, agents []int32) int32 {
	if len(agents) == 0 {
		return -1
	}
	for _, c := range p.agents[agents[0]].info {
		if (c.Op == model.OpUpdate || c.Op == model.OpRelease) && p.fences[c.Object].rank == r {
			return c.Object
		}
	}
	return -1
}

// rankOfFence is whose fence f is. Fences of one rank are named after it.
func (p *Plan) rankOfFence(f int32) int {
	if len(p.System.Programs) == 1 {
		return 0
	}
	var r int
	fmt.Sscanf(p.System.FenceName(f), "rank %d ", &r)
	return r
}

// split reports whether the two sides have copies of a fence of their own.
func (p *Plan) split() bool {
	return p.Machine.GPUToCPU.Mode != model.VisImmediate || p.Machine.CPUToGPU.Mode != model.VisImmediate
}

// held reports whether a buffer may have to wait for more than its predecessor on its
// queue, so that it is handed to the device only when it may start.
func (p *Plan) held() bool {
	m := &p.Machine
	return m.Buffers == model.Overlap || m.Device == model.Exclusive ||
		m.Watchdog != model.WatchdogOff && m.AfterKill == model.Ignore
}
