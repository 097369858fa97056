package hwreplay

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

//go:embed corpus/*.yaml
var corpusFiles embed.FS

// A ConformRequest asks which machines a device's observations allow. The zero value runs
// the corpus on the device as it is.
type ConformRequest struct {
	Runs   int      `json:"runs,omitempty"`   // of each test; 0: 200
	Hangs  int      `json:"hangs,omitempty"`  // runs of a test that hang before it is left; 0: 5
	Impose *Machine `json:"impose,omitempty"` // assumptions imposed on the device
	Claim  *Machine `json:"claim,omitempty"`  // the machine that the device is said to be; nil: ideal, or what is imposed
	Config Config   `json:"config"`
}

// A Conformance is what the observations of a device allow and refute.
type Conformance struct {
	Version int `json:"fencesim"`
	Info
	Imposed *Machine      `json:"imposed,omitempty"`
	Claim   Machine       `json:"claim"`
	Runs    int           `json:"runs"`    // observations made
	Outside int           `json:"outside"` // observations that the claim does not allow
	Tests   []ConformTest `json:"tests"`
	Litmus  []LitmusRow   `json:"litmus"`
	// Machines says of every preset whether all observations are among those that it
	// allows.
	Machines []MachineVerdict `json:"machines"`
	Machine  *MachineFile     `json:"machine_file,omitempty"` // nil: every machine is refuted, or interrupted
	// Interrupted says that not every test was run, or not as often as asked for.
	Interrupted bool    `json:"interrupted,omitempty"`
	Elapsed     float64 `json:"elapsed_s"`
}

// A ConformTest is one schedule of the corpus: what was seen, and what the claim allows
// and was never seen.
type ConformTest struct {
	Name     string        `json:"name"`
	Runs     int           `json:"runs"`
	Seen     []Observation `json:"seen"`
	Unseen   []string      `json:"unseen"`
	Refused  string        `json:"refused,omitempty"` // the device could not run it
	Released bool          `json:"released"`
}

// An Observation is how often something was seen and whether the claim allows it.
type Observation struct {
	Outcome string `json:"outcome"`
	Count   int    `json:"count"`
	Allowed bool   `json:"allowed"`
}

// A MachineVerdict is what the observations say of one machine.
type MachineVerdict struct {
	Name    string `json:"name"`
	Refuted bool   `json:"refuted"`
	By      string `json:"by,omitempty"`     // the first observation that it does not allow
	Unseen  int    `json:"unseen,omitempty"` // outcomes that it allows and that were never seen
}

// A MachineFile is a file that --machine takes.
type MachineFile struct {
	Version int     `json:"fencesim"`
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Machine Machine `json:"machine"`
}

// corpusTest is one file of the corpus. Store rules are the software's: its machine is
// the file's store, whatever else is assumed.
type corpusTest struct {
	scenario *model.Scenario
	source   string
	programs []*model.Schedule
}

// on is a machine with the store rule of the test.
func (t *corpusTest) on(m model.Machine) model.Machine {
	m.Store = t.scenario.Machine.Store
	return m
}

// Corpus lists the names of the corpus in the order in which it runs.
func Corpus() []string {
	var names []string
	for _, t := range mustCorpus() {
		names = append(names, t.scenario.Name)
	}
	return names
}

// mustCorpus reads the corpus, which is embedded and tested.
func mustCorpus() []*corpusTest {
	list, _ := corpusFiles.ReadDir("corpus")
	var out []*corpusTest
	for _, f := range list {
		src, _ := corpusFiles.ReadFile(path.Join("corpus", f.Name()))
		s, err := model.Parse(f.Name(), src)
		if err != nil {
			panic(err)
		}
		p, err := s.Programs(model.Count)
		if err != nil {
			panic(err)
		}
		out = append(out, &corpusTest{s, string(src), p})
	}
	return out
}

// Conform runs the corpus and the litmus tests on a device and holds what was seen
// against every machine preset and against the claim. With ErrStopped,
// when ctx is done, comes what was seen until then, and no machine file.
func Conform(ctx context.Context, q *ConformRequest, d Device, note func(string)) (*Conformance, error) {
	return observe(ctx, q, d, note, func(*Conformance) {})
}

// observe is Conform that tells flush after each test what was seen.
func observe(ctx context.Context, q *ConformRequest, d Device, note func(string), flush func(*Conformance)) (*Conformance, error) {
	begun := time.Now()
	c := &Conformance{Version: model.FormatVersion, Info: d.Info(), Imposed: q.Impose, Tests: []ConformTest{}, Litmus: []LitmusRow{}}
	imposed := model.Machine{}
	if q.Impose != nil {
		imposed = q.Impose.Machine
	}
	c.Claim = Machine{imposed}
	if q.Claim != nil {
		c.Claim = *q.Claim
	}
	tests := mustCorpus()
	for _, t := range tests {
		row, err := conformTest(ctx, q, t, imposed, c.Claim.Machine, d, note)
		if err != nil && !errors.Is(err, ErrStopped) {
			return nil, fmt.Errorf("%s: %w", t.scenario.Name, err)
		}
		c.Tests = append(c.Tests, *row)
		c.Runs += row.Runs
		for _, o := range row.Seen {
			if !o.Allowed {
				c.Outside += o.Count
			}
		}
		c.Elapsed = time.Since(begun).Seconds()
		if err != nil {
			c.interrupt()
			return c, err
		}
		flush(c)
	}
	if q.Impose == nil {
		rows, err := litmus(ctx, q, d, note)
		if err != nil && !errors.Is(err, ErrStopped) {
			return nil, err
		}
		for _, r := range rows {
			c.Runs += r.Runs
			if !r.Allowed {
				c.Outside += r.Stale
			}
		}
		c.Litmus = append(c.Litmus, rows...)
		if err != nil {
			c.interrupt()
			return c, err
		}
	}
	c.judge(tests)
	c.Elapsed = time.Since(begun).Seconds()
	return c, nil
}

// interrupt judges what was seen before an interrupt.
func (c *Conformance) interrupt() {
	c.Interrupted, c.Machines = true, nil
	c.judge(mustCorpus()[:len(c.Tests)])
	c.Machine = nil
}

// conformTest makes the runs of one test. With ErrStopped comes what was seen until then.
func conformTest(ctx context.Context, q *ConformRequest, t *corpusTest, imposed, claim model.Machine, d Device, note func(string)) (*ConformTest, error) {
	row := &ConformTest{Name: t.scenario.Name, Released: true, Seen: []Observation{}, Unseen: []string{}}
	r, err := NewRunner(ctx, NewPlan(t.programs, t.on(imposed)), d)
	switch {
	case isRefused(err):
		row.Refused = err.Error()
		return row, nil
	case errors.Is(err, ErrStopped):
		return row, err
	case err != nil:
		return nil, err
	}
	defer r.Close()
	config := q.Config
	if config.Patience == 0 {
		config.Patience = 250 * time.Millisecond
	}
	runs, hangs := q.Runs, q.Hangs
	if runs == 0 {
		runs = 200
	}
	if hangs == 0 {
		hangs = 5
	}
	seen := map[string]int{}
	var stopped error
	for i := 0; i < runs && hangs > 0; i++ {
		if i == 0 || config.Patience > 5*time.Second {
			note(fmt.Sprintf("%s, run %d", t.scenario.Name, i+1))
		}
		config.Seed++
		// Gaps and starts vary, so that what can interleave does.
		config.Gap = time.Duration(i%5) * 2 * time.Microsecond
		config.Stagger = time.Duration(i%3) * 20 * time.Microsecond
		out, err := r.Run(config)
		if errors.Is(err, ErrStopped) {
			stopped = err
			break
		}
		if err != nil {
			return nil, err
		}
		row.Runs++
		seen[out.observation()]++
		if out.Hung {
			hangs--
			note(fmt.Sprintf("%s, run %d", t.scenario.Name, i+2))
		}
		if row.Released = out.Released && out.Usable; !row.Released {
			return row, fmt.Errorf("the device did not come back from run %d", i+1)
		}
	}
	allowed, _ := outcomes(sim.Compile(t.programs, t.on(claim), sim.Options{}))
	for o, n := range seen {
		row.Seen = append(row.Seen, Observation{o, n, allowed[o]})
	}
	slices.SortFunc(row.Seen, func(a, b Observation) int { return strings.Compare(a.Outcome, b.Outcome) })
	for o := range allowed {
		if seen[o] == 0 {
			row.Unseen = append(row.Unseen, o)
		}
	}
	slices.Sort(row.Unseen)
	return row, stopped
}

// judge holds what was seen against every preset, and names the first that allows it all,
// in the order of the presets: the strongest of those that are ordered.
func (c *Conformance) judge(tests []*corpusTest) {
	for _, p := range model.Presets {
		v := MachineVerdict{Name: p.Name}
		for i, t := range tests {
			allowed, whole := outcomes(sim.Compile(t.programs, t.on(p.Machine), sim.Options{}))
			seen := map[string]bool{}
			for _, o := range c.Tests[i].Seen {
				seen[o.Outcome] = true
				if whole && !allowed[o.Outcome] && !v.Refuted {
					v.Refuted, v.By = true, t.scenario.Name+": "+o.Outcome
				}
			}
			for o := range allowed {
				if !seen[o] {
					v.Unseen++
				}
			}
		}
		c.Machines = append(c.Machines, v)
		if !v.Refuted && c.Machine == nil {
			about := fmt.Sprintf("what %d observations of %s (%s) allow, the strongest preset first: %s", c.Runs, c.Name, c.Driver, p.Name)
			c.Machine = &MachineFile{model.FormatVersion, c.Backend + "-conform", about, Machine{p.Machine}}
		}
	}
}

// observation is what can be seen of a run: its end and every fence to both sides.
func (o *Outcome) observation() string {
	var b strings.Builder
	b.WriteString(map[bool]string{true: "hung", false: "finished"}[o.Hung])
	for _, r := range o.Ranks {
		for _, f := range r.Fences {
			writeFence(&b, f.Name, f.gpu, f.cpu)
		}
	}
	return b.String()
}

func writeFence(b *strings.Builder, name string, gpu, cpu uint32) {
	fmt.Fprintf(b, " %s=%d", name, gpu)
	if cpu != gpu {
		fmt.Fprintf(b, "/%d", cpu)
	}
}

// outcomeBound is how many states [outcomes] visits.
const outcomeBound = 60_000

// outcomes is every observation that a system allows, by plain search: what its stuck and
// its final states look like, with arrivals after the end. False: the bound was reached.
func outcomes(y *sim.System) (map[string]bool, bool) {
	out := map[string]bool{}
	visited := map[string]bool{}
	stack := []sim.State{y.Initial()}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		key := y.Digest(s)
		if visited[key] {
			continue
		}
		if visited[key] = true; len(visited) > outcomeBound {
			return out, false
		}
		final, stuck := y.Final(s), y.Stuck(s)
		if final || stuck {
			var b strings.Builder
			b.WriteString(map[bool]string{true: "hung", false: "finished"}[stuck])
			for r := range y.Ranks() {
				for _, f := range y.FenceStates(s, r) {
					writeFence(&b, f.Name, f.SeenByGPU, f.SeenByCPU)
				}
			}
			out[b.String()] = true
		}
		for _, t := range y.Enabled(s, nil) {
			n, _ := y.Next(s, t)
			stack = append(stack, n)
		}
	}
	return out, true
}
