package metal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// A fake is a model of the Objective-C runtime with as much of Metal as this
// package uses. It counts references, keeps autorelease pools, and refuses what
// makes Metal end a process. A refusal or a leak fails the test. It has one stack
// of pools, so that only one goroutine may send at a time.
type fake struct {
	t       testing.TB
	mu      sync.Mutex
	classes map[string]object
	objects map[object]*fakeObject
	next    object
	pools   []object
	sent    []string        // the messages, less those about memory and strings
	lacks   map[string]bool // selectors that respondsToSelector: denies
	refuse  map[string]bool // selectors that answer nil
	absent  bool            // there is no device
	library string          // the source last compiled
	lang    uint64          // its language
}

// A fakeObject is an instance. The fields below refs belong to some classes only.
type fakeObject struct {
	class string
	refs  int

	text     []byte       // NSString: NUL-terminated
	pool     []object     // NSAutoreleasePool: what it will release
	words    []uint32     // MTLBuffer
	value    uint64       // MTLSharedEvent; NSError: code
	domain   string       // NSError
	fn       func(object) // NSBlock
	handlers []object     // MTLCommandBuffer: blocks
	encoder  object       // MTLCommandBuffer: the open one
	status   Status       // MTLCommandBuffer
	failure  object       // MTLCommandBuffer: NSError
	held     []object     // MTLCommandBuffer: what it retains
	buffer   object       // encoder: its command buffer
	ended    bool         // encoder
	pipeline bool         // encoder: one is set
	source   string       // MTLLibrary
	times    map[message]float64
}

func newFake(t testing.TB) *fake {
	f := &fake{t: t, classes: map[string]object{}, objects: map[object]*fakeObject{}, next: 0x1000,
		lacks: map[string]bool{}, refuse: map[string]bool{}}
	t.Cleanup(f.leaks)
	return f
}

// leaks fails the test for every object that still has a reference.
func (f *fake) leaks() {
	for id, o := range f.objects {
		if o.refs > 0 {
			f.t.Errorf("%s %#x leaks with %d references", o.class, id, o.refs)
		}
	}
}

func (f *fake) refusal(format string, args ...any) {
	f.t.Errorf("Metal would refuse: "+format, args...)
}

func (f *fake) create(class string, init fakeObject) object {
	f.next += 16
	init.class, init.refs = class, 1
	f.objects[f.next] = &init
	return f.next
}

// autoreleased gives the only reference of a new object to the innermost pool.
func (f *fake) autoreleased(id object) object {
	if len(f.pools) == 0 {
		f.refusal("%s is autoreleased without a pool", f.objects[id].class)
		return id
	}
	pool := f.objects[f.pools[len(f.pools)-1]]
	pool.pool = append(pool.pool, id)
	return id
}

func (f *fake) string(text string) object {
	return f.autoreleased(f.create("NSString", fakeObject{text: append([]byte(text), 0)}))
}

func (f *fake) find(name string) object {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == deviceRoot {
		if f.absent {
			return 0
		}
		return f.create("MTLDevice", fakeObject{})
	}
	if f.classes[name] == 0 {
		f.next += 16
		f.classes[name] = f.next
	}
	return f.classes[name]
}

func (f *fake) block(fn func(object)) (object, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := f.create("NSBlock", fakeObject{fn: fn})
	return id, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.release(id)
	}
}

// release takes one reference, and with the last one what the object holds.
func (f *fake) release(id object) {
	o := f.objects[id]
	if o == nil || o.refs == 0 {
		f.refusal("release of a freed object %#x", id)
		return
	}
	if o.refs--; o.refs > 0 {
		return
	}
	if o.class == "MTLComputeCommandEncoder" && !o.ended {
		f.refusal("an encoder is freed that was not ended")
	}
	for _, held := range slices.Concat(o.held, o.handlers) {
		f.release(held)
	}
}

// finish is what the GPU does: it ends a committed buffer and runs its handlers.
func (f *fake) finish(c *CommandBuffer, status Status, code int64, text string) {
	f.mu.Lock()
	o := f.objects[c.id]
	o.status = status
	if status == Failed {
		o.failure = f.create("NSError", fakeObject{value: uint64(code), domain: "MTLCommandBufferErrorDomain", text: []byte(text)})
		o.held = append(o.held, o.failure)
	}
	id, handlers := c.id, o.handlers
	o.handlers = nil
	f.mu.Unlock()
	for _, h := range handlers {
		f.objects[h].fn(id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range handlers {
		f.release(h)
	}
	f.release(id) // Metal's own reference, from the commit
}

// send answers a message, or refuses it.
func (f *fake) send(to object, m message, args ...any) reply {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := selectors[m]
	for class, id := range f.classes {
		if id == to && to != 0 {
			return f.sendClass(class, m, args)
		}
	}
	if to == 0 {
		return reply{}
	}
	o := f.objects[to]
	switch {
	case o == nil || o.refs == 0:
		f.refusal("%s to a freed object", s.name)
		return reply{}
	case s.receiver != "NSObject" && s.receiver != o.class && !(s.receiver == "MTLCommandEncoder" && o.class == "MTLComputeCommandEncoder"):
		f.refusal("%s to a %s", s.name, o.class)
		return reply{}
	}
	if f.refuse[s.name] {
		return reply{}
	}
	if strings.HasPrefix(s.receiver, "MTL") {
		f.sent = append(f.sent, trace(s.name, args))
	}
	return f.answer(to, o, m, args)
}

// trace is a message as a line: the selector and its numbers.
func trace(name string, args []any) string {
	line := name
	for _, arg := range args {
		switch arg := arg.(type) {
		case uint64, int64, Size:
			line += fmt.Sprint(" ", arg)
		}
	}
	return line
}

// word makes a reply of anything that fits a register.
func word[T ~uintptr | ~uint64 | ~int64 | ~int](v T) reply { return reply{word: uintptr(v)} }

// text reads the NUL-terminated text of a C string.
func text(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// sendClass answers a message to a class.
func (f *fake) sendClass(class string, m message, args []any) reply {
	switch m {
	case msgAlloc:
		return word(f.create(class, fakeObject{}))
	case msgStringWithCString:
		if args[1].(uint64) != utf8Encoding {
			f.refusal("a string that is not UTF-8")
		}
		return word(f.string(text(args[0].(unsafe.Pointer))))
	case msgProcessInfo:
		return word(f.autoreleased(f.create("NSProcessInfo", fakeObject{})))
	}
	f.refusal("%s to class %s", selectors[m].name, class)
	return reply{}
}
