package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func mustPrograms(t *testing.T, text string) []*Schedule {
	t.Helper()
	s := mustParse(t, text)
	ps, err := s.Programs(s.Effective())
	if err != nil {
		t.Fatal(err)
	}
	if len(ps) != s.NumRanks() {
		t.Fatalf("%d programs for %d ranks", len(ps), s.NumRanks())
	}
	return ps
}

func mainText(s *Schedule) []string {
	var out []string
	for i := range s.Main {
		out = append(out, s.StepText(&s.Main[i]))
	}
	return out
}

func fenceText(s *Schedule) string {
	var out []string
	for _, f := range s.Fences {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%d %s", s.Names.Of(f.Name), f.Initial, f.Store)))
	}
	return strings.Join(out, ", ")
}

// TestDefaultMain: all tasks of every stream, then all buffers of one queue after the
// other; a main of its own, even an empty one, replaces it.
func TestDefaultMain(t *testing.T) {
	const body = "fencesim: 1\nschedule:\n  queues:\n    - {name: p, buffers: [[kernel a], []]}\n    - {name: q, buffers: [[kernel b]]}\n" +
		"  streams:\n    - {name: s, tasks: [kernel c, kernel d]}\n    - {name: t}\n    - {name: u, tasks: [kernel e]}\n"
	p := mustPrograms(t, body)[0]
	if got, want := mainText(p), []string{"enqueue s 2", "enqueue u 1", "commit p", "commit p", "commit q"}; !slices.Equal(got, want) {
		t.Errorf("main %q, want %q", got, want)
	}
	if p.FromGraph || p.Queues[0].Forced != nil || p.Queues[0].Section != nil || len(p.Queues[0].Ends) != 2 {
		t.Errorf("queue %+v", p.Queues[0])
	}
	if p := mustPrograms(t, body+"  main: []\n")[0]; len(p.Main) != 0 {
		t.Errorf("main %q", mainText(p))
	}
	p = mustPrograms(t, body+"  main: [enqueue s 1, 'kernel z reads a', 'wait F 1', synchronize p, synchronize s]\n")[0]
	if got, want := mainText(p), []string{"enqueue s 1", "kernel z reads a", "wait F 1", "synchronize p", "synchronize s"}; !slices.Equal(got, want) {
		t.Errorf("main %q, want %q", got, want)
	}
	if !p.Main[3].Queue || p.Main[4].Queue || fenceText(p) != "F=0" {
		t.Errorf("main %+v, fences %s", p.Main, fenceText(p))
	}
}

// TestFenceCopies: a copy takes the initial value and the store rule of its original,
// through other copies too, unless it has its own.
func TestFenceCopies(t *testing.T) {
	p := mustPrograms(t, "fencesim: 1\nschedule:\n  fences: {A: {copy_of: B}, B: {copy_of: C, store: max}, C: {initial: 7, store: guarded}, D: {copy_of: C, initial: 0}}\n")[0]
	if got, want := fenceText(p), "A=7 max, B=7 max, C=7 guarded, D=0 guarded"; got != want {
		t.Errorf("fences %s, want %s", got, want)
	}
}

// TestRemoteFences: a rank's schedule has the fences that other ranks touch.
func TestRemoteFences(t *testing.T) {
	const own = "fencesim: 1\nranks: 4\nschedule: {streams: [{name: s, tasks: ['update F@next 1', 'wait H@3 1']}]}\n"
	ps := mustPrograms(t, own)
	if got := fenceText(ps[0]); got != "F=0, H=0" || ps[0] != ps[3] {
		t.Errorf("fences %s", got)
	}
	ps = mustPrograms(t, own+"rank_schedules:\n  1: {streams: [{name: s, tasks: ['update K@prev 1', 'wait L 1']}]}\n  3: {fences: {H: {initial: 2}, F: {}}}\n")
	for r, want := range []string{"K=0", "L=0, F=0", "K=0", "H=2, F=0"} {
		if got := fenceText(ps[r]); got != want {
			t.Errorf("rank %d: fences %s, want %s", r, got, want)
		}
	}
	if ps[0] != ps[2] || ps[1] == ps[0] {
		t.Error("ranks that run the same schedule share it")
	}
}

// TestPipelinePrograms: the first, the last and those between run three schedules.
func TestPipelinePrograms(t *testing.T) {
	for ranks := 1; ranks <= 5; ranks++ {
		ps := mustPrograms(t, fmt.Sprintf("fencesim: 1\nranks: %d\ngenerate: {kind: pipeline, rounds: 1, elems: 1}\n", ranks))
		distinct := make(map[*Schedule]bool)
		for r, p := range ps {
			distinct[p] = true
			ops := make(map[Op]bool)
			for _, c := range p.Streams[0].Tasks {
				ops[c.Op] = true
			}
			if ops[OpRecv] != (r > 0) || ops[OpSend] != (r < ranks-1) {
				t.Errorf("rank %d of %d: %s", r, ranks, p.ShowText())
			}
		}
		if len(distinct) != min(ranks, 3) {
			t.Errorf("%d ranks run %d schedules", ranks, len(distinct))
		}
	}
}

// TestDigest: names, comments, form and defaults of a file do not matter; what runs does.
func TestDigest(t *testing.T) {
	const body = "generate: {kind: chained-reductions, reductions: 2, rounds: 1, elems: 5}\n"
	same := []string{
		"fencesim: 1\n" + body,
		"# why\nname: other\nfencesim: 1\nabout: text\nranks: 1\nmachine: lag-3\ndiscipline: count\nevaluator: {max_ops: 50}\n" + body,
		`{"fencesim":1,"generate":{"elems":5,"rounds":1,"reductions":2,"kind":"chained-reductions"}}`,
	}
	differ := []string{
		"fencesim: 1\nranks: 2\n" + body,
		"fencesim: 1\ndiscipline: tape\n" + body,
		"fencesim: 1\nevaluator: {max_ops: 1}\n" + body,
		"fencesim: 1\nevaluator: {max_active: 1}\n" + body,
	}
	want := mustParse(t, same[0]).Digest()
	for _, text := range same {
		if got := mustParse(t, text).Digest(); got != want {
			t.Errorf("digest %s, want %s\n%s", got, want, text)
		}
	}
	seen := map[string]bool{want: true}
	for _, text := range differ {
		d := mustParse(t, text).Digest()
		if seen[d] {
			t.Errorf("digest %s twice\n%s", d, text)
		}
		seen[d] = true
	}
	if d := (&Scenario{}).Digest(); d != "" {
		t.Errorf("digest %s of no scenario", d)
	}
}

// TestProgramsByHand: faults of scenarios built in Go have a path instead of a line.
func TestProgramsByHand(t *testing.T) {
	for _, c := range []struct {
		s    Scenario
		want string
	}{
		{Scenario{}, "fencesim: version 0 of the format: want 1"},
		{Scenario{Version: 1}, "missing key: want one of generate, graph, schedule"},
		{Scenario{Version: 1, Ranks: -2}, "ranks: -2 ranks are outside 1 to 65536"},
		{Scenario{Version: 1, Generate: &Generate{Kind: "random", Size: -1}}, "generate.size: -1 is outside 1 to 2147483647"},
		{Scenario{Version: 1, Generate: worked(1), Machine: Machine{Store: "best"}}, `machine.store: "best" is none of plain, guarded, max`},
		{Scenario{Version: 1, Generate: worked(1), Machine: Machine{CPUToGPU: Visibility{VisLag, 1}}}, `machine.cpu_to_gpu: "lag-1" is none of immediate, unreliable`},
		{Scenario{Version: 1, Generate: worked(1), Graph: &GraphFile{}}, "graph: graph beside generate: want exactly one of generate, graph, schedule"},
		{Scenario{Version: 1, Schedule: &ScheduleFile{Streams: []TaskFile{{"s", []string{"wait F"}}}}}, "schedule.streams[0].tasks[0]: want a fence value"},
	} {
		_, err := c.s.Programs(Count)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestShow(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{explicit, `fences: 3
  G store guarded
  C
  H store guarded
inputs: 1
  w
queue gpu: 2 buffers
  buffer 0: kernel x0 reads w
           update G 1
  buffer 1: kernel x1
           update G 2
           wait C 1
           kernel y0 reads r0
           on finish: update C 2
stream cpu: 3 tasks
     0  wait G 1
     1  collective r0 reads x0
     2  update C 1
main thread: 6 steps
     0  enqueue cpu 3
     1  commit gpu
     2  commit gpu
     3  throttle 10
     4  synchronize cpu
     5  exit
`},
		{"fencesim: 1\ngenerate: {kind: chained-reductions, reductions: 1, rounds: 6, elems: 16777216}\n", `fences: 2
  G
  C
inputs: 2
  x
  weight
tape: 8 entries; after each the main thread throttles if more than 10 tasks are active
     0  gpu: kernel m0.0 reads x weight
     1  gpu: kernel m0.1 reads m0.0 weight
     …  3 more like it, then
     5  gpu: kernel m0.5 reads m0.4 weight
        gpu: coherent m0.5; barrier; update G 1
     6  cpu: wait G 1; collective r0 reads m0.5
        cpu: update C 1
     7  gpu: wait C 1; kernel d0 reads r0
        commit what is open on gpu
queue gpu: 11 commands
  without throttle the size rule ends buffers after commands 2 4 6
stream cpu: 3 tasks
     0  wait G 1
     1  collective r0 reads m0.5
     2  update C 1
`},
	} {
		if got := mustPrograms(t, c.text)[0].ShowText(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// An empty list of steps is a main thread that does nothing; without one it hands over all.
func TestEmptyMain(t *testing.T) {
	const text = "fencesim: 1\nschedule:\n  queues: [{name: q, buffers: [[kernel x]]}]\n"
	if n := len(mustPrograms(t, text+"  main: []\n")[0].Steps()); n != 0 {
		t.Errorf("%d steps, want none", n)
	}
	if n := len(mustPrograms(t, text)[0].Steps()); n != 1 {
		t.Errorf("%d steps, want 1", n)
	}
}
