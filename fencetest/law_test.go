package fencetest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// A law is one sentence about all scenarios of a family: holds gives an error that says
// what is wrong, errSkip where the sentence says nothing of a scenario, or nil.
//
// A long run (FENCESIM_LONG) takes n cases, a usual one and one that has a mutant to find
// half of them, a short one a fifth. The same cases are drawn each time; -fencesim.seed draws
// others, -fencesim.runs more, and a failure is shrunk and ends with the command that repeats
// it.
func law(t *testing.T, n int, gen *rapid.Generator[*model.Scenario], holds func(*model.Scenario) error) {
	t.Helper()
	switch {
	case os.Getenv("FENCESIM_LONG") != "":
	case testing.Short() && os.Getenv("FENCESIM_MUTANT") == "":
		n = max(1, n/5)
	default:
		n = max(1, n/2)
	}
	if given.runs > 0 {
		n = given.runs
	}
	seed := given.seed
	if seed == 0 {
		seed = 1
	}
	skipped := 0
	for i := range n {
		s := drawSeed(seed, i)
		sc := gen.Example(int(s))
		err := holds(sc)
		if err == errSkip {
			skipped++
			continue
		}
		if err == nil {
			continue
		}
		if os.Getenv("FENCESIM_MUTANT") != "" {
			t.Fatalf("seed %#x: %v", s, err) // nobody reads what a mutant fails with
		}
		shrinkDraw(t, gen, s, func(_ TB, smaller *model.Scenario) bool {
			if e := holds(smaller); e != nil && e != errSkip {
				sc, err = smaller, e
				return true
			}
			return false
		})
		t.Fatalf("seed %#x: %v\n%sgo test ./fencetest -run '%s' -fencesim.seed=%#x -fencesim.runs=1", s, err, indent(text(sc)), pattern(t.Name()), s)
	}
	if skipped > 0 {
		t.Logf("%d cases, %d of which the law says nothing of", n, skipped)
	}
	if skipped == n && n > 1 {
		t.Errorf("the law says nothing of any of %d cases", n)
	}
}

// errSkip says that a law does not speak of a scenario.
var errSkip = fmt.Errorf("not spoken of")

// laws runs a law on several families.
func laws(t *testing.T, n int, names string, holds func(*model.Scenario) error) {
	t.Helper()
	for _, f := range Families {
		if names != "" && !strings.Contains(" "+names+" ", " "+f.Name+" ") {
			continue
		}
		t.Run(f.Name, func(t *testing.T) { law(t, n, f.Scenarios(), holds) })
	}
}

func text(sc *model.Scenario) string {
	b, err := sc.Format()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// small bounds a plain search.
const small = 4000

// decide explores a scenario; errSkip where a bound ended the search with nothing found.
func decide(sc *model.Scenario, cfg check.Config) (*check.Result, error) {
	cfg.NoShrink = true
	if cfg.MaxStates == 0 {
		cfg.MaxStates = 50000
	}
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	res, err := check.Explore(context.Background(), sc, cfg)
	if err != nil {
		return nil, err
	}
	if res.Verdict == check.Inconclusive {
		return res, errSkip
	}
	return res, nil
}

// hangs decides whether sc can hang; errSkip where a bound ended the search.
func hangs(sc *model.Scenario) (bool, error) {
	res, err := decide(sc, check.Config{})
	if err != nil {
		return false, err
	}
	switch res.Properties["hang"] {
	case check.Violated:
		return true, nil
	case check.Holds:
		return false, nil
	}
	// Another violation ended the search.
	res, err = decide(sc, check.Config{All: true})
	if err != nil || res.Properties["hang"] == check.Unknown {
		return false, errSkip
	}
	return res.Properties["hang"] == check.Violated, nil
}

// with is a copy of sc that f changed.
func with(sc *model.Scenario, f func(*model.Scenario)) *model.Scenario {
	c := *sc
	f(&c)
	return &c
}

// under is sc with a discipline and a view of the GPU's stores.
func under(sc *model.Scenario, d model.Discipline, v model.Visibility) *model.Scenario {
	return with(sc, func(c *model.Scenario) {
		if !c.Explicit() {
			c.Discipline = &d
		}
		c.Machine = model.Machine{GPUToCPU: v}
	})
}

func lag(n int) model.Visibility { return model.Visibility{Mode: model.VisLag, Buffers: n} }
