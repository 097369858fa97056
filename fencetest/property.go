package fencetest

import (
	"flag"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// Property draws scenarios from gen and fails the test at the first that violates a
// property on some machine (without machines: on its own), shrunk. The seeds of earlier
// failures, kept under testdata, are drawn first.
func Property(t *testing.T, gen *rapid.Generator[*model.Scenario], machines ...string) {
	t.Helper()
	Config{}.Property(t, gen, machines...)
}

// Fuzz makes a native fuzz target of the same property: `go test -fuzz` searches gen's
// choices, guided by coverage.
func Fuzz(f *testing.F, gen *rapid.Generator[*model.Scenario], machines ...string) {
	f.Helper()
	Config{}.Fuzz(f, gen, machines...)
}

// Property is the function [Property] with these choices.
func (c Config) Property(t *testing.T, gen *rapid.Generator[*model.Scenario], machines ...string) {
	t.Helper()
	c = c.filled(200_000)
	for _, r := range c.records(t) {
		trace, err := r.read()
		if err != nil || trace.Seed == 0 {
			t.Logf("%s is no drawn case: %v", r.trace(), err)
			continue
		}
		if c.try(t, gen, trace.Seed, machines) {
			return
		}
		t.Logf("the case in %s does not fail any longer: delete it, and %s", r.scenario(), r.trace())
	}
	seed := given.seed
	for seed == 0 {
		seed = new(maphash.Hash).Sum64() >> 32
	}
	for i := range c.runs() {
		if c.try(t, gen, drawSeed(seed, i), machines) {
			return
		}
	}
	t.Logf("%d cases hold (-fencesim.seed=%#x)", c.runs(), seed)
}

// Fuzz is the function [Fuzz] with these choices.
func (c Config) Fuzz(f *testing.F, gen *rapid.Generator[*model.Scenario], machines ...string) {
	f.Helper()
	c = c.filled(200_000)
	c.Dir = "-" // the fuzzer keeps what fails
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		if bad := c.decide(t, gen.Draw(t, "scenario"), machines); bad != nil {
			t.Fatalf("%s", c.report(t, bad))
		}
	}))
}

// drawSeed is the seed of case i: the base itself first, so that a printed seed with
// -fencesim.runs=1 draws that case. It is never 0 and fits an int of every platform.
func drawSeed(base uint64, i int) uint64 {
	x := base
	if i > 0 { // splitmix64
		x += uint64(i) * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	if x = x & (1<<31 - 1); x == 0 {
		return 1
	}
	return x
}

// try checks the case of one seed, and reports whether it failed the test.
func (c Config) try(t *testing.T, gen *rapid.Generator[*model.Scenario], seed uint64, machines []string) bool {
	t.Helper()
	bad := c.decide(t, gen.Example(int(seed)), machines)
	if bad == nil {
		return false
	}
	small := c.shrink(t, gen, seed, machines, bad)
	small.seed = seed
	small.drawn = fmt.Sprintf("drawn with seed %#x", seed)
	if small != bad {
		small.drawn += ", shrunk"
	}
	t.Errorf("%s", c.report(t, small))
	return true
}

// decide gives the first failure of a drawn case, or nil. What a bound left open counts
// as no failure: only a case that is known to be wrong is one.
func (c Config) decide(t TB, sc *model.Scenario, machines []string) *failure {
	t.Helper()
	for _, m := range machinesOf(t, sc, given.machines(machines)) {
		res := c.explore(t, sc, m)
		if bad := c.violated(res); len(bad) > 0 {
			return &failure{scenario: sc, machine: m, result: res, properties: bad}
		}
	}
	return nil
}

// shrinking serialises what changes rapid's flags for a moment.
var shrinking sync.Mutex

// shrink has rapid draw the case again and shrink it: a smaller one that violates the same
// property, or the failure itself where that gives none.
func (c Config) shrink(t *testing.T, gen *rapid.Generator[*model.Scenario], seed uint64, machines []string, first *failure) *failure {
	smallest := first
	quick := c
	quick.Search.NoShrink = true
	shrinkDraw(t, gen, seed, func(r TB, sc *model.Scenario) bool {
		bad := quick.decide(r, sc, machines)
		if bad == nil || !slices.Contains(bad.properties, first.properties[0]) {
			return false
		}
		smallest = bad
		return true
	})
	if smallest == first || c.Search.NoShrink {
		return smallest
	}
	// Once more, for what is shrunk of the scenario itself.
	if res, err := check.Explore(t.Context(), on(smallest.scenario, smallest.machine), c.Search); err == nil && len(c.violated(res)) > 0 {
		smallest.result = res
	}
	return smallest
}

// shrinkDraw has rapid draw the case of a seed and shrink it, as long as bad says that it
// is still one. The last call that returned true had the smallest.
func shrinkDraw(t *testing.T, gen *rapid.Generator[*model.Scenario], seed uint64, bad func(TB, *model.Scenario) bool) {
	shrinking.Lock()
	defer shrinking.Unlock()
	for name, value := range map[string]string{"rapid.seed": fmt.Sprint(seed), "rapid.checks": "5", "rapid.nofailfile": "true", "rapid.failfile": "", "rapid.shrinktime": "10s"} {
		f := flag.Lookup(name)
		if f == nil {
			return
		}
		defer f.Value.Set(f.Value.String())
		f.Value.Set(value)
	}
	defer func() {
		if r := recover(); r != nil && r != stop {
			t.Logf("shrinking: %v\n%s", r, debug.Stack())
		}
	}()
	rapid.Check(&quiet{t: t}, func(r *rapid.T) {
		if bad(r, gen.Draw(r, "scenario")) {
			r.Fatalf("still fails")
		}
	})
}

// stop ends a quiet test.
var stop = new(int)

// quiet is a test that nobody sees: rapid tells it what it does while it shrinks.
type quiet struct {
	t      *testing.T
	failed bool
}

func (*quiet) Helper()              {}
func (q *quiet) Name() string       { return q.t.Name() }
func (*quiet) Logf(string, ...any)  {}
func (*quiet) Log(...any)           {}
func (*quiet) Skipf(string, ...any) {}
func (*quiet) Skip(...any)          {}
func (*quiet) SkipNow()             { panic(stop) }
func (q *quiet) Errorf(string, ...any) {
	q.failed = true
}
func (q *quiet) Error(...any) { q.failed = true }
func (q *quiet) Fatalf(string, ...any) {
	q.FailNow()
}
func (q *quiet) Fatal(...any) { q.FailNow() }
func (q *quiet) FailNow() {
	q.failed = true
	panic(stop)
}
func (q *quiet) Fail()        { q.failed = true }
func (q *quiet) Failed() bool { return q.failed }
