package metal

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// probe is a kernel of this package's own: it copies a word, and adds one in every
// thread. The kernels of the project are tested where they are used.
const probe = `
#include <metal_stdlib>
using namespace metal;
kernel void probe(volatile device uint* memory [[buffer(0)]],
                  constant uint& value [[buffer(1)]],
                  uint index [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit((volatile device atomic_uint*)(memory + 1), 1u, memory_order_relaxed);
  if (index == 0) {
    memory[0] = value;
  }
}`

// device opens the GPU, or ends the test in one line.
func device(t *testing.T) *Device {
	t.Helper()
	d, err := Open()
	if err != nil {
		if list := strings.Split(os.Getenv("FENCESIM_REQUIRE"), ","); slices.Contains(list, "all") || slices.Contains(list, "metal") {
			t.Fatalf("metal is required and missing: %v", err)
		}
		t.Skipf("needs metal: %v", err)
	}
	t.Cleanup(d.Close)
	return d
}

// Everything that this package has, once, on a real device. Nothing in it waits
// for another command, so that it cannot hang the GPU.
func TestOnDevice(t *testing.T) {
	d := device(t)
	info, err := d.Info()
	if err != nil || info.Name == "" || info.OS.Major < 11 || info.BufferLength == 0 {
		t.Fatalf("info %+v, %v", info, err)
	}
	t.Logf("%+v", info)
	queue := must[*Queue](t)(d.NewQueue(8))
	defer queue.Close()
	library := must[*Library](t)(d.NewLibrary(probe, Language24))
	defer library.Close()
	pipeline := must[*Pipeline](t)(d.NewPipeline(library, "probe"))
	defer pipeline.Close()
	memory := must[*Buffer](t)(d.NewBuffer(64))
	defer memory.Close()
	event := must[*Event](t)(d.NewEvent())
	defer event.Close()
	fence := must[*Fence](t)(d.NewFence())
	defer fence.Close()

	var handled atomic.Int32
	for _, dispatch := range []Dispatch{Serial, Concurrent} {
		c := must[*CommandBuffer](t)(queue.NewCommandBuffer(func() { handled.Add(1) }))
		defer c.Close()
		for value := range uint32(2) {
			e := must[*Encoder](t)(c.Compute(dispatch))
			if value > 0 {
				e.WaitFence(fence)
			}
			e.SetPipeline(pipeline)
			e.SetBuffer(0, memory, 8)
			e.SetWords(1, 40+value)
			e.Dispatch(2, 32)
			e.Barrier()
			e.UpdateFence(fence)
			if err := e.End(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(c.Signal(event, uint64(dispatch)+1), c.Commit(), c.Wait(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if start, end := c.Times(); start <= 0 || end < start || c.Status() != Completed {
			t.Errorf("times %v to %v, status %s", start, end, c.Status())
		}
		if event.Value() != uint64(dispatch)+1 {
			t.Errorf("event %d after signal %d", event.Value(), dispatch+1)
		}
	}
	if w := memory.Words()[8:10]; w[0] != 41 || w[1] != 4*64 {
		t.Errorf("words %v, want 41 and 256", w)
	}
	if handled.Load() != 2 {
		t.Errorf("%d completions", handled.Load())
	}
	if cpu, gpu, err := d.Clocks(); cpu == 0 || gpu == 0 || err != nil {
		t.Errorf("clocks %d, %d, %v", cpu, gpu, err)
	}
}

// A source that does not compile gives the compiler's words.
func TestCompilerSpeaks(t *testing.T) {
	_, err := device(t).NewLibrary("kernel void probe( {", Language24)
	var failure *CommandError
	if !errors.As(err, &failure) || failure.Text == "" {
		t.Errorf("got %v", err)
	}
}

// A buffer that waits for an event is released by the CPU.
func TestEventReleasesBuffer(t *testing.T) {
	d := device(t)
	queue := must[*Queue](t)(d.NewQueue(0))
	defer queue.Close()
	event := must[*Event](t)(d.NewEvent())
	defer event.Close()
	c := must[*CommandBuffer](t)(queue.NewCommandBuffer(nil))
	defer c.Close()
	defer event.Signal(1)
	if err := errors.Join(c.WaitFor(event, 1), c.Commit()); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(50 * time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Errorf("before the signal: %v", err)
	}
	if err := errors.Join(event.Signal(1), c.Wait(10*time.Second)); err != nil {
		t.Errorf("after the signal: %v", err)
	}
}
