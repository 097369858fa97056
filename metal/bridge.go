package metal

import (
	"fmt"
	"runtime"
	"unsafe"
)

// An object is the address of an Objective-C object or class; 0 is nil, and a
// message to nil answers 0.
type object uintptr

// A reply is the answer to a message. The field that the message's result kind
// names is set, the others are zero: word for every kind but kDouble and kVersion.
type reply struct {
	word    uintptr
	double  float64
	version Version
}

// A bridge carries messages to an Objective-C runtime. There are two: the real
// one on darwin, and the counting model in the tests.
type bridge interface {
	// find returns the class of that name, or 0. For the name deviceRoot it
	// returns the system's default device with one reference for the caller, or 0.
	find(name string) object
	// send sends one message. The arguments fit the table.
	send(to object, m message, args ...any) reply
	// block returns a block that calls fn with the block's one argument, and the
	// function that gives up the caller's reference to the block.
	block(fn func(object)) (object, func())
}

// deviceRoot is the name under which a bridge finds the default device.
const deviceRoot = "MTLCreateSystemDefaultDevice"

// send holds the arguments against the table and sends the message. A mismatch
// is a bug of this package and panics.
func send(b bridge, to object, m message, args ...any) reply {
	want := selectors[m].args
	if len(args) != len(want) {
		panic(fmt.Sprintf("metal: %s takes %d arguments, got %d", selectors[m].name, len(want), len(args)))
	}
	for i, k := range want {
		if !k.fits(args[i]) {
			panic(fmt.Sprintf("metal: %s argument %d is %s, got %T", selectors[m].name, i, k, args[i]))
		}
	}
	return b.send(to, m, args...)
}

// fits reports whether the Go value has the type that the kind travels in.
func (k kind) fits(arg any) bool {
	switch arg.(type) {
	case object:
		return k == kObject || k == kBlock
	case uint64:
		return k == kUint
	case int64:
		return k == kInt
	case bool:
		return k == kBool
	case unsafe.Pointer:
		return k == kPointer || k == kCString
	case message:
		return k == kSelector
	case Size:
		return k == kSize
	}
	return false
}

// truth is the answer of a BOOL: the low byte, since the rest of the register is
// not defined.
func (r reply) truth() bool { return r.word&0xff != 0 }

// object is the answer of an object.
func (r reply) object() object { return object(r.word) }

// pooled runs fn inside an autorelease pool on one OS thread, because a pool
// belongs to the thread that made it.
func pooled(b bridge, fn func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := send(b, send(b, b.find("NSAutoreleasePool"), msgAlloc).object(), msgInit).object()
	defer send(b, pool, msgDrain)
	fn()
}

// newString makes an autoreleased NSString; call it inside a pool. A NUL byte
// ends the text.
func newString(b bridge, text string) object {
	c := append([]byte(text), 0)
	s := send(b, b.find("NSString"), msgStringWithCString, unsafe.Pointer(&c[0]), uint64(utf8Encoding)).object()
	runtime.KeepAlive(c)
	return s
}

// goString copies an NSString; nil is "".
func goString(b bridge, s object) string {
	p := pointer(send(b, s, msgUTF8String).word)
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// newError reads an NSError; nil is nil. Call it inside a pool.
func newError(b bridge, e object) *CommandError {
	if e == 0 {
		return nil
	}
	return &CommandError{
		Domain: goString(b, send(b, e, msgErrorDomain).object()),
		Code:   int64(send(b, e, msgErrorCode).word),
		Text:   goString(b, send(b, e, msgErrorText).object()),
	}
}

// pointer is the address as a pointer. It points to memory of C, which Go's
// collector neither moves nor frees.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
