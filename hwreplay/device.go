package hwreplay

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// ErrUnavailable is matched by the error of a backend that this machine does not have.
var ErrUnavailable = errors.New("backend not available")

// ErrCannotImpose is matched by the error of a device that cannot impose an assumption or
// run a command.
var ErrCannotImpose = errors.New("the device cannot impose this")

// Info is what identifies a device in a record. The zero Info says nothing.
type Info struct {
	Backend string `json:"backend"` // host, cuda, metal
	Name    string `json:"device"`
	Driver  string `json:"driver,omitempty"`
	Count   int    `json:"devices"` // how many such devices ranks are spread over
}

// A Device executes command buffers beside the CPU.
type Device interface {
	Info() Info
	// Impose reports what of a plan's machine or commands the device cannot do; the error
	// matches ErrCannotImpose.
	Impose(p *Plan) error
	// Open takes so many bytes of memory that both sides share, zeroed, and gets ready to
	// run buffers of the plan in it.
	Open(p *Plan, bytes int) (Session, error)
}

// A Session is a device at work on one plan.
type Session interface {
	// Memory is the shared memory, aligned to 64 bytes.
	Memory() unsafe.Pointer
	// Submit puts a buffer on a lane and returns: each lane runs its buffers one after the
	// other, lanes run beside each other.
	Submit(l Lane, b *Batch) error
	// Close gives everything back; every submitted buffer must have finished.
	Close() error
}

// A Lane is an ordered queue of the device: a CUDA stream, a Metal command queue, a
// thread. Ranks are spread over the devices there are.
type Lane struct{ Rank, Index int }

// maxLanes is how many buffers of one rank a device is asked to run beside each other.
const maxLanes = 24

// slotLanes is that with slots, where CUDA uses two of its 32 queues for each.
const slotLanes = 14

// lanes is how many buffers of one rank may run beside each other.
func (p *Plan) lanes() int {
	if p.Machine.Slots > 0 {
		return slotLanes
	}
	return maxLanes
}

// OpKind is what one operation of a device does. The zero OpKind is no operation.
type OpKind uint8

// The operations. Each writes a kernels.Result when it has ended, a wait also when it
// begins.
const (
	OpNone     OpKind = iota
	OpStore           // stores Value to the word At by the rule Store
	OpWait            // polls the word At until it is at least Value (Exact: equal to it)
	OpCompute         // computes for Duration
	OpCoherent        // makes an array visible to the CPU
	OpStamp           // records the time
	OpCall            // stores Value to the word At, then waits for it at Answer

	OpMessageSend    // fills the payload with Value, then stores it to the word At
	OpMessageReceive // waits for the word At, then compares the payload with Value
)

// StoreAdd is a rule of OpStore beside the machine's: add modulo 2^32.
const StoreAdd = "add"

// An Op is one operation. Offsets are of bytes in the session's memory.
type Op struct {
	Kind     OpKind
	Store    string // plain, guarded, max or add
	At       int
	Value    uint32
	Exact    bool
	Order    kernels.Order
	Duration time.Duration // compute: how long; wait: how long before it gives up; guarded: between its halves
	Result   int           // 0: none; only of a compute

	Answer int  // call
	Free   bool // takes no slot

	Payload, Words int // messages: the payload's offset and length in words
	Access         kernels.Access
}

// A Chain is operations that run one after the other. After makes it begin only when
// every earlier chain of its section has ended.
type Chain struct {
	Ops   []Op
	After bool
}

// A Batch is one command buffer: sections one after the other, each of chains that may
// run beside each other. It is killed by its control.
type Batch struct {
	Control       int // offset of a kernels.Control
	Start, Finish int // offsets of results that say when it started and finished
	Sections      [][]Chain
}

// waitBudget bounds every wait on a device that is told no other bound.
const waitBudget = 20 * time.Second

// silence is for how long a GPU wait goes on without a beat of this process.
const silence = 200 * time.Millisecond

// Open finds a device by the name of its backend: host, cuda, metal, or auto, which is
// the first GPU found and else the host. The error matches ErrUnavailable where there is
// none.
func Open(backend string) (Device, error) {
	switch backend {
	case "host":
		return Host{}, nil
	case "cuda":
		return openCUDA()
	case "metal":
		return openMetal()
	case "auto", "":
		for _, open := range []func() (Device, error){openCUDA, openMetal} {
			d, err := open()
			if err == nil || !errors.Is(err, ErrUnavailable) {
				return d, err
			}
		}
		return Host{}, nil
	}
	return nil, fmt.Errorf("unknown backend %q: want host, cuda, metal or auto", backend)
}

// refuse is an error for ErrCannotImpose.
func refuse(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrCannotImpose)...)
}

// imposeCommon refuses what no device can do.
func imposeCommon(p *Plan) error {
	if p.Machine.Slots > 0 {
		for _, ag := range p.agents {
			for _, c := range ag.info {
				if ag.kind == sim.Queue && (c.Op == model.OpSend || c.Op == model.OpRecv) {
					return refuse("slots with a %s in a command buffer", c.Op)
				}
			}
		}
	}
	if p.Machine.Dispatch == model.Concurrent {
		for _, ag := range p.agents {
			for _, c := range ag.info {
				if ag.kind == sim.Queue && c.Op == model.OpFail {
					return refuse("dispatch concurrent with a command that fails")
				}
			}
		}
	}
	return nil
}

// parts are the two operations of a call, for devices that make it of a store and a wait.
// The store's result has a place behind the answer.
func (o *Op) parts() (ask, answer Op) {
	ask = Op{Kind: OpStore, Store: model.StorePlain, At: o.At, Value: o.Value, Order: kernels.BarrierAfter, Result: o.Answer + line}
	answer = Op{Kind: OpWait, At: o.Answer, Value: o.Value, Order: kernels.BarrierBefore, Result: o.Result, Duration: o.Duration}
	return ask, answer
}
