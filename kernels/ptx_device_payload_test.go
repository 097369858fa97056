package kernels_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencesim/fencesim/cuda"
	"github.com/fencesim/fencesim/kernels"
)

// A kernel of the schedule checks what it reads and writes what it should.
func TestDeviceCompute(t *testing.T) {
	r := newRig(t)
	r.beat()
	s := r.stream()
	const words = 1000
	at, err := r.c.Alloc(4 * words)
	r.ok(err)
	none := cuda.DevicePtr(0)
	g := cuda.Grid{Blocks: 3, Threads: 64}
	r.launch(s, "compute", g, r.h.Ptr(0), none, uint32(0), uint32(0), uint64(0), uint64(0), at, uint32(words), uint32(7), r.resultAt(0))
	r.launch(s, "compute", g, r.h.Ptr(0), at, uint32(words), uint32(7), uint64(2*time.Millisecond), second, r.h.Ptr(rigPayload), uint32(words/4), uint32(8), r.resultAt(3))
	r.launch(s, "compute", g, r.h.Ptr(0), at, uint32(words), uint32(6), uint64(0), uint64(0), none, uint32(0), uint32(0), r.resultAt(6))
	r.launch(s, "coherent", g, at, uint32(words))
	r.ok(s.Wait(2 * time.Second))
	for i := range 9 {
		got := r.result(i).Load()
		share := uint32(words/(3*64)) * 64 // and at most 64 words more
		switch {
		case got.Outcome != kernels.Passed,
			i < 6 && got.Detail != 0,
			i >= 3 && i < 6 && (got.Value != 7 || got.End-got.Begin < 2_000_000),
			i >= 6 && (got.Value != 7 || got.Detail < share || got.Detail > share+64):
			t.Errorf("block %d: %+v", i, got)
		}
	}
	for i := range words / 4 {
		if got := *r.h.Uint32(rigPayload + 4*i); got != 8 {
			t.Fatalf("word %d is %d, want 8", i, got)
		}
	}
	// Killed while it computes, it writes nothing.
	r.result(0).Clear()
	r.launch(s, "compute", cuda.Grid{}, r.h.Ptr(16), none, uint32(0), uint32(0), 10*second, uint64(0), at, uint32(words), uint32(9), r.resultAt(0))
	r.until("compute", func() bool { return r.result(0).Load().Outcome == kernels.Running })
	r.controlAt(16).Release()
	r.ok(s.Wait(2 * time.Second))
	back := make([]byte, 4)
	r.ok(r.c.Read(back, at))
	if got := r.result(0).Load(); got.Outcome != kernels.Killed || back[0] != 7 {
		t.Errorf("killed: %+v, word %d", got, back[0])
	}
}

// Message passing in both directions: with release and acquire, or a barrier
// before the store, no payload is ever stale. What else is seen is logged.
func TestDeviceMessagePassing(t *testing.T) {
	r := newRig(t)
	r.beat()
	s := r.stream()
	const rounds, words, threads = 400, 256, 128
	payload := 65536
	for _, how := range []kernels.Access{kernels.Weak, kernels.SystemScope} {
		for _, o := range kernels.Orders() {
			atomic.StoreUint32(r.fence(0), 0)
			staleCPU, staleGPU := 0, 0
			for k := uint32(1); k <= rounds; k++ {
				r.launch(s, "message-send", cuda.Grid{Threads: threads}, r.h.Ptr(0), r.h.Ptr(payload), uint32(words), k, uint32(how),
					r.fenceAt(0), k, uint32(o), cuda.DevicePtr(0))
				r.until("the message", func() bool { return atomic.LoadUint32(r.fence(0)) == k })
				for i := words - 1; i >= 0; i-- {
					if atomic.LoadUint32(r.h.Uint32(payload+4*i)) != k {
						staleCPU++
						break
					}
				}
				r.ok(s.Wait(2 * time.Second))
			}
			atomic.StoreUint32(r.fence(1), 0)
			for k := uint32(1); k <= rounds; k++ {
				r.result(0).Clear()
				r.launch(s, "message-receive", cuda.Grid{Threads: threads}, r.h.Ptr(0), r.fenceAt(1), k, uint32(o), uint32(1),
					r.h.Ptr(payload), uint32(words), k, uint32(how), uint32(noLimit), 2*second, second, r.resultAt(0))
				r.until("the receiver", func() bool { return r.result(0).Load().Outcome == kernels.Running })
				for i := range words {
					atomic.StoreUint32(r.h.Uint32(payload+4*i), k)
				}
				atomic.StoreUint32(r.fence(1), k)
				r.ok(s.Wait(3 * time.Second))
				got := r.result(0).Load()
				if got.Outcome != kernels.Passed {
					t.Fatalf("receive: %+v", got)
				}
				if got.Detail != 0 {
					staleGPU++
				}
			}
			t.Logf("payload access %d, fence %v: GPU to CPU %d of %d stale, CPU to GPU %d of %d stale", how, o, staleCPU, rounds, staleGPU, rounds)
			if (o == kernels.Synchronizing || o == kernels.BarrierBefore) && staleCPU > 0 {
				t.Errorf("GPU to CPU, %v: %d stale payloads", o, staleCPU)
			}
			if (o == kernels.Synchronizing || o == kernels.BarrierAfter) && staleGPU > 0 {
				t.Errorf("CPU to GPU, %v: %d stale payloads", o, staleGPU)
			}
		}
	}
}
