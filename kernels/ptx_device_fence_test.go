package kernels_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencesim/fencesim/cuda"
	"github.com/fencesim/fencesim/kernels"
)

// Every store variant with every order does to the fence what its Doc says.
func TestDeviceStores(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	for _, o := range kernels.Orders() {
		for _, tc := range []struct {
			name                string
			before, value       uint32
			after, seen, detail uint32
		}{
			{"update", 5, 3, 3, 3, 0},
			{"update-guarded", 5, 3, 5, 5, 0},
			{"update-guarded", 3, 5, 5, 3, 1},
			{"update-guarded", 0x7fffffff, 0xffffffff, 0xffffffff, 0x7fffffff, 1},
			{"update-max", 5, 3, 5, 5, 0},
			{"update-max", 3, 5, 5, 3, 1},
			{"update-max", 0x7fffffff, 0xffffffff, 0xffffffff, 0x7fffffff, 1},
			{"add", 5, 3, 8, 5, 0},
			{"add", 0xffffffff, 2, 1, 0xffffffff, 0},
		} {
			atomic.StoreUint32(r.fence(0), tc.before)
			r.result(0).Clear()
			args := []any{r.h.Ptr(0), r.fenceAt(0), tc.value, uint32(o)}
			if tc.name == "update-guarded" {
				args = append(args, uint64(0))
			}
			r.launch(s, tc.name, cuda.Grid{}, append(args, r.resultAt(0))...)
			r.ok(s.Wait(2 * time.Second))
			got := r.result(0).Load()
			if v := atomic.LoadUint32(r.fence(0)); v != tc.after || got.Outcome != kernels.Passed ||
				got.Value != tc.seen || got.Detail != tc.detail || got.Begin == 0 || got.End < got.Begin {
				t.Errorf("%s %v %d on %d: fence %d, %+v", tc.name, o, tc.value, tc.before, v, got)
			}
		}
	}
	// Killed, none stores.
	r.control.Release()
	for _, name := range []string{"update", "update-guarded", "update-max", "add"} {
		atomic.StoreUint32(r.fence(0), 3)
		r.result(0).Clear()
		args := []any{r.h.Ptr(0), r.fenceAt(0), uint32(9), uint32(0)}
		if name == "update-guarded" {
			args = append(args, uint64(0))
		}
		r.launch(s, name, cuda.Grid{}, append(args, r.resultAt(0))...)
		r.ok(s.Wait(2 * time.Second))
		if v, got := atomic.LoadUint32(r.fence(0)), r.result(0).Load(); v != 3 || got.Outcome != kernels.Killed {
			t.Errorf("killed %s: fence %d, %+v", name, v, got)
		}
	}
	r.usable()
}

// Two guarded updates whose halves interleave lower the fence: the defect that
// the variant is there to show.
func TestDeviceGuardedInterleaves(t *testing.T) {
	r := newRig(t)
	a, b := r.stream(), r.stream()
	r.launch(a, "update-guarded", cuda.Grid{}, r.h.Ptr(0), r.fenceAt(0), uint32(1), uint32(0), uint64(20*time.Millisecond), r.resultAt(0))
	time.Sleep(5 * time.Millisecond)
	r.launch(b, "update-guarded", cuda.Grid{}, r.h.Ptr(0), r.fenceAt(0), uint32(2), uint32(0), uint64(0), r.resultAt(1))
	r.until("the second update", func() bool { return atomic.LoadUint32(r.fence(0)) == 2 })
	r.ok(a.Wait(2 * time.Second))
	if got := atomic.LoadUint32(r.fence(0)); got != 1 {
		t.Errorf("the fence is %d, want 1: lowered by a store that had read 0", got)
	}
}

// A wait ends in each of the ways that it can.
func TestDeviceWaitOutcomes(t *testing.T) {
	r := newRig(t)
	s := r.stream()
	for _, tc := range []struct {
		name            string
		fence, target   uint32
		exact, polls    uint32
		budget, silence time.Duration
		killed          bool
		want            kernels.Outcome
	}{
		{"at least, equal", 4, 4, 0, 1, 0, 0, false, kernels.Passed},
		{"at least, more", 9, 4, 0, 1, 0, 0, false, kernels.Passed},
		{"at least, unsigned", 0xffffffff, 4, 0, 1, 0, 0, false, kernels.Passed},
		{"exactly", 4, 4, 1, 1, 0, 0, false, kernels.Passed},
		{"exactly, more", 9, 4, 1, 50, time.Second, 0, false, kernels.GaveUp},
		{"too few polls", 3, 4, 0, 50, time.Second, 0, false, kernels.GaveUp},
		{"no polls", 3, 4, 0, 0, time.Second, 0, false, kernels.GaveUp},
		{"no time", 3, 4, 0, noLimit, 3 * time.Millisecond, 0, false, kernels.OutOfTime},
		{"no beat", 3, 4, 0, noLimit, time.Second, 3 * time.Millisecond, false, kernels.Orphaned},
		{"killed beforehand", 4, 4, 0, noLimit, time.Second, 0, true, kernels.Killed},
	} {
		for _, o := range kernels.Orders() {
			atomic.StoreUint32(r.fence(0), tc.fence)
			r.result(0).Clear()
			control := 0
			if tc.killed {
				control = 16
				r.controlAt(control).Release()
			}
			r.launch(s, "wait", cuda.Grid{}, r.h.Ptr(control), r.fenceAt(0), tc.target, tc.exact, uint32(o), tc.polls,
				uint64(tc.budget), uint64(tc.silence), r.resultAt(0))
			r.ok(s.Wait(3 * time.Second))
			got := r.result(0).Load()
			if got.Outcome != tc.want || got.Value != tc.fence || got.Polls == 0 {
				t.Errorf("%s, %v: %+v, want %v", tc.name, o, got, tc.want)
			}
			if took := time.Duration(got.End - got.Begin); tc.want == kernels.OutOfTime && (took < tc.budget || took > 2*tc.budget) {
				t.Errorf("%s: out of time after %v, want %v", tc.name, took, tc.budget)
			}
		}
	}
}

// A wait that nobody satisfies ends within 100 ms of its release, and the device
// works afterwards.
func TestDeviceReleaseOfStuckWait(t *testing.T) {
	r := newRig(t)
	r.beat()
	s := r.stream()
	var all []time.Duration
	for i := range 50 {
		control := 256 + 8*i
		r.result(0).Clear()
		r.launch(s, "wait", cuda.Grid{}, r.h.Ptr(control), r.fenceAt(0), uint32(1), uint32(0), uint32(kernels.BarrierBefore),
			uint32(noLimit), 20*second, uint64(0), r.resultAt(0))
		r.until("the wait", func() bool { return r.result(0).Load().Outcome == kernels.Running })
		time.Sleep(2 * time.Millisecond)
		if done, err := s.Done(); done || err != nil {
			t.Fatalf("the wait did not wait: %v", err)
		}
		start := time.Now()
		r.controlAt(control).Release()
		r.ok(s.Wait(2 * time.Second))
		all = append(all, time.Since(start))
		if got := r.result(0).Load(); got.Outcome != kernels.Killed || got.Value != 0 {
			t.Fatalf("%+v", got)
		}
	}
	slices.Sort(all)
	t.Logf("release to idle stream, %d times: median %v, worst %v", len(all), all[len(all)/2], all[len(all)-1])
	if worst := all[len(all)-1]; worst > 100*time.Millisecond {
		t.Errorf("the slowest release took %v", worst)
	}
	r.usable()
}

// Update kernel, CPU reply, wait kernel, a thousand times in one stream.
func TestDeviceRoundTrip(t *testing.T) {
	r := newRig(t)
	r.beat()
	s := r.stream()
	const rounds = 1000
	for _, name := range []string{"queued ahead", "launched singly"} {
		atomic.StoreUint32(r.fence(0), 0)
		atomic.StoreUint32(r.fence(1), 0)
		trips := make([]time.Duration, 0, rounds)
		last := time.Now()
		launched := uint32(0)
		for k := uint32(1); k <= rounds; k++ {
			// The queue holds about a thousand launches, two of them a round.
			for ahead := k; launched < rounds && launched < ahead+200 && (name == "queued ahead" || launched < k); {
				launched++
				r.update(s, 0, launched, 0)
				r.wait(s, 1, launched, 0)
			}
			r.until("the update", func() bool { return atomic.LoadUint32(r.fence(0)) >= k })
			atomic.StoreUint32(r.fence(1), k)
			now := time.Now()
			trips = append(trips, now.Sub(last))
			last = now
		}
		r.ok(s.Wait(2 * time.Second))
		slices.Sort(trips)
		t.Logf("round trip, %s: median %v, 90%% %v, 99%% %v, worst %v", name, trips[rounds/2], trips[rounds*9/10],
			trips[rounds*99/100], trips[rounds-1])
	}
}

// The offset between the device's clock and the CPU's, from waits that the CPU
// releases: the device's last poll lies between the store and the answer.
func TestDeviceClockOffset(t *testing.T) {
	r := newRig(t)
	r.beat()
	s := r.stream()
	base := time.Now()
	var low, high int64 = -1 << 62, 1 << 62
	for k := uint32(1); k <= 100; k++ {
		r.result(0).Clear()
		r.wait(s, 0, k, r.resultAt(0))
		r.until("the wait", func() bool { return r.result(0).Load().Outcome == kernels.Running })
		t0 := time.Since(base).Nanoseconds()
		atomic.StoreUint32(r.fence(0), k)
		r.until("the answer", func() bool { return r.result(0).Load().Outcome.Ended() })
		t1 := time.Since(base).Nanoseconds()
		end := int64(r.result(0).Load().End)
		low, high = max(low, end-t1), min(high, end-t0)
	}
	t.Logf("offset known to within %v (negative: drift or resolution of the clock)", time.Duration(high-low))
	if high-low > int64(time.Millisecond) {
		t.Errorf("the offset is known only to within %v", time.Duration(high-low))
	}
	r.result(0).Clear()
	r.launch(s, "stamp", cuda.Grid{}, r.resultAt(0))
	r.ok(s.Wait(2 * time.Second))
	if got := r.result(0).Load(); got.Outcome != kernels.Passed || got.Begin == 0 || got.Begin != got.End {
		t.Errorf("stamp: %+v", got)
	}
}
