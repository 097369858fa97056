package metal

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

// An objcBridge sends messages to the Objective-C runtime of macOS.
type objcBridge struct {
	names        [messages]objc.SEL
	createDevice func() uintptr
	classes      sync.Map // string to object
}

// frameworks are loaded by their full path, so that no search path decides which
// code runs.
var frameworks = []string{
	"/System/Library/Frameworks/Foundation.framework/Foundation",
	"/System/Library/Frameworks/Metal.framework/Metal",
	// On macOS the default device is found only with CoreGraphics in the process.
	"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
}

// openBridge loads the frameworks and registers the table's names, once; the
// outcome is the same for the life of the process.
var openBridge = sync.OnceValues(func() (bridge, error) {
	var metal uintptr
	for _, path := range frameworks {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, fmt.Errorf("metal: %s: %v: %w", path, err, ErrUnavailable)
		}
		if path == frameworks[1] {
			metal = handle
		}
	}
	b := &objcBridge{}
	create, err := purego.Dlsym(metal, deviceRoot)
	if err != nil {
		return nil, fmt.Errorf("metal: %s: %v: %w", deviceRoot, err, ErrUnavailable)
	}
	purego.RegisterFunc(&b.createDevice, create)
	for m := range selectors {
		b.names[m] = objc.RegisterName(selectors[m].name)
	}
	return b, nil
})

func (b *objcBridge) find(name string) object {
	if name == deviceRoot {
		return object(b.createDevice())
	}
	if class, ok := b.classes.Load(name); ok {
		return class.(object)
	}
	class := object(objc.GetClass(name))
	b.classes.Store(name, class)
	return class
}

func (b *objcBridge) send(to object, m message, args ...any) reply {
	id, name := objc.ID(to), b.names[m]
	for i, arg := range args {
		if other, ok := arg.(message); ok {
			args[i] = b.names[other]
		}
	}
	switch selectors[m].result {
	case kDouble:
		return reply{double: objc.Send[float64](id, name, args...)}
	case kVersion:
		return reply{version: objc.Send[Version](id, name, args...)}
	}
	return reply{word: uintptr(id.Send(name, args...))}
}

func (b *objcBridge) block(fn func(object)) (object, func()) {
	block := objc.NewBlock(func(_ objc.Block, arg objc.ID) { fn(object(arg)) })
	return object(block), block.Release
}
