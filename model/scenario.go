package model

import "fmt"

// FormatVersion is the version of the scenario file, the result and the trace.
const FormatVersion = 1

// A Scenario is what a file says, defaults not filled in. Exactly one of Generate, Graph
// and Schedule is set. [Parse] reads and validates one; a Scenario built by hand goes
// through [Scenario.Validate].
type Scenario struct {
	Version       int                   `json:"fencesim"`
	Name          string                `json:"name,omitempty"`
	About         string                `json:"about,omitempty"`
	Sources       []string              `json:"sources,omitempty"`
	Ranks         int                   `json:"ranks,omitempty"`
	RankSchedules map[int]*ScheduleFile `json:"rank_schedules,omitempty"`
	Generate      *Generate             `json:"generate,omitempty"`
	Graph         *GraphFile            `json:"graph,omitempty"`
	Evals         []EvalFile            `json:"evals,omitempty"`
	Schedule      *ScheduleFile         `json:"schedule,omitempty"`
	Discipline    *Discipline           `json:"discipline,omitempty"`
	Evaluator     Evaluator             `json:"evaluator,omitzero"`
	Machine       Machine               `json:"machine,omitzero"`
	Expect        []Expectation         `json:"expect,omitempty"`
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
	Streams Map[StreamFile] `json:"streams,omitempty"`
	Inputs  Map[int64]      `json:"inputs,omitempty"`
	Nodes   []NodeFile      `json:"nodes,omitempty"`
	Outputs []string        `json:"outputs,omitempty"`
}

// A StreamFile is one stream of a graph: On is "gpu" or "cpu".
type StreamFile struct {
	On string `json:"on"`
}

// A NodeFile is one operation of a graph. Op is all_reduce, all_gather, sum_scatter
// (collectives), send, recv (with Peer), or any other word (a kernel).
type NodeFile struct {
	Name   string   `json:"name"`
	Op     string   `json:"op"`
	Stream string   `json:"stream,omitempty"`
	In     []string `json:"in,omitempty"`
	Elems  int64    `json:"elems,omitempty"`
	Peer   string   `json:"peer,omitempty" file:"number"`
}

// An EvalFile is one eval of a graph: Mode is sync or async.
type EvalFile struct {
	Outputs []string `json:"outputs"`
	Mode    string   `json:"mode,omitempty"`
}

// A ScheduleFile is the `schedule` section: an explicit schedule as text.
type ScheduleFile struct {
	Fences  Map[FenceFile] `json:"fences,omitempty"`
	Inputs  []string       `json:"inputs,omitempty"`
	Queues  []QueueFile    `json:"queues,omitempty"`
	Streams []TaskFile     `json:"streams,omitempty"`
	Main    []string       `json:"main,omitempty"`
}

// A FenceFile declares a fence. CopyOf names a fence of which it is a copy with a counter
// of its own, which starts at the original's initial value unless Initial says otherwise.
type FenceFile struct {
	Initial *int64 `json:"initial,omitempty"`
	Store   string `json:"store,omitempty"`
	CopyOf  string `json:"copy_of,omitempty"`
}

// A QueueFile is one command queue with its buffers in order.
type QueueFile struct {
	Name    string       `json:"name"`
	Buffers []BufferFile `json:"buffers,omitempty"`
}

// A BufferFile is one command buffer. In files a list of commands stands for a buffer
// without a completion handler.
type BufferFile struct {
	Commands []string `json:"commands,omitempty"`
	OnFinish []string `json:"on_finish,omitempty"`
}

// A TaskFile is one CPU stream with its tasks in order.
type TaskFile struct {
	Name  string   `json:"name"`
	Tasks []string `json:"tasks,omitempty"`
}

// An Expectation is what a run of the scenario must give. Absent Discipline and Machine
// are the file's.
type Expectation struct {
	Discipline *Discipline `json:"discipline,omitempty"`
	Machine    *Machine    `json:"machine,omitempty"`
	Ranks      int         `json:"ranks,omitempty"`
	Verdict    string      `json:"verdict"`
	Property   string      `json:"property,omitempty"` // violation: the property that must be violated
	Counters   *Counters   `json:"counters,omitempty"`
	Always     bool        `json:"always,omitempty"`
}

// Counters are the three numbers that a debugger shows on a stuck rank: updates scheduled
// of the first queue's fence, that fence as the CPU sees it, and the first CPU stream's
// fence as the GPU sees it.
type Counters struct {
	Scheduled uint32 `json:"scheduled"`
	GPU       uint32 `json:"gpu"`
	CPU       uint32 `json:"cpu"`
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
