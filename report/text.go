package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// Text writes a result for a person: of a hang the cause in one sentence, the counters of
// each rank, who is blocked and on what, the cycle of waits, the steps that lead there and
// the command that replays them; of an ok what proves it and what it assumes; of anything
// else what was found or which bound was reached. The last line is a command if the result
// has one.
func Text(w io.Writer, r *check.Result, o Options) error {
	p := newPrinter(w, o)
	p.verdict(r, "")
	p.text(dim, subject(r))
	switch {
	case len(r.Stuck) > 0:
		p.stuck(r)
		p.alsoViolated(r.Violations)
	case len(r.Violations) > 0:
		p.violations(r)
	}
	p.known(r)
	p.assumed(r)
	p.advice(r)
	p.shrunk(r)
	p.replay(r)
	return p.flush()
}

// Sentence writes the first sentence of [Text] alone, and what was expected if that is not
// what came out.
func Sentence(w io.Writer, r *check.Result, o Options) error {
	p := newPrinter(w, o)
	more := ""
	switch says, unmet := expected(r, o.Unmet); {
	case says == "no":
		more = "; missed: " + unmet
	case says != "" && unmet != "":
		more = "; " + says + ": " + unmet
	}
	p.verdict(r, more)
	return p.flush()
}

func (p *printer) verdict(r *check.Result, more string) {
	word, s := r.Verdict.String(), red
	switch r.Verdict {
	case check.OK:
		s = green
	case check.Inconclusive:
		s = yellow
	}
	p.lead(s, word, ": "+cause(r)+more)
}

// lead writes text that begins with a word in a style.
func (p *printer) lead(s style, word, text string) {
	lines := breakLines(word+text, p.Width)
	lines[0] = p.paint(s, word) + strings.TrimPrefix(lines[0], word)
	for _, l := range lines {
		p.line("%s", l)
	}
}

// cause is the verdict's reason in one sentence.
func cause(r *check.Result) string {
	switch r.Verdict {
	case check.Hang:
		if len(r.Stuck) > 0 && r.Stuck[0].Cause != "" {
			return r.Stuck[0].Cause
		}
		return "a state is reachable in which nothing is sure to happen any more"
	case check.Violation:
		if len(r.Violations) > 0 {
			return fmt.Sprintf("%s at step %d: %s", r.Violations[0].Property, r.Violations[0].Steps, r.Violations[0].Where)
		}
		return "a property is violated: " + strings.Join(withStatus(r, check.Violated), ", ")
	case check.OK:
		if r.Proof == check.Sampled {
			return fmt.Sprintf("nothing found in %s, which is no proof", count(r.Runs, "run"))
		}
		return "every run ends and no property is violated"
	}
	if r.Bound != "" {
		return fmt.Sprintf("nothing found before the bound was reached: %s", r.Bound)
	}
	return "nothing found, and not every property is known to hold"
}

// title is what a scenario is called in text.
func title(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}

// subject is what was decided: scenario, discipline, machine, ranks.
func subject(r *check.Result) string {
	parts := []string{title(r.Scenario)}
	if r.Discipline != "" {
		parts = append(parts, "discipline "+r.Discipline)
	}
	parts = append(parts, "machine "+machineName(r.Machine), count(int64(r.Ranks), "rank"))
	return strings.Join(parts, ", ")
}

// machineName is the preset's name, or the parameters that differ from the defaults.
func machineName(m model.Machine) string {
	if name := m.Name(); name != "" {
		return name
	}
	var parts []string
	for _, c := range changed(m) {
		parts = append(parts, c.Name+" "+c.Value(&m))
	}
	return "with " + strings.Join(parts, ", ")
}

// changed are the parameters of m that differ from their defaults.
func changed(m model.Machine) []*model.Parameter {
	var out []*model.Parameter
	var ideal model.Machine
	for i := range model.Parameters {
		p := &model.Parameters[i]
		if p.Value(&m) != p.Value(&ideal) {
			out = append(out, p)
		}
	}
	return out
}

// mostStuck is how many further stuck states are listed by their counters.
const mostStuck = 60

func (p *printer) stuck(r *check.Result) {
	first := &r.Stuck[0]
	p.counters(r.Ranks, first.Ranks)
	p.blocked(r.Ranks, first.Ranks)
	p.cycle(first.Cycle)
	if t := first.Trace; t != nil && len(t.Steps) > 0 {
		p.section(stepsTitle("steps that lead there", len(t.Steps), first.Possible))
		p.columns(t.Steps, relevant(t.Steps, awaitedBy(first.Ranks), p.Rows))
	}
	if len(r.Stuck) > 1 {
		p.section(fmt.Sprintf("stuck states by their counters (scheduled, gpu, cpu): %d", len(r.Stuck)))
		var words []string
		for _, s := range r.Stuck[:min(len(r.Stuck), mostStuck)] {
			words = append(words, fmt.Sprintf("(%d,%d,%d)", s.Counters.Scheduled, s.Counters.GPU, s.Counters.CPU))
		}
		if more := len(r.Stuck) - mostStuck; more > 0 {
			words = append(words, fmt.Sprintf("… %d more", more))
		}
		p.row("", 2, strings.Join(words, " "))
	}
}

func stepsTitle(what string, steps, possible int) string {
	title := fmt.Sprintf("%s: %d", what, steps)
	if possible > 0 {
		title += fmt.Sprintf(", %d of them arrivals that nothing forces", possible)
	}
	return title
}

// mostRanks and mostFences bound the table of counters.
const (
	mostRanks  = 8
	mostFences = 24
)

func (p *printer) counters(all int, ranks []check.StuckRank) {
	p.section("counters")
	t := table{head: []string{"rank", "fence", "scheduled", "stored", "seen by GPU", "seen by CPU"}, right: []bool{true, false, true, true, true, true}}
	for _, rk := range ranks[:min(len(ranks), mostRanks)] {
		for _, f := range rk.Fences[:min(len(rk.Fences), mostFences)] {
			t.rows = append(t.rows, []string{strconv.Itoa(rk.Rank), f.Name, number(f.Scheduled), number(f.Stored), number(f.SeenByGPU), number(f.SeenByCPU)})
		}
	}
	if all == 1 {
		t.dropFirst()
	}
	if len(t.rows) == 0 {
		p.line("  no fences")
		return
	}
	p.table(2, t)
	for _, rk := range ranks[:min(len(ranks), mostRanks)] {
		if more := len(rk.Fences) - mostFences; more > 0 {
			p.line("  … %d more fences of rank %d", more, rk.Rank)
		}
	}
	if more := len(ranks) - mostRanks; more > 0 {
		p.line("  … %d more ranks", more)
	}
	if len(ranks) == 1 && all > 1 {
		p.row("", 2, fmt.Sprintf("one rank by itself: any of the %d can get there", all))
	}
}

func number(v uint32) string {
	if v == model.Released {
		return "released"
	}
	return strconv.FormatUint(uint64(v), 10)
}

func (p *printer) blocked(all int, ranks []check.StuckRank) {
	p.section("blocked")
	t := table{head: []string{"rank", "who", "at", "needs"}, right: []bool{true}}
	for _, rk := range ranks[:min(len(ranks), mostRanks)] {
		for _, b := range rk.Blocked {
			at, _, _ := strings.Cut(b.At, " reads ")
			t.rows = append(t.rows, []string{strconv.Itoa(rk.Rank), b.Agent, at, b.Needs})
		}
	}
	if all == 1 {
		t.dropFirst()
	}
	if len(t.rows) == 0 {
		p.line("  nobody")
		return
	}
	p.table(2, t)
}

func (p *printer) cycle(waits []string) {
	if len(waits) == 0 {
		return
	}
	p.section("cycle of waits")
	for _, w := range waits {
		p.row("  -", 4, w)
	}
}

// violations writes the first violation with the steps that lead to it, and names others.
func (p *printer) violations(r *check.Result) {
	first := &r.Violations[0]
	if t := first.Trace; t != nil && len(t.Steps) > 0 {
		p.section(stepsTitle("steps that lead there", len(t.Steps), 0))
		p.columns(t.Steps, relevant(t.Steps, usedBy(t.Steps[len(t.Steps)-1]), p.Rows))
	}
	p.alsoViolated(r.Violations[1:])
}

func (p *printer) alsoViolated(found []check.Found) {
	if len(found) == 0 {
		return
	}
	p.section("also violated")
	var rows [][]string
	for _, f := range found {
		rows = append(rows, []string{f.Property, fmt.Sprintf("step %d", f.Steps), f.Where})
	}
	p.table(2, table{rows: rows})
}

const labelWidth = 14

// known writes what is known, how, and what it cost.
func (p *printer) known(r *check.Result) {
	p.section("how this is known")
	row := func(label, text string) {
		if text != "" {
			p.row("  "+label, labelWidth, text)
		}
	}
	proof := r.Proof.String()
	if r.Reason != "" {
		proof += ": " + r.Reason
	}
	row("proof", proof)
	if r.Slack != nil {
		row("slack", slack(*r.Slack))
	}
	row("violated", strings.Join(withStatus(r, check.Violated), ", "))
	holds, seen := withProofs(r)
	row("holds", strings.Join(holds, ", "))
	row("not seen", strings.Join(seen, ", "))
	row("unknown", strings.Join(withStatus(r, check.Unknown), ", "))
	row("bound", r.Bound)
	row("missed", r.Miss)
	if r.Collision > 0 {
		row("hashing", fmt.Sprintf("the chance that a state was taken for another is at most %.2g", r.Collision))
	}
	row("reductions", strings.Join(r.Reductions, ", "))
	cost := []string{count(r.States, "state"), count(r.Transitions, "transition"), count(r.Runs, "run")}
	if r.StuckStates > 0 {
		cost = append(cost, count(r.StuckStates, "stuck state"))
	}
	cost = append(cost, fmt.Sprintf("seed %d", r.Seed))
	if r.Elapsed > 0 {
		cost = append(cost, fmt.Sprintf("%.3g s", r.Elapsed))
	}
	row("searched", strings.Join(cost, ", "))
	says, unmet := expected(r, p.Unmet)
	switch {
	case says == "no":
		says = p.paint(red, says) + ": " + unmet
	case unmet != "":
		says += ": " + unmet
	}
	row("expected", says)
}

// slack is what a certificate's slack means.
func slack(n int) string {
	switch {
	case n < 0:
		return "none: the certificate covers no lag"
	case n == 0:
		return "0: safe while a store is sure to be seen once its buffer has finished"
	}
	return fmt.Sprintf("%d: safe while a store is sure to be seen once its buffer and %d more have finished", n, n)
}

func withStatus(r *check.Result, s check.Status) []string {
	var out []string
	for _, name := range check.Properties {
		if r.Properties[name] == s {
			out = append(out, name)
		}
	}
	return out
}

// withProofs are the properties that hold, with a proof that is not the verdict's, and
// apart those of which sampling saw no violation.
func withProofs(r *check.Result) (holds, sampled []string) {
	for _, name := range withStatus(r, check.Holds) {
		switch proof := r.Proofs[name]; {
		case proof == check.Sampled:
			sampled = append(sampled, name)
		case proof != r.Proof && proof != check.NoProof:
			holds = append(holds, name+" ("+proof.String()+")")
		default:
			holds = append(holds, name)
		}
	}
	return holds, sampled
}

// assumed writes what the verdict takes for granted about the machine.
func (p *printer) assumed(r *check.Result) {
	p.section("assumed")
	name := r.Machine.Name()
	if preset, ok := model.PresetNamed(name); ok {
		p.row("  "+name, max(labelWidth, len(name)+4), preset.About)
		return
	}
	width := labelWidth
	for _, c := range changed(r.Machine) {
		width = max(width, len(c.Name)+4)
	}
	for _, c := range changed(r.Machine) {
		value := c.Value(&r.Machine)
		p.row("  "+c.Name, width, value+" ("+c.Doc+")")
	}
	p.row("", 2, "every other parameter has its default")
}

// mostAdvice is how many hints are written.
const mostAdvice = 8

func (p *printer) advice(r *check.Result) {
	if len(r.Advice) == 0 {
		return
	}
	p.section("advice")
	for _, a := range r.Advice[:min(len(r.Advice), mostAdvice)] {
		p.row("  -", 4, fmt.Sprintf("%s: %s: %s", a.Rule, a.Where, a.Needs))
	}
	if more := len(r.Advice) - mostAdvice; more > 0 {
		p.line("  … %d more", more)
	}
}

func (p *printer) shrunk(r *check.Result) {
	if r.Shrunk == nil {
		return
	}
	p.section("smallest scenario found that fails alike")
	for _, w := range r.Shrunk.Removed {
		p.row("  -", 4, w)
	}
	s, err := model.Parse("shrunk", r.Shrunk.Scenario)
	if err != nil {
		return // a scenario of a file that is not ours to judge
	}
	text, err := s.Format()
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if p.Rows >= 0 && len(lines) > p.Rows {
		lines = append(slices.Clone(lines[:p.Rows]), "…")
	}
	for _, l := range lines {
		p.line("    %s", l)
	}
}

func (p *printer) replay(r *check.Result) {
	if r.Replay != "" {
		p.line("\nreplay: %s", r.Replay)
	}
}
