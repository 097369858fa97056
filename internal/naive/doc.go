// Package naive is a second model of the transition system that package sim runs, written
// from its definition alone and kept as plain as possible: a state is a struct of slices
// that is copied whole, its identity a string, and [Explore] visits every reachable state
// breadth first. Tests compare the two; nothing else imports this package.
//
// [Random] and [RandomGraph] draw cases for such comparisons, [Text] shows one, and
// [Witness] gives a shortest run to whatever the two disagree on.
//
// Where the definition is silent or can be read in two ways, this package decides as
// follows. Each point ends with the other reading.
//
// End and hang
//
//  1. A completion handler is an agent of its own from the end of its buffer (also by a
//     kill), beside the other handlers, and must have run for a state to be final. Other:
//     handlers of a queue run one behind the other; handlers do not matter for the end.
//  2. After exit or die only the rank's committed buffers must finish: tasks, handlers and
//     buffers not yet committed ended with the process. Other: what was not done stays a hang.
//  3. exit is die: completion handlers stop too. Other: they run on.
//  4. orphan is decided per rank: in a stuck state some rank that is not at its end has a
//     main thread and CPU streams that are; a buffer never committed and a handler that
//     blocks count. Other: of all ranks together; only if a started buffer is left.
//  5. Transitions go on behind a final state: a late arrival may still violate backwards or
//     use-after-free. Other: a run ends at its final state.
//  6. A task never handed out, or a non-empty buffer never committed, keeps a state from
//     being final; an empty buffer never committed does not.
//
// Buffers
//
//  7. coherent A reads and writes A for tracking, as for the barriers of the lowering; it
//     changes no version. Other: it touches no array, or reads only.
//  8. A wait neither reads nor writes its array for tracking; events are not tracked; park,
//     notify and free touch their fence; F@R is the fence of that rank. Other: a wait
//     writes its array.
//  9. Under concurrent dispatch await is an agent like a wait and orders nothing within its
//     section. Other: it orders all that follows, as between encoders.
//  10. In a lowered graph await, too, is a wait on its array: a command that uses the array is
//     cut off from it. Other: only fence waits are, and a kernel may overtake its await.
//  11. A wait on an array that the section has read is cut off, a wait on one that it has
//     waited for is not. Other: a wait is never cut off.
//  12. A commit that is part of a step (size rule, throttle, flush) blocks the whole step while
//     the in-flight limit of a queue concerned is reached. Other: the step happens and
//     blocks in the middle.
//  13. ignore stops every buffer of the rank that has not started, on all queues. Other: only
//     later ones of the same queue.
//  14. fail in a buffer ends all its commands at once; its finish is a transition still to
//     come. It is no kill: no lost-update, no ignore. Other: finished at once; an error
//     like a kill.
//  15. fail on the main thread or in a handler does nothing. Other: it ends them.
//
// Slots
//
//  16. add and reset need a slot as update does; park, notify, alloc, dealloc and fail need
//     none. Other: only those that are listed need one; park holds one.
//  17. send and recv in a buffer take their slot in a transition of its own when slots are
//     limited, then meet. Other: one transition that needs a free slot.
//  18. may and must look at the current command, whether or not it has its slot; giving up
//     needs the slot, for it spins only then. Other: both need it.
//
// Stores
//
//  19. Only update and release follow the store rule; a GPU reset overwrites and an add adds,
//     in one transition each, and both travel as what they are.
//  20. A guarded update takes two transitions even when it does not store. Other: it ends with
//     the read then.
//  21. lost-update: a kill that drops an update, release or add, half done or not begun, in
//     any fence, or a guarded store below the view that it overwrites. Other: signal and
//     reset count too, or update alone; not a half-done one that would not store.
//  22. The two directions of a fence have a queue each. Other: one order for all stores.
//  23. A fence has two views, also when ranks share it: the GPUs' and the CPUs'. Lag looks at
//     the issuer's queue. Other: views per rank.
//  24. Under lag "n later buffers have finished" counts any n, not the next n.
//  25. Commands on a freed fence do what they did before, and are reported. A CPU wait spins
//     as soon as it is the stream's next task. free of a free fence and notify are no use.
//
// Arrays and meetings
//
//  26. A read that is both hidden and overwritten violates both.
//  27. A send's reads are checked when it meets or is put into the buffer, not with its slot.
//  28. Names of send and recv must match for them to meet, else they block; in the buffer the
//     first in line must match. In a lowered graph they need not, for the two nodes have
//     names of their own. Other: they meet and it is an order-mismatch.
//  29. order-mismatch compares with every rank that has arrived, when one arrives. A group is
//     one over all ranks by its name; that of main is "main", a handler's its queue.
//  30. A killed or failed buffer that has arrived at a collective stays arrived.
//  31. notify wakes those asleep in park on the same rank's fence; an agent that has tested in
//     vain must fall asleep in a transition of its own. park is no wait for the watchdog.
//  32. idle and memory are per rank; dealloc does not go below 0; a kill frees no memory.
//
// Main thread and counters
//
//  33. An explicit throttle follows the evaluator's rule: more than N active, then until fewer
//     are active than at the test, never with one or none. Active are its committed
//     unfinished buffers. Other: until at most N are; CPU tasks count.
//  34. throttle commits the open buffer of every queue that some earlier step has opened
//     (Queue.FirstUse), of whatever eval. Other: of this eval's queues only.
//  35. A CPU task that counts is active from being handed over until it has run.
//  36. synchronize does not wait for completion handlers. Other: it does.
//  37. "First updated" is the first update or release of a fence of the rank itself; add, reset
//     and F@R are passed over. scheduled is the largest value of those on any queue's
//     committed buffers (explicit), the number of updates encoded on any stream (graph).
//     Under event disciplines there is no fence: all three are 0.
package naive
