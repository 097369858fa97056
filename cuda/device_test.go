package cuda

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// double is enough of a kernel to see arguments and memory at work.
const double = `
.version 6.3
.target sm_70
.address_size 64
.visible .entry double_word(.param .u64 at, .param .u32 plus)
{
    .reg .u32 %x, %plus;
    .reg .u64 %at;
    ld.param.u64 %at, [at];
    ld.param.u32 %plus, [plus];
    ld.global.u32 %x, [%at];
    mad.lo.u32 %x, %x, 2, %plus;
    st.global.u32 [%at], %x;
    ret;
}
`

// openDevice returns a context on the first device, or skips with the reason.
func openDevice(t *testing.T) *Context {
	t.Helper()
	all, err := Devices()
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("needs a CUDA device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := all[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDeviceDescription(t *testing.T) {
	c := openDevice(t)
	g := c.Device()
	v := must[Version](t)(DriverVersion())
	t.Logf("%v, %v, CUDA %v, %+v", g, g.UUID, v, g)
	if g.Name == "" || g.UUID == (UUID{}) || g.SMs < 1 || g.ComputeMajor < 7 || !g.MapsHost || g.Memory == 0 {
		t.Error("the description has holes")
	}
}

func TestDeviceCompilerLog(t *testing.T) {
	c := openDevice(t)
	_, err := c.Load(strings.Replace(double, "mad.lo.u32 %x", "mad.lo.u32 %y", 1))
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, CodeInvalidPTX) || !strings.Contains(e.Log, "%y") {
		t.Errorf("got %v", err)
	}
	t.Logf("as expected: %v", err)
	m := must[*Module](t)(c.Load(double))
	if _, err := m.Function("nosuch"); !errors.Is(err, CodeNotFound) {
		t.Errorf("got %v", err)
	}
	f := must[*Function](t)(m.Function("double_word"))
	t.Logf("parameter sizes %v", f.sizes)
	s := must[*Stream](t)(c.NewStream(0))
	if f.sizes != nil {
		if err := s.Launch(f, Grid{}, DevicePtr(0)); !errors.Is(err, CodeInvalidValue) {
			t.Errorf("a missing argument: got %v", err)
		}
	}
	ok(t, m.Close())
}

func TestDeviceMemory(t *testing.T) {
	c := openDevice(t)
	f := must[*Function](t)(must[*Module](t)(c.Load(double)).Function("double_word"))
	s := must[*Stream](t)(c.NewStream(0))
	h := must[*Host](t)(c.AllocHost(4096))
	at := must[DevicePtr](t)(c.Alloc(64))

	// Pinned to device, kernel, and back.
	*h.Uint32(0) = 20
	ok(t, s.CopyIn(at, h, 0, 4))
	ok(t, s.Launch(f, Grid{}, at, uint32(2)))
	ok(t, s.CopyOut(h, 8, at, 4))
	// In place.
	ok(t, s.Launch(f, Grid{}, h.Ptr(0), uint32(1)))
	ok(t, s.Fill(at+4, 9, 2))
	ok(t, s.Copy(at+12, at+4, 4))
	ok(t, s.Wait(5*time.Second))
	if a, b := *h.Uint32(8), *h.Uint32(0); a != 42 || b != 41 {
		t.Errorf("got %d and %d, want 42 and 41", a, b)
	}
	back := make([]byte, 16)
	ok(t, c.Read(back, at))
	if string(back) != "\x2a\x00\x00\x00\x09\x00\x00\x00\x09\x00\x00\x00\x09\x00\x00\x00" {
		t.Errorf("device memory %x", back)
	}
	ok(t, c.Write(at, []byte{7, 0, 0, 0}))
	ok(t, c.Read(back[:4], at))
	if back[0] != 7 {
		t.Errorf("read back %d, want 7", back[0])
	}
	ok(t, c.Free(at))
	ok(t, h.Free())
	ok(t, h.Free())
	ok(t, s.Close())
}

func TestDeviceStreamsAndEvents(t *testing.T) {
	c := openDevice(t)
	f := must[*Function](t)(must[*Module](t)(c.Load(double)).Function("double_word"))
	h := must[*Host](t)(c.AllocHost(64))
	least, greatest, err := c.Priorities()
	ok(t, err)
	a := must[*Stream](t)(c.NewStream(least))
	b := must[*Stream](t)(c.NewStream(greatest))
	start := must[*Event](t)(c.NewEvent(true))
	end := must[*Event](t)(c.NewEvent(true))
	plain := must[*Event](t)(c.NewEvent(false))

	ok(t, start.Record(a))
	for range 10 {
		ok(t, a.Launch(f, Grid{}, h.Ptr(0), uint32(1)))
	}
	ok(t, plain.Record(a))
	ok(t, b.After(plain))
	ok(t, b.Launch(f, Grid{}, h.Ptr(0), uint32(0)))
	ok(t, end.Record(b))
	ok(t, end.Wait(5*time.Second))
	if got := *h.Uint32(0); got != 2*(1<<10-1) {
		t.Errorf("got %d, want %d", got, 2*(1<<10-1))
	}
	d, err := end.Elapsed(start)
	ok(t, err)
	if d <= 0 || d > time.Second {
		t.Errorf("elapsed %v", d)
	}
	t.Logf("priorities %d to %d; 11 launches on two streams in %v", least, greatest, d)
	if _, err := plain.Elapsed(start); !errors.Is(err, CodeInvalidHandle) {
		t.Errorf("got %v", err)
	}
	for _, e := range []*Event{start, end, plain} {
		ok(t, e.Close())
	}
}

// A queue that waits for a word is let go by the CPU and then writes another.
func TestDeviceValueOps(t *testing.T) {
	c := openDevice(t)
	if !c.HasValueOps() {
		t.Skip("needs a driver with cuStreamWaitValue32_v2")
	}
	s := must[*Stream](t)(c.NewStream(0))
	h := must[*Host](t)(c.AllocHost(64))
	ok(t, s.WaitValue32(h.Ptr(0), 3, CyclicAtLeast))
	ok(t, s.WriteValue32(h.Ptr(4), 11))
	time.Sleep(5 * time.Millisecond)
	if done := must[bool](t)(s.Done()); done || atomic.LoadUint32(h.Uint32(4)) != 0 {
		t.Error("the wait let the write through")
	}
	start := time.Now()
	atomic.StoreUint32(h.Uint32(0), 3)
	for atomic.LoadUint32(h.Uint32(4)) != 11 {
		if time.Since(start) > 5*time.Second {
			t.Fatal("the queue did not go on")
		}
	}
	t.Logf("wait value to write value: %v", time.Since(start))
	ok(t, s.Wait(5*time.Second))
}

// Goroutines move between threads; every method must find its context there.
func TestDeviceManyGoroutines(t *testing.T) {
	c := openDevice(t)
	f := must[*Function](t)(must[*Module](t)(c.Load(double)).Function("double_word"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			s, err := c.NewStream(0)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			h, err := c.AllocHost(64)
			if err != nil {
				t.Error(err)
				return
			}
			defer h.Free()
			for i := range 50 {
				atomic.StoreUint32(h.Uint32(0), uint32(i))
				if err := s.Launch(f, Grid{}, h.Ptr(0), uint32(i)); err != nil {
					t.Error(err)
					return
				}
				if err := s.Wait(5 * time.Second); err != nil {
					t.Error(err)
					return
				}
				if got := atomic.LoadUint32(h.Uint32(0)); got != uint32(3*i) {
					t.Errorf("got %d, want %d", got, 3*i)
				}
			}
		})
	}
	wg.Wait()
	n, err := f.BlocksPerSM(1, 0)
	ok(t, err)
	if n < 1 {
		t.Errorf("%d blocks fit on a multiprocessor", n)
	}
}
