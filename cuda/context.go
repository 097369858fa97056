package cuda

import "runtime"

// Context is an address space on one device, with everything that was made in
// it. Two contexts of a device take turns: their kernels do not run together.
// It must not be copied, and must be closed.
type Context struct {
	device Device
	handle uintptr
	d      *driver
}

// ctxMapHost makes pinned host memory addressable by the device; it is implied
// on 64-bit systems, and said all the same.
const ctxMapHost = 0x08

// Open makes a context on the device. Contexts are independent of each other and
// of those that other libraries in the process make.
func (g Device) Open() (*Context, error) {
	if g.d == nil {
		return nil, &Error{Call: "cuCtxCreate", Code: CodeInvalidDevice}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &Context{device: g, d: g.d}
	if err := g.d.err("cuCtxCreate", g.d.CtxCreate(&c.handle, ctxMapHost, g.handle)); err != nil {
		return nil, err
	}
	return c, nil
}

// Device returns the device it is on.
func (c *Context) Device() Device { return c.device }

// Close destroys the context with its streams, events, memory and modules, which
// must not be used afterwards; pinned memory goes too, and a read of it then is
// a fault. End every wait first: the driver does not return before the kernels
// have. After a Sticky code Close is the way to get the device back. Closing
// twice is harmless.
func (c *Context) Close() error {
	if c.handle == 0 {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.d.err("cuCtxDestroy", c.d.CtxDestroy(c.handle))
	c.handle = 0
	return err
}
