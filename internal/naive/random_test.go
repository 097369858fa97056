package naive

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// What Random draws is worth comparing: cases that always hang, that hang or finish, and
// that always finish are all common, most are small, and every property is violated by some.
func TestRandomMix(t *testing.T) {
	const seeds, limit = 200, 3000
	violated := map[string]bool{}
	over, hang, both, finish := 0, 0, 0, 0
	for seed := range uint64(seeds) {
		ps, m := Random(rand.New(rand.NewPCG(seed, 1)), Config{})
		r, done := Explore(ps, m, limit)
		maps.Copy(violated, r.Violated)
		switch {
		case !done:
			over++
		case r.Violated["hang"] && r.CanFinish:
			both++
		case r.Violated["hang"]:
			hang++
		default:
			finish++
		}
		if done && len(r.Stuck) > 0 != r.Violated["hang"] || done && !r.CanFinish && len(r.Stuck) == 0 {
			t.Fatalf("seed %d: neither end nor hang\n%s", seed, Text(ps, m))
		}
	}
	t.Logf("over %d states: %d, always hang %d, hang or finish %d, always finish %d", limit, over, hang, both, finish)
	least := seeds / 10
	if len(violated) != 8 {
		t.Errorf("only %v violated", violated)
	}
	if hang < least || both < least || finish < least || over > 4*least {
		t.Errorf("one-sided: over %d, hang %d, both %d, finish %d", over, hang, both, finish)
	}
}

// Equal seeds give equal cases, and an explicit case's text is a scenario file that gives
// the same schedules.
func TestRandomTextParses(t *testing.T) {
	for seed := range uint64(400) {
		draw := func() ([]*model.Schedule, model.Machine) {
			return Random(rand.New(rand.NewPCG(seed, 1)), Config{})
		}
		ps, m := draw()
		text := Text(ps, m)
		if again, n := draw(); Text(again, n) != text {
			t.Fatalf("seed %d draws two cases", seed)
		}
		sc, err := model.Parse("random.yaml", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		got, err := sc.Programs(model.Count)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if back := Text(got, sc.Machine); back != text {
			t.Fatalf("seed %d reads back as\n%s\nwas\n%s", seed, back, text)
		}
	}
}

// size is what a buffer with commands [from, to) of a queue holds by the rule of the
// evaluator: one op for a wait on a fence, one for an operation, two for an update.
func size(g *model.Graph, s *model.Schedule, cs []model.Command) (ops int, elems int64) {
	arrays := map[model.Sym]bool{}
	for i := range cs {
		switch cs[i].Op {
		case model.OpBarrier, model.OpEncoder, model.OpAwait, model.OpSignal:
			continue
		}
		ops++
		reads, writes := touches(&cs[i])
		for _, a := range append(reads, writes...) {
			arrays[a] = true
		}
	}
	for i := range g.Arrays {
		if arrays[s.Names.Lookup(g.Arrays[i].Name)] {
			elems += g.Arrays[i].Elems
		}
	}
	return ops, elems
}

// The cuts and sections of a lowered graph are those of their definition.
func TestCutsByDefinition(t *testing.T) {
	for seed := range uint64(1500) {
		g, e, d, m := RandomGraph(rand.New(rand.NewPCG(seed, 2)), Config{})
		s := model.LowerGraph(g, d, e)
		for q := range s.Queues {
			cs := s.Queues[q].Commands
			for from := range len(cs) + 1 {
				want := int32(model.NeverForced)
				for _, st := range s.Main {
					if st.Kind != model.StepEncode || int(st.Target) != q || int(st.N) < from {
						continue
					}
					ops, elems := size(g, s, cs[from:st.N])
					if ops > e.MaxOps || elems>>20 > int64(e.MaxMB) {
						want = st.N
						break
					}
				}
				if got := s.Queues[q].Forced[from]; got != want {
					t.Fatalf("seed %d queue %d: a buffer from command %d is cut at %d, want %d\n%s", seed, q, from, got, want,
						Text([]*model.Schedule{s}, m))
				}
			}
		}
	}
}

// Whatever graph is drawn either ends or is stuck.
func TestRandomGraphEnds(t *testing.T) {
	hang, finish := 0, 0
	for seed := range uint64(150) {
		g, e, d, m := RandomGraph(rand.New(rand.NewPCG(seed, 2)), Config{})
		s := []*model.Schedule{model.LowerGraph(g, d, e)}
		r, done := Explore(s, m, 4000)
		if !done {
			continue
		}
		if len(r.Stuck) > 0 {
			hang++
		}
		if r.CanFinish {
			finish++
		}
		if len(r.Stuck) == 0 && !r.CanFinish {
			t.Fatalf("seed %d: neither end nor hang\n%s", seed, Text(s, m))
		}
	}
	if hang < 10 || finish < 50 {
		t.Errorf("one-sided: %d hang, %d finish", hang, finish)
	}
}

// On the ideal machine the least unfinished command of encode order is always enabled: no
// discipline whose targets are early enough hangs.
func TestEncodeOrderNeverHangs(t *testing.T) {
	for seed := range uint64(200) {
		g, e, _, _ := RandomGraph(rand.New(rand.NewPCG(seed, 2)), Config{})
		for _, d := range []model.Discipline{model.Count, model.PerUpdate, model.Event} {
			s := []*model.Schedule{model.LowerGraph(g, d, e)}
			r, done := Explore(s, model.Machine{}, 3000)
			if done && (len(r.Violated) > 0 || !r.CanFinish) {
				t.Fatalf("seed %d, %s: %v\n%s", seed, d, r.Violated, Text(s, model.Machine{}))
			}
		}
	}
}

func TestWitness(t *testing.T) {
	s := []*model.Schedule{apart(-1).Schedule()}
	hang := Witness(s, lag(0), 1000, "hang")
	if again := Witness(s, lag(0), 1000, "1,0,0"); !reflect.DeepEqual(hang, again) || len(hang) == 0 {
		t.Errorf("two ways to the only hang: %q and %q", hang, again)
	}
	if Witness(s, lag(0), 1000, "stale-read") != nil {
		t.Error("a witness of what never happens")
	}
}

// Giving up is said, not hidden.
func TestLimitStates(t *testing.T) {
	if _, done := Explore([]*model.Schedule{apart(3).Schedule()}, lag(2), 10); done {
		t.Error("ten states were enough")
	}
}
