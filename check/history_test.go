package check

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// randomHistory draws operations on one counter: half of the histories from a counter that
// exists, with intervals around the times at which they happened, and some of those with
// one value changed; the others freely.
func randomHistory(rng *rand.Rand, n int) *History {
	h := &History{Objects: []HistoryObject{{Name: "F", Initial: uint64(rng.IntN(2))}}}
	value := h.Objects[0].Initial
	real := rng.IntN(2) == 0
	for i := range n {
		op := HistoryOp{Client: i, Value: uint64(rng.IntN(5)), Kind: HistoryUpdate}
		if rng.IntN(2) == 0 {
			op.Kind = HistoryRead
		}
		if !real {
			op.Call = int64(rng.IntN(2 * n))
			op.Return = op.Call + int64(rng.IntN(n))
		} else {
			at := int64(10 * i)
			op.Call, op.Return = at-int64(rng.IntN(25)), at+int64(rng.IntN(25))
			if op.Kind == HistoryRead {
				op.Value = value
			}
			value = max(value, op.Value)
		}
		if op.Kind == HistoryUpdate && rng.IntN(6) == 0 {
			op.Return = Pending
		}
		h.Ops = append(h.Ops, op)
	}
	if real && rng.IntN(2) == 0 {
		h.Ops[rng.IntN(n)].Value = uint64(rng.IntN(5))
	}
	return h
}

// The special checker of monotone counters decides as porcupine does.
func TestCounterCheckerEqualsPorcupine(t *testing.T) {
	answers := map[Linearizable]int{}
	for seed := range uint64(30000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		h := randomHistory(rng, 1+rng.IntN(9))
		want := h.checkGeneral(h.Ops, 0)
		answers[want]++
		if got := h.checkCounter(0, h.Ops); got != want {
			t.Fatalf("seed %d: %s, porcupine says %s, of a counter at %d:\n%s", seed, got, want, h.Objects[0].Initial, opsText(h.Ops))
		}
	}
	t.Log(answers)
	if answers[Linear] < 5000 || answers[NotLinear] < 5000 {
		t.Errorf("one-sided: %v", answers)
	}
}

func opsText(ops []HistoryOp) string {
	var b strings.Builder
	for _, o := range ops {
		fmt.Fprintf(&b, "  %s in [%d, %d]\n", o, o.Call, o.Return)
	}
	return b.String()
}

// A million operations are decided in seconds.
func TestCounterCheckerIsFast(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	h := &History{Objects: []HistoryObject{{Name: "F"}}}
	for i := range n {
		kind := HistoryUpdate
		if i%2 == 1 {
			kind = HistoryRead
		}
		h.Ops = append(h.Ops, HistoryOp{Kind: kind, Value: uint64(i/2 + 1), Call: int64(10 * i), Return: int64(10*i + 25)})
	}
	started := time.Now()
	if v, bad := h.Check(time.Minute); v != Linear {
		t.Errorf("%s: %v", v, bad)
	}
	h.Ops[n/2|1].Value--
	h.Ops[n/2|1].Call += 100
	h.Ops[n/2|1].Return += 100
	if v, _ := h.Check(time.Minute); v != NotLinear {
		t.Errorf("a read that is one behind: %s", v)
	}
	if d := time.Since(started); d > 2*time.Minute {
		t.Errorf("took %s", d)
	}
}

// storm is a schedule whose GPU stores can overtake each other: three updates of one
// fence, each in a buffer of its own, and two streams that wait for them.
func storm(t *testing.T, store string, visibility model.Visibility, buffers string) *sim.System {
	t.Helper()
	sc := &model.Scenario{Version: 1, Machine: model.Machine{Store: store, GPUToCPU: visibility, Buffers: buffers, Tracking: model.TrackNone},
		Schedule: &model.ScheduleFile{
			Queues: []model.QueueFile{{Name: "gpu", Buffers: []model.BufferFile{
				{Commands: []string{"update G 1"}}, {Commands: []string{"update G 2"}}, {Commands: []string{"update G 3", "wait G 1"}}}}},
			Streams: []model.TaskFile{{Name: "cpu", Tasks: []string{"wait G 2", "wait G 1"}}, {Name: "aux", Tasks: []string{"wait G 1", "wait G 1"}}},
		}}
	ps, err := sc.Programs(model.Count)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Compile(ps, sc.Machine, sim.Options{})
}

// Stores that overtake each other are caught as not linearizable under plain stores, less
// often under guarded ones, which are plain on arrival, and never under the maximum; a
// run whose history is not linearizable went backwards.
func TestReorderedStoresAreNotLinearizable(t *testing.T) {
	unordered := model.Visibility{Mode: model.VisUnordered}
	caught := map[string]int{}
	const runs = 400
	for _, c := range []struct {
		name, store, buffers string
		v                    model.Visibility
	}{
		{"plain", model.StorePlain, model.InOrder, unordered},
		{"plain overlap", model.StorePlain, model.Overlap, model.Visibility{}},
		{"guarded", model.StoreGuarded, model.InOrder, unordered},
		{"guarded overlap", model.StoreGuarded, model.Overlap, model.Visibility{}},
		{"max", model.StoreMax, model.InOrder, unordered},
		{"max overlap", model.StoreMax, model.Overlap, model.Visibility{}},
		{"lag", model.StorePlain, model.InOrder, model.Visibility{Mode: model.VisLag, Buffers: 1}},
		{"unreliable", model.StorePlain, model.InOrder, model.Visibility{Mode: model.VisUnreliable}},
	} {
		y := storm(t, c.store, c.v, c.buffers)
		for seed := range uint64(runs) {
			run := sim.RunWith(y, sim.NewRandom(seed), 0)
			h, err := NewHistory(y, run.Choices)
			if err != nil {
				t.Fatal(err)
			}
			v, bad := h.Check(time.Minute)
			switch {
			case v == LinearUnknown:
				t.Fatalf("%s, seed %d: unknown", c.name, seed)
			case v == NotLinear:
				caught[c.name]++
				if run.Violated&sim.Backwards == 0 {
					t.Fatalf("%s, seed %d: %v is not linearizable, but nothing went backwards", c.name, seed, bad)
				}
			}
		}
	}
	t.Logf("of %d random runs not linearizable: %v", runs, caught)
	for _, name := range []string{"plain", "plain overlap", "guarded", "guarded overlap"} {
		if caught[name] == 0 {
			t.Errorf("%s: no reordered store was caught", name)
		}
	}
	if caught["guarded overlap"] >= caught["plain overlap"] {
		t.Errorf("a guarded store is caught as often as a plain one: %v", caught)
	}
	for _, name := range []string{"max", "max overlap", "lag", "unreliable"} {
		if caught[name] > 0 {
			t.Errorf("%s: %d histories are not linearizable", name, caught[name])
		}
	}
}

// A collective's result is the sum of what all ranks contributed; a history in which a
// rank left early is caught.
func TestCollectiveHistory(t *testing.T) {
	sc := &model.Scenario{Version: 1, Ranks: 3, Generate: &model.Generate{Kind: "chained-reductions", Reductions: 2, Rounds: 1, Elems: 1 << 20}}
	ps, err := sc.Programs(model.Count)
	if err != nil {
		t.Fatal(err)
	}
	y := sim.Compile(ps, sc.Machine, sim.Options{})
	for seed := range uint64(20) {
		run := sim.RunWith(y, sim.NewRandom(seed), 0)
		h, err := NewHistory(y, run.Choices)
		if err != nil {
			t.Fatal(err)
		}
		if v, bad := h.Check(time.Minute); v != Linear || !run.Final {
			t.Fatalf("seed %d: %s %v", seed, v, bad)
		}
		rounds := 0
		for _, o := range h.Objects {
			if o.Meets > 0 {
				rounds++
			}
		}
		if rounds != 2 {
			t.Errorf("seed %d: %d rounds, want 2", seed, rounds)
		}
		last := slices.IndexFunc(h.Ops, func(o HistoryOp) bool { return o.Kind == HistoryResult })
		h.Ops[last].Value-- // the sum without a part
		if v, bad := h.Check(time.Minute); v != NotLinear || len(bad) != 1 {
			t.Fatalf("seed %d: a wrong sum is %s %v", seed, v, bad)
		}
		h.Ops[last].Value++
		h.Ops[last].Call, h.Ops[last].Return = 0, 0 // before anybody arrived
		if v, _ := h.Check(time.Minute); v != NotLinear {
			t.Fatalf("seed %d: leaving first is %s", seed, v)
		}
	}
}

// The history of the reported hang is linearizable: the updates that the CPU does not see
// are on their way. Nothing went wrong but time.
func TestHistoryOfReportedHang(t *testing.T) {
	res, err := Explore(context.Background(), reproducer(model.Count, "lag-3", 1), Config{NoShrink: true})
	if err != nil {
		t.Fatal(err)
	}
	h, err := TraceHistory(res.Stuck[0].Trace)
	if err != nil {
		t.Fatal(err)
	}
	if v, bad := h.Check(time.Minute); v != Linear {
		t.Errorf("%s: %v", v, bad)
	}
	pending := 0
	for _, op := range h.Ops {
		if op.Return == Pending {
			pending++
		}
	}
	if pending == 0 {
		t.Error("no update is on its way")
	}
	var b bytes.Buffer
	if err := WriteHistory(&b, h); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "<html") || !strings.Contains(b.String(), "G as the CPU sees it: update 12 never arrives") {
		t.Errorf("the picture has %d bytes and not what is expected", b.Len())
	}
}

// Choices that are no run are an error, not a panic.
func TestHistoryOfNoRun(t *testing.T) {
	y := storm(t, "", model.Visibility{}, "")
	if _, err := NewHistory(y, []int{0, 99}); err == nil {
		t.Error("no error")
	}
	if err := WriteHistory(&bytes.Buffer{}, &History{Ops: make([]HistoryOp, 10000)}); err == nil {
		t.Error("no error for a history that is too long")
	}
}
