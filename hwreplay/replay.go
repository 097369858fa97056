package hwreplay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Request is one replay: a scenario, or a trace with the scenario in it, on a device.
// It is data, so that a child process can be given it.
type Request struct {
	Scenario   string     `json:"scenario,omitempty"`   // YAML or JSON
	Trace      *sim.Trace `json:"trace,omitempty"`      // instead of a scenario
	Discipline string     `json:"discipline,omitempty"` // "": the scenario's
	Impose     *Machine   `json:"impose,omitempty"`     // nil: the scenario's machine
	Ranks      int        `json:"ranks,omitempty"`      // 0: the scenario's
	Repeat     int        `json:"repeat,omitempty"`     // 0: 1
	// Follow imposes the run that [FastDevice] takes: its buffer ends, the main threads'
	// choices. Without it and without a trace the main threads decide on the device.
	Follow bool   `json:"follow,omitempty"`
	Config Config `json:"config"`
	// Brief leaves the recording out.
	Brief bool `json:"brief,omitempty"`
}

// A Machine is model.Machine with a text form that can be read back.
type Machine struct{ model.Machine }

// UnmarshalJSON reads what MarshalJSON writes, and every other form of a machine file.
func (m *Machine) UnmarshalJSON(b []byte) (err error) {
	m.Machine, err = model.ParseMachine("machine", b)
	return err
}

// scenario is the request's scenario with its overrides.
func (q *Request) scenario() (*model.Scenario, error) {
	src := []byte(q.Scenario)
	if q.Trace != nil {
		src = q.Trace.Scenario
	}
	s, err := model.Parse("scenario", src)
	if err != nil {
		return nil, err
	}
	if q.Discipline != "" {
		if s.Explicit() {
			return nil, fmt.Errorf("%s: an explicit schedule has no discipline", s.Name)
		}
		d, err := model.ParseDiscipline(q.Discipline)
		if err != nil {
			return nil, err
		}
		s.Discipline = &d
	}
	if q.Impose != nil {
		s.Machine = q.Impose.Machine
	}
	if q.Ranks > 0 {
		s.Ranks = q.Ranks
	}
	return s, nil
}

// Plan resolves the request's schedules.
func (q *Request) Plan() (*Plan, *model.Scenario, error) {
	s, err := q.scenario()
	if err != nil {
		return nil, nil, err
	}
	programs, err := s.Programs(s.Effective())
	if err != nil {
		return nil, nil, err
	}
	p := NewPlan(programs, s.Machine)
	if q.Trace != nil {
		if _, err := p.Impose(q.Trace); err != nil {
			return nil, nil, fmt.Errorf("the trace is not a run of the schedule: %w", err)
		}
	} else if q.Follow {
		if err := p.follow(); err != nil {
			return nil, nil, err
		}
	}
	return p, s, nil
}

// follow imposes the run of one rank alone that [FastDevice] takes, on every rank that
// shares its schedule; ranks that differ are left free.
func (p *Plan) follow() error {
	for r := range p.ranks {
		if r > 0 && p.ranks[r].program == p.ranks[0].program {
			p.Choices[r] = p.Choices[0]
			continue
		}
		y := sim.Compile([]*model.Schedule{p.ranks[r].program}, p.Machine, sim.Options{})
		run := sim.RunWith(y, FastDevice{}, 0)
		w := newWalk(y)
		if _, err := sim.NewTrace(y, nil, "fast-device", 0, r, run.Choices).Replay(y, w.each); err != nil {
			return err
		}
		p.Choices[r] = w.choices[0]
	}
	return nil
}

// Replay makes a request's runs on a device in this process. Each, if not nil, is called
// before each run with its number and after it with its outcome, which may be nil. The
// error is of the request or the device; a hang is no error. With ErrStopped, when ctx is
// done, comes what was known then.
func Replay(ctx context.Context, q *Request, d Device, each func(run int, out *Outcome)) (*Result, error) {
	return replay(ctx, q, d, each, func(*Result) {})
}

// replay is Replay that tells flush after each run but the last what is known.
func replay(ctx context.Context, q *Request, d Device, each func(run int, out *Outcome), flush func(*Result)) (*Result, error) {
	p, s, err := q.Plan()
	if err != nil {
		return nil, err
	}
	r, err := NewRunner(ctx, p, d)
	if errors.Is(err, ErrStopped) {
		res := newResult(q, p, s, d, &Runner{})
		res.interrupt(q, p, nil)
		return res, err
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	res := newResult(q, p, s, d, r)
	begun := time.Now()
	for i := range max(q.Repeat, 1) {
		if each != nil {
			each(i, nil)
		}
		c := q.Config
		c.Seed += uint64(i)
		out, err := r.Run(c)
		if errors.Is(err, ErrStopped) {
			res.interrupt(q, p, out)
			res.Elapsed = time.Since(begun).Seconds()
			return res, err
		}
		if err != nil {
			return nil, err
		}
		res.take(q, p, out)
		if each != nil {
			each(i, out)
		}
		if !out.Released || !out.Usable {
			break
		}
		if i+1 < q.Repeat {
			res.Elapsed = time.Since(begun).Seconds()
			flush(res)
		}
	}
	res.Elapsed = time.Since(begun).Seconds()
	return res, nil
}

func newResult(q *Request, p *Plan, s *model.Scenario, d Device, r *Runner) *Result {
	res := &Result{Version: model.FormatVersion, Scenario: s.Name, Ranks: len(p.ranks), Machine: Machine{p.Machine}, Info: d.Info(),
		Released: true, Usable: true, Model: Allowed, Seed: q.Config.Seed, Fences: []FenceCounters{}, Recording: []Step{}, Clock: []ClockOffset{}}
	if !s.Explicit() {
		res.Discipline = s.Effective().String()
	}
	for i, c := range r.offset {
		res.Clock = append(res.Clock, ClockOffset{i, c.offset, c.doubt})
	}
	return res
}

// take adds one run to the result.
func (r *Result) take(q *Request, p *Plan, out *Outcome) {
	c := Compare(p.System, out)
	verdict := VerdictFinished
	if out.Hung {
		verdict = VerdictHung
	}
	counters := out.Counters()
	if t := q.Trace; t != nil && (t.Verdict == "hang") != out.Hung {
		verdict = VerdictDiverged
	}
	r.Runs++
	r.add(verdict, counters, c.Model)
	r.Released, r.Usable = r.Released && out.Released, r.Usable && out.Usable
	decides := r.Runs == 1 || r.Verdict == VerdictFinished && verdict != VerdictFinished
	found := c.Model == Outside && r.Model != Outside
	if decides {
		r.Verdict = verdict
	}
	if found || decides && r.Model != Outside {
		r.show(q, p, out)
		r.Violated = c.Violated.Words()
	}
	if found || c.Model == Undecided && r.Model == Allowed {
		r.Model, r.Reason = c.Model, c.Reason
		if q.Repeat > 1 {
			r.Reason = fmt.Sprintf("run %d, %s at %s: %s", r.Runs, verdict, counters, c.Reason)
		}
	}
}

// show makes the result's fences and recording those of one run.
func (r *Result) show(q *Request, p *Plan, out *Outcome) {
	r.Threads, r.Counters, r.Fences = out.Threads, out.Counters(), nil
	for _, rank := range out.Ranks {
		r.Fences = append(r.Fences, rank.Fences...)
	}
	r.Recording = []Step{}
	if !q.Brief {
		r.Recording = p.words(out.chains)
	}
}

// interrupt notes that the replay ends early, in the middle of a run if out is not nil.
// What that run did is told if it is all there is.
func (r *Result) interrupt(q *Request, p *Plan, out *Outcome) {
	r.Interrupted = true
	if r.Runs == 0 {
		r.Verdict, r.Model, r.Histogram = VerdictInterrupted, Undecided, []Bin{}
	}
	if out == nil {
		return
	}
	r.Released, r.Usable = r.Released && out.Released, r.Usable && out.Usable
	if r.Runs == 0 {
		r.show(q, p, out)
	}
}

// Counters are the three numbers of rank 0.
func (o *Outcome) Counters() model.Counters {
	return o.Ranks[0].Counters
}
