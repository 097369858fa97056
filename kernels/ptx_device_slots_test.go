package kernels_test

import (
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencesim/fencesim/cuda"
	"github.com/fencesim/fencesim/kernels"
)

// Blocks that hold every multiprocessor keep an update out until they are let
// go: the slots of a device can be counted out.
func TestDeviceHold(t *testing.T) {
	r := newRig(t)
	r.beat()
	g := r.c.Device()
	// More than half of a multiprocessor's shared memory: one block on each.
	share := g.SharedPerBlock/2 + 2048
	for _, name := range []string{"hold", "update"} {
		r.ok(r.f[name].AllowShared(share))
		if n, err := r.f[name].BlocksPerSM(1, share); err != nil || n != 1 {
			t.Fatalf("%s: %d blocks on a multiprocessor, want 1: %v", name, n, err)
		}
	}
	a, b := r.stream(), r.stream()
	r.launch(a, "hold", cuda.Grid{Blocks: g.SMs, Shared: share}, r.h.Ptr(0), r.fenceAt(3), uint32(noLimit), 10*second, 2*second, r.resultAt(0))
	r.until("the hold", func() bool {
		for i := range g.SMs {
			if r.result(i).Load().Outcome != kernels.Running {
				return false
			}
		}
		return true
	})
	r.launch(b, "update", cuda.Grid{Shared: share}, r.h.Ptr(0), r.fenceAt(0), uint32(1), uint32(0), cuda.DevicePtr(0))
	time.Sleep(20 * time.Millisecond)
	if got := atomic.LoadUint32(r.fence(0)); got != 0 {
		t.Errorf("the update ran beside %d blocks that hold the device", g.SMs)
	}
	start := time.Now()
	atomic.StoreUint32(r.fence(3), 1)
	r.until("the update", func() bool { return atomic.LoadUint32(r.fence(0)) == 1 })
	t.Logf("%d blocks let go, update seen after %v", g.SMs, time.Since(start))
	r.ok(a.Wait(2 * time.Second))
	r.ok(b.Wait(2 * time.Second))
	for i := range g.SMs {
		if got := r.result(i).Load(); got.Outcome != kernels.Passed {
			t.Fatalf("block %d: %+v", i, got)
		}
	}
}

// With all multiprocessors but one held, one wait takes the only slot, and an
// update that would satisfy it cannot run: the hang of held slots. The release
// resolves it.
func TestDeviceOneSlot(t *testing.T) {
	r := newRig(t)
	r.beat()
	g := r.c.Device()
	share := g.SharedPerBlock/2 + 2048
	for _, name := range []string{"hold", "update", "wait"} {
		r.ok(r.f[name].AllowShared(share))
	}
	const control = 16 // of the wait alone
	a, b, c := r.stream(), r.stream(), r.stream()
	r.launch(a, "hold", cuda.Grid{Blocks: g.SMs - 1, Shared: share}, r.h.Ptr(0), r.fenceAt(3), uint32(noLimit), 10*second, 2*second, r.resultAt(10))
	r.until("the hold", func() bool {
		for i := range g.SMs - 1 {
			if r.result(10+i).Load().Outcome != kernels.Running {
				return false
			}
		}
		return true
	})
	r.launch(b, "wait", cuda.Grid{Shared: share}, r.h.Ptr(control), r.fenceAt(0), uint32(1), uint32(0), uint32(0), uint32(noLimit), 10*second, uint64(0), r.resultAt(0))
	r.until("the wait", func() bool { return r.result(0).Load().Outcome == kernels.Running })
	r.launch(c, "update", cuda.Grid{Shared: share}, r.h.Ptr(0), r.fenceAt(0), uint32(1), uint32(0), cuda.DevicePtr(0))
	time.Sleep(20 * time.Millisecond)
	if v, got := atomic.LoadUint32(r.fence(0)), r.result(0).Load(); v != 0 || got.Outcome != kernels.Running {
		t.Errorf("the update found a slot: fence %d, %+v", v, got)
	}
	r.controlAt(control).Release()
	r.until("the update", func() bool { return atomic.LoadUint32(r.fence(0)) == 1 })
	r.ok(b.Wait(2 * time.Second))
	if got := r.result(0).Load(); got.Outcome != kernels.Killed {
		t.Errorf("%+v", got)
	}
	atomic.StoreUint32(r.fence(3), 1)
	r.ok(a.Wait(2 * time.Second))
	r.ok(c.Wait(2 * time.Second))
}

// A process that is killed while its kernels hold every slot of the device
// leaves it usable: because the driver takes the context down, and sooner if the
// kernels miss the beat. The child is this test binary.
func TestDeviceSurvivesKilledProcess(t *testing.T) {
	const child = "FENCESIM_TEST_STUCK_CHILD"
	if silence, err := time.ParseDuration(os.Getenv(child)); err == nil {
		r := newRig(t)
		r.beat()
		g := r.c.Device()
		r.launch(r.stream(), "hold", cuda.Grid{Blocks: g.SMs * g.BlocksPerSM}, r.h.Ptr(0), r.fenceAt(3), uint32(noLimit), 60*second, uint64(silence), r.resultAt(0))
		r.until("the hold", func() bool { return r.result(0).Load().Outcome == kernels.Running })
		time.Sleep(500 * time.Millisecond)
		if got := r.result(0).Load(); got.Outcome != kernels.Running {
			t.Fatalf("%+v", got)
		}
		os.Stdout.WriteString("stuck\n")
		time.Sleep(time.Minute)
		return
	}
	for _, silence := range []time.Duration{0, 200 * time.Millisecond} {
		r := newRig(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestDeviceSurvivesKilledProcess$")
		cmd.Env = append(append(os.Environ(), cuda.Environ()...), child+"="+silence.String())
		out, err := cmd.StdoutPipe()
		r.ok(err)
		r.ok(cmd.Start())
		buf := make([]byte, 6)
		if _, err := io.ReadFull(out, buf); err != nil || string(buf) != "stuck\n" {
			cmd.Process.Kill()
			t.Fatalf("the child said %q: %v", buf, err)
		}
		start := time.Now()
		r.ok(cmd.Process.Kill())
		r.usable()
		usable := time.Since(start)
		cmd.Wait()
		t.Logf("killed with every slot held, silence %v: device usable after %v, process gone after %v", silence, usable, time.Since(start))
		if time.Since(start) > 30*time.Second {
			t.Error("it took too long")
		}
	}
}
