package kernels

import _ "embed" // the Metal source is data of the program

//go:embed scope.metal
var scopeMetal string

//go:embed fence.metal
var fenceMetal string

//go:embed payload.metal
var payloadMetal string

//go:embed work.metal
var workMetal string

// metalSource is the one text of every Metal kernel: a Metal library is compiled
// from one text, and the first file is what the others share.
var metalSource = scopeMetal + "\n" + fenceMetal + "\n" + payloadMetal + "\n" + workMetal

// Bounds that the Metal kernels keep whatever they are told.
const (
	MetalPollsMax  = 1 << 22 // polls of one wait
	MetalGapMax    = 1 << 16 // orderings between the halves of a guarded update
	MetalRoundsMax = 1 << 20 // rounds of one work kernel
)

// MetalPayload is the word at that index of an array that payload-write has
// written in that version.
func MetalPayload(version, index uint32) uint32 {
	return version*0x9e3779b1 ^ (index*0x85ebca6b + 0xc2b2ae35)
}

// metalKernels is the table of the Metal kernels. Parameter i is the argument of
// index i: an Addr is a buffer, a U32 a constant of 4 bytes. Updates and waits are
// launched with one thread, the others with count threads or more.
//
// The control buffer is a Control and the record a Result, as on CUDA, each at
// the start of its argument. Outcome is the only word that is meaningful before
// the kernel has ended: Running of a wait that has begun, Passed of an update
// whether it stored or not. Value is the last value read, of a plain update the
// one stored. Begin and End stay 0, since Metal's kernels have no clock. Detail is
// of an update 1 if it stored, of a wait the atomic loads tried.
//
// None of them has been compiled by Apple's compiler or run on Apple hardware:
// they are tested as C++, on CPU threads. A wait's bound in time is its poll limit
// times what a poll costs on the GPU, which is to be measured before it is relied
// on.
var metalKernels = []Kernel{
	{
		Name: "update", Backend: Metal, Entry: "fs_update_plain", Source: metalSource,
		Doc:    "Stores the value, whatever was there.",
		Params: []Param{metalFence, metalRecord, {"value", U32, "the value stored"}},
	},
	{
		Name: "update-guarded", Backend: Metal, Entry: "fs_update_guarded", Source: metalSource,
		Doc: "Reads, then stores the value if the one read was smaller; two steps, so two of them can lower the fence.",
		Params: []Param{metalFence, metalRecord, {"value", U32, "the value stored"},
			{"gap", U32, "orderings between the two steps, at most MetalGapMax"}},
	},
	{
		Name: "update-max", Backend: Metal, Entry: "fs_update_max", Source: metalSource,
		Doc:    "Raises the fence to the value in one atomic step; never lowers it.",
		Params: []Param{metalFence, metalRecord, {"value", U32, "the least value afterwards"}},
	},
	{
		Name: "wait", Backend: Metal, Entry: "fs_wait", Source: metalSource,
		Doc: "Polls until the fence is at least the target. Ends passed, killed, " +
			"gave up (limit) or orphaned (silence).",
		Params: []Param{metalFence,
			{"control", Addr, "a Control: kill, then beat"},
			metalRecord,
			{"target", U32, "the value waited for"},
			{"limit", U32, "polls at most; 0 and more than MetalPollsMax count as MetalPollsMax"},
			{"fallback", U32, "number of the poll from which an atomic load is tried too; 0 never"},
			{"silence", U32, "polls without a change of the heartbeat that end it; 0 does not watch"}},
	},
	{
		Name: "coherent", Backend: Metal, Entry: "fs_coherent", Source: metalSource,
		Doc:    "Writes each word of an array again so that the whole system sees it; a racing store to the same word is lost.",
		Params: []Param{{"array", Addr, "count words"}, {"count", U32, "words"}},
	},
	{
		Name: "payload-write", Backend: Metal, Entry: "fs_payload_write", Source: metalSource,
		Doc: "Writes a version of an array with ordinary stores; MetalPayload says what.",
		Params: []Param{{"array", Addr, "count words"}, {"count", U32, "words"},
			{"version", U32, "what is written"}},
	},
	{
		Name: "payload-check", Backend: Metal, Entry: "fs_payload_check", Source: metalSource,
		Doc: "Counts the words of an array that are not of the version, with ordinary loads.",
		Params: []Param{{"array", Addr, "count words"},
			{"record", Addr, "3 words, zero before: checked, wrong, largest wrong index plus 1"},
			{"count", U32, "words"}, {"version", U32, "what is expected"}},
	},
	{
		Name: "work", Backend: Metal, Entry: "fs_work", Source: metalSource,
		Doc: "Computes for a bounded number of rounds in each thread and stores the results.",
		Params: []Param{{"sink", Addr, "count words"}, {"count", U32, "threads that compute"},
			{"rounds", U32, "dependent steps, at most MetalRoundsMax"}},
	},
}

// Parameters that updates and waits share.
var (
	metalFence  = Param{"fence", Addr, "the word waited for or updated"}
	metalRecord = Param{"record", Addr, "a Result, cleared before the launch"}
)
