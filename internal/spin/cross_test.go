package spin_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/internal/spin"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// need skips a test in one line where Spin or a C compiler is missing, or fails it where
// FENCESIM_REQUIRE is all or lists spin.
func need(t *testing.T) {
	t.Helper()
	_, err := spin.Found()
	if err == nil {
		return
	}
	if spin.Required(os.Getenv("FENCESIM_REQUIRE")) {
		t.Fatalf("FENCESIM_REQUIRE wants spin: %v", err)
	}
	t.Skipf("not compared with Spin: %v", err)
}

// verdicts is what Spin and fencesim can both say of a scenario.
type verdicts struct{ hang, stale bool }

// maxSpinStates bounds the scenarios that are compared; larger ones are passed over.
const maxSpinStates = 60_000

// bySpin asks Spin through the export.
func bySpin(t *testing.T, programs []*model.Schedule, m model.Machine, merge bool) (verdicts, error) {
	var b bytes.Buffer
	if err := report.Promela(&b, programs, m, report.PromelaOptions{Stale: true, Merge: merge}); err != nil {
		return verdicts{}, err
	}
	hang, stale, err := spin.Decide(t.Context(), t.TempDir(), b.Bytes())
	if err != nil {
		return verdicts{}, fmt.Errorf("%w\n%s", err, b.String())
	}
	return verdicts{hang, stale}, nil
}

// byCheck asks package check; ok is false when it gives up.
func byCheck(ctx context.Context, sc *model.Scenario) (v verdicts, ok bool, err error) {
	r, err := check.Explore(ctx, sc, check.Config{All: true, MaxStates: 4 * maxSpinStates, Workers: 1, NoShrink: true})
	if err != nil {
		return v, false, err
	}
	hang, stale := r.Properties["hang"], r.Properties["stale-read"]
	return verdicts{hang == check.Violated, stale == check.Violated}, hang != check.Unknown && stale != check.Unknown, nil
}

// TestSameVerdict compares the verdicts of random scenarios over every machine parameter.
// Seeds are fixed: a failure names its own, and prints the scenario.
func TestSameVerdict(t *testing.T) {
	need(t)
	want := 40
	switch {
	case testing.Short():
		want = 24
	case os.Getenv("FENCESIM_LONG") != "":
		want = 210
	}
	var (
		mu       sync.Mutex
		group    sync.WaitGroup
		next     uint64
		compared int
		hangs    int
		stale    int
		refused  = map[string]int{}
		covered  = map[string]int{}
	)
	one := func(seed uint64) {
		programs, m := naive.Random(rand.New(rand.NewPCG(seed, 77)), naive.Config{Plain: seed%4 == 0})
		text := naive.Text(programs, m)
		if n, done := naive.Explore(programs, m, maxSpinStates/15); !done || n.States > maxSpinStates/15 {
			return // too large to be one of many
		}
		got, err := bySpin(t, programs, m, seed%2 == 1)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if !strings.HasPrefix(err.Error(), "promela: ") {
				t.Errorf("seed %d: %v\n%s", seed, err, text)
			}
			refused[err.Error()]++
			return
		}
		sc, err := model.Parse("random.yaml", []byte(text))
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		own, ok, err := byCheck(t.Context(), sc)
		if err != nil || !ok {
			t.Logf("seed %d: not decided: %v", seed, err)
			return
		}
		if got != own {
			n, _ := naive.Explore(programs, m, maxSpinStates)
			t.Errorf("seed %d: spin %+v, check %+v, brute force {hang:%v stale:%v}\n%s", seed, got, own, n.Violated["hang"], n.Violated["stale-read"], text)
		}
		compared++
		hangs += b2i(own.hang)
		stale += b2i(own.stale)
		for i := range model.Parameters {
			covered[model.Parameters[i].Name+" "+model.Parameters[i].Value(&m)]++
		}
		covered[fmt.Sprintf("ranks %d", len(programs))]++
	}
	for range 2 {
		group.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				enough := compared >= want || seed > uint64(20*want) || t.Failed()
				mu.Unlock()
				if enough {
					return
				}
				one(seed)
			}
		})
	}
	group.Wait()
	t.Logf("%d scenarios compared: %d hang, %d read stale", compared, hangs, stale)
	var lines []string
	for v, n := range covered {
		lines = append(lines, fmt.Sprintf("%s: %d", v, n))
	}
	slices.Sort(lines)
	t.Logf("machines: %s", strings.Join(lines, ", "))
	for why, n := range refused {
		t.Logf("refused %d: %s", n, why)
	}
	if t.Failed() {
		return
	}
	if compared < want {
		t.Errorf("%d scenarios compared, want %d", compared, want)
	}
	if want < 200 {
		return // too few to ask that each parameter was varied
	}
	for i := range model.Parameters {
		p := &model.Parameters[i]
		kinds := 0
		for v := range covered {
			kinds += b2i(strings.HasPrefix(v, p.Name+" "))
		}
		if kinds < 2 {
			t.Errorf("machine parameter %s was never varied", p.Name)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
