package fencetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// TB is what is needed of a test: *testing.T, *testing.B, *testing.F and *rapid.T have it.
type TB interface {
	Helper()
	Name() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Config is how scenarios are checked. The zero value is what the functions of this
// package use; its methods are the same functions with other choices.
type Config struct {
	// Search is how one scenario is decided. Where MaxStates is 0 it is 10 million, and
	// for each drawn case 200,000.
	Search check.Config
	// Properties are the properties that may not be violated; nil for all of
	// check.Properties. One of them that a bound left unknown fails Check.
	Properties []string
	// Runs is how many cases Property draws; 0 for 100, a fifth of it under -short.
	Runs int
	// Dir is where failing cases are kept; "" for testdata/fencesim, "-" for nowhere.
	Dir string
}

// Check decides sc on every machine and fails the test where a property is violated or
// could not be decided. A machine is the name of a preset or of a file; without machines
// it is that of the scenario. The results are in the order of the machines.
func Check(t TB, sc *model.Scenario, machines ...string) []*check.Result {
	t.Helper()
	return Config{}.Check(t, sc, machines...)
}

// AssertHang fails the test unless sc can hang on every machine: for schedules that are
// known to be wrong, and for properties of the machines themselves.
func AssertHang(t TB, sc *model.Scenario, machines ...string) []*check.Result {
	t.Helper()
	return Config{}.AssertHang(t, sc, machines...)
}

// Load reads a scenario file, and ends the test with the position of its first fault.
func Load(t TB, file string) *model.Scenario {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return parse(t, file, src)
}

// Parse reads a scenario from text, YAML or JSON.
func Parse(t TB, text string) *model.Scenario {
	t.Helper()
	return parse(t, "scenario", []byte(text))
}

func parse(t TB, file string, src []byte) *model.Scenario {
	t.Helper()
	sc, err := model.Parse(file, src)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return sc
}

// Check is the function [Check] with these choices.
func (c Config) Check(t TB, sc *model.Scenario, machines ...string) []*check.Result {
	t.Helper()
	c = c.filled(10_000_000)
	list := machinesOf(t, sc, given.machines(machines))
	if c.again(t, sc, list) {
		return nil
	}
	var out []*check.Result
	for _, m := range list {
		res := c.explore(t, sc, m)
		out = append(out, res)
		switch bad := c.violated(res); {
		case len(bad) > 0:
			t.Errorf("%s", c.report(t, &failure{scenario: sc, machine: m, result: res, properties: bad}))
		case c.unknown(res):
			t.Errorf("%s on %s is inconclusive: %s", title(sc), m.name, res.Bound)
		}
	}
	return out
}

// AssertHang is the function [AssertHang] with these choices.
func (c Config) AssertHang(t TB, sc *model.Scenario, machines ...string) []*check.Result {
	t.Helper()
	c = c.filled(10_000_000)
	c.Search.NoShrink = true
	var out []*check.Result
	for _, m := range machinesOf(t, sc, machines) {
		res := c.explore(t, sc, m)
		out = append(out, res)
		if res.Verdict != check.Hang {
			t.Errorf("%s on %s: %s (%s), want a hang", title(sc), m.name, res.Verdict, res.Proof)
		}
	}
	return out
}

// filled returns c with its defaults, and the seed of the flags.
func (c Config) filled(states int64) Config {
	if c.Search.MaxStates == 0 {
		c.Search.MaxStates = states
	}
	if given.seed != 0 {
		c.Search.Seed = given.seed
	}
	if c.Properties == nil {
		c.Properties = check.Properties
	} else {
		c.Search.All = true // another violation does not end the search
	}
	if c.Dir == "" {
		c.Dir = filepath.Join("testdata", "fencesim")
	}
	return c
}

func title(sc *model.Scenario) string {
	if sc.Name == "" {
		return "the scenario"
	}
	return sc.Name
}

// machine is one to check on, with its name in messages.
type machine struct {
	name  string
	value model.Machine
}

// machinesOf resolves names; without any it is the scenario's machine.
func machinesOf(t TB, sc *model.Scenario, names []string) []machine {
	t.Helper()
	if len(names) == 0 {
		name := sc.Machine.Name()
		if name == "" {
			name = "its-machine"
		}
		return []machine{{name, sc.Machine}}
	}
	var out []machine
	for _, name := range names {
		if p, ok := model.PresetNamed(name); ok {
			out = append(out, machine{name, p.Machine})
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatalf("machine %q is no preset and no file", name)
		}
		m, err := model.ParseMachine(name, src)
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, machine{strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), m})
	}
	return out
}

// on is a copy of sc for machine m, without expectations, which are about other runs.
func on(sc *model.Scenario, m machine) *model.Scenario {
	c := *sc
	c.Version = model.FormatVersion
	c.Machine = m.value
	c.Expect = nil
	return &c
}

func (c Config) explore(t TB, sc *model.Scenario, m machine) *check.Result {
	t.Helper()
	res, err := check.Explore(contextOf(t), on(sc, m), c.Search)
	if err != nil {
		t.Fatalf("%s: %v", title(sc), err)
	}
	return res
}

// contextOf is the test's context where it has one: it ends with the test.
func contextOf(t TB) context.Context {
	if c, ok := t.(interface{ Context() context.Context }); ok {
		return c.Context()
	}
	return context.Background()
}

// violated lists the properties of interest that a result violates.
func (c Config) violated(res *check.Result) []string {
	var out []string
	for _, p := range c.Properties {
		if res.Properties[p] == check.Violated {
			out = append(out, p)
		}
	}
	return out
}

func (c Config) unknown(res *check.Result) bool {
	for _, p := range c.Properties {
		if res.Properties[p] == check.Unknown {
			return true
		}
	}
	return false
}

// keeps reports whether failing cases of t become files: not inside of rapid.Check, which
// runs a property many times while it shrinks, nor in a fuzzing process.
func (c Config) keeps(t TB) bool {
	if _, ok := t.(*rapid.T); ok || c.Dir == "-" {
		return false
	}
	return testing.Testing()
}

// runs is how many cases to draw.
func (c Config) runs() int {
	switch {
	case given.runs > 0:
		return given.runs
	case c.Runs > 0 && testing.Short():
		return max(1, c.Runs/5)
	case c.Runs > 0:
		return c.Runs
	case testing.Short():
		return 20
	}
	return 100
}
