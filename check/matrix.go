package check

import (
	"context"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Matrix is one scenario under disciplines and machines; its JSON form is formats
// section 5. An explicit schedule has one discipline, "".
type Matrix struct {
	Version  int          `json:"fencesim"`
	Scenario string       `json:"scenario"`
	Cells    []MatrixCell `json:"cells"` // discipline by discipline, machines in the order given
	// WeakestSafe is by discipline the last machine of [Order] such that the scenario is ok
	// on it and on every one before it; "" if it is not ok on the first, and absent if none
	// was asked for. FirstUnsafe is the one behind it, if it is known to be unsafe.
	WeakestSafe map[string]string `json:"weakest_safe"`
	FirstUnsafe map[string]string `json:"first_unsafe"`
	Elapsed     float64           `json:"elapsed_s"`
	Interrupted bool              `json:"interrupted,omitempty"` // what was not decided by then is inconclusive
}

// A MatrixCell is the verdict for one discipline on one machine. Counters are those of the
// shortest known hang, nil without one; Property is the first property that a violation
// violates, Reason why an inconclusive cell needed the search that a bound ended.
type MatrixCell struct {
	Discipline string          `json:"discipline"`
	Machine    string          `json:"machine"`
	Verdict    Verdict         `json:"verdict"`
	Proof      Proof           `json:"proof"`
	Property   string          `json:"property,omitempty"`
	Counters   *model.Counters `json:"counters"`
	Bound      string          `json:"bound,omitempty"`
	Reason     string          `json:"reason,omitempty"`
}

// Word is the cell in one word: ok, hang, stale for a stale read, another property by its
// name, or ? for a bound that was reached.
func (c *MatrixCell) Word() string {
	switch {
	case c.Verdict == Inconclusive:
		return "?"
	case c.Verdict != Violation:
		return c.Verdict.String()
	case c.Property == "stale-read":
		return "stale"
	}
	return c.Property
}

// Order lists the presets that are ordered by strength, the strongest assumption first.
var Order = []string{"ideal", "lag-0", "lag-1", "lag-2", "lag-3", "lag-4", "lag-5", "unreliable-read"}

// NewMatrix decides sc under every discipline and preset. No disciplines means all for a
// graph; an explicit schedule has none. No presets means all. A cell whose search reaches a
// bound of cfg is inconclusive; nothing is shrunk.
func NewMatrix(ctx context.Context, sc *model.Scenario, disciplines []model.Discipline, presets []model.Preset, cfg Config) (*Matrix, error) {
	started := time.Now()
	m := &Matrix{Version: model.FormatVersion, Scenario: sc.Name, Cells: []MatrixCell{}, WeakestSafe: map[string]string{}, FirstUnsafe: map[string]string{}}
	if len(presets) == 0 {
		presets = model.Presets
	}
	words := []string{""}
	if !sc.Explicit() {
		words = nil
		for _, d := range model.Disciplines {
			if len(disciplines) == 0 || slices.Contains(disciplines, d.Discipline) {
				words = append(words, d.Word)
			}
		}
	}
	cfg.NoShrink, cfg.All = true, false
	for _, word := range words {
		for _, p := range presets {
			if ctx.Err() != nil {
				m.Cells = append(m.Cells, MatrixCell{Discipline: word, Machine: p.Name, Verdict: Inconclusive, Bound: "interrupt"})
				continue
			}
			c := *sc
			c.Machine = p.Machine
			if !sc.Explicit() {
				d, err := model.ParseDiscipline(word)
				if err != nil {
					return nil, err
				}
				c.Discipline = &d
			}
			r, err := Explore(ctx, &c, cfg)
			if err != nil {
				return nil, err
			}
			m.Cells = append(m.Cells, newMatrixCell(word, p.Name, r))
		}
		m.rank(word)
	}
	m.Elapsed, m.Interrupted = time.Since(started).Seconds(), ctx.Err() != nil
	return m, nil
}

func newMatrixCell(discipline, machine string, r *Result) MatrixCell {
	c := MatrixCell{Discipline: discipline, Machine: machine, Verdict: r.Verdict, Proof: r.Proof}
	switch r.Verdict {
	case Inconclusive:
		c.Bound, c.Reason = r.Bound, r.Reason
	case Hang:
		if len(r.Stuck) > 0 {
			k := r.Stuck[0].Counters
			c.Counters = &k
		}
	case Violation:
		for _, p := range Properties {
			if r.Properties[p] == Violated {
				c.Property = p
				break
			}
		}
	}
	return c
}

// Cell is the cell of a discipline and a machine, or nil.
func (m *Matrix) Cell(discipline, machine string) *MatrixCell {
	for i := range m.Cells {
		if c := &m.Cells[i]; c.Discipline == discipline && c.Machine == machine {
			return c
		}
	}
	return nil
}

// rank fills in the weakest safe machine of a discipline.
func (m *Matrix) rank(discipline string) {
	if m.Cell(discipline, Order[0]) == nil {
		return
	}
	m.WeakestSafe[discipline] = ""
	for _, name := range Order {
		c := m.Cell(discipline, name)
		if c == nil {
			continue
		}
		if c.Verdict != OK {
			if c.Verdict != Inconclusive {
				m.FirstUnsafe[discipline] = name
			}
			return
		}
		m.WeakestSafe[discipline] = name
	}
}

// A MatrixRow is one expectation of a scenario and what came out.
type MatrixRow struct {
	Name       string   `json:"name"`
	Variant    string   `json:"variant"` // broken, fixed, or "" for neither
	Discipline string   `json:"discipline"`
	Machine    string   `json:"machine"` // a preset, or the parameters that are not default
	Ranks      int      `json:"ranks"`
	Want       string   `json:"want"`
	Verdict    Verdict  `json:"verdict"`
	Proof      Proof    `json:"proof"`
	Expect     string   `json:"expect"` // met or missed
	Why        string   `json:"why,omitempty"`
	Sources    []string `json:"sources"`
	Elapsed    float64  `json:"elapsed_s"`
}

// A CatalogMatrix is every expectation of some scenarios; its JSON form is formats
// section 5.
type CatalogMatrix struct {
	Version     int         `json:"fencesim"`
	Entries     []MatrixRow `json:"entries"`
	Missed      int         `json:"missed"`
	Elapsed     float64     `json:"elapsed_s"`
	Interrupted bool        `json:"interrupted,omitempty"` // the rows are those decided by then
}

// NewMatrixRows decides each expectation of sc by itself: the verdict, the property, the
// counters (among all stuck states) and, for always, that no run finishes.
func NewMatrixRows(ctx context.Context, sc *model.Scenario, cfg Config) ([]MatrixRow, error) {
	var rows []MatrixRow
	for i := range sc.Expect {
		started := time.Now()
		x := &sc.Expect[i]
		c := Expected(sc, x)
		cfg.NoShrink, cfg.All = true, x.Counters != nil
		r, err := Explore(ctx, c, cfg)
		if err != nil {
			return nil, err
		}
		row := MatrixRow{Name: sc.Name, Discipline: r.Discipline, Machine: MachineText(c.Machine), Ranks: c.NumRanks(),
			Want: want(x), Verdict: r.Verdict, Proof: r.Proof, Expect: "met", Sources: append([]string{}, sc.Sources...)}
		finishes, known := false, false
		if x.Always {
			if finishes, known, err = Finishes(ctx, c, cfg); err != nil {
				return nil, err
			}
		}
		if row.Why = Judge(*x, r, finishes, known); row.Why != "" {
			row.Expect = "missed"
		}
		row.Elapsed = time.Since(started).Seconds()
		rows = append(rows, row)
	}
	return rows, nil
}

// Judge says why a result is not what an expectation asks for, "" if it is. finishes and
// known are what [Finishes] gives, which is read for always only.
func Judge(x model.Expectation, r *Result, finishes, known bool) string {
	switch {
	case x.Verdict != r.Verdict.String():
		return "the verdict is " + r.Verdict.String()
	case !Meets(x, r) && x.Property != "":
		return x.Property + " " + r.Properties[x.Property].String()
	case !Meets(x, r):
		return "no stuck state has these counters"
	case x.Always && finishes:
		return "a run finishes"
	case x.Always && !known:
		return "whether a run finishes is not known"
	}
	return ""
}

// Expected is sc with the discipline, machine and ranks of which x speaks.
func Expected(sc *model.Scenario, x *model.Expectation) *model.Scenario {
	c := *sc
	filed := sc.Filed()
	c.Machine = filed.Machine
	if x.Discipline != nil {
		c.Discipline = x.Discipline
	} else if d, err := model.ParseDiscipline(filed.Discipline); err == nil && !sc.Explicit() {
		c.Discipline = &d
	}
	if x.Machine != nil {
		c.Machine = *x.Machine
	}
	if x.Ranks > 0 {
		c.Ranks = x.Ranks
	}
	return &c
}

// want is an expectation in words.
func want(x *model.Expectation) string {
	text := x.Verdict
	if x.Property != "" {
		text += " " + x.Property
	}
	if x.Counters != nil {
		text += " " + x.Counters.String()
	}
	if x.Always {
		text += " in every run"
	}
	return text
}

// MachineText is the preset that m is, or its parameters that are not the default.
func MachineText(m model.Machine) string {
	if n := m.Name(); n != "" {
		return n
	}
	text := ""
	for i := range model.Parameters {
		p := &model.Parameters[i]
		if v := p.Value(&m); v != p.Value(&model.Machine{}) {
			if text != "" {
				text += ", "
			}
			text += p.Name + " " + v
		}
	}
	return text
}

// Finishes reports whether some run of sc ends. If a bound came first, known is false and
// finishes is false.
func Finishes(ctx context.Context, sc *model.Scenario, cfg Config) (finishes, known bool, err error) {
	e, err := newExploration(ctx, sc, &cfg)
	if err != nil {
		return false, false, err
	}
	finishes, known = true, true
	for _, u := range e.units { // ranks decided one by one finish if each does
		f, k, err := e.finishes(u)
		if err != nil {
			return false, false, err
		}
		if k && !f {
			return false, true, nil
		}
		finishes, known = finishes && f, known && k
	}
	return finishes && known, known, nil
}

// finishRuns is how many runs look for an end before a search does.
const finishRuns = 64

func (e *exploration) finishes(u *unit) (finishes, known bool, err error) {
	p := u.programs[0]
	if len(u.programs) == 1 && evaluatorFragment(p, e.machine) == "" {
		r, err := decideEvaluator(e.ctx, p, e.machine, e.cfg, false)
		return r.CanFinish, r.CanFinish || r.Bound == "", err
	}
	e.compile(u)
	for i := range uint64(finishRuns) {
		if sim.RunWith(u.sys, sim.NewRandom(e.cfg.Seed+i), 0).Final {
			return true, true, nil
		}
	}
	f := searchSystem(e.ctx, u.frag, e.cfg, true)
	return f.canFinish, f.canFinish || f.complete, nil
}
