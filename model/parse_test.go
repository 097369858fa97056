package model

import (
	"os"
	"testing"
)

const headline = `fencesim: 1
name: independent-reductions
ranks: 4
generate: {kind: independent-reductions, reductions: 32, rounds: 8, elems: 16777216}
discipline: count
machine: lag-3
expect:
  - {discipline: count, machine: lag-3, verdict: hang, counters: {scheduled: 12, gpu: 8, cpu: 0}}
  - {discipline: per-update, machine: lag-3, verdict: ok}
`

const explicit = `fencesim: 1
name: example
schedule:
  fences: {G: {store: guarded}, C: {initial: 0}, H: {copy_of: G}}
  inputs: [w]
  queues:
    - name: gpu
      buffers:
        - ["kernel x0 reads w", "update G 1"]
        - {commands: ["kernel x1", "update G 2", "wait C 1", "kernel y0 reads r0"], on_finish: ["update C 2"]}
  streams:
    - name: cpu
      tasks: ["wait G 1", "collective r0 reads x0", "update C 1"]
  main: ["enqueue cpu 3", "commit gpu", "commit gpu", "throttle 10", "synchronize cpu", "exit"]
machine: {preset: lag-3, slots: 1, gpu_to_cpu: {mode: lag, buffers: 4}}
`

func mustParse(t testing.TB, text string) *Scenario {
	t.Helper()
	s, err := Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseExamples(t *testing.T) {
	s := mustParse(t, headline)
	ps, err := s.Programs(s.Effective())
	if err != nil {
		t.Fatal(err)
	}
	if len(ps) != 4 || ps[0] != ps[3] {
		t.Fatalf("want one schedule for four ranks, got %d", len(ps))
	}
	e := mustParse(t, explicit)
	if e.Machine.Slots != 1 || e.Machine.GPUToCPU != (Visibility{VisLag, 4}) {
		t.Errorf("machine: %+v", e.Machine)
	}
	ps, err = e.Programs(Count)
	if err != nil {
		t.Fatal(err)
	}
	p := ps[0]
	if len(p.Fences) != 3 || p.Fences[2].Store != StoreGuarded || len(p.Main) != 6 {
		t.Errorf("schedule: %+v", p)
	}
	if os.Getenv("DUMP") != "" {
		t.Logf("%+v", p)
	}
}
