package kernels

import _ "embed"

// The PTX sources need ISA 6.3 (nanosleep) and sm_70, the first architecture
// with a memory model and its scopes: any driver since CUDA 10 compiles them for
// any GPU since Volta.
var (
	//go:embed fence.ptx
	fencePTX string
	//go:embed payload.ptx
	payloadPTX string
	//go:embed litmus.ptx
	litmusPTX string
	//go:embed hold.ptx
	holdPTX string
)

// Parameters that mean the same in every PTX kernel.
var (
	paramControl  = Param{"control_at", Addr, "a Control in pinned host memory; 0 = none, for kernels that do not wait"}
	paramMust     = Param{"control_at", Addr, "a Control in pinned host memory; required"}
	paramFence    = Param{"fence_at", Addr, "the counter, 4-byte aligned, in host or device memory"}
	paramValue    = Param{"value", U32, "what to store or to add"}
	paramOrder    = Param{"order", U32, "an Order"}
	paramPolls    = Param{"polls", U32, "looks before it gives up; 0 counts as 1"}
	paramBudget   = Param{"budget", U64, "nanoseconds before it is out of time; at most 60 s"}
	paramSilence  = Param{"silence", U64, "nanoseconds without a new beat before it is orphaned; at most 60 s; 0 = not watched"}
	paramDuration = Param{"duration", U64, "nanoseconds it computes; at most 60 s"}
	paramPayload  = Param{"payload_at", Addr, "the array of 32-bit words"}
	paramWords    = Param{"words", U32, "how many 32-bit words"}
	paramFill     = Param{"fill", U32, "the number every word holds or is to hold"}
	paramHow      = Param{"how", U32, "an Access"}
	paramResult   = Param{"result_at", Addr, "a Result, one for each block, 8-byte aligned; 0 = none"}
)

// ptxKernels is the table of the CUDA kernels. Unless its Doc says otherwise a
// kernel is launched with one thread.
var ptxKernels = []Kernel{
	{
		Name: "update", Backend: PTX, Entry: "fence_update", Source: fencePTX,
		Doc:    "Overwrites a fence (store plain). A killed one stores nothing.",
		Params: []Param{paramControl, paramFence, paramValue, paramOrder, paramResult},
	},
	{
		Name: "update-guarded", Backend: PTX, Entry: "fence_update_guarded", Source: fencePTX,
		Doc: "Reads a fence and stores if the value was smaller (store guarded): two accesses, " +
			"gap nanoseconds apart. Killed in the gap it stores nothing.",
		Params: []Param{paramControl, paramFence, paramValue, paramOrder,
			{"gap", U64, "nanoseconds between the read and the store; at most 10 s"}, paramResult},
	},
	{
		Name: "update-max", Backend: PTX, Entry: "fence_update_max", Source: fencePTX,
		Doc: "Raises a fence in one access (store max). In host memory it is atomic towards the CPU " +
			"only on devices that have host atomics.",
		Params: []Param{paramControl, paramFence, paramValue, paramOrder, paramResult},
	},
	{
		Name: "add", Backend: PTX, Entry: "fence_add", Source: fencePTX,
		Doc:    "Adds to a fence in one access, modulo 2^32; atomic towards the CPU as update-max is.",
		Params: []Param{paramControl, paramFence, paramValue, paramOrder, paramResult},
	},
	{
		Name: "wait", Backend: PTX, Entry: "fence_wait", Source: fencePTX,
		Doc: "Polls a fence until it is at least, or exactly, target. Ends passed, killed, " +
			"gave up (polls), out of time (budget) or orphaned (silence).",
		Params: []Param{paramMust, paramFence,
			{"target", U32, "what it waits for"},
			{"exact", U32, "0: at least target; 1: equal to it"},
			paramOrder, paramPolls, paramBudget, paramSilence, paramResult},
	},
	{
		Name: "compute", Backend: PTX, Entry: "compute", Source: payloadPTX,
		Doc: "Compares the words it reads, spins for a duration, fills the words it writes; with a " +
			"duration of 0 only that. Any grid of one-dimensional blocks.",
		Params: []Param{paramMust,
			{"in_at", Addr, "the words it reads"},
			{"in_words", U32, "how many; 0 = reads nothing"},
			{"in_fill", U32, "the number each of them should hold"},
			paramDuration, paramSilence,
			{"out_at", Addr, "the words it writes"},
			{"out_words", U32, "how many; 0 = writes nothing"},
			{"out_fill", U32, "the number it writes to each"},
			paramResult},
	},
	{
		Name: "coherent", Backend: PTX, Entry: "coherent", Source: payloadPTX,
		Doc: "Rewrites every word in place with system scope, so that the CPU may read it while the " +
			"stream runs on. Any grid of one-dimensional blocks; nothing may write the words meanwhile.",
		Params: []Param{paramPayload, paramWords},
	},
	{
		Name: "message-send", Backend: PTX, Entry: "message_send", Source: litmusPTX,
		Doc:    "Fills a payload, then overwrites a fence, in one kernel. One block of any size.",
		Params: []Param{paramControl, paramPayload, paramWords, paramFill, paramHow, paramFence, paramValue, paramOrder, paramResult},
	},
	{
		Name: "message-receive", Backend: PTX, Entry: "message_receive", Source: litmusPTX,
		Doc: "Waits for a fence as wait does, then compares a payload, in one kernel. One block of any size.",
		Params: []Param{paramMust, paramFence,
			{"target", U32, "the least value it waits for"},
			paramOrder,
			{"warm", U32, "1: read the payload once before waiting"},
			paramPayload, paramWords, paramFill, paramHow, paramPolls, paramBudget, paramSilence, paramResult},
	},
	{
		Name: "hold", Backend: PTX, Entry: "hold", Source: holdPTX,
		Doc: "Keeps its blocks on the device until a word is not 0. Any grid; ask for shared memory " +
			"at the launch to have one block fill a multiprocessor.",
		Params: []Param{paramMust,
			{"release_at", Addr, "the word that ends it when it is not 0"},
			paramPolls, paramBudget, paramSilence, paramResult},
	},
	{
		Name: "stamp", Backend: PTX, Entry: "stamp", Source: holdPTX,
		Doc:    "Records the device's clock.",
		Params: []Param{{"result_at", Addr, "a Result, 8-byte aligned; required"}},
	},
}
