package fencetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// record is a failing case as files:
//
//	NAME.yaml             the scenario, shrunk, with what happened as comments
//	NAME.trace.json       its run, for fencesim replay; Seed is that of the draw
//	NAME.full.trace.json  the run before shrinking, if that is another
//
// They hold no time and no path, so that they can be committed.
type record struct{ dir, name string }

func (r record) scenario() string { return filepath.Join(r.dir, r.name+".yaml") }
func (r record) trace() string    { return filepath.Join(r.dir, r.name+".trace.json") }
func (r record) full() string     { return filepath.Join(r.dir, r.name+".full.trace.json") }

// dirOf is where the cases of a test are kept.
func (c Config) dirOf(t TB) string {
	parts := []string{c.Dir}
	for _, p := range strings.Split(t.Name(), "/") {
		parts = append(parts, safe(p))
	}
	return filepath.Join(parts...)
}

// records lists what is kept of a test, by name.
func (c Config) records(t TB) []record {
	if !c.keeps(t) {
		return nil
	}
	dir := c.dirOf(t)
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []record
	for _, f := range list {
		if name, ok := strings.CutSuffix(f.Name(), ".trace.json"); ok && !strings.HasSuffix(name, ".full") {
			out = append(out, record{dir, name})
		}
	}
	return out
}

// save writes the files. Each is written whole under another name first.
func (r record) save(t TB, f *failure, small *model.Scenario, trace *sim.Trace) error {
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return err
	}
	text, err := small.Format()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s on %s\n", t.Name(), strings.Join(f.properties, ", "), f.machine.name)
	for _, s := range f.result.Stuck {
		fmt.Fprintf(&b, "# %s\n", s.Cause)
		break
	}
	b.Write(text)
	if err := write(r.scenario(), []byte(b.String())); err != nil {
		return err
	}
	os.Remove(r.full())
	if whole := f.trace(); whole != nil && whole.Digest != trace.Digest {
		if err := writeTrace(r.full(), whole, f.seed); err != nil {
			return err
		}
	}
	return writeTrace(r.trace(), trace, f.seed)
}

func writeTrace(file string, trace *sim.Trace, seed uint64) error {
	c := *trace
	c.Seed = seed
	b, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		return err
	}
	return write(file, append(b, '\n'))
}

func write(file string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// read gives the run of a record: before shrinking, if that is kept.
func (r record) read() (*sim.Trace, error) {
	b, err := os.ReadFile(r.full())
	if err != nil {
		if b, err = os.ReadFile(r.trace()); err != nil {
			return nil, err
		}
	}
	return parseRecord(r.trace(), b)
}

// parseRecord reads the run of a record. The error is one line that begins with the file.
func parseRecord(file string, b []byte) (*sim.Trace, error) {
	t := new(sim.Trace)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("%s: not a trace: %w", file, err)
	}
	if t.Version != model.FormatVersion {
		return nil, fmt.Errorf("%s: version %d of the format: want %d", file, t.Version, model.FormatVersion)
	}
	return t, nil
}

// again tries the runs that are kept of a test on sc as it is now. It reports whether one
// still happens, and has then failed the test.
func (c Config) again(t TB, sc *model.Scenario, machines []machine) bool {
	t.Helper()
	for _, r := range c.records(t) {
		trace, err := r.read()
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		for _, m := range machines {
			if lines := stillHappens(on(sc, m), trace, c.Properties); lines != nil {
				file, err := filepath.Abs(r.trace())
				if err != nil {
					file = r.trace()
				}
				t.Errorf("%s on %s: the run in %s still happens\n%sfencesim replay %s", title(sc), m.name, r.trace(), indent(strings.Join(lines, "\n")), quote(file))
				return true
			}
		}
		t.Logf("the run in %s does not happen any longer: delete it, and %s", r.trace(), filepath.Base(r.scenario()))
	}
	return false
}

// stillHappens replays a run on a scenario: what it violates and who is stuck, or nil if
// it is no run of the scenario or violates nothing of interest.
func stillHappens(sc *model.Scenario, trace *sim.Trace, properties []string) []string {
	ps, err := sc.Programs(sc.Effective())
	if err != nil || trace.Rank >= len(ps) {
		return nil
	}
	if trace.Rank >= 0 {
		ps = ps[trace.Rank : trace.Rank+1]
	}
	y := sim.Compile(ps, sc.Machine, sim.Options{})
	run, err := trace.Replay(y, nil)
	if err != nil {
		return nil
	}
	var out []string
	if run.Stuck && slices.Contains(properties, "hang") {
		out = append(out, "stuck:")
		for r := range y.Ranks() {
			for _, b := range y.Blocked(run.Last, r) {
				out = append(out, fmt.Sprintf("  %s at %s: %s", b.Agent, b.At, b.Needs))
			}
		}
	}
	for _, w := range run.Violated.Words() {
		if slices.Contains(properties, w) {
			out = append(out, "violates "+w)
		}
	}
	return out
}
