package metal

import (
	"fmt"
	"unsafe"
)

// A Language is a version of the Metal Shading Language. The zero Language leaves
// the choice to Metal, which takes it from how the program was linked; name one.
type Language uint64

// Versions that matter here: 3.2 has the system scope (macOS 15), 2.4 has what
// every other kernel needs (macOS 12).
const (
	Language24 Language = 2<<16 | 4
	Language30 Language = 3 << 16
	Language31 Language = 3<<16 | 1
	Language32 Language = 3<<16 | 2
)

// String is "3.2", or "default" for the zero Language.
func (l Language) String() string {
	if l == 0 {
		return "default"
	}
	return fmt.Sprintf("%d.%d", l>>16, l&0xffff)
}

// A Library is compiled kernel source. The zero Library is closed.
type Library struct{ handle }

// NewLibrary compiles source text in the given language. A text that does not
// compile gives a *CommandError whose Text has the compiler's messages; so does a
// language that the OS does not know. It may take seconds.
func (d *Device) NewLibrary(source string, language Language) (*Library, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	var h handle
	var err error
	pooled(d.bridge, func() {
		options := send(d.bridge, send(d.bridge, d.bridge.find("MTLCompileOptions"), msgAlloc).object(), msgInit).object()
		defer send(d.bridge, options, msgRelease)
		if language != 0 {
			send(d.bridge, options, msgSetLanguage, uint64(language))
		}
		failure := new(object)
		id := d.send(msgNewLibrary, newString(d.bridge, source), options, unsafe.Pointer(failure)).object()
		h, err = d.ownOr(failure, "MTLLibrary", id, "library in Metal "+language.String())
	})
	if err != nil {
		return nil, err
	}
	return &Library{h}, nil
}

// ownOr is own with the error that the call stored beside its answer. A warning
// beside a good answer is no error.
func (d *Device) ownOr(failure *object, kind string, id object, what string) (handle, error) {
	if id == 0 && *failure != 0 {
		return handle{}, fmt.Errorf("metal: %s: %w", what, newError(d.bridge, *failure))
	}
	return own(d.bridge, kind, id, what)
}

// A Pipeline is a kernel, ready to be dispatched. The zero Pipeline is closed.
type Pipeline struct {
	handle
	max, width uint64
}

// NewPipeline prepares the kernel of that name in the library.
func (d *Device) NewPipeline(l *Library, entry string) (*Pipeline, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	if l == nil {
		return nil, fmt.Errorf("metal: kernel %q: no library: %w", entry, ErrClosed)
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	var h handle
	var err error
	pooled(d.bridge, func() {
		function := l.send(msgNewFunction, newString(d.bridge, entry)).object()
		if function == 0 {
			err = fmt.Errorf("metal: kernel %q: not in the library", entry)
			return
		}
		defer send(d.bridge, function, msgRelease)
		failure := new(object)
		id := d.send(msgNewPipeline, function, unsafe.Pointer(failure)).object()
		h, err = d.ownOr(failure, "MTLComputePipelineState", id, fmt.Sprintf("kernel %q", entry))
	})
	if err != nil {
		return nil, err
	}
	p := &Pipeline{handle: h}
	p.max, p.width = uint64(h.send(msgMaxThreads).word), uint64(h.send(msgThreadWidth).word)
	return p, nil
}

// MaxThreads is the largest number of threads in a threadgroup of this kernel.
func (p *Pipeline) MaxThreads() int { return int(p.max) }

// Width is how many threads run in step.
func (p *Pipeline) Width() int { return int(p.width) }
