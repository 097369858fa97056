// Shared by the kernels of the files that follow it in one source text: the
// widest memory scope that this version of the language has, the outcomes, and
// the bounds that no argument can exceed.

#if __METAL_VERSION__ >= 320
#pragma METAL internals : enable
#endif

#include <metal_stdlib>
using namespace metal;

// FS_WORD is a pointer to words that the CPU also reads and writes. From 3.2 on
// its accesses are coherent with the whole system; before, the language has no
// such word and volatile is all there is.
#ifndef FS_WORD
#if __METAL_VERSION__ >= 320
#define FS_WORD volatile coherent(system) device uint*
#else
#define FS_WORD volatile device uint*
#endif
#endif

// FS_ATOMIC is the same word for the atomic functions.
#define FS_ATOMIC(word) ((volatile device atomic_uint*)(word))

#if __METAL_VERSION__ >= 320
#ifdef __METAL_MEMORY_SCOPE_SYSTEM__
constexpr constant thread_scope fs_scope = thread_scope_system;
#else
// The number that the compiler's own headers give to the system scope where they
// name it.
constexpr constant thread_scope fs_scope = static_cast<thread_scope>(3);
#endif
inline void fs_order() {
  atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, fs_scope);
}
#else
// Device scope at most: every thread of a threadgroup must come here.
inline void fs_order() { threadgroup_barrier(mem_flags::mem_device); }
#endif

// What a kernel writes last into word 0 of its record; the numbers are those of
// every backend. 0 is a kernel that has not begun.
#define FS_RUNNING 1u   // a wait has begun, or the OS ended it
#define FS_PASSED 2u    // the target was reached, the update is done
#define FS_KILLED 3u    // a wait saw the kill flag
#define FS_GAVE_UP 4u   // a wait reached its poll limit
#define FS_ORPHANED 6u  // a wait saw no heartbeat for too long

// Words of a record; 2 to 5 are for a clock that kernels here cannot read. Value is the last value read, of a plain update the one
// stored. Detail is of an update 1 if it stored, of a wait the atomic loads tried.
#define FS_OUTCOME 0
#define FS_VALUE 1
#define FS_POLLS 6
#define FS_DETAIL 7

// Words of the control buffer.
#define FS_KILL 0   // not 0: leave every wait
#define FS_BEAT 1   // changes as long as the host is alive

// Bounds: polls of one wait, orderings in the gap of one guarded update, rounds of
// one work kernel.
#define FS_POLLS_MAX 4194304u
#define FS_GAP_MAX 65536u
#define FS_ROUNDS_MAX 1048576u
