package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

func reductions(n, rounds, width int) *model.Scenario {
	return &model.Scenario{Version: 1, Name: "reductions", Generate: &model.Generate{Kind: "independent-reductions", Reductions: n, Rounds: rounds, Elems: 16777216},
		Evaluator: model.Evaluator{BFSWidth: width}}
}

func triple(c model.Counters) Observation {
	return Observation{Scheduled: &c.Scheduled, GPU: &c.GPU, CPU: &c.CPU}
}

func reachesOf(d *Diagnosis) map[string]Reach {
	out := map[string]Reach{}
	for i := range d.Explanations {
		out[d.Explanations[i].Name()] = d.Explanations[i].Reaches
	}
	return out
}

// The reported triple: which explanations are left, which are excluded.
func TestDiagnoseReport(t *testing.T) {
	d, err := Diagnose(context.Background(), reductions(32, 8, 0), triple(model.Counters{Scheduled: 12, GPU: 8}), Config{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Reach{
		"S overtake": Forced, "V1 lag-0": No, "V2 lag-1": No, "V2 lag-2": No, "V2 lag-3": Forced, "V2 lag-4": Forced, "V2 lag-5": Forced,
		"R unordered": Forced, "C unreliable-read": Luck, "K kill-any": Luck, "K kill-any, then ignored": Luck,
		"W one-slot, taken": No, "P ideal, no peers": No, "L ideal": No, "Z ideal, old value": No,
		"E1 exclusive-device": No, "E4 queue-limit-12": No, "E9 unreliable-write": No,
	}
	got := reachesOf(d)
	for name, r := range want {
		if got[name] != r {
			t.Errorf("%s: %v, want %v", name, got[name], r)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d explanations, want %d", len(got), len(want))
	}
	// What separates them, as computed: a stuck spin of the GPU stops the main thread behind
	// its first wait, a buffer that never started stops it at the twelfth division.
	for i := range d.Explanations {
		e := &d.Explanations[i]
		switch e.Hypothesis {
		case "V2", "R", "C":
			if e.Reaches != No && (!slices.Equal(e.Predicts["main"], []string{"throttle p26.0"}) || !slices.Equal(e.Predicts["executed"], []string{"all"})) {
				t.Errorf("%s predicts main %v, executed %v", e.Name(), e.Predicts["main"], e.Predicts["executed"])
			}
		case "K":
			if !slices.Equal(e.Predicts["error"], []string{"yes"}) || !slices.Equal(e.Predicts["executed"], []string{"none"}) {
				t.Errorf("%s predicts error %v, executed %v", e.Name(), e.Predicts["error"], e.Predicts["executed"])
			}
		}
	}
	if len(d.Next) == 0 || d.Next[0].Observe != "error" {
		t.Errorf("next is %v", d.Next)
	}
}

// hang runs the row's system in many ways and keeps the stuck states that it ends in.
func hang(t *testing.T, sc *model.Scenario, h *Hypothesis, row *HypothesisRow, most int) []sight {
	t.Helper()
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		t.Fatal(err)
	}
	x := &examination{ctx: context.Background(), sc: sc, cfg: &Config{}, h: h, row: row, programs: programs}
	y := x.system()
	var out []sight
	known := map[sight]bool{}
	add := func(s sight) {
		if !known[s] {
			known[s] = true
			out = append(out, s)
		}
	}
	if row.twist == noTwist && evaluatorFragment(programs[0], row.machine.Normal()) == "" {
		r, err := decideEvaluator(x.ctx, programs[0], row.machine, x.cfg, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Stuck {
			_, last := follow(y, s.Choices)
			add(sightOf(y, last, false))
		}
	}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		goal := model.Counters{Scheduled: []uint32{3, 8}[rng.IntN(2)], GPU: rng.Uint32N(9), CPU: rng.Uint32N(4)}
		a := aim{y: y, goal: goal, rng: rng, how: rng.IntN(5), foreign: row.twist == foreign}
		if s, _, ok := a.run(); ok {
			add(s)
		}
		if row.twist == foreign {
			continue
		}
		killed := false
		s, strategy := y.Initial(), sim.NewRandom(seed)
		var buf []sim.Transition
		for {
			buf = y.Enabled(s, buf[:0])
			if y.Final(s) || len(buf) == 0 {
				break
			}
			if !slices.ContainsFunc(buf, func(t sim.Transition) bool { return !t.Possible }) {
				add(sightOf(y, s, killed))
				break
			}
			i := strategy.Choose(y, s, buf)
			if buf[i].Kind == sim.KindKill && rng.IntN(8) > 0 {
				continue
			}
			killed = killed || buf[i].Kind == sim.KindKill
			y.Apply(s, buf[i])
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(out))))
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(most, len(out))]
}

// observe makes the observation name on a hidden stuck state.
func observe(o Observation, name string, s sight, all []sight) Observation {
	v := s.values(name)
	switch name {
	case "stream":
		o.Stream = v[0]
	case "main":
		o.Main = v[0]
	case "device":
		o.Device = v[0]
	case "error":
		o.Error = v[0]
	case "executed":
		o.Executed = v[0]
	case "later":
		n := s.later
		o.Later = &n
	case "seen":
		for _, other := range all {
			if other.Scheduled == s.Scheduled && other.CPU == s.CPU {
				o.Seen = append(o.Seen, other.GPU)
			}
		}
	}
	return o
}

// Triples made by running the model on a machine that the tool is not told: the true one
// survives, at least half of the hypotheses are excluded, and the proposed observation, made
// on the hidden state, leaves the true one and fewer.
func TestDiagnoseHidden(t *testing.T) {
	sc := reductions(8, 4, 5)
	ctx := context.Background()
	tried := map[string]int{}
	for i := range Hypotheses {
		h := &Hypotheses[i]
		for k := range h.Rows {
			row := &h.Rows[k]
			name := h.Name + " " + row.Machine
			all := hang(t, sc, h, row, 40)
			for _, s := range all[:min(4, len(all))] {
				d, err := Diagnose(ctx, sc, triple(s.Counters), Config{})
				if err != nil {
					t.Fatal(err)
				}
				left := d.Survivors()
				if !slices.Contains(left, name) {
					t.Errorf("%s: %v %#v: excluded; left %v", name, s.Counters, s, left)
					continue
				}
				tried[name]++
				names := map[string]bool{}
				for _, l := range left {
					names[strings.Fields(l)[0]] = true
				}
				if 2*len(names) > len(Hypotheses) {
					t.Errorf("%s: %v: %d of %d hypotheses are left: %v", name, s.Counters, len(names), len(Hypotheses), left)
				}
				if len(left) == 1 {
					continue
				}
				if len(d.Next) == 0 {
					t.Errorf("%s: %v: nothing proposed for %v", name, s.Counters, left)
					continue
				}
				o := observe(triple(s.Counters), d.Next[0].Observe, s, all)
				again, err := Diagnose(ctx, sc, o, Config{})
				if err != nil {
					t.Fatal(err)
				}
				if now := again.Survivors(); !slices.Contains(now, name) || len(now) >= len(left) {
					t.Errorf("%s: %v: %s observed: %v left of %v", name, s.Counters, d.Next[0].Observe, now, left)
				}
			}
		}
	}
	t.Log(tried)
	for _, name := range []string{"S overtake", "V1 lag-0", "V2 lag-1", "V2 lag-3", "R unordered", "C unreliable-read", "K kill-any", "K kill-any, then ignored", "W one-slot, taken", "P ideal, no peers", "E9 unreliable-write"} {
		if tried[name] == 0 {
			t.Errorf("%s: no hang was made", name)
		}
	}
}

// Whatever can be observed on a stuck state that was reached by running is among what the
// true machine predicts.
func TestDiagnosePredictsWhatIsSeen(t *testing.T) {
	small := reductions(7, 2, 3)
	small.Generate.Elems = 1 << 20
	d := model.PerUpdate
	fixed := reductions(8, 3, 4)
	fixed.Discipline = &d
	for _, sc := range []*model.Scenario{reductions(8, 4, 5), small, fixed} {
		predicted(t, sc)
	}
}

func predicted(t *testing.T, sc *model.Scenario) {
	for i := range Hypotheses {
		h := &Hypotheses[i]
		for k := range h.Rows {
			for _, s := range hang(t, sc, h, &h.Rows[k], 40) {
				o := triple(s.Counters)
				for _, x := range Observables {
					if x.Name != "seen" {
						o = observe(o, x.Name, s, nil)
					}
				}
				programs, err := sc.Programs(sc.Effective())
				if err != nil {
					t.Fatal(err)
				}
				x := &examination{ctx: context.Background(), sc: sc, cfg: &Config{}, h: h, row: &h.Rows[k], o: &o, programs: programs, t: newTally(&o)}
				if complete, _, err := x.look(); err != nil || complete && !x.t.matched {
					t.Errorf("%s %s: %#v was reached and is not predicted (%v)", h.Name, h.Rows[k].Machine, s, err)
				}
			}
		}
	}
}

func TestReachWords(t *testing.T) {
	for r := range reachWords {
		var back Reach
		b, _ := Reach(r).MarshalText()
		if err := back.UnmarshalText(b); err != nil || back != Reach(r) {
			t.Errorf("%s reads back as %v", b, back)
		}
	}
}

func TestDiagnoseRefuses(t *testing.T) {
	n := uint32(3)
	for _, o := range []Observation{{Stream: "asleep"}, {Device: "hot"}, {Error: "maybe"}, {Executed: "most"}, {Later: &n}} {
		if _, err := Diagnose(context.Background(), reductions(2, 1, 0), o, Config{}); err == nil {
			t.Errorf("%v: no error", fmt.Sprint(o))
		}
	}
}
