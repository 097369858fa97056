package hwreplay

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// printer writes lines and tables to one writer; the first error stays with it.
type printer struct{ w *bufio.Writer }

func (p *printer) line(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

// table writes rows of cells that are separated by tabs.
func (p *printer) table(rows ...string) {
	t := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, r)
	}
	t.Flush()
}

func (i Info) String() string {
	s := i.Backend + ": " + i.Name
	if i.Count > 1 {
		s += fmt.Sprintf(" x %d", i.Count)
	}
	if i.Driver != "" {
		s += ", " + i.Driver
	}
	return s
}

// Sentence writes the result in one line.
func (r *Result) Sentence(w io.Writer) error {
	_, err := fmt.Fprintln(w, r.sentence())
	return err
}

func (r *Result) sentence() string {
	what := r.Verdict
	switch {
	case r.Verdict != VerdictFinished && r.Released && r.Usable:
		what += " and released"
	case !r.Released:
		what += ", and not released: the device may be locked"
	case !r.Usable:
		what += ", and the device does not work"
	}
	s := fmt.Sprintf("%s %s; model: %s", what, r.Counters, r.Model)
	if r.Reason != "" {
		s += " (" + r.Reason + ")"
	}
	switch {
	case r.Interrupted && r.Runs == 1:
		s += "; interrupted after 1 run"
	case r.Interrupted && r.Runs > 1:
		s += fmt.Sprintf("; interrupted after %d runs", r.Runs)
	}
	return s
}

// Text writes the result for people: the verdict, the fences, the runs by outcome, and
// with recording every transition.
func (r *Result) Text(w io.Writer, recording bool) error {
	p := printer{bufio.NewWriter(w)}
	subject := cmp.Or(r.Scenario, "unnamed")
	if r.Discipline != "" {
		subject += ", " + r.Discipline
	}
	p.line("%s on %s", subject, r.Info)
	p.line("imposed: %s; ranks %d, OS threads %d", machineName(r.Machine.Machine), r.Ranks, r.Threads)
	p.line("%s", r.sentence())
	if len(r.Violated) > 0 {
		p.line("violated on the way: %s", strings.Join(r.Violated, ", "))
	}
	rows := []string{"\nfence\tscheduled\texecuted\tvisible\tconsumed"}
	for _, f := range r.Fences {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%d\t%d\t%d", f.Name, f.Scheduled, f.Executed, f.Visible, f.Consumed))
	}
	p.table(rows...)
	if r.Runs > 1 {
		rows = []string{"\nruns\tverdict\tcounters\tmodel"}
		for _, b := range r.Histogram {
			rows = append(rows, fmt.Sprintf("%d\t%s\t%s\t%s", b.Runs, b.Verdict, b.Counters, b.Model))
		}
		p.table(rows...)
	}
	if recording && len(r.Recording) > 0 {
		p.line("")
		for _, s := range r.Recording {
			p.line("%12.3f µs  %s: %s", float64(s.NS)/1000, s.Agent, s.Step)
		}
	}
	return p.w.Flush()
}

// Text writes a conformance for people.
func (c *Conformance) Text(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	p.line("%s", c.Info)
	if c.Imposed != nil {
		p.line("imposed: %s", machineName(c.Imposed.Machine))
	}
	p.line("claim: %s; %d observations, %d outside it", machineName(c.Claim.Machine), c.Runs, c.Outside)
	if c.Interrupted {
		p.line("interrupted: not every test was run as often as asked for")
	}
	rows := []string{"\ntest\truns\tseen\tallowed and never seen"}
	for _, t := range c.Tests {
		var seen []string
		for _, o := range t.Seen {
			mark := ""
			if !o.Allowed {
				mark = " (outside)"
			}
			seen = append(seen, fmt.Sprintf("%s x %d%s", o.Outcome, o.Count, mark))
		}
		if t.Refused != "" {
			seen = append(seen, t.Refused)
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s", t.Name, t.Runs, strings.Join(seen, "; "), strings.Join(t.Unseen, "; ")))
	}
	p.table(rows...)
	if len(c.Litmus) > 0 {
		rows = []string{"\nmessage\torder of the flag\tpayload\truns\tstale\tstale is"}
		for _, l := range c.Litmus {
			allowed := map[bool]string{true: "allowed", false: "forbidden"}[l.Allowed]
			if l.Refused != "" {
				allowed = l.Refused
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%s", l.Test, l.Order, l.Access, l.Runs, l.Stale, allowed))
		}
		p.table(rows...)
	}
	rows = []string{"\nmachine\tobservations"}
	for _, m := range c.Machines {
		what := fmt.Sprintf("consistent; %d outcomes that it allows were never seen", m.Unseen)
		if m.Refuted {
			what = "refuted by " + m.By
		}
		rows = append(rows, m.Name+"\t"+what)
	}
	p.table(rows...)
	return p.w.Flush()
}

// Text writes a self-test for people.
func (r *RecordOfRuns) Text(w io.Writer) error {
	p := printer{bufio.NewWriter(w)}
	p.line("%s", r.Info)
	rows := []string{"\nscenario\tranks\timposed\texpected\tas expected\treleased\tmodel"}
	for _, n := range r.Runs {
		expect := n.Expect
		if expect == "" {
			expect = "what the model allows"
		}
		model := n.Model.String()
		if n.Refused != "" {
			model = n.Refused
		}
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%d of %d\t%v\t%s", n.Name, n.Ranks, n.Imposed, expect, n.AsExpected, n.Runs, n.Released && n.Usable, model))
	}
	p.table(rows...)
	if c := r.Conform; c != nil {
		p.line("\nconform: %d observations, %d outside the model", c.Runs, c.Outside)
	}
	if m := r.Measure; m != nil {
		p.line("handoff: median %.1f µs, 99%% %.1f µs of %d", m.Handoff.Median, m.Handoff.P99, m.Handoff.Count)
		p.line("over-wait: count takes %.3f times per-update's makespan", m.Ratio)
	}
	for _, u := range r.Unproven {
		p.line("not shown: %s", u)
	}
	word := map[bool]string{true: "passed", false: "FAILED"}[r.Passed]
	if r.Interrupted {
		word = "interrupted"
	}
	p.line("%s in %v", word, time.Duration(r.Elapsed*float64(time.Second)).Round(time.Millisecond))
	return p.w.Flush()
}
