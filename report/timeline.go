package report

import (
	"context"
	"slices"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Timeline is one run laid out over its steps: what pages, pictures and exports draw. Time
// is the number of steps made, so step k, counted from 0, lies between times k and k+1, and
// [Timeline.End] is the last time. Everything in it is read off the run; nothing is decided.
type Timeline struct {
	Lanes   []Lane
	Steps   []LaneStep
	Boxes   []Box
	Waits   []WaitSpan
	Flights []Flight
	Arrows  []Arrow
	Lines   []CounterLine
	At      []Standing // sorted by time; what an agent does until its next entry
	Enabled [][]Choice // by time: what is enabled; the last entry is of the last state
	Ranks   int
	Verdict string // of the last state, as in traces
	Final   bool
	Digest  string // of the last state
}

// A LaneKind is whose lane it is.
type LaneKind string

// The kinds of lanes, in the order in which they are drawn.
const (
	LaneMain     LaneKind = "main"
	LaneQueue    LaneKind = "queue"
	LaneStream   LaneKind = "stream"
	LaneHandler  LaneKind = "handler"
	LaneMemory   LaneKind = "memory"   // stores on their way
	LaneWatchdog LaneKind = "watchdog" // kills
)

// A Lane is the row of one agent, of a rank's memory or of its watchdog.
type Lane struct {
	Name string
	Kind LaneKind
	Rank int
	Rows int // boxes or flights that lie above each other at most
}

// A LaneStep is one step.
type LaneStep struct {
	Lane     int
	Kind     sim.Kind
	Op       model.Op // of a command that runs; OpNone otherwise
	Text     string   // without the arrays read and written
	Full     string   // as in traces
	Possible bool
	Choice   int
	Buffer   int // queues: the buffer; -1 otherwise
	Violated []string
}

// A Box is one command buffer. A time that has not come is -1.
type Box struct {
	Lane, Row, Buffer            int
	Committed, Started, Finished int
	Killed                       bool
}

// A WaitSpan is the time in which an agent stands at an unsatisfied wait. Open says that it
// stands there to the end.
type WaitSpan struct {
	Lane, Line int
	From, To   int
	Target     uint32
	GPU        bool // on the GPU's view
	Open       bool
	Text       string
}

// A Flight is a store on its way to the other side's view. To is -1 for one that does not
// arrive in this run.
type Flight struct {
	Lane, Row, Line int
	From, To        int // the store's step, the arrival's step
	Value           uint32
	Text            string
}

// An Arrow leads from the store that satisfied a wait to the step in which the wait passed.
// Without such a step (To is the end and Missing is set) the store has run and is not seen.
type Arrow struct {
	From, Via, To    int // steps; Via is the arrival, -1 without one
	FromLane, ToLane int
	Line             int
	Missing          bool
}

// A CounterLine is one fence, or an event (which has one view). Values hold from the time at
// which they stand to the next.
type CounterLine struct {
	Name                string
	Rank                int
	Event               bool
	Scheduled, GPU, CPU []Point
	Most                uint32 // the largest value drawn; released is left out
}

// A Point is a value from a time on.
type Point struct {
	Time  int
	Value uint32
}

// Value is the value of points at a time.
func Value(points []Point, time int) uint32 {
	i, found := slices.BinarySearchFunc(points, time, func(p Point, t int) int { return p.Time - t })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return points[i].Value
}

// A Standing is what an agent does from a time on.
type Standing struct {
	Time, Lane int
	At, Needs  string // "" for an agent with nothing to do
}

// A Choice is one enabled transition.
type Choice struct {
	Lane     int
	Text     string
	Possible bool
}

// End is the time after the last step.
func (t *Timeline) End() int { return len(t.Steps) }

// maxSteps bounds the length of a run that is laid out.
const maxSteps = 1 << 20

// NewTimeline lays out the run that choices describe; a choice out of range ends it, and so
// does ctx.
func NewTimeline(ctx context.Context, y *sim.System, choices []int) *Timeline {
	b := newTimelineBuilder(y)
	b.standing(0)
	for _, c := range choices {
		if ctx.Err() != nil || c < 0 || c >= len(b.enabled) || len(b.t.Steps) == maxSteps {
			break
		}
		b.step(c)
	}
	return b.done()
}
