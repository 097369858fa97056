package cuda

import (
	"fmt"
	"unsafe"
)

// DevicePtr is an address as the device sees it. Add to it to get at parts.
type DevicePtr uint64

// Alloc takes bytes of the device's own memory, aligned to 256. Its content is
// undefined.
func (c *Context) Alloc(bytes int) (DevicePtr, error) {
	if bytes <= 0 {
		return 0, &Error{Call: "cuMemAlloc", Code: CodeInvalidValue, Log: fmt.Sprintf("%d bytes", bytes)}
	}
	var at DevicePtr
	err := c.on("cuMemAlloc", func(d *driver) Code { return d.MemAlloc(&at, uintptr(bytes)) })
	return at, err
}

// Free gives memory of Alloc back. The driver waits for the device to be idle:
// with a wait on the device that only this goroutine could satisfy, it deadlocks.
func (c *Context) Free(at DevicePtr) error {
	return c.on("cuMemFree", func(d *driver) Code { return d.MemFree(at) })
}

// Host is pinned memory of the CPU that the device reads and writes in place.
// Both sides see each other's accesses to it as they happen. It is not Go
// memory: the garbage collector does not know it, and it is valid until Free or
// the context's Close.
type Host struct {
	c     *Context
	at    unsafe.Pointer
	bytes int
	dev   DevicePtr
}

const (
	hostPortable = 1 // pinned for every context
	hostMapped   = 2 // with an address on the device
)

// AllocHost takes pinned, mapped memory, set to 0 and aligned to a page.
func (c *Context) AllocHost(bytes int) (*Host, error) {
	if bytes <= 0 {
		return nil, &Error{Call: "cuMemHostAlloc", Code: CodeInvalidValue, Log: fmt.Sprintf("%d bytes", bytes)}
	}
	h := &Host{c: c, bytes: bytes}
	err := c.on("cuMemHostAlloc", func(d *driver) Code {
		return d.MemHostAlloc(&h.at, uintptr(bytes), hostPortable|hostMapped)
	})
	if err != nil {
		return nil, err
	}
	clear(h.Bytes())
	err = c.on("cuMemHostGetDevicePointer", func(d *driver) Code {
		return d.MemHostGetDevicePointer(&h.dev, h.at, 0)
	})
	if err != nil {
		h.Free()
		return nil, err
	}
	return h, nil
}

// Free gives the memory back; nothing may use it any more, on either side. Like
// Context.Free it can wait for the device. Freeing twice is harmless.
func (h *Host) Free() error {
	if h.at == nil {
		return nil
	}
	err := h.c.on("cuMemFreeHost", func(d *driver) Code { return d.MemFreeHost(h.at) })
	h.at, h.bytes, h.dev = nil, 0, 0
	return err
}

// Len returns its size in bytes; 0 after Free.
func (h *Host) Len() int { return h.bytes }

// Bytes returns the memory itself. Accesses that race with the device must be
// atomic: use Uint32, Uint64 or At.
func (h *Host) Bytes() []byte { return unsafe.Slice((*byte)(h.at), h.bytes) }

// Uint32 returns the word at a byte offset, for sync/atomic. It panics if the
// offset is outside or not a multiple of 4.
func (h *Host) Uint32(offset int) *uint32 { return (*uint32)(h.At(offset, 4, 4)) }

// Uint64 is Uint32 for 8 bytes.
func (h *Host) Uint64(offset int) *uint64 { return (*uint64)(h.At(offset, 8, 8)) }

// At returns the address of size bytes at an offset that is a multiple of align,
// for a struct laid over the memory. It panics if they are not all inside.
func (h *Host) At(offset, size, align int) unsafe.Pointer {
	h.check(offset, size)
	if offset%align != 0 {
		panic(fmt.Sprintf("cuda: offset %d is not a multiple of %d", offset, align))
	}
	return unsafe.Add(h.at, offset)
}

// Ptr returns the device's address of a byte offset. It panics if that is
// outside.
func (h *Host) Ptr(offset int) DevicePtr {
	h.check(offset, 1)
	return h.dev + DevicePtr(offset)
}

func (h *Host) check(offset, size int) {
	if offset < 0 || size < 0 || size > h.bytes || offset > h.bytes-size {
		panic(fmt.Sprintf("cuda: %d bytes at offset %d of %d", size, offset, h.bytes))
	}
}

// Write copies Go memory to the device and returns when it is there.
func (c *Context) Write(to DevicePtr, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return c.on("cuMemcpyHtoD", func(d *driver) Code {
		return d.MemcpyHtoD(to, unsafe.Pointer(&from[0]), uintptr(len(from)))
	})
}

// Read copies the device's memory to Go memory and returns when it is there.
func (c *Context) Read(to []byte, from DevicePtr) error {
	if len(to) == 0 {
		return nil
	}
	return c.on("cuMemcpyDtoH", func(d *driver) Code {
		return d.MemcpyDtoH(unsafe.Pointer(&to[0]), from, uintptr(len(to)))
	})
}

// CopyIn puts a copy of pinned memory to the device on the stream; a copy engine
// makes it, so it needs no free multiprocessor. The bytes are read when it runs.
func (s *Stream) CopyIn(to DevicePtr, from *Host, offset, bytes int) error {
	from.check(offset, bytes)
	return s.c.on("cuMemcpyHtoDAsync", func(d *driver) Code {
		return d.MemcpyHtoDAsync(to, unsafe.Add(from.at, offset), uintptr(bytes), s.handle)
	})
}

// CopyOut puts a copy of device memory to pinned memory on the stream.
func (s *Stream) CopyOut(to *Host, offset int, from DevicePtr, bytes int) error {
	to.check(offset, bytes)
	return s.c.on("cuMemcpyDtoHAsync", func(d *driver) Code {
		return d.MemcpyDtoHAsync(unsafe.Add(to.at, offset), from, uintptr(bytes), s.handle)
	})
}

// Copy puts a copy within the device's memory on the stream.
func (s *Stream) Copy(to, from DevicePtr, bytes int) error {
	return s.c.on("cuMemcpyDtoDAsync", func(d *driver) Code {
		return d.MemcpyDtoDAsync(to, from, uintptr(bytes), s.handle)
	})
}

// Fill puts on the stream a store of value to so many 32-bit words.
func (s *Stream) Fill(at DevicePtr, value uint32, words int) error {
	return s.c.on("cuMemsetD32Async", func(d *driver) Code {
		return d.MemsetD32Async(at, value, uintptr(words), s.handle)
	})
}
