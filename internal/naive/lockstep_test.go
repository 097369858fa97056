package naive

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A lockstep runs package sim and this package side by side: in each state both have the
// same transitions with the same guarantees, and each transition does the same to both.
type lockstep struct {
	testing.TB
	y        *sim.System
	w        *world
	commands [][]sim.CommandInfo // by agent
	fences   []int               // of the world, by fence of the system
	taken    []string            // transitions so far
	text     func() string
}

func newLockstep(t testing.TB, programs []*model.Schedule, m model.Machine) *lockstep {
	l := &lockstep{TB: t, y: sim.Compile(programs, m, sim.Options{}), w: newWorld(programs, m)}
	l.text = func() string { return strings.Join(l.taken, "\n") + "\n" + Text(programs, m) }
	for a := range l.y.NumAgents() {
		l.commands = append(l.commands, l.y.Commands(int32(a)))
	}
	if n := l.y.NumFences(); n != len(l.w.fences) {
		t.Fatalf("sim has %d fences, naive %d\n%s", n, len(l.w.fences), l.text())
	}
	for f := range l.y.NumFences() {
		rank, name := l.ranked(l.y.FenceName(int32(f)))
		i, ok := l.w.fenceOf[place{rank, name}]
		if !ok {
			t.Fatalf("naive has no fence %s of rank %d\n%s", name, rank, l.text())
		}
		l.fences = append(l.fences, i)
	}
	return l
}

// ranked takes the rank off a name of the system.
func (l *lockstep) ranked(name string) (rank int, rest string) {
	if l.y.Ranks() == 1 {
		return 0, name
	}
	if n, _ := fmt.Sscanf(name, "rank %d ", &rank); n != 1 {
		l.Fatalf("no rank in %q", name)
	}
	return rank, name[len(fmt.Sprintf("rank %d ", rank)):]
}

var handlerName = regexp.MustCompile(`^handler (.*)\[(\d+)\]$`)

// who is an agent of the system as naive calls it.
func (l *lockstep) who(agent, buffer int32) string {
	rank, name := l.ranked(l.y.AgentName(agent))
	switch l.y.AgentKindOf(agent) {
	case sim.Queue:
		name += fmt.Sprintf(" buffer %d", buffer)
	case sim.Handler:
		name = handlerName.ReplaceAllString(name, "queue $1 handler of buffer $2")
	}
	return fmt.Sprintf("rank %d %s", rank, name)
}

// store is a store on its way as both are told of it.
func (l *lockstep) store(fence int, kind storeKind, value uint32, toCPU bool) string {
	f := l.w.fences[fence]
	return fmt.Sprintf("memory: store %d %d to %s@%d arrives, to the CPU: %v", kind, value, f.name, f.rank, toCPU)
}

var suffixes = map[sim.Kind]string{sim.KindTake: " takes a slot", sim.KindGiveUp: " gives up", sim.KindRead: " reads", sim.KindArrive: " arrives",
	sim.KindLeave: " leaves", sim.KindTest: " tests", sim.KindSleep: " falls asleep", sim.KindStart: " starts", sim.KindFinish: " finishes", sim.KindKill: " is killed"}

// words is a transition of the system as naive calls it.
func (l *lockstep) words(t sim.Transition) string {
	switch t.Kind {
	case sim.KindStart, sim.KindFinish, sim.KindKill:
		return l.who(t.Agent, t.Buffer) + suffixes[t.Kind]
	case sim.KindStep:
		return fmt.Sprintf("%s step %d", l.who(t.Agent, 0), t.Cmd)
	case sim.KindVisible:
		agent, i := l.y.StoreOf(t)
		c := &l.commands[agent][i]
		kind := overwrite
		switch {
		case c.Op == model.OpAdd:
			kind = increment
		case c.Op == model.OpReset:
			kind = resetting
		case !t.CPU && c.Store == model.StoreMax:
			kind = maximum
		}
		return l.store(l.fences[t.Agent], kind, c.Value, !t.CPU)
	}
	text := l.who(t.Agent, t.Buffer) + ": " + l.y.CommandText(t.Agent, t.Cmd)
	if t.Kind == sim.KindJoin {
		return text + " meets " + l.who(t.Peer, t.PeerBuffer) + ": " + l.y.CommandText(t.Peer, t.PeerCmd)
	}
	return text + suffixes[t.Kind]
}

var (
	arrival  = regexp.MustCompile(`^memory: store (\d+) of fence (.*)@(\d+) arrives, to the CPU: (true|false)$`)
	mainStep = regexp.MustCompile(`^(rank \d+ main step \d+): .*$`)
)

// naiveWords is a transition of naive without what tells nothing.
func (l *lockstep) naiveWords(s *state, t transition) string {
	if m := arrival.FindStringSubmatch(t.label); m != nil {
		var i, rank int
		fmt.Sscan(m[1], &i)
		fmt.Sscan(m[3], &rank)
		f := l.w.fenceOf[place{rank, m[2]}]
		on := s.fences[f].toGPU
		if m[4] == "true" {
			on = s.fences[f].toCPU
		}
		return l.store(f, on[i].kind, on[i].value, m[4] == "true")
	}
	text := mainStep.ReplaceAllString(t.label, "$1")
	for _, s := range []string{" passes", " stores if smaller"} {
		text = strings.TrimSuffix(text, s)
	}
	return text
}

// run takes the transitions that bytes choose, at most most.
func (l *lockstep) run(choices []byte, most int) {
	y, s := l.y, l.w.initial()
	at := y.Initial()
	var taken []int
	var violated sim.Violations
	wrong := map[string]bool{}
	for i := 0; ; i++ {
		enabled := y.Enabled(at, nil)
		naive := l.w.enabled(s)
		l.compare(s, at, enabled, naive)
		if i >= len(choices) || i >= most || len(enabled) == 0 {
			break
		}
		c := int(choices[i]) % len(enabled)
		t := enabled[c]
		l.taken = append(l.taken, l.words(t))
		before := at.Clone()
		next, v := y.Next(at, t)
		if !slices.Equal(at, before) {
			l.Fatalf("Next changes the state from which it goes\n%s", l.text())
		}
		s = l.w.apply(s, l.same(s, enabled, naive, c))
		s = l.finishFailed(s, t)
		at, violated, taken = next, violated|v, append(taken, c)
		maps.Copy(wrong, s.violated) // a spin on a freed fence counts again at each step, or once
		l.equal("violated so far", sorted(violated.Words()), slices.Sorted(maps.Keys(wrong)))
	}
	l.replay(taken, at, violated)
}

// finishFailed finishes the buffer of a fail: in package sim it finishes in the same
// transition (note 14 of the package has it as one still to come, which nothing can see).
func (l *lockstep) finishFailed(s *state, t sim.Transition) *state {
	if t.Kind != sim.KindRun || l.y.AgentKindOf(t.Agent) != sim.Queue || l.commands[t.Agent][t.Cmd].Op != model.OpFail {
		return s
	}
	words := l.who(t.Agent, t.Buffer) + suffixes[sim.KindFinish]
	for _, next := range l.w.enabled(s) {
		if next.label == words {
			return l.w.apply(s, next)
		}
	}
	l.Fatalf("naive has no %q\n%s", words, l.text())
	return nil
}

// same is naive's transition for the one that was chosen: of several with the same words
// that which stands in the same place among them.
func (l *lockstep) same(s *state, enabled []sim.Transition, naive []transition, chosen int) transition {
	words := l.words(enabled[chosen])
	nth := 0
	for _, t := range enabled[:chosen] {
		if l.words(t) == words {
			nth++
		}
	}
	for _, t := range naive {
		if l.naiveWords(s, t) == words {
			if nth == 0 {
				return t
			}
			nth--
		}
	}
	l.Fatalf("naive has no %q\n%s", words, l.text())
	return transition{}
}

// compare holds a state of the system against the one of naive.
func (l *lockstep) compare(s *state, at sim.State, enabled []sim.Transition, naive []transition) {
	var have, want []string
	stuck := !l.w.final(s)
	for _, t := range enabled {
		have = append(have, fmt.Sprint(l.words(t), " guaranteed: ", !t.Possible))
	}
	for _, t := range naive {
		want = append(want, fmt.Sprint(l.naiveWords(s, t), " guaranteed: ", t.guaranteed))
		stuck = stuck && !t.guaranteed
	}
	l.equal("enabled", sorted(have), sorted(want))
	l.equal("final", l.y.Final(at), l.w.final(s))
	l.equal("stuck", l.y.Stuck(at), stuck)
	if stuck {
		l.equal("orphan", l.y.Orphan(at), l.w.orphaned(s))
	}
	var counters []string
	for r := range l.y.Ranks() {
		k := l.y.Counters(at, r)
		counters = append(counters, fmt.Sprintf("%d,%d,%d", k.Scheduled, k.GPU, k.CPU))
	}
	l.equal("counters", strings.Join(counters, ";"), l.w.counters(s))
	for f := range l.y.NumFences() {
		gpu, cpu := l.y.Views(at, int32(f))
		n := &s.fences[l.fences[f]]
		l.equal("views of "+l.y.FenceName(int32(f)), [2]uint32{gpu, cpu}, [2]uint32{n.gpu, n.cpu})
	}
}

// replay sends the run through the file form of a trace.
func (l *lockstep) replay(choices []int, last sim.State, violated sim.Violations) {
	trace := sim.NewTrace(l.y, json.RawMessage("{}"), "steps", 0, -1, choices)
	b, err := json.Marshal(trace)
	if err != nil {
		l.Fatal(err)
	}
	var back sim.Trace
	if err := json.Unmarshal(b, &back); err != nil {
		l.Fatal(err)
	}
	run, err := back.Replay(l.y, nil)
	if err != nil {
		l.Fatalf("%v\n%s", err, l.text())
	}
	l.equal("a replay's choices", len(run.Choices), len(choices))
	l.equal("a replay's last state", run.Last, last)
	l.equal("a replay's violations", run.Violated, violated)
	l.equal("a replay's verdict", l.y.Verdict(run.Last, run.Violated), back.Verdict)
}

func (l *lockstep) equal(what string, sim, naive any) {
	if !reflect.DeepEqual(sim, naive) {
		l.Helper()
		l.Fatalf("%s: sim has\n%v\nnaive has\n%v\n%s", what, sim, naive, l.text())
	}
}

func sorted(words []string) []string {
	slices.Sort(words)
	return words
}

// Random runs of random schedules and graphs go the same way in both packages.
func TestLockstep(t *testing.T) {
	n := 400
	if testing.Short() && os.Getenv("FENCESIM_MUTANT") == "" {
		n = 80
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 3))
		choices := make([]byte, 80)
		for i := range choices {
			choices[i] = byte(rng.Uint32())
		}
		draw := make([]byte, 400)
		for i := range draw {
			draw[i] = byte(rng.Uint32())
		}
		programs, m := Drawn(draw, seed%2 == 1)
		newLockstep(t, programs, m).run(choices, len(choices))
	}
}

// An add that runs behind an update, and stands before it in the file, has room for the sum.
func TestAddBehindUpdate(t *testing.T) {
	sc, programs := Small([]byte(`fencesim: 1
schedule:
  queues: [{name: gpu, buffers: [[await E 1, add G 1]]}]
  streams: [{name: cpu, tasks: [update G 1, signal E 1, wait G 2]}]
`), 20)
	y := sim.Compile(programs, sc.Machine, sim.Options{})
	if last := sim.RunWith(y, sim.UntilStuck{Strategy: sim.Laziest{}}, 0).Last; !y.Final(last) {
		t.Error("1 + 1 is not 2")
	}
}
