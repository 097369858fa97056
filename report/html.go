package report

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

//go:embed page/page.html page/page.css page/chart.css page/page.js
var pageFiles embed.FS

// The page is one file: style and script stand in it, its policy allows these two by their
// hashes and nothing else, so that it can ask no one for anything.
var (
	pictureStyle = pageFile("chart.css") // of pages and pictures alike
	pageStyle    = pictureStyle + pageFile("page.css")
	pageScript   = pageFile("page.js")
	pageTemplate = template.Must(template.New("page").Parse(pageFile("page.html")))
	pagePolicy   = "default-src 'none'; script-src '" + hashOf(pageScript) + "'; style-src '" + hashOf(pageStyle) + "'; img-src data:; base-uri 'none'; form-action 'self'"
	livePolicy   = pagePolicy + "; connect-src 'self'; frame-ancestors 'none'"
)

func pageFile(name string) string {
	b, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded
	}
	return string(b)
}

func hashOf(s string) string {
	h := sha256.Sum256([]byte(s))
	return "sha256-" + base64.StdEncoding.EncodeToString(h[:])
}

// HTML writes a page that shows a run and what was decided: one file that needs nothing
// else. The same input gives the same bytes.
func HTML(ctx context.Context, w io.Writer, in Input) error {
	v, err := newPage(ctx, in)
	if err != nil {
		return err
	}
	if err := v.compare(ctx, in); err != nil {
		return err
	}
	return v.write(w)
}

// page is what the template shows.
type page struct {
	Title, Subject, About string
	Outcome
	Policy  template.HTMLAttr
	Style   template.CSS
	Script  template.JS
	Data    template.JS
	Ledger  []ledgerRow
	Ranks   int
	Alone   bool // one rank by itself
	Waiting []waiting
	Cycle   []string
	Graph   template.HTML
	Known   [][2]string
	Props   [][3]string
	Machine [][4]string
	Advice  []check.Advice
	Sources []string
	Replay  string
	Shrunk  *shrunkPage
	Cure    *cure
	Live    *live

	data pageData
}

// Outcome is a verdict as a page or picture states it.
type Outcome struct {
	Verdict string // hang, violation, ok, inconclusive; of a bare run: finished, stopped
	Class   string // bad, good, open
	Cause   string
	Proof   string
	Ended   string // how the run shown ends
}

type ledgerRow struct {
	Rank, Fence                       string
	Scheduled, Stored, GPU, CPU, Note string
}

type waiting struct{ Rank, Who, At, Needs string }

// cure is the same scenario under what should cure it.
type cure struct {
	What string
	Outcome
	Ledger  []ledgerRow
	Targets []targetRow
	More    int // targets left out
	Steps   int
}

// shrunkPage is the smallest scenario found that fails alike.
type shrunkPage struct {
	Removed []string
	File    string
}

// targetRow is one wait with its targets under both disciplines.
type targetRow struct{ Agent, Array, Before, After string }

// live is what only the viewer has.
type live struct {
	Base        string // address of the empty run
	Code        string
	Disciplines []option
	Machines    []option
	Ranks       []option
	Runs        []option
	Message     string
}

type option struct {
	Value, Text string
	Chosen      bool
}

// pageData is the JSON in a page.
type pageData struct {
	Title string   `json:"title"`
	Run   *pageRun `json:"run"`
	Cure  *pageRun `json:"cure,omitempty"`
	Base  string   `json:"base,omitempty"`
}

func newPage(ctx context.Context, in Input) (*page, error) {
	t := NewTimeline(ctx, in.System, in.Choices)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &page{
		Title: title(in.Scenario.Name), About: prose(in.Scenario.About),
		Ranks: len(in.Programs), Alone: in.System.Ranks() < len(in.Programs),
		Policy: template.HTMLAttr(`content="` + pagePolicy + `"`), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		data: pageData{Title: title(in.Scenario.Name), Run: newPageRun(t)},
	}
	for _, source := range in.Scenario.Sources {
		p.Sources = append(p.Sources, model.Printable(source))
	}
	p.Subject = in.subject()
	s, ranks := last(in.System, in.Choices)
	p.Outcome = in.outcome(t)
	p.Ledger = ledger(ranks, in.System.Ranks() > 1)
	if t.Verdict == "hang" {
		g := NewWaitGraph(in.System, s)
		p.Graph = template.HTML(g.SVG())
		for _, r := range ranks {
			for _, b := range r.Blocked {
				p.Waiting = append(p.Waiting, waiting{fmt.Sprint(r.Rank), b.Agent, short(b.At), b.Needs})
			}
		}
	}
	if r := in.Result; r != nil {
		if len(r.Stuck) > 0 {
			p.Cycle = r.Stuck[0].Cycle
		}
		p.Replay, p.Advice = r.Replay, r.Advice
		p.known(r)
		if r.Shrunk != nil {
			sc, err := model.Parse("shrunk", r.Shrunk.Scenario)
			if err != nil {
				return nil, err
			}
			sc.About, sc.Sources = "", nil // what they say is of the scenario as given
			text, err := sc.Format()
			if err != nil {
				return nil, err
			}
			p.Shrunk = &shrunkPage{r.Shrunk.Removed, string(text)}
		}
	}
	p.machine(in.Scenario.Machine)
	return p, nil
}

// compare adds the cure, if there is one and the run shown needs it.
func (p *page) compare(ctx context.Context, in Input) error {
	if p.Class == "good" {
		return nil
	}
	c, what, ok, err := in.Cure(ctx)
	if err != nil || !ok {
		return err
	}
	t := NewTimeline(ctx, c.System, c.Choices)
	if err := ctx.Err(); err != nil {
		return err
	}
	_, ranks := last(c.System, c.Choices)
	p.Cure = &cure{What: what, Outcome: c.outcome(t), Ledger: ledger(ranks, c.System.Ranks() > 1), Steps: len(t.Steps)}
	p.Cure.Targets, p.Cure.More = targets(in, c)
	p.data.Cure = newPageRun(t)
	return nil
}

func (p *page) write(w io.Writer) error {
	b, err := json.Marshal(p.data)
	if err != nil {
		return err
	}
	p.Data = template.JS(b)
	return pageTemplate.Execute(w, p)
}

// subject is what ran: discipline, machine, ranks.
func (in Input) subject() string {
	var parts []string
	if !in.Scenario.Explicit() {
		parts = append(parts, "discipline "+in.Scenario.Effective().String())
	}
	parts = append(parts, "machine "+machineName(in.Scenario.Machine), count(int64(len(in.Programs)), "rank"))
	return strings.Join(parts, ", ")
}

// outcome is the result's verdict, or what the run says if nothing was decided.
func (in Input) outcome(t *Timeline) Outcome {
	o := Outcome{Verdict: t.Verdict, Class: "open", Ended: howItEnds(t)}
	switch t.Verdict {
	case "hang", "violation":
		o.Class = "bad"
	case "ok":
		o.Verdict = "finished"
	case "unfinished":
		o.Verdict = "stopped"
	}
	o.Cause = o.Ended
	r := in.Result
	if r == nil {
		if t.Verdict == "hang" {
			s, _ := last(in.System, in.Choices)
			if loop := NewWaitGraph(in.System, s).Loop(); loop != "" {
				o.Cause = loop
			}
		}
		return o
	}
	o.Verdict, o.Cause = r.Verdict.String(), cause(r)
	switch r.Verdict {
	case check.OK:
		o.Class = "good"
	case check.Inconclusive:
		o.Class = "open"
	default:
		o.Class = "bad"
	}
	if o.Proof = r.Proof.String(); r.Reason != "" {
		o.Proof += ": " + r.Reason
	}
	return o
}

// howItEnds says how a run ends.
func howItEnds(t *Timeline) string {
	steps := count(int64(len(t.Steps)), "step")
	possible := 0
	for i := range t.Steps {
		possible += bit(t.Steps[i].Possible)
	}
	if possible > 0 {
		steps += fmt.Sprintf(" (%d of them not forced)", possible)
	}
	switch {
	case t.Final:
		return "the run finishes after " + steps
	case t.Verdict == "hang":
		return "after " + steps + " nothing is sure to happen any more, and the schedule is not done"
	}
	return "the run stands after " + steps + " and has more to do"
}

func ledger(ranks []check.StuckRank, several bool) []ledgerRow {
	var out []ledgerRow
	for _, r := range ranks {
		for _, f := range r.Fences {
			row := ledgerRow{Fence: f.Name, Scheduled: number(f.Scheduled), Stored: number(f.Stored), GPU: number(f.SeenByGPU), CPU: number(f.SeenByCPU)}
			if several {
				row.Rank = fmt.Sprint(r.Rank)
			}
			switch {
			case f.SeenByGPU != f.SeenByCPU:
				late := "CPU"
				if f.SeenByGPU < f.SeenByCPU {
					late = "GPU"
				}
				row.Note = fmt.Sprintf("stored, and the %s still sees %s", late, number(min(f.SeenByCPU, f.SeenByGPU)))
			case f.Stored < f.Scheduled:
				row.Note = "scheduled, and not run"
			case f.Stored > 0:
				row.Note = "seen by both"
			}
			out = append(out, row)
		}
	}
	return out
}

// known fills what is known and how.
func (p *page) known(r *check.Result) {
	row := func(label, text string) {
		if text != "" {
			p.Known = append(p.Known, [2]string{label, text})
		}
	}
	row("proof", p.Proof)
	if r.Slack != nil {
		row("slack", slack(*r.Slack))
	}
	row("bound", r.Bound)
	row("missed", r.Miss)
	row("reductions", strings.Join(r.Reductions, ", "))
	cost := []string{count(r.States, "state"), count(r.Transitions, "transition")}
	if r.StuckStates > 0 {
		cost = append(cost, count(r.StuckStates, "stuck state"))
	}
	row("searched", strings.Join(append(cost, fmt.Sprintf("seed %d", r.Seed)), ", "))
	if len(r.Stuck) > 1 {
		var all []string
		for _, s := range r.Stuck[:min(len(r.Stuck), mostStuck)] {
			all = append(all, s.Counters.String())
		}
		row("stuck states", strings.Join(all, " "))
	}
	switch r.Expect {
	case "met":
		row("expected", "yes, by the scenario")
	case "missed":
		row("expected", "no: the scenario expects another outcome")
	}
	for _, name := range check.Properties {
		proof := ""
		if r.Properties[name] != check.Unknown {
			proof = r.Proofs[name].String()
		}
		p.Props = append(p.Props, [3]string{name, r.Properties[name].String(), proof})
	}
}

// machine fills the assumptions that differ from the defaults.
func (p *page) machine(m model.Machine) {
	for _, c := range changed(m) {
		p.Machine = append(p.Machine, [4]string{c.Name, c.Value(&m), c.Doc, c.Source})
	}
}

// mostTargets is how many waits are compared in words.
const mostTargets = 8

// targets are the waits of CPU streams, for which it matters, whose targets differ.
func targets(a, b Input) (out []targetRow, more int) {
	if a.Scenario.Explicit() {
		return nil, 0
	}
	after := make(map[string]string)
	wait := func(c *model.Command) bool { return c.Op == model.OpWait || c.Op == model.OpAwait }
	for _, s := range b.Programs[0].Streams {
		for i := range s.Tasks {
			if c := &s.Tasks[i]; wait(c) {
				after[s.Name+" "+b.Programs[0].Names.Of(c.For)] = c.Text(&b.Programs[0].Names)
			}
		}
	}
	for _, s := range a.Programs[0].Streams {
		for i := range s.Tasks {
			c := &s.Tasks[i]
			if !wait(c) {
				continue
			}
			array := a.Programs[0].Names.Of(c.For)
			before, now := c.Text(&a.Programs[0].Names), after[s.Name+" "+array]
			if now == "" || now == before {
				continue
			}
			if len(out) == mostTargets {
				more++
				continue
			}
			out = append(out, targetRow{"stream " + s.Name, array, before, now})
		}
	}
	return out, more
}
