package sim

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// A System is a schedule per rank on a machine, compiled: tables of commands and the
// layout of a state. It never changes after [Compile], so that any number of goroutines
// may use one.
type System struct {
	Programs []*model.Schedule // by rank
	Machine  model.Machine     // defaults filled in

	m        params
	words    int
	ranks    []rank
	queues   []queue
	streams  []stream
	handlers []handler
	fences   []fence
	arrays   []array
	visible  []coherence // by array; empty under payload ignored
	events   []event
	groups   []group
	pairs    []pair
	agents   []agent
	reads    []Read  // of all commands
	writes   []Write // of all commands
	ords     []field
	mortal   []int32   // fences that some command frees
	mourners []int32   // agents that wait for one of them or park on it
	sleepers [][]int32 // by fence: agents that park on it; nil if none parks
	fencesOf [][]int32 // by rank
	storers  [][]int32 // by rank: other ranks that store to its fences
	whole    []int32   // only of a Walk: by the first part of a group, how often all parts have arrived
	starts   []int32   // first word of each rank, and the end
	initial  State
}

// params is the machine in the form in which transitions test it.
type params struct {
	overlap, concurrent, exclusive, coherent, ignoreAfterKill bool
	tracking                                                  uint8 // trackNone, trackArrays, trackAll
	lookAhead, slots, inFlight, memory                        int32
	spinLimit                                                 bool
	watchdog                                                  uint8
	toCPU                                                     uint8
	lag                                                       int32
	toGPUUnreliable                                           bool
	buffered                                                  int32
}

const (
	trackAll = iota
	trackArrays
	trackNone
)

const (
	dogOff = iota
	dogMay
	dogMust
	dogAny
)

const (
	visImmediate = iota
	visLag
	visUnordered
	visUnreliable
)

const (
	storePlain = iota
	storeGuarded
	storeMax
)

func indexOf(values []string, v string) uint8 {
	for i, w := range values {
		if v == w {
			return uint8(i)
		}
	}
	panic(fmt.Sprintf("sim: machine value %q", v))
}

func compileMachine(m model.Machine) params {
	return params{
		overlap: m.Buffers == model.Overlap, concurrent: m.Dispatch == model.Concurrent,
		exclusive: m.Device == model.Exclusive, coherent: m.Payload == model.PayloadCoherent,
		ignoreAfterKill: m.AfterKill == model.Ignore,
		tracking:        indexOf([]string{model.TrackAll, model.TrackArrays, model.TrackNone}, m.Tracking),
		lookAhead:       int32(m.LookAhead), slots: int32(m.Slots), inFlight: int32(m.InFlight), memory: int32(m.Memory),
		spinLimit: m.SpinLimit > 0,
		watchdog:  indexOf([]string{model.WatchdogOff, model.WatchdogMay, model.WatchdogMust, model.WatchdogAny}, m.Watchdog),
		toCPU:     indexOf([]string{model.VisImmediate, model.VisLag, model.VisUnordered, model.VisUnreliable}, m.GPUToCPU.Mode),
		lag:       int32(m.GPUToCPU.Buffers), toGPUUnreliable: m.CPUToGPU.Mode == model.VisUnreliable,
		buffered: int32(m.Transport.Buffered),
	}
}

// agentKind tells what an agent is.
type agentKind uint8

const (
	agentMain agentKind = iota
	agentQueue
	agentStream
	agentHandler
)

// An agent runs commands: a main thread, a queue, a CPU stream, a completion handler.
type agent struct {
	kind  agentKind
	rank  int32
	index int32 // into ranks, queues, streams or handlers
	name  string
	cmds  []Command
}

type rank struct {
	program  *model.Schedule
	main     []model.Step
	cmds     []Command // of the main thread, by step; empty if none is one
	agent    int32
	at       field // index of the main thread's step
	phase    field // of a command, or of a step that blocks in its middle
	blocked  field // throttle: block until fewer are active than this; 0 not blocked
	dead     field // the process has ended
	ignored  field // no buffer starts any more
	used     field // slots held
	memory   field // units taken
	overflow field // a queue had more unfinished buffers than slots

	queues, streams, handlers span // into the system's tables
	gpuFence, cpuFence        int32
	lastThrottle              int32              // index of the last throttle step, -1 without
	late                      map[int32][]uint32 // fence: updates scheduled before each main step
}

type span struct{ lo, hi int32 }

type queue struct {
	rank, agent  int32
	name         string
	cmds         []Command
	fixed        bool    // ends are fixed
	ends         []int32 // fixed ends
	forced       []int32
	section      []int32
	firstUse     int32
	encoded      []int32 // not fixed: commands encoded before each main step
	com, fin     field   // committed buffers; finished buffers without a gap
	started      field   // in order: buffer fin has started
	pc, phase    field   // in order: position and phase in buffer fin
	open, base   field   // not fixed: start of the open buffer, of the oldest unfinished one
	slots        []slot  // overlap or not fixed: per buffer, modulo their number
	phases       []field // concurrent: per command
	scheduledMax []uint32
	kinds        opSet
	behind       [][]int32 // overlap: what each command is kept behind
}

// slot is the state of one unfinished buffer.
type slot struct {
	end, counted field // not fixed
	status       field // overlap: 0 waiting, 1 started, 2 finished
	pc, phase    field // overlap
}

const (
	bufferWaiting = iota
	bufferStarted
	bufferFinished
)

type stream struct {
	rank, agent int32
	name        string
	cmds        []Command
	counted     []uint32 // counted tasks before task i
	enq, pc     field
	phase       field
}

type handler struct {
	rank, agent, queue, buffer int32
	cmds                       []Command
	pc, phase                  field
}

type fence struct {
	rank     int32
	name     string
	gpu, cpu field // the two views; the same field where they cannot differ
	freed    field
	toCPU    pending
	toGPU    pending
	initial  uint32
}

// pending is the stores of one fence on their way to one side.
type pending struct {
	active  bool
	ordered bool // oldest first
	fifo    bool // the order of execution is not known before: slots hold store+1
	members set  // otherwise: one bit per store, in order of execution if ordered
	slots   []field
	stores  []storeRef
}

// storeRef is one command that stores to a fence.
type storeRef struct {
	queue  int32 // issuing queue, -1 for the CPU
	agent  int32
	index  int32 // of the command
	buffer int32 // fixed ends: issuing buffer
	issued field // ends chosen at run time: issuing buffer, absolute
}

type array struct {
	rank    int32
	name    model.Sym
	version field
}

// coherence is what payload coherent keeps of an array.
type coherence struct {
	visible field
	writer  field // the GPU write that is the last, counting from 1; 0 none
}

type event struct {
	rank  int32
	name  string
	value field
}

// group is one rank's part of a collective group.
type group struct {
	rank    int32
	name    string
	peers   []int32 // the group of every rank, -1 where a rank has none; one list for all parts
	first   int32   // the part of the lowest rank that has one
	lone    bool    // some rank has none: nobody leaves
	agree   bool    // every part has the same fixed names, so that none can mismatch
	arrived field
	fixed   []model.Sym // names by ordinal, where the order is known
	names   []field     // otherwise: name+1 by ordinal
}

// pair is the buffer between one sender and one receiver.
type pair struct {
	from, to int32
	count    field
	slots    []field // name+1
}

type opSet uint32

func (s opSet) has(op model.Op) bool { return s>>op&1 != 0 }

// Ranks is the number of ranks.
func (y *System) Ranks() int { return len(y.ranks) }

// Words is the length of a state in words of 64 bits.
func (y *System) Words() int { return y.words }

// RankWords is the range of words that hold the state of rank r.
func (y *System) RankWords(r int) (lo, hi int) {
	return int(y.starts[r]), int(y.starts[r+1])
}

// Initial returns a new copy of the initial state.
func (y *System) Initial() State { return y.initial.Clone() }
