package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// A Shown is a scenario in full, as `show --json` gives it.
type Shown struct {
	Version    int             `json:"fencesim"`
	Name       string          `json:"name"`
	About      string          `json:"about,omitempty"`
	Sources    []string        `json:"sources,omitempty"`
	Form       string          `json:"form"` // generate, graph or schedule
	Ranks      int             `json:"ranks"`
	Discipline string          `json:"discipline,omitempty"`
	Machine    model.Machine   `json:"machine"`
	Digest     string          `json:"digest"` // of what the ranks run; not of names and comments
	Programs   []ShownProgram  `json:"programs"`
	Scenario   *model.Scenario `json:"scenario"`
}

// A ShownProgram is what some ranks run, as text.
type ShownProgram struct {
	Ranks []int  `json:"ranks"`
	Text  string `json:"text"`
}

// NewShown expands a valid scenario. The error is that of [model.Scenario.Programs].
func NewShown(sc *model.Scenario) (*Shown, error) {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	s := &Shown{
		Version: model.FormatVersion, Name: sc.Name, About: sc.About, Sources: sc.Sources, Form: "generate",
		Ranks: sc.NumRanks(), Machine: sc.Machine, Digest: model.Digest(ps), Scenario: sc,
	}
	switch {
	case sc.Schedule != nil:
		s.Form = "schedule"
	case sc.Graph != nil:
		s.Form = "graph"
	}
	if !sc.Explicit() {
		s.Discipline = sc.Effective().String()
	}
	index := make(map[*model.Schedule]int)
	for r, p := range ps {
		i, ok := index[p]
		if !ok {
			i = len(s.Programs)
			index[p] = i
			s.Programs = append(s.Programs, ShownProgram{Text: p.ShowText()})
		}
		s.Programs[i].Ranks = append(s.Programs[i].Ranks, r)
	}
	return s, nil
}

// Text writes the scenario for a person: what it is about, then tape, queues, CPU streams
// and main thread of each rank.
func (s *Shown) Text(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.text(bold, title(s.Name))
	if s.About != "" {
		p.row("", 0, prose(s.About))
	}
	p.line("")
	row := func(label, text string) {
		if text != "" {
			p.row("  "+label, labelWidth, text)
		}
	}
	row("form", s.Form)
	row("sources", prose(strings.Join(s.Sources, ", ")))
	row("ranks", strconv.Itoa(s.Ranks))
	row("discipline", s.Discipline)
	row("machine", machineName(s.Machine))
	row("digest", s.Digest)
	for _, x := range s.Scenario.Expect {
		row("expected", expectation(&x))
	}
	for _, g := range s.Programs {
		p.section(rankList(g.Ranks, s.Ranks))
		p.b.WriteString(g.Text)
	}
	return p.flush()
}

// expectation is "hang under count on lag-3 with (scheduled 12, gpu 8, cpu 0)".
func expectation(x *model.Expectation) string {
	text := x.Verdict
	if x.Property != "" {
		text += " of " + x.Property
	}
	if x.Discipline != nil {
		text += " under " + x.Discipline.String()
	}
	if x.Machine != nil {
		text += " on " + machineName(*x.Machine)
	}
	if x.Ranks > 0 {
		text += " with " + count(int64(x.Ranks), "rank")
	}
	if x.Counters != nil {
		text += " at " + x.Counters.String()
	}
	if x.Always {
		text += ", always"
	}
	return text
}

// rankList is "every rank", "rank 2" or "ranks 0, 2 to 5".
func rankList(ranks []int, all int) string {
	if len(ranks) == all {
		if all == 1 {
			return "schedule"
		}
		return fmt.Sprintf("schedule of every rank (0 to %d)", all-1)
	}
	var parts []string
	for i := 0; i < len(ranks); {
		n := i
		for n+1 < len(ranks) && ranks[n+1] == ranks[n]+1 {
			n++
		}
		if n == i {
			parts = append(parts, strconv.Itoa(ranks[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d to %d", ranks[i], ranks[n]))
		}
		i = n + 1
	}
	word := "ranks"
	if len(ranks) == 1 {
		word = "rank"
	}
	return "schedule of " + word + " " + strings.Join(parts, ", ")
}

// A ShownMachine is a machine in full, as `show --json` gives it.
type ShownMachine struct {
	Version    int              `json:"fencesim"`
	Name       string           `json:"name"`
	About      string           `json:"about"`
	Machine    model.Machine    `json:"machine"`
	Parameters []ShownParameter `json:"parameters"`
}

// A ShownParameter is one parameter of a machine with its row of the table.
type ShownParameter struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
	Source  string `json:"source"`
}

// NewShownMachine expands a preset.
func NewShownMachine(preset model.Preset) *ShownMachine {
	s := &ShownMachine{Version: model.FormatVersion, Name: preset.Name, About: preset.About, Machine: preset.Machine}
	var ideal model.Machine
	for i := range model.Parameters {
		p := &model.Parameters[i]
		s.Parameters = append(s.Parameters, ShownParameter{p.Name, p.Value(&preset.Machine), p.Value(&ideal), p.Doc, p.Source})
	}
	return s
}

// Text writes every parameter with what it means; those that differ from the default are
// marked.
func (s *ShownMachine) Text(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	p.text(bold, s.Name)
	p.row("", 0, s.About)
	p.line("")
	for _, x := range s.Parameters {
		if x.Value != x.Default {
			p.styledRow(bold, "*", 2, fmt.Sprintf("%s: %s (default %s)", x.Name, x.Value, x.Default))
		} else {
			p.row("", 2, fmt.Sprintf("%s: %s", x.Name, x.Value))
		}
		p.row("", 6, x.Doc)
		p.row("", 6, "["+x.Source+"]")
	}
	return p.flush()
}

// A Listing is what `list` shows: built-in scenarios by group, machines, disciplines.
type Listing struct {
	Version     int              `json:"fencesim"`
	Groups      []ListedGroup    `json:"groups"`
	Machines    []ListedMachine  `json:"machines"`
	Disciplines []ListedMeanings `json:"disciplines"`
}

// A ListedGroup is one group of built-in scenarios.
type ListedGroup struct {
	Name      string           `json:"name"`
	About     string           `json:"about"`
	Scenarios []ListedScenario `json:"scenarios"`
}

// A ListedScenario is one built-in scenario.
type ListedScenario struct {
	Name       string        `json:"name"`
	About      string        `json:"about"`
	Sources    []string      `json:"sources,omitempty"`
	Ranks      int           `json:"ranks"`
	Discipline string        `json:"discipline,omitempty"`
	Machine    model.Machine `json:"machine"`
}

// A ListedMachine is one preset.
type ListedMachine struct {
	Name    string        `json:"name"`
	About   string        `json:"about"`
	Machine model.Machine `json:"machine"`
}

// ListedMeanings is a word and what it means.
type ListedMeanings struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// NewListing is a listing with the machines and disciplines and no scenarios.
func NewListing() *Listing {
	l := &Listing{Version: model.FormatVersion, Groups: []ListedGroup{}}
	for _, m := range model.Presets {
		l.Machines = append(l.Machines, ListedMachine{m.Name, m.About, m.Machine})
	}
	for _, d := range model.Disciplines {
		l.Disciplines = append(l.Disciplines, ListedMeanings{d.Word, d.Doc})
	}
	return l
}

// Text writes the listing for a person.
func (l *Listing) Text(w io.Writer, o Options) error {
	p := newPrinter(w, o)
	for i, g := range l.Groups {
		if i > 0 {
			p.line("")
		}
		title := "scenarios: " + g.Name
		if g.About != "" {
			title += ", " + g.About
		}
		p.text(bold, title)
		var rows [][]string
		for _, s := range g.Scenarios {
			rows = append(rows, []string{s.Name, firstSentence(prose(s.About))})
		}
		p.table(2, table{rows: rows})
	}
	p.section("machines: what is assumed of hardware and runtime")
	var rows [][]string
	for _, m := range l.Machines {
		rows = append(rows, []string{m.Name, m.About})
	}
	p.table(2, table{rows: rows})
	p.section("disciplines: which rule gives a wait its target")
	rows = nil
	for _, d := range l.Disciplines {
		rows = append(rows, []string{d.Name, d.About})
	}
	p.table(2, table{rows: rows})
	return p.flush()
}

func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return strings.TrimSpace(s)
}

// JSON writes v as `--json` does: indented, with no escapes for HTML but for what does not
// show, and a line end.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// NewListedScenario is the row of a built-in scenario.
func NewListedScenario(name string, sc *model.Scenario) ListedScenario {
	s := ListedScenario{Name: name, About: sc.About, Sources: sc.Sources, Ranks: sc.NumRanks(), Machine: sc.Machine}
	if !sc.Explicit() {
		s.Discipline = sc.Effective().String()
	}
	return s
}

// Names writes the names of the scenarios, one a line.
func (l *Listing) Names(w io.Writer) error {
	for _, g := range l.Groups {
		for _, s := range g.Scenarios {
			if _, err := fmt.Fprintln(w, s.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Line writes the scenario's name and digest.
func (s *Shown) Line(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s %s\n", title(s.Name), s.Digest)
	return err
}

// Line writes the machine's name and what it assumes.
func (s *ShownMachine) Line(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n", s.Name, s.About)
	return err
}
