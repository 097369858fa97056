// Package kernels is the GPU source of the project as data: the text of every
// kernel, embedded, and one table that names each with its entry point and its
// parameters.
//
// It compiles and runs nothing and imports nothing of the project. A device
// binding takes the Source of a Kernel, hands it to the driver's compiler, and
// looks the Entry up in the result. What the parameters mean is said here once,
// so that the side that launches and the side that is launched are checked
// against the same table.
package kernels

import "slices"

// Backend is the language a kernel is written in and thereby the device that
// runs it. The zero Backend names no device and is not used by any kernel.
type Backend string

// The backends that have kernels.
const (
	PTX   Backend = "ptx"   // CUDA's portable assembly, compiled by the driver
	Metal Backend = "metal" // Metal Shading Language, compiled by the OS
)

// Type is the kind of value a parameter takes.
type Type string

// The types of parameters. Addresses are device addresses.
const (
	U32  Type = "u32"  // a 32-bit unsigned number
	U64  Type = "u64"  // a 64-bit unsigned number
	Addr Type = "addr" // an address in GPU memory or in mapped host memory; on Metal a buffer
)

// A Param is one parameter of a kernel, in the order of the launch.
type Param struct {
	Name string // as in the source
	Type Type
	Doc  string // one line: what it means, its unit and bounds
}

// A Kernel is one entry point of one source text. Several kernels may share a
// Source; it is then compiled once and holds every one of their entries. The
// zero Kernel is not usable.
type Kernel struct {
	Name    string  // unique within its backend: "update-max"
	Backend Backend // which device runs it
	Entry   string  // the function's name in Source
	Doc     string  // what it does and how it ends, in a sentence or two
	Source  string  // the whole text of the file that holds Entry
	Params  []Param // in launch order
}

// All returns every kernel: the PTX table, then the Metal table, each in the
// order of its file. The slice is the caller's; the Params are shared and must
// not be changed.
func All() []Kernel {
	return slices.Concat(ptxKernels, metalKernels)
}

// Of returns the kernels of one backend in table order.
func Of(b Backend) []Kernel {
	return slices.DeleteFunc(All(), func(k Kernel) bool { return k.Backend != b })
}

// Find returns the kernel of that name and backend, and whether there is one.
func Find(b Backend, name string) (Kernel, bool) {
	for _, k := range Of(b) {
		if k.Name == name {
			return k, true
		}
	}
	return Kernel{}, false
}
