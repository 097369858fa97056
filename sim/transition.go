package sim

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// Kind is what a transition does.
type Kind uint8

// The kinds of transitions.
const (
	KindStep    Kind = iota // a step of the main thread
	KindStart               // a buffer starts
	KindRun                 // a command runs, or the rest of it
	KindTake                // a wait takes a slot
	KindGiveUp              // an unsatisfied wait gives up
	KindRead                // a guarded store reads
	KindArrive              // arrival at a collective
	KindLeave               // departure from a collective
	KindJoin                // a send meets its recv
	KindTest                // park tests
	KindSleep               // park falls asleep
	KindFinish              // a buffer finishes
	KindVisible             // a store reaches the other side's view
	KindKill                // the watchdog kills a buffer
)

var kindWords = [...]string{"step", "start", "run", "take-slot", "give-up", "read", "arrive", "leave", "join", "test", "sleep", "finish", "visible", "kill"}

// String is the kind's word in traces.
func (k Kind) String() string { return kindWords[k] }

// A Transition is one step from a state. Its fields are indexes into the system's tables;
// [System.Agent] and [System.Describe] give its words. A transition is a value: equal
// transitions of one system are the same step.
type Transition struct {
	Kind                Kind
	Possible            bool  // not guaranteed
	CPU                 bool  // visible: the store travels to the GPU's view; else to the CPU's
	Agent               int32 // the agent that moves; visible: the fence
	Buffer              int32 // queues: the buffer
	Cmd                 int32 // index of the command; visible: of the store
	Peer                int32 // join: the receiving agent
	PeerCmd, PeerBuffer int32 // join: the receiver's command and buffer
}

// Phases of a command that takes several transitions.
const (
	phaseNew     = 0
	phaseHolding = 1 // wait: holds a slot; collective: has arrived; guarded: read a smaller value; park: about to sleep
	phaseRefused = 2 // guarded: read a value that is not smaller
	phaseAsleep  = 2 // park: asleep
	phaseDone    = 3 // under concurrent dispatch: ended
)

// A Violations is a set of properties that one transition violates.
type Violations uint8

// The properties that transitions can violate; hang and orphan are those of stuck states.
const (
	StaleRead Violations = 1 << iota
	Overwritten
	OrderMismatch
	Backwards
	UseAfterFree
	LostUpdate
)

// Properties lists the words of the bits of [Violations] in order.
var Properties = []string{"stale-read", "overwritten", "order-mismatch", "backwards", "use-after-free", "lost-update"}

// Words lists the properties in v.
func (v Violations) Words() []string {
	var ws []string
	for i, w := range Properties {
		if v>>i&1 != 0 {
			ws = append(ws, w)
		}
	}
	return ws
}

// Agent is who moves: "rank 0 queue gpu", without the rank if there is one only.
func (y *System) Agent(t Transition) string {
	if t.Kind == KindVisible {
		f := &y.fences[t.Agent]
		return y.prefix(f.rank) + "memory"
	}
	if t.Kind == KindKill {
		return y.prefix(y.agents[t.Agent].rank) + "watchdog"
	}
	return y.AgentName(t.Agent)
}

// AgentName is the name of agent a.
func (y *System) AgentName(a int32) string {
	return y.prefix(y.agents[a].rank) + y.agents[a].name
}

func (y *System) prefix(r int32) string {
	if len(y.ranks) == 1 {
		return ""
	}
	return fmt.Sprintf("rank %d ", r)
}

// Describe says what t does: "wait C 12", "start buffer 3", "update G 8 becomes visible".
func (y *System) Describe(t Transition) string {
	switch t.Kind {
	case KindStart, KindFinish, KindKill:
		return fmt.Sprintf("%s buffer %d of %s", t.Kind, t.Buffer, y.queueName(t.Agent))
	case KindVisible:
		f := &y.fences[t.Agent]
		p, side := &f.toCPU, "CPU"
		if t.CPU {
			p, side = &f.toGPU, "GPU"
		}
		x := y.storing(&p.stores[t.Cmd])
		return fmt.Sprintf("%s becomes visible to the %s", y.text(x), side)
	case KindStep:
		return y.StepText(int(y.agents[t.Agent].rank), int(t.Cmd))
	}
	x := y.cmdAt(t.Agent, t.Cmd)
	switch t.Kind {
	case KindTake:
		return "take a slot for " + y.text(x)
	case KindGiveUp:
		return "give up " + y.text(x)
	case KindRead:
		return "read for " + y.text(x)
	case KindArrive:
		return "arrive at " + y.text(x)
	case KindLeave:
		return "leave " + y.text(x)
	case KindTest:
		return "test for " + y.text(x)
	case KindSleep:
		return "fall asleep in " + y.text(x)
	case KindJoin:
		return y.text(x) + " meets " + y.AgentName(t.Peer)
	}
	return y.text(x)
}

// queueName names the queue of a queue's agent.
func (y *System) queueName(agent int32) string {
	a := &y.agents[agent]
	if a.kind == agentQueue {
		return y.queues[a.index].name
	}
	return a.name
}

func (y *System) text(x *Command) string {
	return y.source(x).Text(&y.Programs[y.agents[x.holder].rank].Names)
}

// StepText says what step i of rank r's main thread does.
func (y *System) StepText(r, i int) string {
	rk := &y.ranks[r]
	st := &rk.main[i]
	p := rk.program
	queue := func() string { return p.Queues[st.Target].Name }
	switch st.Kind {
	case model.StepEnqueue:
		return fmt.Sprintf("enqueue %s %d", p.Streams[st.Target].Name, st.N)
	case model.StepCommit:
		return "commit " + queue()
	case model.StepThrottle:
		return fmt.Sprintf("throttle %d", st.N)
	case model.StepSynchronize:
		if st.Queue {
			return "synchronize " + queue()
		}
		return "synchronize " + p.Streams[st.Target].Name
	case model.StepExit:
		return "exit"
	case model.StepEncode:
		return fmt.Sprintf("encode %s on %s", p.Names.Of(st.Array), queue())
	case model.StepUpdate:
		return fmt.Sprintf("encode update of %s on %s", p.Names.Of(st.Array), queue())
	case model.StepTask:
		name := p.Names.Of(st.Array)
		if name == "" {
			name = "the end"
		}
		return fmt.Sprintf("enqueue %s on %s", name, p.Streams[st.Target].Name)
	case model.StepFlush:
		return "commit what is open on " + queue()
	}
	return y.text(rk.command(int32(i)))
}
