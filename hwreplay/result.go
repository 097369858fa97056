package hwreplay

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/fencesim/fencesim/model"
)

// The verdicts of a replay.
const (
	VerdictFinished = "finished" // every rank did all it was given
	VerdictHung     = "hung"     // nothing moved for the patience; the waits were released
	VerdictDiverged = "diverged" // a trace was imposed and the run ended otherwise than it

	// VerdictInterrupted is of a replay that was interrupted before any run had ended.
	VerdictInterrupted = "interrupted"
)

// A Result is what [Replay] gives; its JSON form is formats section 5. What is said of one
// run (fences, recording, counters) is of the first that was outside the model, else of the
// first that decided the verdict: the first that hung, else the first.
type Result struct {
	Version    int     `json:"fencesim"`
	Scenario   string  `json:"scenario,omitempty"`
	Discipline string  `json:"discipline,omitempty"`
	Ranks      int     `json:"ranks"`
	Machine    Machine `json:"machine"` // imposed
	Info
	Verdict   string          `json:"verdict"`
	Released  bool            `json:"released"` // every run came back
	Usable    bool            `json:"usable"`   // the device worked afterwards
	Threads   int             `json:"threads"`
	Counters  model.Counters  `json:"counters"`
	Fences    []FenceCounters `json:"fences"`
	Recording []Step          `json:"recording"`
	Clock     []ClockOffset   `json:"clock"` // by rank
	Model     Agreement       `json:"model"` // outside if any run was
	Reason    string          `json:"reason,omitempty"`
	Violated  []string        `json:"violated,omitempty"` // properties violated on the way
	Runs      int             `json:"runs"`
	// Interrupted says that fewer runs were made than asked for.
	Interrupted bool    `json:"interrupted,omitempty"`
	Histogram   []Bin   `json:"histogram"`
	Seed        uint64  `json:"seed"`
	Elapsed     float64 `json:"elapsed_s"`
}

// ClockOffset is the device's clock minus the run's, as measured, and within what.
type ClockOffset struct {
	Rank   int   `json:"rank"`
	Offset int64 `json:"offset_ns"`
	Within int64 `json:"within_ns"`
}

// A Bin is how many runs ended alike.
type Bin struct {
	Verdict  string         `json:"verdict"`
	Counters model.Counters `json:"counters"`
	Model    Agreement      `json:"model"`
	Runs     int            `json:"runs"`
}

// add counts one run.
func (r *Result) add(verdict string, c model.Counters, m Agreement) {
	for i := range r.Histogram {
		if b := &r.Histogram[i]; b.Verdict == verdict && b.Counters == c && b.Model == m {
			b.Runs++
			return
		}
	}
	r.Histogram = append(r.Histogram, Bin{verdict, c, m, 1})
	slices.SortFunc(r.Histogram, func(a, b Bin) int {
		return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Counters.Scheduled, b.Counters.Scheduled),
			cmp.Compare(a.Counters.GPU, b.Counters.GPU), cmp.Compare(a.Counters.CPU, b.Counters.CPU), cmp.Compare(a.Model, b.Model))
	})
}

// Count is how many runs ended with a verdict and counters.
func (r *Result) Count(verdict string, c model.Counters) int {
	n := 0
	for _, b := range r.Histogram {
		if b.Verdict == verdict && b.Counters == c {
			n += b.Runs
		}
	}
	return n
}

// JSON is the result as text, indented.
func (r *Result) JSON() ([]byte, error) { return json.MarshalIndent(r, "", " ") }
