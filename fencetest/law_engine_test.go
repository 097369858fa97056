package fencetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// plain is a search without reductions that goes on to the end.
func plain(sc *model.Scenario) (*check.Result, error) {
	res, err := decide(sc, check.Config{Strategy: "dfs", Reductions: []string{}, All: true, MaxStates: small})
	if err == nil && res.Bound != "" {
		return nil, errSkip
	}
	return res, err
}

// tiny runs a law on what a search without reductions can decide: few chains and rounds,
// one rank, or two in some.
func tiny(t *testing.T, n int, holds func(*model.Scenario) error) {
	t.Helper()
	for _, f := range Families {
		t.Run(f.Name, func(t *testing.T) {
			law(t, n, rapid.Map(f.Scenarios(), cutDown), holds)
		})
	}
}

func cutDown(sc *model.Scenario) *model.Scenario {
	c := *sc
	switch {
	case c.Generate != nil && c.Generate.Kind == "pipeline":
		c.Ranks = 2
	case c.Ranks > 2:
		c.Ranks = 2
	default:
		c.Ranks = 1
	}
	if c.Generate != nil {
		g := *c.Generate
		g.Reductions, g.Rounds, g.Size = min(g.Reductions, 3), min(g.Rounds, 1), min(g.Size, 8)
		c.Generate = &g
	}
	return &c
}

func stuckAt(res *check.Result) string {
	var out []string
	for _, s := range res.Stuck {
		out = append(out, s.Counters.String())
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// The plain search finds what the naive model of the tests finds: the same properties,
// the same stuck counters.
func TestPlainSearchEqualsNaive(t *testing.T) {
	tiny(t, 60, equalsNaive)
}

// The same for schedules on machines of every kind.
func TestSchedulesEqualNaive(t *testing.T) {
	law(t, 800, rapid.Custom(func(t *rapid.T) *model.Scenario {
		sc := cutDown(Schedules().Draw(t, "schedule"))
		sc.Machine = anyMachine(t)
		return sc
	}), equalsNaive)
}

func equalsNaive(sc *model.Scenario) error {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return err
	}
	res, err := plain(sc)
	if err != nil {
		return err
	}
	want, done := naive.Explore(ps, sc.Machine, small)
	if !done {
		return errSkip
	}
	for _, p := range check.Properties {
		if (res.Properties[p] == check.Violated) != want.Violated[p] || res.Properties[p] == check.Unknown {
			return fmt.Errorf("%s: %s, naive says violated %v", p, res.Properties[p], want.Violated[p])
		}
	}
	if len(ps) > 1 {
		return nil // counters are of one rank here, of all there
	}
	at := map[string]bool{}
	for _, s := range res.Stuck {
		at[fmt.Sprintf("%d,%d,%d", s.Counters.Scheduled, s.Counters.GPU, s.Counters.CPU)] = true
	}
	if !maps.Equal(at, want.Stuck) {
		return fmt.Errorf("stuck at %v, naive says %v", at, want.Stuck)
	}
	return nil
}

// Every reduction, alone and all together, gives the properties and the stuck counters of
// the search without any.
func TestReductionsEqualNone(t *testing.T) {
	sets := [][]string{nil}
	for _, r := range check.Reductions {
		sets = append(sets, []string{r.Name})
	}
	tiny(t, 100, func(sc *model.Scenario) error {
		want, err := plain(sc)
		if err != nil {
			return err
		}
		for _, set := range sets {
			for _, strategy := range []string{"dfs", "auto"} {
				got, err := decide(sc, check.Config{Strategy: strategy, Reductions: set, All: true})
				if err != nil {
					if err == errSkip {
						err = fmt.Errorf("inconclusive: %s", got.Bound)
					}
					return fmt.Errorf("%s %v: %w", strategy, set, err)
				}
				for _, p := range check.Properties {
					if strategy == "auto" && got.Properties[p] == check.Unknown {
						continue // a sliced search says what it did not look at
					}
					if got.Properties[p] != want.Properties[p] {
						return fmt.Errorf("%s, reductions %v: %s %s, without %s", strategy, set, p, got.Properties[p], want.Properties[p])
					}
				}
				if sc.NumRanks() == 1 && stuckAt(got) != stuckAt(want) {
					return fmt.Errorf("%s, reductions %v: stuck at %s, without at %s", strategy, set, stuckAt(got), stuckAt(want))
				}
			}
		}
		return nil
	})
}

// What auto decides by one run, a certificate or a sliced search is what a search of all
// states finds, as far as the first violation goes.
func TestOneRunEqualsExhaustive(t *testing.T) {
	proofs := map[check.Proof]int{}
	tiny(t, 150, func(sc *model.Scenario) error {
		got, err := decide(sc, check.Config{})
		if err != nil {
			return err
		}
		want, err := plain(sc)
		if err != nil {
			return err
		}
		if got.Verdict != want.Verdict && !(got.Verdict == check.Violation && want.Verdict == check.Hang) {
			return fmt.Errorf("%s by %s, a search of all states says %s", got.Verdict, got.Proof, want.Verdict)
		}
		for _, p := range check.Properties {
			if got.Properties[p] != check.Unknown && got.Properties[p] != want.Properties[p] {
				return fmt.Errorf("%s: %s by %s, a search of all states says %s", p, got.Properties[p], got.Proofs[p], want.Properties[p])
			}
			if got.Properties[p] != check.Unknown {
				proofs[got.Proofs[p]]++
			}
		}
		return nil
	})
	t.Log(proofs)
}

// A run that is recorded, written, read and replayed is the same run; so is every trace
// that a search gives, and it ends as the result says.
func TestReplayEqualsRun(t *testing.T) {
	laws(t, 100, "", func(sc *model.Scenario) error {
		ps, err := sc.Programs(sc.Effective())
		if err != nil {
			return err
		}
		y := sim.Compile(ps, sc.Machine, sim.Options{})
		run := sim.RunWith(y, sim.NewRandom(uint64(len(text(sc)))), 5000)
		src, err := json.Marshal(sc)
		if err != nil {
			return err
		}
		if err := replays(y, sim.NewTrace(y, src, "random", 1, -1, run.Choices), run); err != nil {
			return err
		}
		res, err := decide(sc, check.Config{})
		if err != nil {
			return err
		}
		for _, s := range res.Stuck {
			if s.Trace != nil {
				if lines := stillHappens(sc, s.Trace, []string{"hang"}); lines == nil {
					return fmt.Errorf("the trace of the result does not hang")
				}
			}
		}
		for _, v := range res.Violations {
			if v.Trace != nil && v.Property != "orphan" {
				if lines := stillHappens(sc, v.Trace, []string{v.Property}); lines == nil {
					return fmt.Errorf("the trace of the result does not violate %s", v.Property)
				}
			}
		}
		return nil
	})
}

// replays sends a trace through its file form and replays it.
func replays(y *sim.System, trace *sim.Trace, want sim.Run) error {
	b, err := json.Marshal(trace)
	if err != nil {
		return err
	}
	var back sim.Trace
	if err := json.Unmarshal(b, &back); err != nil {
		return err
	}
	got, err := back.Replay(y, nil)
	if err != nil {
		return err
	}
	if len(want.Choices) == 0 {
		want.Choices = nil
	}
	want.Stuck, want.Final = y.Stuck(want.Last), y.Final(want.Last)
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("a replay gives %v, the run gave %v", got, want)
	}
	return nil
}

// Equal inputs and seed give equal bytes, for any number of workers.
func TestSameSeedSameBytes(t *testing.T) {
	laws(t, 20, "", func(sc *model.Scenario) error {
		for _, strategy := range []string{"auto", "dfs", "random", "pct"} {
			var first []byte
			for _, workers := range []int{1, 1, 3} {
				res, err := check.Explore(t.Context(), sc, check.Config{Strategy: strategy, Seed: 7, Runs: 20, MaxStates: 20000, Workers: workers, NoShrink: true})
				if err != nil {
					return err
				}
				res.Elapsed = 0
				b, err := json.Marshal(res)
				if err != nil {
					return err
				}
				if first == nil {
					first = b
				} else if string(b) != string(first) {
					return fmt.Errorf("%s with %d workers gives other bytes:\n%s\n%s", strategy, workers, b, first)
				}
			}
		}
		return nil
	})
}

// A shrunk case fails for the same reason: its trace replays on its scenario and violates
// what the result names.
func TestShrunkFailsAlike(t *testing.T) {
	shrunk := 0
	laws(t, 25, "", func(sc *model.Scenario) error {
		res, err := check.Explore(t.Context(), sc, check.Config{MaxStates: 20000, Workers: 1})
		if err != nil {
			return err
		}
		if res.Shrunk == nil {
			return nil
		}
		shrunk++
		small, err := model.Parse("shrunk", res.Shrunk.Scenario)
		if err != nil {
			return err
		}
		if res.Shrunk.Trace == nil {
			return fmt.Errorf("no trace")
		}
		want := []string{"hang"}
		if res.Verdict == check.Violation {
			want = []string{res.Violations[0].Property}
		}
		if want[0] != "orphan" && stillHappens(small, res.Shrunk.Trace, want) == nil {
			return fmt.Errorf("the trace of the shrunk case does not show %s:\n%s", want[0], text(small))
		}
		again, err := decide(small, check.Config{})
		if err != nil {
			return err
		}
		if again.Verdict != res.Verdict {
			return fmt.Errorf("%s, shrunk %s:\n%s", res.Verdict, again.Verdict, text(small))
		}
		return nil
	})
	t.Logf("%d cases were shrunk", shrunk)
}

// The bytes that seeds draw and random runs make are the same on every platform: a digest
// of them is kept. FENCESIM_UPDATE=1 writes it again, after a change of a generator.
func TestBytesAreKept(t *testing.T) {
	const file = "testdata/bytes.golden"
	var b strings.Builder
	for _, f := range Families {
		h := sha256.New()
		for i := range 30 {
			sc := f.Scenarios().Example(int(drawSeed(1, i)))
			ps, err := sc.Programs(sc.Effective())
			if err != nil {
				t.Fatal(err)
			}
			y := sim.Compile(ps, sc.Machine, sim.Options{})
			run := sim.RunWith(y, sim.NewRandom(uint64(i)), 2000)
			fmt.Fprintln(h, text(sc), run.Choices, words(y, run), run.Violated.Words(), run.Stuck, run.Final)
		}
		fmt.Fprintf(&b, "%-24s %x\n", f.Name, h.Sum(nil))
	}
	if os.Getenv("FENCESIM_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != b.String() {
		t.Errorf("%v; have\n%swant\n%s", err, b.String(), want)
	}
}
