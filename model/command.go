package model

import (
	"math"
	"strconv"
)

// Sym is an interned name: an index into [Names]. Arrays, fences, events, groups and
// kernels share one table; what a Sym names follows from where it stands.
type Sym int32

// NoSym is the absence of a name.
const NoSym Sym = -1

// Names interns strings. The zero value is empty and ready to use.
type Names struct {
	list  []string
	index map[string]Sym
}

// Intern returns the Sym of name, adding it if it is new.
func (n *Names) Intern(name string) Sym {
	if s, ok := n.index[name]; ok {
		return s
	}
	if n.index == nil {
		n.index = make(map[string]Sym)
	}
	s := Sym(len(n.list))
	n.list = append(n.list, name)
	n.index[name] = s
	return s
}

// grow makes room for n names.
func (n *Names) grow(more int) {
	if n.index == nil {
		n.index = make(map[string]Sym, more)
		n.list = make([]string, 0, more)
	}
}

// Lookup returns the Sym of name, or NoSym if it was never interned.
func (n *Names) Lookup(name string) Sym {
	if s, ok := n.index[name]; ok {
		return s
	}
	return NoSym
}

// Of returns the text of s; "" for NoSym.
func (n *Names) Of(s Sym) string {
	if s < 0 {
		return ""
	}
	return n.list[s]
}

// Len is the number of names.
func (n *Names) Len() int { return len(n.list) }

// Op is what a command does. The zero value is no command.
type Op uint8

// The operations, in the order of the table [Ops].
const (
	OpNone Op = iota
	OpKernel
	OpUpdate
	OpAdd
	OpReset
	OpRelease
	OpFree
	OpWait
	OpPark
	OpNotify
	OpCoherent
	OpBarrier
	OpEncoder
	OpSignal
	OpAwait
	OpCollective
	OpSend
	OpRecv
	OpAlloc
	OpDealloc
	OpIdle
	OpFail
	OpDie
)

// Released is the value that `release` stores: the largest a fence can hold.
const Released = math.MaxUint32

// OpInfo describes one command: its word, its form, where it may stand, what it does.
type OpInfo struct {
	Op   Op
	Word string
	Form string // as written in a file
	GPU  bool   // may stand in a command buffer
	CPU  bool   // may stand among a CPU stream's tasks, in a completion handler, on the main thread
	Doc  string
}

// Ops is the table of all commands: parser, schema, documentation and tests walk it.
var Ops = []OpInfo{
	{OpKernel, "kernel", "kernel NAME [reads A…] [writes B…]", true, true, "reads arrays and writes arrays in one transition; with no writes it writes an array of its own name"},
	{OpUpdate, "update", "update F[@R] v", true, true, "stores v into fence F (of rank R): by the machine's store rule on the GPU, overwriting on the CPU"},
	{OpAdd, "add", "add F[@R] d", true, true, "adds d to fence F, modulo 2^32, as one transition; it travels as an increment"},
	{OpReset, "reset", "reset F v", true, true, "stores v into fence F, overwriting; exempt from the property backwards"},
	{OpRelease, "release", "release F[@R]", true, true, "update F with 4294967295, the largest value: lets every waiter pass"},
	{OpFree, "free", "free F", true, true, "ends the life of fence F: later tests, stores and arrivals are use-after-free"},
	{OpWait, "wait", "wait F[@R] v | wait F[@R] == v", true, true, "spins until the own side's view of F is at least v (or equals v)"},
	{OpPark, "park", "park F v", true, true, "waits on a condition variable: tests once, then sleeps until notified, then tests again; a notification between test and sleep is lost"},
	{OpNotify, "notify", "notify F", true, true, "wakes every agent that sleeps in park F"},
	{OpCoherent, "coherent", "coherent A", true, false, "makes the last GPU write of array A visible to the CPU"},
	{OpBarrier, "barrier", "barrier", true, false, "under concurrent dispatch ends a section: later commands of the buffer begin when all earlier ones have ended"},
	{OpEncoder, "encoder", "encoder", true, false, "starts another encoder: a barrier"},
	{OpSignal, "signal", "signal E v", true, true, "sets event E to the larger of its value and v, seen by both sides at once, after all earlier commands of the buffer"},
	{OpAwait, "await", "await E v", true, true, "waits until event E is at least v; holds no slot"},
	{OpCollective, "collective", "collective NAME [in GROUP] [reads A…] [writes B…]", true, true, "arrives (reads are checked) and leaves once every rank has arrived at its collective of the same ordinal in the group (writes happen)"},
	{OpSend, "send", "send A to R", true, true, "hands array A to rank R (a number, next or prev)"},
	{OpRecv, "recv", "recv A from R", true, true, "receives array A from rank R (a number, next or prev)"},
	{OpAlloc, "alloc", "alloc N", true, true, "takes N units of the machine's memory; blocks while they are not free"},
	{OpDealloc, "dealloc", "dealloc N", true, true, "gives N units of memory back, at most those that are taken"},
	{OpIdle, "idle", "idle", false, true, "blocks until the device is idle: every committed buffer has finished (as cudaFree does)"},
	{OpFail, "fail", "fail", true, true, "an error: in a buffer its remaining commands never run and it finishes; a CPU task is skipped and the next one runs"},
	{OpDie, "die", "die", false, true, "the process of this rank ends: main thread, CPU streams and completion handlers stop where they are; committed buffers run on"},
}

var opByWord = func() map[string]*OpInfo {
	m := make(map[string]*OpInfo, len(Ops))
	for i := range Ops {
		m[Ops[i].Word] = &Ops[i]
	}
	return m
}()

// Info returns the row of the table [Ops] for o. It panics for OpNone.
func (o Op) Info() *OpInfo { return &Ops[o-1] }

// String is the command's word.
func (o Op) String() string {
	if o == OpNone {
		return "none"
	}
	return Ops[o-1].Word
}

// RankRef names a rank as seen from another. The zero value is the own rank.
type RankRef int32

// Relative references; a rank r of a file is RankRef(r+1).
const (
	OwnRank  RankRef = 0
	NextRank RankRef = -1
	PrevRank RankRef = -2
)

// Rank is the absolute reference to rank r, which counts from 0.
func Rank(r int) RankRef { return RankRef(r + 1) }

// Resolve gives the rank that r names, seen from rank own of ranks.
func (r RankRef) Resolve(own, ranks int) int {
	switch r {
	case OwnRank:
		return own
	case NextRank:
		return (own + 1) % ranks
	case PrevRank:
		return (own + ranks - 1) % ranks
	}
	return int(r) - 1
}

// String is the form in a file: "next", "prev" or a number; "" for the own rank.
func (r RankRef) String() string {
	switch r {
	case OwnRank:
		return ""
	case NextRank:
		return "next"
	case PrevRank:
		return "prev"
	}
	return strconv.Itoa(int(r) - 1)
}

// Read is one array that a command reads. Version 0 asks only that it was written; n > 0
// demands that exactly n writes have happened, an input counting as one.
type Read struct {
	Array   Sym
	Version uint32
}

// Command is one command of a buffer, one task of a CPU stream or one command of the
// main thread, with names interned. Name is the kernel's, collective's, array's, fence's
// or event's; Group is a collective's and NoSym for the default.
type Command struct {
	Op     Op
	Equal  bool // wait: the view must equal Value, not reach it
	Late   bool // wait: the target is the number of updates scheduled at each test (discipline late)
	Rank   RankRef
	Name   Sym
	Group  Sym
	For    Sym    // wait, await, update, signal of a lowered graph: the array that it stands for; else NoSym
	Value  uint32 // update, add, reset, wait, park, signal, await: a fence value; alloc, dealloc: units
	Reads  []Read
	Writes []Sym
}

// Fence reports whether c tests, stores to or ends the life of a fence.
func (c *Command) Fence() bool {
	switch c.Op {
	case OpUpdate, OpAdd, OpReset, OpRelease, OpFree, OpWait, OpPark, OpNotify:
		return true
	}
	return false
}

// Stores reports whether c stores to a fence.
func (c *Command) Stores() bool {
	switch c.Op {
	case OpUpdate, OpAdd, OpReset, OpRelease:
		return true
	}
	return false
}

// Text is the command as written in a scenario file; [ParseCommand] reads it back. Only a
// late wait has no form in files and is written as "wait F late".
func (c *Command) Text(n *Names) string { return string(c.append(nil, n)) }

// append appends the command's text to b.
func (c *Command) append(b []byte, n *Names) []byte {
	b = append(b, c.Op.String()...)
	name := func(s Sym) { b = append(append(b, ' '), n.Of(s)...) }
	number := func(v uint32) { b = strconv.AppendUint(append(b, ' '), uint64(v), 10) }
	at := func() {
		name(c.Name)
		if c.Rank != OwnRank {
			b = append(append(b, '@'), c.Rank.String()...)
		}
	}
	switch c.Op {
	case OpUpdate, OpAdd, OpReset, OpPark, OpSignal, OpAwait:
		at()
		number(c.Value)
	case OpWait:
		at()
		switch {
		case c.Late:
			b = append(b, " late"...)
		case c.Equal:
			b = append(b, " =="...)
			number(c.Value)
		default:
			number(c.Value)
		}
	case OpRelease, OpFree, OpNotify, OpCoherent:
		at()
	case OpAlloc, OpDealloc:
		number(c.Value)
	case OpSend:
		name(c.Name)
		b = append(append(b, " to "...), c.Rank.String()...)
	case OpRecv:
		name(c.Name)
		b = append(append(b, " from "...), c.Rank.String()...)
	case OpKernel, OpCollective:
		name(c.Name)
		if c.Group != NoSym {
			b = append(b, " in"...)
			name(c.Group)
		}
		if len(c.Reads) > 0 {
			b = append(b, " reads"...)
			for _, r := range c.Reads {
				name(r.Array)
				if r.Version > 0 {
					b = strconv.AppendUint(append(b, '@'), uint64(r.Version), 10)
				}
			}
		}
		if len(c.Writes) != 1 || c.Writes[0] != c.Name {
			b = append(b, " writes"...)
			for _, w := range c.Writes {
				name(w)
			}
		}
	}
	return b
}
