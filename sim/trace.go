package sim

import (
	"encoding/json"
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// A Trace is one run as a file that replays by itself. The scenario in it is complete:
// discipline, machine and ranks are those of the run.
type Trace struct {
	Version  int             `json:"fencesim"`
	Scenario json.RawMessage `json:"scenario"`
	Strategy string          `json:"strategy"`
	Seed     uint64          `json:"seed"`
	// Rank is the rank that ran alone (its collectives passed when reached), or -1 when
	// all ranks ran together.
	Rank    int         `json:"rank"`
	Steps   []TraceStep `json:"transitions"`
	Verdict string      `json:"verdict"`
	Digest  string      `json:"digest"` // of the last state
}

// A TraceStep is one transition: its index among the enabled ones, and its words.
type TraceStep struct {
	Choice     int    `json:"choice"`
	Agent      string `json:"agent"`
	Transition string `json:"transition"`
	Guaranteed bool   `json:"guaranteed"`
}

// NewTrace records the run that choices describe. The verdict is read off its last state.
func NewTrace(y *System, scenario json.RawMessage, strategy string, seed uint64, rank int, choices []int) *Trace {
	t := &Trace{Version: model.FormatVersion, Scenario: scenario, Strategy: strategy, Seed: seed, Rank: rank, Steps: []TraceStep{}}
	m := NewMenu(y)
	var violated Violations
	for _, c := range choices {
		tr := m.At(c)
		t.Steps = append(t.Steps, TraceStep{c, y.Agent(tr), y.Describe(tr), !tr.Possible})
		violated |= m.Take(tr)
	}
	t.Verdict = y.Verdict(m.State(), violated)
	t.Digest = y.Digest(m.State())
	return t
}

// Verdict is "hang" for a stuck state, else "violation" if something was violated on the
// way, else "ok" for a final state and "unfinished" for any other.
func (y *System) Verdict(s State, violated Violations) string {
	switch {
	case y.Stuck(s):
		return "hang"
	case violated != 0:
		return "violation"
	case y.Final(s):
		return "ok"
	}
	return "unfinished"
}

// A Divergence is the first step at which a trace is not a run of a system.
type Divergence struct {
	Step int // counts from 1; one more than the steps for a last state that differs
	Want string
	Have string
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("step %d: the trace has %q, the schedule has %s", d.Step, d.Want, d.Have)
}

// Replay runs t on y, calling each (if not nil) before every step, and returns the run.
// The error is a *Divergence if t is not a run of y.
func (t *Trace) Replay(y *System, each func(s State, enabled []Transition, choice int)) (Run, error) {
	m := NewMenu(y)
	r := Run{Last: m.State()}
	var buf []Transition
	for i, step := range t.Steps {
		want := step.Agent + ": " + step.Transition
		if n := m.Len(); step.Choice < 0 || step.Choice >= n {
			return r, &Divergence{i + 1, want, fmt.Sprintf("only %d enabled transitions", n)}
		}
		tr := m.At(step.Choice)
		if have := y.Agent(tr) + ": " + y.Describe(tr); have != want {
			return r, &Divergence{i + 1, want, fmt.Sprintf("%q there", have)}
		}
		if step.Guaranteed == tr.Possible {
			return r, &Divergence{i + 1, want, "it, but not with that guarantee"}
		}
		if each != nil {
			buf = y.Enabled(r.Last, buf[:0])
			each(r.Last, buf, step.Choice)
		}
		r.Choices = append(r.Choices, step.Choice)
		r.Violated |= m.Take(tr)
	}
	r.Stuck, r.Final = y.Stuck(r.Last), y.Final(r.Last)
	if d := y.Digest(r.Last); d != t.Digest {
		return r, &Divergence{len(t.Steps) + 1, "last state " + t.Digest, "last state " + d}
	}
	return r, nil
}
