package metal

import (
	"errors"
	"fmt"
)

// ErrUnavailable is matched by the error of Open on a machine without a usable
// Metal device: another platform, a framework that does not load, no GPU.
var ErrUnavailable = errors.New("no usable Metal device")

// ErrClosed is matched by the error of any call on a closed value.
var ErrClosed = errors.New("closed")

// ErrOrder is matched by the error of a call that its object's state forbids,
// such as encoding into a committed command buffer. Nothing was sent to Metal.
var ErrOrder = errors.New("wrong order of calls")

// ErrTimeout is matched by the error of a wait whose limit ran out. The work
// waited for goes on.
var ErrTimeout = errors.New("time limit reached")

// A CommandError is the error that Metal stored in a command buffer, or that it
// gave back for a source text that does not compile. The zero CommandError says
// nothing.
type CommandError struct {
	Domain string // "MTLCommandBufferErrorDomain", "MTLLibraryErrorDomain", …
	Code   int64  // meaning depends on Domain; see Name
	Text   string // Metal's own description; for a library the compiler's messages
}

// bufferErrors names the codes of MTLCommandBufferErrorDomain.
var bufferErrors = map[int64]string{
	1: "Internal", 2: "Timeout", 3: "PageFault", 4: "AccessRevoked", 7: "NotPermitted",
	8: "OutOfMemory", 9: "InvalidResource", 10: "Memoryless", 11: "DeviceRemoved", 12: "StackOverflow",
}

// Name is the header's name of the code, such as "Timeout" for a buffer that the
// OS watchdog has ended, or "" for a code or domain that this package does not know.
func (e *CommandError) Name() string {
	if e.Domain != "MTLCommandBufferErrorDomain" {
		return ""
	}
	return bufferErrors[e.Code]
}

// Error is domain, code, name and text in one line, or more if Text has more.
func (e *CommandError) Error() string {
	if name := e.Name(); name != "" {
		return fmt.Sprintf("%s %d (%s): %s", e.Domain, e.Code, name, e.Text)
	}
	return fmt.Sprintf("%s %d: %s", e.Domain, e.Code, e.Text)
}
