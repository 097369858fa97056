package model

import "math"

// A Schedule is the program of one rank after encoding: what its queues, CPU streams and
// main thread do. Names of arrays, fences, events and groups are interned in Names.
type Schedule struct {
	Names   Names
	Fences  []Fence
	Inputs  []Sym // arrays written and visible at the start
	Queues  []Queue
	Streams []Stream
	Main    []Step
	// FromGraph says that buffer ends are chosen at run time by the size rule and the
	// throttle, which then commits every open buffer before it blocks.
	FromGraph bool
}

// A Fence is a counter in shared memory with a view for each side.
type Fence struct {
	Name    Sym
	Initial uint32
	Store   string // the GPU's store rule for this fence; "" is the machine's
}

// A Queue is one command queue. Buffer i of a queue with fixed ends is
// Commands[Ends[i-1]:Ends[i]]. When buffer ends depend on the run (FromGraph), Ends is nil
// and Forced says where the size rule cuts.
type Queue struct {
	Name     string
	Commands []Command
	Ends     []int
	OnFinish map[int][]Command // completion handlers by buffer
	// Forced[s] is the least number e of encoded commands such that an open buffer that
	// starts at command s is committed by the size rule once e commands are encoded;
	// NeverForced if none. It has len(Commands)+1 entries and does not decrease.
	Forced []int32
	// Section[s] is, under concurrent dispatch, the first command behind s that needs a
	// barrier before it in a section that starts at s, for it reads or overwrites what the
	// section wrote, overwrites what it read, or uses the array of a wait; NeverForced if
	// none. Only with run-time ends: an explicit schedule has the barriers that it names.
	Section []int32
	// FirstUse is the index of the main step that opens the queue.
	FirstUse int
}

// NeverForced marks a start from which the size rule never cuts.
const NeverForced = math.MaxInt32

// Buffer returns the commands of buffer i of a queue with fixed ends.
func (q *Queue) Buffer(i int) []Command {
	start := 0
	if i > 0 {
		start = q.Ends[i-1]
	}
	return q.Commands[start:q.Ends[i]]
}

// A Stream is one CPU stream: a thread that runs its tasks first in, first out.
// Counted[i] is how many active tasks end when task i has run (nil: none).
type Stream struct {
	Name    string
	Tasks   []Command
	Counted []uint8
}

// ActiveTasks returns, for each number of tasks from 0 to all of them, how many active tasks
// those first ones are.
func (s *Stream) ActiveTasks() []uint32 {
	out := make([]uint32, len(s.Tasks)+1)
	for i := range s.Tasks {
		out[i+1] = out[i]
		if s.Counted != nil {
			out[i+1] += uint32(s.Counted[i])
		}
	}
	return out
}

// StepKind is what a step of the main thread does.
type StepKind uint8

// The steps. The first five stand in files; the rest come from lowering a graph.
const (
	StepEnqueue     StepKind = iota // hand N further tasks to stream Target
	StepCommit                      // commit the next buffer of queue Target
	StepThrottle                    // wait while more than N tasks are active
	StepSynchronize                 // wait until queue or stream Target has done all it was given
	StepExit                        // end the process: main thread and CPU streams stop
	StepCommand                     // run Command as the main thread
	StepEncode                      // append commands up to N to the open buffer of queue Target; commit by the size rule
	StepUpdate                      // append the update up to N to the open buffer of queue Target
	StepTask                        // hand tasks up to N to stream Target
	StepFlush                       // commit the open buffer of queue Target, even if it is empty
)

// A Step is one transition of the main thread, or several when it blocks in between.
type Step struct {
	Kind    StepKind
	Queue   bool // synchronize: Target is a queue
	Target  int32
	N       int32
	Array   Sym // encode, update, task: the array of the tape entry; NoSym otherwise
	Command *Command
}

// Steps is what the main thread does: Main, or if that is nil in an explicit schedule,
// enqueue all tasks of every stream that has any, then commit all buffers of the first
// queue, then of the second, and so on.
func (s *Schedule) Steps() []Step {
	if s.Main != nil || s.FromGraph {
		return s.Main
	}
	steps := []Step{}
	for i := range s.Streams {
		if n := len(s.Streams[i].Tasks); n > 0 {
			steps = append(steps, Step{Kind: StepEnqueue, Target: int32(i), N: int32(n), Array: NoSym})
		}
	}
	for i := range s.Queues {
		for range s.Queues[i].Ends {
			steps = append(steps, Step{Kind: StepCommit, Queue: true, Target: int32(i), Array: NoSym})
		}
	}
	return steps
}
