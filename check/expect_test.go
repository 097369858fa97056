package check

import (
	"testing"

	"github.com/fencesim/fencesim/model"
)

// An expectation is missed only where what was found decides it: a bound on the search that it
// needs, or some runs instead of all, leave it open.
func TestExpectationLeftOpen(t *testing.T) {
	const text = `fencesim: 1
machine: lag-2
schedule:
  queues: [{name: gpu, buffers: [[kernel a, update G 1], [kernel b, update G 2], [kernel c, update G 3], [wait C 1]]}]
  streams: [{name: cpu, tasks: [wait G 3, update C 1]}]
expect:
`
	for _, c := range []struct {
		expect string
		cfg    Config
		want   string
	}{
		{"  - {verdict: hang, counters: {scheduled: 3, gpu: 2, cpu: 0}}", Config{}, "met"},
		{"  - {verdict: hang, counters: {scheduled: 3, gpu: 3, cpu: 0}}", Config{}, "missed"},
		{"  - {verdict: hang, counters: {scheduled: 3, gpu: 2, cpu: 0}}", Config{Strategy: "dfs", Reductions: []string{}, MaxStates: 25}, "none"},
		{"  - {verdict: hang, counters: {scheduled: 3, gpu: 3, cpu: 0}}", Config{Strategy: "random", Runs: 1, Seed: 1}, "none"},
		{"  - {verdict: hang, always: true}", Config{}, "missed"},
		{"  - {verdict: ok}", Config{}, "missed"},
	} {
		sc, err := model.Parse("a.yaml", []byte(text+c.expect+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := Explore(t.Context(), sc, c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Expect != c.want {
			t.Errorf("%s, %+v: %s, want %s (%v, bound %q)", c.expect, c.cfg, res.Expect, c.want, res.Verdict, res.Bound)
		}
	}
}
