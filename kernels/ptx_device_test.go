package kernels_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencesim/fencesim/cuda"
	"github.com/fencesim/fencesim/kernels"
)

// rig is a device with every kernel compiled and a page of pinned memory: a
// Control at 0, fences from 64, a Result for each block from 4096.
type rig struct {
	t       *testing.T
	c       *cuda.Context
	f       map[string]*cuda.Function
	h       *cuda.Host
	control *kernels.Control
}

const (
	rigFence   = 64 // and 128, 192, … for more of them
	rigPayload = 2048
	rigResult  = 4096
	rigBytes   = 1 << 20

	noLimit = 1 << 31 // polls
	second  = uint64(time.Second)
)

// newRig opens the first device, or skips with the reason.
func newRig(t *testing.T) *rig {
	t.Helper()
	all, err := cuda.Devices()
	if errors.Is(err, cuda.ErrUnavailable) {
		t.Skipf("needs a CUDA device: %v", err)
	}
	r := &rig{t: t, f: map[string]*cuda.Function{}}
	r.ok(err)
	r.c, err = all[0].Open()
	r.ok(err)
	t.Cleanup(func() { r.ok(r.c.Close()) })
	r.h, err = r.c.AllocHost(rigBytes)
	r.ok(err)
	r.control = r.controlAt(0)

	modules := map[string]*cuda.Module{}
	for _, k := range kernels.Of(kernels.PTX) {
		if modules[k.Source] == nil {
			modules[k.Source], err = r.c.Load(k.Source)
			r.ok(err)
		}
		r.f[k.Name], err = modules[k.Source].Function(k.Entry)
		r.ok(err)
	}
	return r
}

func (r *rig) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) stream() *cuda.Stream {
	r.t.Helper()
	s, err := r.c.NewStream(0)
	r.ok(err)
	return s
}

func (r *rig) controlAt(offset int) *kernels.Control {
	return (*kernels.Control)(r.h.At(offset, kernels.ControlSize, kernels.ControlSize))
}

func (r *rig) result(i int) *kernels.Result {
	return (*kernels.Result)(r.h.At(rigResult+i*kernels.ResultSize, kernels.ResultSize, 8))
}

func (r *rig) resultAt(i int) cuda.DevicePtr { return r.h.Ptr(rigResult + i*kernels.ResultSize) }

func (r *rig) fence(i int) *uint32 { return r.h.Uint32(rigFence + 64*i) }

func (r *rig) fenceAt(i int) cuda.DevicePtr { return r.h.Ptr(rigFence + 64*i) }

func (r *rig) launch(s *cuda.Stream, name string, g cuda.Grid, args ...any) {
	r.t.Helper()
	r.ok(s.Launch(r.f[name], g, args...))
}

// update launches a plain, relaxed update of fence i.
func (r *rig) update(s *cuda.Stream, i int, value uint32, result cuda.DevicePtr) {
	r.t.Helper()
	r.launch(s, "update", cuda.Grid{}, r.h.Ptr(0), r.fenceAt(i), value, uint32(kernels.BarrierAfter), result)
}

// wait launches a wait for fence i to be at least target.
func (r *rig) wait(s *cuda.Stream, i int, target uint32, result cuda.DevicePtr) {
	r.t.Helper()
	r.launch(s, "wait", cuda.Grid{}, r.h.Ptr(0), r.fenceAt(i), target, uint32(0), uint32(kernels.BarrierBefore),
		uint32(noLimit), 20*second, 2*second, result)
}

// beat pulses the rig's Control until the test ends.
func (r *rig) beat() {
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				r.control.Pulse()
			}
		}
	}()
	r.t.Cleanup(func() { close(stop); <-stopped })
}

// until waits for a condition on memory, two seconds at most.
func (r *rig) until(what string, f func() bool) {
	r.t.Helper()
	for start := time.Now(); !f(); {
		if time.Since(start) > 2*time.Second {
			r.control.Release()
			r.t.Fatalf("%s: not within 2 s", what)
		}
	}
}

// usable proves that the device still works.
func (r *rig) usable() {
	r.t.Helper()
	s := r.stream()
	atomic.StoreUint32(r.fence(9), 0)
	r.launch(s, "update", cuda.Grid{}, cuda.DevicePtr(0), r.fenceAt(9), uint32(77), uint32(0), cuda.DevicePtr(0))
	r.ok(s.Wait(2 * time.Second))
	if got := atomic.LoadUint32(r.fence(9)); got != 77 {
		r.t.Fatalf("after the test an update stored %d, want 77", got)
	}
	r.ok(s.Close())
}
