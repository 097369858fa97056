package fencetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/hwreplay"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A seedFile is one case of a corpus: a scenario, the seed of a random run of it, and what
// that run shows. Steps and Digest hold the run fast: a case that shows something else by
// now is stale, and fails.
type seedFile struct {
	Seed     uint64    `yaml:"seed"`
	Property string    `yaml:"property"` // what the run violates; "none" of one that finishes
	Steps    int       `yaml:"steps"`
	Digest   string    `yaml:"digest"` // of the run's transitions in words
	Scenario yaml.Node `yaml:"scenario"`

	name     string
	scenario *model.Scenario
}

// Seeds replays each case of a folder, NAME.yaml, on the simulator and on every backend of
// hwreplay that is present, fails those that are stale, and explores the scenario, which must
// not be proved free of what its run shows. With -fencesim.add=FILE it
// first adds a case for a scenario file: the first seed from -fencesim.seed (or 1) on whose
// random run violates something, or a run that finishes if 10,000 violate nothing.
func Seeds(t *testing.T, dir string) {
	t.Helper()
	if given.add != "" {
		file, err := addSeed(dir, given.add, max(1, given.seed))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("added %s", file)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no case in %s: %v", dir, err)
	}
	backends := present(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			f, err := readSeed(file)
			if err != nil {
				t.Fatal(err)
			}
			trace, err := f.run()
			if err != nil {
				t.Fatalf("stale: %v\nsed '1,/^scenario:/d' %s | fencesim replay - --seed %d", err, file, f.Seed)
			}
			if err := f.explore(); err != nil {
				t.Error(err)
			}
			for _, backend := range backends {
				switch err := f.replay(backend, trace); {
				case errors.Is(err, hwreplay.ErrCannotImpose):
					t.Logf("not on %s: %v", backend, err)
				case err != nil:
					t.Errorf("on %s: %v", backend, err)
				}
			}
		})
	}
}

// present lists the backends of this machine, and says of the others why they are missing.
func present(t *testing.T) []string {
	var out []string
	for _, b := range []string{"host", "cuda", "metal"} {
		if _, err := hwreplay.Open(b); err != nil {
			t.Logf("not on %s: %v", b, err)
			continue
		}
		out = append(out, b)
	}
	return out
}

func readSeed(file string) (*seedFile, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseSeed(file, b)
}

// parseSeed reads a case. The error is one line that begins with the file, line and column.
func parseSeed(file string, b []byte) (*seedFile, error) {
	fault := func(line, column int, format string, args ...any) error {
		text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		return fmt.Errorf("%s:%d:%d: %s", file, line, column, model.Printable(text))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		line := 1
		fmt.Sscanf(err.Error(), "yaml: line %d:", &line) // it tells no column
		return nil, fault(line, 1, "%v", err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fault(1, 1, "want a mapping with the keys %s", strings.Join(seedKeys, ", "))
	}
	f := &seedFile{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
	values := map[string]*yaml.Node{}
	scenario := b
	root := doc.Content[0].Content
	for i := 0; i < len(root); i += 2 {
		key, value := root[i], root[i+1]
		switch {
		case !slices.Contains(seedKeys, key.Value):
			return nil, fault(key.Line, key.Column, "unknown key %q: want one of %s", key.Value, strings.Join(seedKeys, ", "))
		case values[key.Value] != nil:
			return nil, fault(key.Line, key.Column, "key %q twice", key.Value)
		case key.Value == "scenario" && i+2 < len(root):
			scenario = b[:offset(b, root[i+2])]
		}
		values[key.Value] = value
	}
	for _, k := range []struct {
		key  string
		to   any
		want string
	}{{"seed", &f.Seed, "a number"}, {"property", &f.Property, "a word"}, {"steps", &f.Steps, "a number"}, {"digest", &f.Digest, "a word"}} {
		if n := values[k.key]; n != nil && n.Decode(k.to) != nil {
			return nil, fault(n.Line, n.Column, "%s: want %s", k.key, k.want)
		}
	}
	if f.Steps < 0 {
		return nil, fault(values["steps"].Line, values["steps"].Column, "steps: want a number that is not negative")
	}
	n := values["scenario"]
	if n == nil {
		return nil, fault(1, 1, "missing key %q", "scenario")
	}
	// What stands before the scenario becomes blanks, so that positions are those in the file.
	from := offset(b, n)
	blank := append(bytes.Repeat([]byte("\n"), n.Line-1), bytes.Repeat([]byte(" "), n.Column-1)...)
	var err error
	if f.scenario, err = model.Parse(file, append(blank, scenario[from:]...)); err != nil {
		return nil, err
	}
	if f.Property != "none" && !slices.Contains(model.Properties, f.Property) {
		line, column := 1, 1
		if p := values["property"]; p != nil {
			line, column = p.Line, p.Column
		}
		return nil, fault(line, column, "property %q is none of %s", f.Property, strings.Join(model.Properties, ", "))
	}
	return f, nil
}

// seedKeys are the keys of a case.
var seedKeys = []string{"seed", "property", "steps", "digest", "scenario"}

// offset is where a node stands in b.
func offset(b []byte, n *yaml.Node) int {
	at := 0
	for range n.Line - 1 {
		at += bytes.IndexByte(b[at:], '\n') + 1
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return min(at, len(b))
}

// shown are the properties that a run violates; "none" of one that finishes without.
func shown(y *sim.System, run sim.Run) []string {
	var out []string
	if run.Stuck {
		out = append(out, "hang")
		if y.Orphan(run.Last) {
			out = append(out, "orphan")
		}
	}
	out = append(out, run.Violated.Words()...)
	if len(out) == 0 && run.Final {
		out = append(out, "none")
	}
	return out
}

// words is a digest of what a run does, transition by transition. It does not depend on
// how a state is laid out.
func words(y *sim.System, run sim.Run) string {
	h := sha256.New()
	s := y.Initial()
	var buf []sim.Transition
	for _, c := range run.Choices {
		buf = y.Enabled(s, buf[:0])
		fmt.Fprintf(h, "%s: %s\n", y.Agent(buf[c]), y.Describe(buf[c]))
		y.Apply(s, buf[c])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// explore decides the case's scenario: the error is that of the exploration, or that it
// proves the absence of what the run shows. A bound that it meets is no error.
func (f *seedFile) explore() error {
	res, err := check.Explore(context.Background(), f.scenario, check.Config{All: true, NoShrink: true, MaxStates: 200_000})
	switch {
	case err != nil:
		return fmt.Errorf("explored: %w", err)
	case res.Properties[f.Property] == check.Holds:
		return fmt.Errorf("explored, %s holds by %s; a run shows it", f.Property, res.Proofs[f.Property])
	}
	return nil
}

func compile(sc *model.Scenario) (*sim.System, error) {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	return sim.Compile(ps, sc.Machine, sim.Options{}), nil
}

// run makes the case's run; the error says what of it is stale.
func (f *seedFile) run() (*sim.Trace, error) {
	y, err := compile(f.scenario)
	if err != nil {
		return nil, err
	}
	run := sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(f.Seed)}, 0)
	got := shown(y, run)
	if !slices.Contains(got, f.Property) {
		return nil, fmt.Errorf("seed %d shows %v, want %s", f.Seed, got, f.Property)
	}
	if d := words(y, run); len(run.Choices) != f.Steps || d != f.Digest {
		return nil, fmt.Errorf("seed %d shows %s after %d steps (%s), it was after %d steps (%s)", f.Seed, f.Property, len(run.Choices), d, f.Steps, f.Digest)
	}
	src, err := json.Marshal(f.scenario)
	if err != nil {
		return nil, err
	}
	return sim.NewTrace(y, src, "random", f.Seed, -1, run.Choices), nil
}

// replay runs the case's schedule on a device, with the run's buffer ends. A device keeps
// its own time, so what must hold is that what it does is a run of the model.
func (f *seedFile) replay(backend string, trace *sim.Trace) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	task := &hwreplay.Task{Backend: backend, Replay: &hwreplay.Request{Trace: trace, Brief: true, Config: hwreplay.Config{Patience: 300 * time.Millisecond}}}
	rep, err := hwreplay.Perform(ctx, task, nil)
	if err != nil {
		return err
	}
	r := rep.Replay
	switch {
	case !r.Released:
		return fmt.Errorf("the device was not released")
	case r.Model == hwreplay.Outside:
		return fmt.Errorf("%s, which is no run of the model: %s", r.Verdict, r.Reason)
	case f.Property == "none" && r.Verdict == hwreplay.VerdictHung && !f.mayHang():
		return fmt.Errorf("hung at %s", r.Counters)
	}
	return nil
}

// mayHang reports whether some run of the case can hang, or may for all that is known.
func (f *seedFile) mayHang() bool {
	res, err := check.Explore(context.Background(), f.scenario, check.Config{MaxStates: 1_000_000, NoShrink: true})
	return err != nil || res.Properties["hang"] != check.Holds
}

// addSeed writes a case for a scenario file.
func addSeed(dir, file string, seed uint64) (string, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sc, err := model.Parse(file, src)
	if err != nil {
		return "", err
	}
	sc.Expect = nil
	y, err := compile(sc)
	if err != nil {
		return "", err
	}
	var f *seedFile
	for s := seed; s < seed+10_000; s++ {
		run := sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(s)}, 0)
		got := shown(y, run)
		if len(got) == 0 || f != nil && got[0] == "none" {
			continue
		}
		f = &seedFile{Seed: s, Property: got[0], Steps: len(run.Choices), Digest: words(y, run)}
		if f.Property != "none" {
			break
		}
	}
	if f == nil {
		return "", fmt.Errorf("%s: no run from seed %d on ends", file, seed)
	}
	text, err := sc.Format()
	if err != nil {
		return "", err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	f.Scenario = *doc.Content[0]
	var b bytes.Buffer
	if sc.About != "" {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(strings.TrimSpace(sc.About), "\n", "\n# "))
	}
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(f); err != nil {
		return "", err
	}
	name := safe(sc.Name)
	if name == "" {
		name = safe(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)))
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	out := filepath.Join(dir, name+".yaml")
	if _, err := os.Stat(out); err == nil {
		return "", fmt.Errorf("%s exists", out)
	}
	return out, write(out, b.Bytes())
}
