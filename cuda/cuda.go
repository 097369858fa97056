// Package cuda is the part of the CUDA driver API that fence experiments need:
// contexts, streams, events, pinned and device memory, modules compiled from
// PTX, launches, and memory operations on streams. It calls the driver's shared
// library through purego; there is no cgo, and importing the package does
// nothing. The library is opened by the first call of Devices or DriverVersion.
//
// Threads. A CUDA context is current for an OS thread, and a goroutine moves
// between threads. Here every method makes its context current on the thread it
// runs on, for as long as it runs, so any goroutine may call any method. What
// the driver allows concurrently is allowed here: everything except closing a
// thing while another goroutine uses it.
//
// Blocking. A kernel that waits for the CPU can wait for ever, and a call that
// waits for the device waits with it. No method but these waits for the device:
//
//   - Stream.Wait and Event.Wait, which poll and take a bound;
//   - the Close and Free methods, Context.Alloc, Context.AllocHost and
//     Context.Load, which the driver may hold up until running kernels have
//     ended. Allocate and load before the first wait is launched, and free after
//     the last has ended;
//   - Context.Write and Context.Read, which copy synchronously.
//
// Streams share the device's hardware queues, eight unless the environment says
// otherwise, and a kernel that waits blocks what is behind it in its queue, of
// whatever stream. Environ says what to set for a process that needs more.
//
// Managed memory is left out on purpose: oversubscribed, it can take a GPU down.
package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// ErrUnavailable is wrapped by every error that means that this machine has no
// usable CUDA: no driver library, too old a one, or no device.
var ErrUnavailable = errors.New("cuda: not available")

// open loads and initialises the driver once for the process.
var open = sync.OnceValues(func() (*driver, error) {
	lookup, err := openLibrary()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	d := new(driver)
	if err := d.bind(lookup); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := d.err("cuInit", d.Init(0)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return d, nil
})

// Version is a version of the CUDA driver interface, such as 13.0.
type Version struct{ Major, Minor int }

// String returns it as "13.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// DriverVersion returns the newest interface that the installed driver has. The
// error wraps ErrUnavailable.
func DriverVersion() (Version, error) {
	d, err := open()
	if err != nil {
		return Version{}, err
	}
	var n int32
	if err := d.err("cuDriverGetVersion", d.DriverGetVersion(&n)); err != nil {
		return Version{}, err
	}
	return Version{int(n) / 1000, int(n) % 1000 / 10}, nil
}

// Environ returns the variables, as NAME=VALUE, that a process should be started
// with if its streams must not hold each other up: 32 hardware queues, the most
// there are, and kernels loaded with their module instead of at their first
// launch, which could have to wait for a running kernel. The driver reads them
// once, when it is opened; setting them with os.Setenv in the process itself
// does not reach it.
func Environ() []string {
	return []string{"CUDA_DEVICE_MAX_CONNECTIONS=32", "CUDA_MODULE_LOADING=EAGER"}
}

// on runs f with context c current on this OS thread, and names its status.
func (c *Context) on(call string, f func(*driver) Code) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.handle == 0 {
		return &Error{Call: call, Code: CodeContextDestroyed}
	}
	if err := c.d.err("cuCtxSetCurrent", c.d.CtxSetCurrent(c.handle)); err != nil {
		return err
	}
	return c.d.err(call, f(c.d))
}
