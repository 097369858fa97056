package cuda

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// Code is a status of the driver (CUresult). The zero Code is success. A Code is
// an error, so that a caller can ask errors.Is(err, cuda.CodeLaunchTimeout).
type Code int32

// The codes that callers branch on.
const (
	CodeInvalidValue     Code = 1
	CodeOutOfMemory      Code = 2
	CodeDeinitialized    Code = 4
	CodeNoDevice         Code = 100
	CodeInvalidDevice    Code = 101
	CodeInvalidContext   Code = 201
	CodeInvalidPTX       Code = 218
	CodeUnsupportedPTX   Code = 222
	CodeInvalidHandle    Code = 400
	CodeNotFound         Code = 500
	CodeNotReady         Code = 600 // not an error: work is still under way
	CodeIllegalAddress   Code = 700
	CodeOutOfResources   Code = 701
	CodeLaunchTimeout    Code = 702 // the operating system's watchdog killed a kernel
	CodeContextDestroyed Code = 709
	CodeLaunchFailed     Code = 719
	CodeNotSupported     Code = 801
)

// codeNames are for codes that can arise before the driver can be asked.
var codeNames = map[Code]string{
	0:                    "CUDA_SUCCESS",
	CodeInvalidValue:     "CUDA_ERROR_INVALID_VALUE",
	CodeOutOfMemory:      "CUDA_ERROR_OUT_OF_MEMORY",
	3:                    "CUDA_ERROR_NOT_INITIALIZED",
	CodeDeinitialized:    "CUDA_ERROR_DEINITIALIZED",
	34:                   "CUDA_ERROR_STUB_LIBRARY",
	CodeNoDevice:         "CUDA_ERROR_NO_DEVICE",
	CodeInvalidDevice:    "CUDA_ERROR_INVALID_DEVICE",
	200:                  "CUDA_ERROR_INVALID_IMAGE",
	CodeInvalidContext:   "CUDA_ERROR_INVALID_CONTEXT",
	209:                  "CUDA_ERROR_NO_BINARY_FOR_GPU",
	CodeInvalidPTX:       "CUDA_ERROR_INVALID_PTX",
	221:                  "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
	CodeUnsupportedPTX:   "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	CodeInvalidHandle:    "CUDA_ERROR_INVALID_HANDLE",
	CodeNotFound:         "CUDA_ERROR_NOT_FOUND",
	CodeNotReady:         "CUDA_ERROR_NOT_READY",
	CodeIllegalAddress:   "CUDA_ERROR_ILLEGAL_ADDRESS",
	CodeOutOfResources:   "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	CodeLaunchTimeout:    "CUDA_ERROR_LAUNCH_TIMEOUT",
	CodeContextDestroyed: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	710:                  "CUDA_ERROR_ASSERT",
	714:                  "CUDA_ERROR_HARDWARE_STACK_ERROR",
	715:                  "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	716:                  "CUDA_ERROR_MISALIGNED_ADDRESS",
	717:                  "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	718:                  "CUDA_ERROR_INVALID_PC",
	CodeLaunchFailed:     "CUDA_ERROR_LAUNCH_FAILED",
	CodeNotSupported:     "CUDA_ERROR_NOT_SUPPORTED",
	803:                  "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	999:                  "CUDA_ERROR_UNKNOWN",
}

// String returns the code's name in CUDA's headers, or "CUDA_ERROR" for one that
// this package has no name for.
func (c Code) String() string {
	if n, ok := codeNames[c]; ok {
		return n
	}
	return "CUDA_ERROR"
}

// Error makes a Code an error: "CUDA_ERROR_INVALID_PTX (218)".
func (c Code) Error() string { return fmt.Sprintf("%s (%d)", c.String(), int32(c)) }

// Sticky reports whether a context in which this code has occurred is lost:
// every later call in it fails with the same code, and only Close is left.
func (c Code) Sticky() bool {
	switch {
	case c == CodeIllegalAddress, c == CodeLaunchTimeout, c == CodeDeinitialized, c == CodeContextDestroyed:
		return true
	case 710 <= c && c <= CodeLaunchFailed:
		return true
	}
	return false
}

// Error is a call of the driver that did not succeed.
type Error struct {
	Call string // the driver's function, without a version suffix
	Code Code   // what it returned
	Name string // the driver's own name of the code; empty: Code's
	Log  string // what the PTX compiler had to say, if it was asked
}

// Error returns "cuda: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): log".
func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = e.Code.String()
	}
	s := fmt.Sprintf("cuda: %s: %s (%d)", e.Call, name, int32(e.Code))
	if log := strings.TrimSpace(e.Log); log != "" {
		s += ": " + log
	}
	return s
}

// Unwrap returns the Code.
func (e *Error) Unwrap() error { return e.Code }

// Lost reports whether err holds a Code that is Sticky.
func Lost(err error) bool {
	var c Code
	return errors.As(err, &c) && c.Sticky()
}

// err turns a status into an error; nil for success.
func (d *driver) err(call string, c Code) error {
	if c == 0 {
		return nil
	}
	e := &Error{Call: call, Code: c}
	var name *byte
	// "Not ready" is the answer of every poll, and not worth a second call.
	if c != CodeNotReady && d.GetErrorName != nil && d.GetErrorName(c, &name) == 0 && name != nil {
		e.Name = stringAt(name)
	}
	return e
}

// stringAt copies a C string of at most 4096 bytes.
func stringAt(p *byte) string {
	var b []byte
	for len(b) < 4096 {
		c := *(*byte)(unsafe.Add(unsafe.Pointer(p), len(b)))
		if c == 0 {
			break
		}
		b = append(b, c)
	}
	return string(b)
}
