package hwreplay

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// once runs a corpus test on threads.
func once(t *testing.T, name string, m model.Machine) (*Plan, *Outcome) {
	t.Helper()
	for _, c := range mustCorpus() {
		if c.scenario.Name != name {
			continue
		}
		p := NewPlan(c.programs, c.on(m))
		return p, runOnce(t, p)
	}
	t.Fatal(name)
	return nil, nil
}

// runOnce runs a plan on threads.
func runOnce(t *testing.T, p *Plan) *Outcome {
	t.Helper()
	return runWith(t, p, Config{Patience: brisk})
}

func runWith(t *testing.T, p *Plan, config Config) *Outcome {
	t.Helper()
	r, err := NewRunner(t.Context(), p, Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := r.Run(config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// smallArrays is mlx-small-arrays-broken on the ideal machine: four ranks that
// throttle some hundred times each.
func smallArrays(t *testing.T) *Plan {
	t.Helper()
	entry, _ := catalog.Get("mlx-small-arrays-broken")
	p, _, err := (&Request{Scenario: string(entry.Source), Impose: &Machine{model.Machine{}}}).Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func preset(t *testing.T, name string) model.Machine {
	t.Helper()
	p, ok := model.PresetNamed(name)
	if !ok {
		t.Fatal(name)
	}
	return p.Machine
}

// The comparison sees what is wrong: each doctored outcome is outside the model.
func TestCompareSeesWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name, test, machine string
		doctor              func(*Outcome)
	}{
		{"a hang that is none", "handshake", "ideal", func(o *Outcome) { o.Finished, o.Hung = false, true }},
		{"an end that is none", "same-queue", "ideal", func(o *Outcome) { o.Finished, o.Hung = true, false }},
		{"a counter", "handshake", "ideal", func(o *Outcome) { o.Ranks[0].Counters.GPU++ }},
		{"a fence", "handshake", "ideal", func(o *Outcome) { o.Ranks[0].Fences[0].cpu = 0 }},
		{"a lost transition", "handshake", "ideal", func(o *Outcome) {
			l := o.chains[len(o.chains)-1]
			o.chains[len(o.chains)-1] = append(l[:2:2], l[3:]...)
		}},
		{"two transitions the wrong way round", "handshake", "ideal", func(o *Outcome) {
			l := o.chains[len(o.chains)-1]
			l[1], l[2] = l[2], l[1]
		}},
		{"a hang in which a store should have arrived", "next-buffer", "lag-1", func(o *Outcome) {
			// The wait's buffer, cut off before it starts.
			l := o.chains[len(o.chains)-1]
			o.chains[len(o.chains)-1] = l[:len(l)-1]
		}},
	} {
		p, out := once(t, tc.test, preset(t, tc.machine))
		if c := Compare(p.System, out); c.Model != Allowed {
			t.Fatalf("%s: before it was doctored: %s: %s", tc.name, c.Model, c.Reason)
		}
		tc.doctor(out)
		if c := Compare(p.System, out); c.Model != Outside || c.Reason == "" {
			t.Errorf("%s: %s, %q", tc.name, c.Model, c.Reason)
		}
	}
}

// An outcome can be held against another machine: a hang of stores that come late is
// outside an ideal one.
func TestCompareAgainstAnotherMachine(t *testing.T) {
	p, out := once(t, "next-buffer", preset(t, "lag-1"))
	if !out.Hung {
		t.Fatal("it finished")
	}
	ideal := sim.Compile(p.System.Programs, model.Machine{}, sim.Options{})
	if c := Compare(ideal, out); c.Model != Outside {
		t.Errorf("%s", c.Model)
	}
}

// The words of agreements, machines and disciplines can be read back.
func TestAgreementText(t *testing.T) {
	for _, a := range []Agreement{Undecided, Allowed, Outside} {
		b, _ := a.MarshalText()
		var back Agreement
		if err := back.UnmarshalText(b); err != nil || back != a {
			t.Errorf("%s reads back as %s", a, back)
		}
	}
	for _, p := range model.Presets {
		b, err := (&Machine{p.Machine}).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var m Machine
		if err := m.UnmarshalJSON(b); err != nil || m.Name() != p.Name {
			t.Errorf("%s reads back as %q: %v", p.Name, m.Name(), err)
		}
	}
}

// What a device cannot do is refused before anything runs, with what and why.
func TestRefusals(t *testing.T) {
	src := `{"fencesim": 1, "ranks": 2, "schedule": {"inputs": ["a"], "queues": [{"name": "gpu", "buffers": [["send a to next", "recv a from prev"]]}]},
	  "machine": {"slots": 1, "transport": {"buffered": 1}}}`
	_, err := Replay(t.Context(), &Request{Scenario: src}, Host{}, nil)
	if !errors.Is(err, ErrCannotImpose) || !strings.Contains(err.Error(), "slots with a send") {
		t.Errorf("%v", err)
	}
	if _, err := Open("abacus"); err == nil || errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if d, err := Open("auto"); err != nil || d == nil {
		t.Errorf("auto: %v", err)
	}
}

// The moments that a recording tells may be late, each thread's by as much as it was kept
// from going on; what a transition lies between leads to a run all the same, without search.
func TestCompareLateMoments(t *testing.T) {
	q := &Request{Scenario: reported, Impose: &Machine{model.Machine{GPUToCPU: model.Visibility{Mode: model.VisUnordered}}}}
	p, _, err := q.Plan()
	if err != nil {
		t.Fatal(err)
	}
	out := runOnce(t, p)
	for _, l := range out.chains {
		for i := range l {
			if l[i].t.Kind != sim.KindVisible {
				l[i].ns = l[len(l)-1].ns
			}
		}
	}
	if c := Compare(p.System, out); c.Model != Allowed || c.Tried > 2*len(p.words(out.chains)) {
		t.Errorf("%s, %d transitions tried: %s", c.Model, c.Tried, c.Reason)
	}
}

// The clocks of two cores may be apart, and with them the intervals; what throttles have read
// leads to a run all the same.
func TestCompareClocksApart(t *testing.T) {
	p := smallArrays(t)
	out := runOnce(t, p)
	rng := rand.New(rand.NewPCG(1, 0))
	apart := map[int32]int64{}
	for _, l := range out.chains {
		for i := range l {
			e := &l[i]
			d, ok := apart[e.t.Agent]
			if !ok {
				d = rng.Int64N(int64(2*time.Millisecond)) - int64(time.Millisecond)
				apart[e.t.Agent] = d
			}
			e.ns += d
			e.from += d
			if e.to != ever {
				e.to += d
			}
		}
	}
	if c := Compare(p.System, out); c.Model != Allowed {
		t.Errorf("%s, %d transitions tried: %s", c.Model, c.Tried, c.Reason)
	}
}

// A thread may be kept from going on between what its task does and the note that it is done.
// A buffer that waited for it may finish meanwhile; a throttle must not see one without the
// other.
func TestThrottleSeesTasksWhole(t *testing.T) {
	p := smallArrays(t)
	out := runWith(t, p, Config{Patience: brisk, stall: func() {
		if rand.IntN(3) == 0 {
			time.Sleep(rand.N(time.Millisecond))
		}
	}})
	if c := Compare(p.System, out); c.Model != Allowed {
		t.Errorf("%s: %s", c.Model, c.Reason)
	}
}

// In every order that keeps to what throttles have read, each of them stands behind as many
// ends as it read, of buffers that overlap too.
func TestOrderOfTests(t *testing.T) {
	entry, _ := catalog.Get("mlx-two-ranks-fixed")
	for _, machine := range []string{"ideal", "overlap-untracked"} {
		m := preset(t, machine)
		p, _, err := (&Request{Scenario: string(entry.Source), Impose: &Machine{m}}).Plan()
		if err != nil {
			t.Fatal(err)
		}
		out := runOnce(t, p)
		before := orderTests(p.System, out)
		tests := 0
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, 0))
			at, ended := make([]int, len(out.chains)), map[int32]int{}
			for {
				var free []int
				for i, l := range out.chains {
					if at[i] < len(l) && !slices.ContainsFunc(before[place{i, at[i]}], func(p place) bool { return at[p.chain] <= p.at }) {
						free = append(free, i)
					}
				}
				if len(free) == 0 {
					break
				}
				i := free[rng.IntN(len(free))]
				e := &out.chains[i][at[i]]
				at[i]++
				if e.over > 0 {
					ended[e.t.Agent]++
				}
				if e.seen == nil {
					continue
				}
				tests++
				for j, n := range e.seen {
					if have := ended[e.t.Agent+1+int32(j)]; have != n {
						t.Fatalf("%s: %s: it read that %d of its agent %d had ended, and %d have", machine, p.System.Describe(e.t), n, j, have)
					}
				}
			}
			for i, l := range out.chains {
				if at[i] < len(l) {
					t.Fatalf("%s: no order: chain %d ends at %d of %d", machine, i, at[i], len(l))
				}
			}
		}
		if tests < 1000 {
			t.Errorf("%s: %d tests", machine, tests)
		}
	}
}

// Of several runs the one that is outside the model is shown, and the reason says which.
func TestOutsideIsShown(t *testing.T) {
	p, out := once(t, "next-buffer", preset(t, "lag-1"))
	if !out.Hung {
		t.Fatal("it finished")
	}
	wrong := *out
	wrong.Ranks = slices.Clone(out.Ranks)
	wrong.Ranks[0].Counters.GPU += 7
	r, q := &Result{Model: Allowed}, &Request{Repeat: 3}
	for _, o := range []*Outcome{out, &wrong, out} {
		r.take(q, p, o)
	}
	if r.Runs != 3 || r.Model != Outside || r.Counters != wrong.Counters() || !strings.HasPrefix(r.Reason, "run 2, hung at ") || len(r.Recording) == 0 {
		t.Errorf("%+v", r)
	}
}

// What stands behind a signal in its section does not wait for it.
func TestSignalHoldsUpNothingBehindIt(t *testing.T) {
	q := &Request{Scenario: "fencesim: 1\nname: signal\nmachine: {dispatch: concurrent}\nschedule: {queues: [{name: gpu, buffers: [[wait C 1, signal E 1, update G 1]]}], streams: [{name: cpu, tasks: [wait G 1, update C 1]}]}\n",
		Config: Config{Patience: brisk}}
	r, err := Replay(t.Context(), q, Host{}, nil)
	if err != nil || r.Verdict != VerdictFinished || r.Model != Allowed {
		t.Errorf("%+v, %v", r, err)
	}
}

// A run can be stopped from outside; its threads come back.
func TestStop(t *testing.T) {
	p, _, err := never(time.Minute).Plan()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r, err := NewRunner(ctx, p, Host{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := r.Run(Config{Patience: 10 * time.Second}); !errors.Is(err, ErrStopped) {
		t.Errorf("%v", err)
	}
	if _, err := r.Run(Config{}); !errors.Is(err, ErrStopped) {
		t.Errorf("afterwards: %v", err)
	}
}
