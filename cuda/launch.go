package cuda

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// Grid is the shape of a launch, in one dimension. The zero Grid is one block of
// one thread.
type Grid struct {
	Blocks  int // 0: 1
	Threads int // of each block; 0: 1
	Shared  int // bytes of shared memory that each block asks for beyond its own
}

// Launch puts a kernel on the stream. The arguments are uint32, int32, float32,
// uint64, int64, float64 and DevicePtr, in the order of the kernel's parameters;
// they are copied. Where the driver tells the sizes of the parameters (CUDA
// 12.4 or later) a wrong number or size is an error; otherwise it is undefined.
// Launch returns once the kernel is queued; it blocks only if the queue, of
// about a thousand launches, is full.
func (s *Stream) Launch(f *Function, g Grid, args ...any) error {
	if g.Blocks < 0 || g.Threads < 0 || g.Shared < 0 || g.Blocks > math.MaxInt32 || g.Threads > 1024 || g.Shared > math.MaxInt32 {
		return fmt.Errorf("cuda: launch of %s: grid %+v out of range: %w", f.name, g, CodeInvalidValue)
	}
	cells, err := f.pack(args)
	if err != nil {
		return err
	}
	// One more, so that there is a first one to point at.
	params := make([]unsafe.Pointer, len(cells)+1)
	for i := range cells {
		params[i] = unsafe.Pointer(&cells[i])
	}
	err = s.c.on("cuLaunchKernel", func(d *driver) Code {
		return d.LaunchKernel(f.handle, uint32(max(g.Blocks, 1)), 1, 1, uint32(max(g.Threads, 1)), 1, 1,
			uint32(g.Shared), s.handle, &params[0], 0)
	})
	runtime.KeepAlive(cells)
	if err != nil {
		return fmt.Errorf("launch of %s: %w", f.name, err)
	}
	return nil
}

// pack copies the arguments to cells of 8 bytes, of which the driver reads the
// first 4 where the parameter has 4.
func (f *Function) pack(args []any) ([]uint64, error) {
	if f.sizes != nil && len(args) != len(f.sizes) {
		return nil, fmt.Errorf("cuda: launch of %s: %d arguments for %d parameters: %w", f.name, len(args), len(f.sizes), CodeInvalidValue)
	}
	cells := make([]uint64, len(args))
	for i, a := range args {
		cell := unsafe.Pointer(&cells[i])
		size := 8
		switch v := a.(type) {
		case uint32:
			*(*uint32)(cell), size = v, 4
		case int32:
			*(*int32)(cell), size = v, 4
		case float32:
			*(*float32)(cell), size = v, 4
		case uint64:
			cells[i] = v
		case int64:
			*(*int64)(cell) = v
		case float64:
			*(*float64)(cell) = v
		case DevicePtr:
			cells[i] = uint64(v)
		default:
			return nil, fmt.Errorf("cuda: launch of %s: argument %d has type %T: %w", f.name, i, a, CodeInvalidValue)
		}
		if f.sizes != nil && f.sizes[i] != size {
			return nil, fmt.Errorf("cuda: launch of %s: argument %d has %d bytes, its parameter %d: %w", f.name, i, size, f.sizes[i], CodeInvalidValue)
		}
	}
	return cells, nil
}
