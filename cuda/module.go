package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"
)

// Module is compiled code, loaded into a context.
type Module struct {
	c      *Context
	handle uintptr
}

// The driver's numbers of the options that Load sets.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
	jitLogSize      = 16 << 10
)

// Load has the driver compile a PTX text for the device and loads the result.
// The error holds what the compiler had to say. The driver keeps compiled texts
// on disk, so the second time is fast; the first takes some milliseconds for
// each kernel, and may have to wait for kernels that run.
func (c *Context) Load(ptx string) (*Module, error) {
	if strings.IndexByte(ptx, 0) >= 0 {
		return nil, &Error{Call: "cuModuleLoadDataEx", Code: CodeInvalidValue, Log: "the text has a zero byte"}
	}
	image := append([]byte(ptx), 0)
	log := make([]byte, jitLogSize)
	var pin runtime.Pinner // the option values hold log's address as a number
	pin.Pin(&log[0])
	defer pin.Unpin()
	options := []int32{jitErrorLog, jitErrorLogSize}
	values := []uintptr{uintptr(unsafe.Pointer(&log[0])), jitLogSize}

	m := &Module{c: c}
	err := c.on("cuModuleLoadDataEx", func(d *driver) Code {
		return d.ModuleLoadDataEx(&m.handle, &image[0], uint32(len(options)), &options[0], &values[0])
	})
	if err != nil {
		if e, ok := err.(*Error); ok {
			before, _, _ := bytes.Cut(log, []byte{0})
			e.Log = string(before)
		}
		return nil, err
	}
	return m, nil
}

// Close unloads the code; no kernel of it may run or be queued.
func (m *Module) Close() error {
	return m.c.on("cuModuleUnload", func(d *driver) Code { return d.ModuleUnload(m.handle) })
}

// Function is a kernel that can be launched.
type Function struct {
	c      *Context
	name   string
	handle uintptr
	sizes  []int // bytes of each parameter; nil: the driver is too old to say
}

// Function looks a kernel up by its entry's name and, where the driver can be
// told to, loads its code, so that no launch has to do it beside a running
// kernel.
func (m *Module) Function(entry string) (*Function, error) {
	f := &Function{c: m.c, name: entry}
	symbol := append([]byte(entry), 0)
	err := m.c.on("cuModuleGetFunction", func(d *driver) Code {
		return d.ModuleGetFunction(&f.handle, m.handle, &symbol[0])
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", entry, err)
	}
	if m.c.d.FuncLoad != nil {
		if err := m.c.on("cuFuncLoad", func(d *driver) Code { return d.FuncLoad(f.handle) }); err != nil {
			return nil, fmt.Errorf("%s: %w", entry, err)
		}
	}
	f.sizes = f.params()
	return f, nil
}

// params asks for the size of each parameter until the driver says that there
// are no more.
func (f *Function) params() []int {
	if f.c.d.FuncGetParamInfo == nil {
		return nil
	}
	sizes := []int{}
	for {
		var offset, size uintptr
		err := f.c.on("cuFuncGetParamInfo", func(d *driver) Code {
			return d.FuncGetParamInfo(f.handle, uintptr(len(sizes)), &offset, &size)
		})
		if errors.Is(err, CodeInvalidValue) || len(sizes) == 1024 {
			return sizes
		}
		if err != nil {
			return nil
		}
		sizes = append(sizes, int(size))
	}
}

// Name returns the entry's name.
func (f *Function) Name() string { return f.name }

// Attributes of a function: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES and
// CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT.
const (
	functionMaxShared = 8
	functionCarveout  = 9
)

// AllowShared lets launches ask for so many bytes of shared memory; needed above
// 48 KiB, and at most Device.SharedPerBlock.
func (f *Function) AllowShared(bytes int) error {
	return f.c.on("cuFuncSetAttribute", func(d *driver) Code {
		return d.FuncSetAttribute(f.handle, functionMaxShared, int32(bytes))
	})
}

// PreferShared asks that multiprocessors have as much shared memory as they can while they
// run the function. A multiprocessor divides its memory anew only when it is idle, so that
// a block without shared memory may otherwise keep one that needs much from starting.
func (f *Function) PreferShared() error {
	return f.c.on("cuFuncSetAttribute", func(d *driver) Code {
		return d.FuncSetAttribute(f.handle, functionCarveout, 100)
	})
}

// BlocksPerSM returns how many blocks of so many threads and bytes of shared
// memory fit on one multiprocessor at a time.
func (f *Function) BlocksPerSM(threads, shared int) (int, error) {
	var n int32
	err := f.c.on("cuOccupancyMaxActiveBlocksPerMultiprocessor", func(d *driver) Code {
		return d.Occupancy(&n, f.handle, int32(threads), uintptr(shared))
	})
	return int(n), err
}
