package cuda

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// Every function of the table has a symbol, once; the rest of the package relies
// on bind to fill each that is not optional.
func TestDriverTable(t *testing.T) {
	seen := map[string]bool{}
	optional := 0
	ty := reflect.TypeFor[driver]()
	for i := range ty.NumField() {
		f := ty.Field(i)
		symbol, opt := symbolOf(f)
		if !strings.HasPrefix(symbol, "cu") || seen[symbol] {
			t.Errorf("%s: symbol %q is missing or used twice", f.Name, symbol)
		}
		seen[symbol] = true
		if opt {
			optional++
		}
		if f.Type.Kind() != reflect.Func || f.Type.NumOut() != 1 || f.Type.Out(0) != reflect.TypeFor[Code]() {
			t.Errorf("%s: type %v does not return a Code", f.Name, f.Type)
		}
		// The plain name without its version must be what the errors call it.
		plain := symbol
		for _, v := range []string{"_v2", "_v3"} {
			plain = strings.TrimSuffix(plain, v)
		}
		want := strings.ToLower(strings.TrimPrefix(plain, "cu"))
		got := strings.ToLower(f.Name)
		if got != want && got != "occupancy" {
			t.Errorf("%s: bound to %s", f.Name, symbol)
		}
	}
	if optional != 4 {
		t.Errorf("%d optional symbols, want 4", optional)
	}
}

func TestBindNeedsAllButOptional(t *testing.T) {
	missing := errors.New("no such symbol")
	for _, tc := range []struct{ absent, err string }{
		{"", ""},
		{"cuFuncLoad", ""},
		{"cuStreamWaitValue32_v2", ""},
		{"cuLaunchKernel", "the driver library has no cuLaunchKernel (older than CUDA 10?): no such symbol"},
	} {
		err := new(driver).bind(func(fn any, symbol string) error {
			if symbol == tc.absent {
				return missing
			}
			return nil
		})
		if got := text(err); got != tc.err {
			t.Errorf("without %q: got %q, want %q", tc.absent, got, tc.err)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&Error{Call: "cuModuleLoadDataEx", Code: CodeInvalidPTX, Log: "ptxas line 3: syntax error\n"},
			"cuda: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): ptxas line 3: syntax error"},
		{&Error{Call: "cuInit", Code: 4242}, "cuda: cuInit: CUDA_ERROR (4242)"},
		{&Error{Call: "cuInit", Code: 4242, Name: "CUDA_ERROR_NEW"}, "cuda: cuInit: CUDA_ERROR_NEW (4242)"},
		{CodeLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT (702)"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	err := error(&Error{Call: "cuStreamQuery", Code: CodeIllegalAddress})
	if !errors.Is(err, CodeIllegalAddress) || errors.Is(err, CodeNotReady) {
		t.Error("an Error is not its Code")
	}
	for c, want := range map[Code]bool{0: false, CodeNotReady: false, CodeInvalidPTX: false, CodeOutOfMemory: false,
		CodeIllegalAddress: true, CodeLaunchTimeout: true, CodeLaunchFailed: true, 716: true} {
		if Lost(&Error{Code: c}) != want {
			t.Errorf("Lost(%v) = %v, want %v", c, !want, want)
		}
	}
	if Lost(nil) {
		t.Error("no error is no loss")
	}
}

func TestDriverNamesItsCodes(t *testing.T) {
	name := append([]byte("CUDA_ERROR_FROM_DRIVER"), 0)
	d := &driver{GetErrorName: func(c Code, p **byte) Code { *p = &name[0]; return 0 }}
	if got, want := text(d.err("cuX", 7)), "cuda: cuX: CUDA_ERROR_FROM_DRIVER (7)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := d.err("cuX", 0); err != nil {
		t.Errorf("success is an error: %v", err)
	}
}

// A fake context counts how often it was made current.
func fake(t *testing.T, d *driver) (*Context, *int) {
	t.Helper()
	current := new(int)
	d.CtxSetCurrent = func(h uintptr) Code {
		if h != 0x77 {
			t.Errorf("context %#x made current", h)
		}
		*current++
		return 0
	}
	return &Context{handle: 0x77, d: d}, current
}

func TestLaunchPacksArguments(t *testing.T) {
	var got []uint64
	var shape [7]uint32
	d := &driver{LaunchKernel: func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, s uintptr, p *unsafe.Pointer, extra uintptr) Code {
		shape = [7]uint32{gx, gy, gz, bx, by, bz, shared}
		for _, at := range unsafe.Slice(p, 4) {
			got = append(got, *(*uint64)(at))
		}
		return 0
	}}
	c, current := fake(t, d)
	s := &Stream{c: c}
	f := &Function{c: c, name: "k", sizes: []int{8, 4, 4, 8}}
	if err := s.Launch(f, Grid{Blocks: 3, Shared: 64}, DevicePtr(1<<40), uint32(7), int32(-1), int64(-2)); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{1 << 40, 7, 0xffffffff, ^uint64(1)}; !reflect.DeepEqual(got, want) {
		t.Errorf("cells %x, want %x", got, want)
	}
	if want := [7]uint32{3, 1, 1, 1, 1, 1, 64}; shape != want {
		t.Errorf("shape %v, want %v", shape, want)
	}
	if *current != 1 {
		t.Errorf("context made current %d times, want 1", *current)
	}

	for _, tc := range []struct {
		g    Grid
		args []any
		want string
	}{
		{Grid{}, []any{DevicePtr(1)}, "cuda: launch of k: 1 arguments for 4 parameters: CUDA_ERROR_INVALID_VALUE (1)"},
		{Grid{}, []any{uint32(1), uint32(1), uint32(1), uint64(1)}, "cuda: launch of k: argument 0 has 4 bytes, its parameter 8: CUDA_ERROR_INVALID_VALUE (1)"},
		{Grid{}, []any{DevicePtr(1), 1, uint32(1), uint64(1)}, "cuda: launch of k: argument 1 has type int: CUDA_ERROR_INVALID_VALUE (1)"},
		{Grid{Threads: 1025}, nil, "cuda: launch of k: grid {Blocks:0 Threads:1025 Shared:0} out of range: CUDA_ERROR_INVALID_VALUE (1)"},
	} {
		if got := text(s.Launch(f, tc.g, tc.args...)); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestWaitIsBounded(t *testing.T) {
	answers := []Code{CodeNotReady, CodeNotReady, 0}
	d := &driver{StreamQuery: func(uintptr) Code {
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return a
	}}
	c, _ := fake(t, d)
	s := &Stream{c: c}
	if err := s.Wait(time.Second); err != nil {
		t.Error(err)
	}
	answers = []Code{CodeNotReady}
	if err := s.Wait(3 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) || text(err) != "cuda: stream: not done after 3ms: context deadline exceeded" {
		t.Errorf("got %v", err)
	}
	answers = []Code{CodeLaunchFailed}
	if err := s.Wait(time.Second); !Lost(err) {
		t.Errorf("got %v", err)
	}
}

func TestClosedContextIsAnError(t *testing.T) {
	c := &Context{d: &driver{}}
	if _, err := c.NewStream(0); !errors.Is(err, CodeContextDestroyed) {
		t.Errorf("got %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (Device{}).Open(); !errors.Is(err, CodeInvalidDevice) {
		t.Errorf("got %v", err)
	}
}

func TestHostChecksOffsets(t *testing.T) {
	words := make([]uint64, 2)
	h := &Host{at: unsafe.Pointer(&words[0]), bytes: 16, dev: 0x1000}
	*h.Uint32(12) = 5
	if got := words[1] >> 32; got != 5 {
		t.Errorf("word is %d", got)
	}
	if got := h.Ptr(8); got != 0x1008 {
		t.Errorf("address %#x", got)
	}
	for _, f := range []func(){
		func() { h.Uint32(16) }, func() { h.Uint32(-4) }, func() { h.Uint32(2) },
		func() { h.Uint64(12) }, func() { h.Uint64(4) }, func() { h.Ptr(16) },
		func() { h.At(0, 1<<62, 8) }, func() { h.At(8, 16, 8) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an access outside did not panic")
				}
			}()
			f()
		}()
	}
}

func TestUUIDText(t *testing.T) {
	u := UUID{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if got, want := u.String(), "GPU-deadbeef-0102-0304-0506-0708090a0b0c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Without a driver every way in says so, and nothing panics.
func TestUnavailable(t *testing.T) {
	_, err := Devices()
	if err == nil {
		t.Skip("this machine has CUDA; the device tests run instead")
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("Devices: %v does not wrap ErrUnavailable", err)
	}
	if _, err := DriverVersion(); !errors.Is(err, ErrUnavailable) {
		t.Errorf("DriverVersion: %v does not wrap ErrUnavailable", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
