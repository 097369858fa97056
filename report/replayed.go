package report

import (
	"fmt"
	"io"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// Replayed is what one run did: a trace that was replayed, or a run of a strategy.
type Replayed struct {
	Version    int               `json:"fencesim"`
	Backend    string            `json:"backend"`
	Scenario   string            `json:"scenario"`
	Discipline string            `json:"discipline,omitempty"` // "" for explicit schedules
	Ranks      int               `json:"ranks"`
	Rank       int               `json:"rank"` // the rank that ran alone, or -1
	Machine    model.Machine     `json:"machine"`
	Strategy   string            `json:"strategy"`
	Seed       uint64            `json:"seed"`
	Verdict    string            `json:"verdict"` // finished, hung, or stopped: the run has more to do
	Violated   []string          `json:"violated"`
	Counters   model.Counters    `json:"counters"`
	State      []check.StuckRank `json:"state"` // the last state, rank by rank
	Recording  []Recorded        `json:"recording"`
	Model      string            `json:"model"`  // allowed: every step is one of the model's
	Digest     string            `json:"digest"` // of the last state
	Steps      string            `json:"steps"`  // the run as a code for --steps

	trace *sim.Trace
}

// Recorded is one step of a run.
type Recorded struct {
	Agent      string `json:"agent"`
	Step       string `json:"step"`
	Guaranteed bool   `json:"guaranteed"`
}

// NewReplayed describes the last state of the run that t records on y, the compiled
// scenario sc or, if t has a rank that ran alone, that rank of it.
func NewReplayed(sc *model.Scenario, y *sim.System, t *sim.Trace, run sim.Run) *Replayed {
	r := &Replayed{
		Version: model.FormatVersion, Backend: "sim", Scenario: sc.Name, Ranks: sc.NumRanks(), Rank: t.Rank,
		Machine: y.Machine, Strategy: t.Strategy, Seed: t.Seed, Verdict: "stopped", Violated: []string{},
		Counters: y.Counters(run.Last, 0), Recording: []Recorded{}, Model: "allowed", Digest: t.Digest,
		Steps: FormatCode(run.Choices), trace: t,
	}
	if !sc.Explicit() {
		r.Discipline = sc.Effective().String()
	}
	switch {
	case run.Final:
		r.Verdict = "finished"
	case run.Stuck:
		r.Verdict = "hung"
	}
	r.Violated = append(r.Violated, run.Violated.Words()...)
	for i := range y.Ranks() {
		rank := check.StuckRank{Rank: i, Fences: y.FenceStates(run.Last, i), Blocked: []sim.Blocked{}}
		if run.Stuck {
			rank.Blocked = append(rank.Blocked, y.Blocked(run.Last, i)...)
		}
		if t.Rank >= 0 {
			rank.Rank = t.Rank
		}
		r.State = append(r.State, rank)
	}
	for _, s := range t.Steps {
		r.Recording = append(r.Recording, Recorded{s.Agent, s.Transition, s.Guaranteed})
	}
	return r
}

// Text writes the steps, one column per agent, and the last state.
func (r *Replayed) Text(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.text(dim, r.subject())
	p.section(fmt.Sprintf("steps: %d", len(r.trace.Steps)))
	p.columns(r.trace.Steps, relevant(r.trace.Steps, awaitedBy(r.State), p.Rows))
	p.counters(r.Ranks, r.State)
	if r.Verdict == "hung" {
		p.blocked(r.Ranks, r.State)
	}
	p.line("")
	p.sentence(r)
	return p.flush()
}

// Sentence writes the outcome alone.
func (r *Replayed) Sentence(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.sentence(r)
	return p.flush()
}

func (r *Replayed) subject() string {
	text := subject(&check.Result{Scenario: r.Scenario, Discipline: r.Discipline, Machine: r.Machine, Ranks: r.Ranks})
	if r.Rank >= 0 {
		text += fmt.Sprintf(", rank %d alone", r.Rank)
	}
	return text
}

func (p *printer) sentence(r *Replayed) {
	s := red
	switch {
	case r.Verdict == "finished" && len(r.Violated) == 0:
		s = green
	case r.Verdict == "stopped":
		s = yellow
	}
	text := fmt.Sprintf(" after %s %s", count(int64(len(r.trace.Steps)), "step"), r.Counters)
	for i, v := range r.Violated {
		if i == 0 {
			text += "; violated: " + v
		} else {
			text += ", " + v
		}
	}
	p.lead(s, r.Verdict, text+"; last state "+r.Digest)
}
