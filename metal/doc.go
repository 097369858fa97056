// Package metal is the few Metal calls that a replay device needs, made without
// cgo: a device, command queues and buffers, compute encoders, fences, shared
// events, shared memory, and kernels compiled from source.
//
// It builds on every platform. Where there is no Metal, Open returns an error
// that says what is missing and for which errors.Is(err, ErrUnavailable) is
// true; nothing else can be reached then. Metal and Foundation are loaded by the
// first Open, not by an init. (The purego/objc package that carries the messages
// loads libobjc when a darwin program starts; libobjc is part of every macOS.)
//
// # Ownership
//
// Every value that a New or Open function returns owns exactly one reference to
// its Objective-C object and gives it back in Close. Close may be called twice
// and on a zero value, not on nil. A closed value answers ErrClosed. Objects that
// Metal returns autoreleased (command buffers, encoders, strings, errors) are
// retained before the autorelease pool around the call is drained, so a caller
// never needs a pool of its own. Closing order is free: Metal keeps what a
// committed command buffer uses until the buffer has finished.
//
// # Threads
//
// A Device, Queue, Library, Pipeline, Buffer, Fence and Event may be used from
// several goroutines, as long as none is being closed. A CommandBuffer and its
// Encoder belong to one goroutine until Commit; after that Wait, Done, Status and
// Err may be called from any. Completion handlers run on a thread of Metal's own
// and must not block.
//
// # What stops a program
//
// Metal ends the whole process when it is misused (an encoder that is open at a
// commit, a buffer index out of range). The order of calls, the state of a
// command buffer and the sizes are therefore checked here first and come back as
// errors. An Objective-C exception cannot be caught.
//
// # What was never run
//
// Nothing in this package has been run on Apple hardware. What is tested
// elsewhere: every selector, its arity and its types against facts from Apple's
// headers; the order of calls, reference counts, pools and errors against a model
// of the Objective-C runtime that counts references and refuses what Metal would
// refuse; that purego passes such arguments (two structs by value, a struct as
// the result) to C functions on Linux; vet and build for darwin/arm64 and
// darwin/amd64. What is not: the answers of a real device, the compilation of the
// kernels by Apple's compiler, purego's calls on darwin, the block that receives a
// completion on a thread of Metal's, and every statement here about time. The tests in
// device_darwin_test.go run all of it on a Mac and are the first thing to run
// there.
package metal
