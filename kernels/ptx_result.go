package kernels

import (
	"fmt"
	"sync/atomic"
)

// Outcome is how a kernel ended. The zero Outcome is NotBegun: a Result that no
// kernel has written yet says so.
type Outcome uint32

// The outcomes, numbered as the PTX sources number them.
const (
	NotBegun  Outcome = iota // nothing was written yet
	Running                  // it has begun; a wait that stays here is spinning
	Passed                   // the wait was satisfied, or the work was done
	Killed                   // the kill word was not 0; nothing was stored
	GaveUp                   // the limit of polls was reached
	OutOfTime                // the budget was reached
	Orphaned                 // the CPU's beat fell silent
)

var outcomeNames = [...]string{"not begun", "running", "passed", "killed", "gave up", "out of time", "orphaned"}

// String returns the outcome in words, or "outcome N" for a number that has none.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome %d", uint32(o))
}

// Ended reports whether the kernel that wrote it has nothing left to do.
func (o Outcome) Ended() bool { return o > Running }

// Control is what a CPU says to the kernels that run: the two words that every
// wait of the PTX kernels reads at each poll. It lives in pinned host memory at
// a multiple of 8 bytes and is written with Release and Pulse only. The zero
// Control lets everything run.
type Control struct {
	kill uint32
	beat uint32
}

// ControlSize is the size of a Control in bytes; it must also be its alignment.
const ControlSize = 8

// Release ends every wait that reads this Control, now and later: it cannot be
// taken back while kernels that read it may be queued. Calling it again is
// harmless.
func (c *Control) Release() { atomic.StoreUint32(&c.kill, 1) }

// Released reports whether Release has been called.
func (c *Control) Released() bool { return atomic.LoadUint32(&c.kill) != 0 }

// Pulse is the heartbeat: kernels launched with a silence end as Orphaned if it
// is not called for that long. A process that is killed leaves its kernels to
// the driver, which lets a waiting one hold the device for seconds; with a
// silence it is the kernel that ends.
func (c *Control) Pulse() { atomic.AddUint32(&c.beat, 1) }

// Result is what a PTX kernel leaves behind. It lives in pinned host memory at
// a multiple of 8 bytes, and is cleared by the CPU before the launch. Read it
// with Load while the kernel may still run.
type Result struct {
	Outcome Outcome
	Value   uint32 // wait, hold: the last value seen; stores: see the source
	Begin   uint64 // device clock when it began, ns
	End     uint64 // device clock when it ended, ns; of a wait, at its last poll
	Polls   uint32 // how often it looked
	Detail  uint32 // payload: words that differ; guarded, max: 1 if it stored
}

// ResultSize is the size of a Result in bytes, and the distance between the
// results of neighbouring blocks.
const ResultSize = 32

// Load reads a Result that a kernel may be writing. The other fields are of the
// kernel's end if the Outcome has Ended, else only Begin is meaningful, and that
// only while Running.
func (r *Result) Load() Result {
	// The kernel stores the outcome last and with release; this load comes first.
	o := Outcome(atomic.LoadUint32((*uint32)(&r.Outcome)))
	return Result{
		Outcome: o,
		Value:   atomic.LoadUint32(&r.Value),
		Begin:   atomic.LoadUint64(&r.Begin),
		End:     atomic.LoadUint64(&r.End),
		Polls:   atomic.LoadUint32(&r.Polls),
		Detail:  atomic.LoadUint32(&r.Detail),
	}
}

// Clear makes a Result NotBegun again. No kernel may be about to write it.
func (r *Result) Clear() {
	atomic.StoreUint32((*uint32)(&r.Outcome), uint32(NotBegun))
	atomic.StoreUint32(&r.Value, 0)
	atomic.StoreUint64(&r.Begin, 0)
	atomic.StoreUint64(&r.End, 0)
	atomic.StoreUint32(&r.Polls, 0)
	atomic.StoreUint32(&r.Detail, 0)
}
