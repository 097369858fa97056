package model

import "fmt"

// FormatVersion is the version of the scenario file, the result and the trace.
const FormatVersion = 1

// A Scenario is what a file says, defaults not filled in. Exactly one of Generate, Graph
// and Schedule is set. [Parse] reads and validates one; a Scenario built by hand goes
// through [Scenario.Validate].
type Scenario struct {
	Version       int                   `json:"fencesim"`                 // version of the format: 1
	Name          string                `json:"name,omitempty"`           // name in lists and reports
	About         string                `json:"about,omitempty"`          // one paragraph for people
	Sources       []string              `json:"sources,omitempty"`        // issues, papers and code that it is taken from
	Ranks         int                   `json:"ranks,omitempty"`          // how many ranks run; 1 if absent
	RankSchedules map[int]*ScheduleFile `json:"rank_schedules,omitempty"` // explicit schedules of single ranks, by rank
	Generate      *Generate             `json:"generate,omitempty"`       // a rule that makes a graph
	Graph         *GraphFile            `json:"graph,omitempty"`          // arrays and the operations that make them
	Evals         []EvalFile            `json:"evals,omitempty"`          // several evals of a graph; one of its outputs if absent
	Schedule      *ScheduleFile         `json:"schedule,omitempty"`       // an explicit schedule
	Discipline    *Discipline           `json:"discipline,omitempty"`     // the rule that gives a wait its target; count if absent
	Evaluator     Evaluator             `json:"evaluator,omitzero"`       // limits of the evaluator of graphs
	Machine       Machine               `json:"machine,omitzero"`         // assumptions about hardware and runtime
	Expect        []Expectation         `json:"expect,omitempty"`         // what runs must give

	filed *Filed
}

// Limits of a scenario (formats section 1).
const (
	MaxFileBytes  = 64 << 20
	MaxOperations = 16 << 20 // after expansion, over all ranks' distinct schedules
	MaxRanks      = 1 << 16
	MaxElements   = 1 << 38 // of one array, so that sums over all arrays stay within 64 bits
)

// A Map is a mapping of a file that keeps its order; the zero value is empty.
type Map[T any] []Entry[T]

// An Entry is one key of a Map with its value.
type Entry[T any] struct {
	Name  string
	Value T
}

// A GraphFile is the `graph` section: streams, inputs, nodes and outputs by name.
type GraphFile struct {
	Streams Map[StreamFile] `json:"streams,omitempty"` // streams by name; gpu and cpu if absent
	Inputs  Map[int64]      `json:"inputs,omitempty"`  // evaluated arrays with their elements
	Nodes   []NodeFile      `json:"nodes,omitempty"`   // operations, each of which makes the array of its name
	Outputs []string        `json:"outputs,omitempty"` // arrays to evaluate; their order fixes the tape
}

// A StreamFile is one stream of a graph: On is "gpu" or "cpu".
type StreamFile struct {
	On string `json:"on"` // gpu or cpu
}

// A NodeFile is one operation of a graph. Op is all_reduce, all_gather, sum_scatter
// (collectives), send, recv (with Peer), or any other word (a kernel).
type NodeFile struct {
	Name   string   `json:"name"`                         // the array that it makes
	Op     string   `json:"op"`                           // all_reduce, all_gather, sum_scatter, send, recv, or the word of a kernel
	Stream string   `json:"stream,omitempty"`             // the stream that runs it; if absent the first on the gpu, for collectives, send and recv the first on the cpu
	In     []string `json:"in,omitempty"`                 // arrays that it reads
	Elems  int64    `json:"elems,omitempty"`              // elements of the array that it makes
	Peer   string   `json:"peer,omitempty" file:"number"` // send and recv: a rank, next or prev
}

// An EvalFile is one eval of a graph: Mode is sync or async.
type EvalFile struct {
	Outputs []string `json:"outputs"`        // arrays to evaluate
	Mode    string   `json:"mode,omitempty"` // sync (the default) waits for the outputs, async does not
}

// A ScheduleFile is the `schedule` section: an explicit schedule as text.
type ScheduleFile struct {
	Fences  Map[FenceFile] `json:"fences,omitzero"`   // fences by name; once present, undeclared ones are errors
	Inputs  []string       `json:"inputs,omitempty"`  // arrays written at the start
	Queues  []QueueFile    `json:"queues,omitempty"`  // command queues
	Streams []TaskFile     `json:"streams,omitempty"` // CPU streams
	Main    []string       `json:"main,omitzero"`     // steps of the main thread; if absent it enqueues all tasks, then commits all buffers
}

// A FenceFile declares a fence. CopyOf names a fence of which it is a copy with a counter
// of its own, which starts at the original's initial value unless Initial says otherwise.
type FenceFile struct {
	Initial *int64 `json:"initial,omitempty"` // value at the start in both views
	Store   string `json:"store,omitempty"`   // the GPU's store rule for this fence
	CopyOf  string `json:"copy_of,omitempty"` // the fence of which it is a copy
}

// A QueueFile is one command queue with its buffers in order.
type QueueFile struct {
	Name    string       `json:"name"`              // queues and streams share one name space
	Buffers []BufferFile `json:"buffers,omitempty"` // command buffers in order
}

// A BufferFile is one command buffer. In files a list of commands stands for a buffer
// without a completion handler.
type BufferFile struct {
	Commands []string `json:"commands,omitempty"`  // commands in order
	OnFinish []string `json:"on_finish,omitempty"` // completion handler: commands that the CPU runs when the buffer has finished
}

// A TaskFile is one CPU stream with its tasks in order.
type TaskFile struct {
	Name  string   `json:"name"`            // queues and streams share one name space
	Tasks []string `json:"tasks,omitempty"` // commands in order
}

// An Expectation is what a run of the scenario must give. Absent Discipline and Machine
// are the file's.
type Expectation struct {
	Discipline *Discipline `json:"discipline,omitempty"` // the file's if absent
	Machine    *Machine    `json:"machine,omitempty"`    // the file's if absent
	Ranks      int         `json:"ranks,omitempty"`      // the file's if absent
	Verdict    string      `json:"verdict"`              // what the run gives
	Property   string      `json:"property,omitempty"`   // violation: the property that must be violated
	Counters   *Counters   `json:"counters,omitempty"`   // of some reachable stuck state
	Always     bool        `json:"always,omitempty"`     // no run finishes
}

// Counters are the three numbers that a debugger shows on a stuck rank: updates scheduled
// of the first queue's fence, that fence as the CPU sees it, and the first CPU stream's
// fence as the GPU sees it.
type Counters struct {
	Scheduled uint32 `json:"scheduled"` // updates scheduled of the first queue's fence
	GPU       uint32 `json:"gpu"`       // that fence as the CPU sees it
	CPU       uint32 `json:"cpu"`       // the first CPU stream's fence as the GPU sees it
}

// String is "(scheduled 12, gpu 8, cpu 0)".
func (c Counters) String() string {
	return fmt.Sprintf("(scheduled %d, gpu %d, cpu %d)", c.Scheduled, c.GPU, c.CPU)
}

// Effective is the discipline in force: the file's, or count. Explicit schedules have none.
func (s *Scenario) Effective() Discipline {
	if s.Discipline == nil {
		return Count
	}
	return *s.Discipline
}

// Explicit reports whether the scenario is an explicit schedule.
func (s *Scenario) Explicit() bool { return s.Schedule != nil }

// NumRanks is the number of ranks, 1 if the file names none.
func (s *Scenario) NumRanks() int { return max(1, s.Ranks) }

// A Filed is what a scenario's file said of discipline and machine, whatever a command
// replaced since: expectations with neither are about these.
type Filed struct {
	Discipline string // "" for explicit schedules
	Machine    Machine
}

// Filed returns what the file said: of a scenario that was not parsed, its present values.
func (s *Scenario) Filed() Filed {
	if s.filed != nil {
		return *s.filed
	}
	f := Filed{Machine: s.Machine.Normal()}
	if !s.Explicit() {
		f.Discipline = s.Effective().String()
	}
	return f
}

// Freeze keeps what [Scenario.Filed] returns now; [Parse] calls it.
func (s *Scenario) Freeze() {
	f := s.Filed()
	s.filed = &f
}
