package check

import (
	"encoding/json"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Verdict is the outcome for a scenario. The zero value is inconclusive.
type Verdict uint8

// The verdicts; of several, hang wins.
const (
	Inconclusive Verdict = iota // none violated, some unknown
	OK                          // every property holds
	Violation                   // some property but hang is violated
	Hang
)

var verdictWords = [...]string{"inconclusive", "ok", "violation", "hang"}

// String is the verdict's word in results.
func (v Verdict) String() string { return verdictWords[v] }

// MarshalText is String as bytes.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word back; an unknown one is inconclusive.
func (v *Verdict) UnmarshalText(b []byte) error {
	*v = Inconclusive
	for i, w := range verdictWords {
		if w == string(b) {
			*v = Verdict(i)
		}
	}
	return nil
}

// A Proof is how a verdict or a property is known. The zero value is none. A larger one is
// stronger.
type Proof uint8

// The proofs.
const (
	NoProof     Proof = iota
	Sampled           // some runs, no proof of an ok
	Exhaustive        // all states that the reductions leave
	Certificate       // a linear check that covers all runs
	OneRun            // one run stands for all
)

var proofWords = [...]string{"none", "sampled", "exhaustive", "certificate", "one-run"}

// String is the proof's word in results.
func (p Proof) String() string { return proofWords[p] }

// MarshalText is String as bytes.
func (p Proof) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the word back; an unknown one is none.
func (p *Proof) UnmarshalText(b []byte) error {
	*p = NoProof
	for i, w := range proofWords {
		if w == string(b) {
			*p = Proof(i)
		}
	}
	return nil
}

// Properties lists every property in the order of results.
var Properties = []string{"hang", "stale-read", "overwritten", "order-mismatch", "backwards", "use-after-free", "orphan", "lost-update"}

// A Status is what is known of one property. The zero value is unknown.
type Status uint8

// The statuses.
const (
	Unknown Status = iota
	Holds
	Violated
)

var statusWords = [...]string{"unknown", "holds", "violated"}

// String is the status's word in results.
func (s Status) String() string { return statusWords[s] }

// MarshalText is String as bytes.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word back.
func (s *Status) UnmarshalText(b []byte) error {
	*s = Unknown
	for i, w := range statusWords {
		if w == string(b) {
			*s = Status(i)
		}
	}
	return nil
}

// A Result is the outcome of [Explore]; its JSON form is formats section 3.
type Result struct {
	Version     int               `json:"fencesim"`
	Scenario    string            `json:"scenario"`
	Discipline  string            `json:"discipline"` // "" for explicit schedules
	Ranks       int               `json:"ranks"`
	Machine     model.Machine     `json:"machine"`
	Verdict     Verdict           `json:"verdict"`
	Proof       Proof             `json:"proof"`
	Reason      string            `json:"reason"`
	Properties  map[string]Status `json:"properties"`
	Proofs      map[string]Proof  `json:"proofs"`
	Slack       *int              `json:"slack"`           // greatest lag that the certificate covers
	Bound       string            `json:"bound,omitempty"` // the bound that ended an inconclusive search
	States      int64             `json:"states"`
	Transitions int64             `json:"transitions"`
	Runs        int64             `json:"runs"`
	StuckStates int64             `json:"stuck_states"`
	Collision   float64           `json:"collision,omitempty"` // bound on the chance that hashing dropped a state
	Miss        string            `json:"miss,omitempty"`      // a sampled ok: bound on the chance of having missed a bug
	Coverage    *Coverage         `json:"coverage,omitempty"`  // of a sample
	Stuck       []Stuck           `json:"stuck"`
	Violations  []Found           `json:"violations,omitempty"`
	Shrunk      *Shrunk           `json:"shrunk"` // nil if nothing was
	Advice      []Advice          `json:"advice"`
	Reductions  []string          `json:"reductions"`
	Expect      string            `json:"expect"` // met, missed, none
	Seed        uint64            `json:"seed"`
	Elapsed     float64           `json:"elapsed_s"`
	Replay      string            `json:"replay"`

	// Source is the scenario as decided, complete: discipline, machine and ranks of the run.
	Source json.RawMessage `json:"source,omitempty"`
}

// A Stuck is a reachable stuck state that stands for all with its counters.
type Stuck struct {
	Counters model.Counters `json:"counters"`
	Ranks    []StuckRank    `json:"ranks"`
	Cause    string         `json:"cause"`
	Cycle    []string       `json:"cycle"`
	// Possible is how many merely possible arrivals the trace takes.
	Possible int        `json:"possible_arrivals"`
	Steps    int        `json:"steps"`
	Trace    *sim.Trace `json:"trace_data,omitempty"` // the first entry has it
	File     string     `json:"trace,omitempty"`

	path  path
	unit  *unit
	alone int    // the rank that ran alone, or -1
	kind  string // of the waits in Cycle
}

// A StuckRank is one rank in a stuck state.
type StuckRank struct {
	Rank    int              `json:"rank"`
	Fences  []sim.FenceState `json:"fences"`
	Blocked []sim.Blocked    `json:"blocked"`
}

// A Found is a violation other than a hang: the first step that violates the property.
type Found struct {
	Property string     `json:"property"`
	Where    string     `json:"where"` // agent and transition
	Steps    int        `json:"steps"`
	Trace    *sim.Trace `json:"trace_data,omitempty"`
	File     string     `json:"trace,omitempty"`

	path  path
	unit  *unit
	alone int
}

// A Shrunk is a smaller scenario that fails for the same reason.
type Shrunk struct {
	Scenario json.RawMessage `json:"scenario"`
	Machine  model.Machine   `json:"machine"`
	Trace    *sim.Trace      `json:"trace_data,omitempty"`
	Removed  []string        `json:"removed,omitempty"` // what was taken away, in words
}

// An Advice is a hint that is never a failure.
type Advice struct {
	Rule  string `json:"rule"`
	Where string `json:"where"`
	Needs string `json:"needs"`
}

// FirstTrace is the trace of the first stuck state that has one, else of the first
// violation; nil if there is none. It is what a replay command replays.
func (r *Result) FirstTrace() *sim.Trace {
	for _, s := range r.Stuck {
		if s.Trace != nil {
			return s.Trace
		}
	}
	for _, f := range r.Violations {
		if f.Trace != nil {
			return f.Trace
		}
	}
	return nil
}
