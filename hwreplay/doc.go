// Package hwreplay runs schedules on real devices and holds what happened against the
// model.
//
// A [Plan] is a schedule per rank with the machine to impose. A [Device] executes the
// command buffers of its queues: threads of the CPU ("host"), a CUDA GPU, a Metal GPU.
// Everything else is the same for all of them: main threads and CPU streams are OS threads
// of this process, fences are words of memory that both sides share, collectives are a
// real rendezvous of the ranks.
//
// # Imposed assumptions
//
// A machine other than ideal is imposed, so that a hypothesis is seen on real fences. The
// GPU's stores then go to the GPU's copy of a fence, and a watching thread copies each to
// the CPU's copy when the machine's rule guarantees its arrival: under lag n when n later
// buffers of the queue have finished. An arrival that is guaranteed only because the queue
// is idle waits until nothing else moves, so that what is seen is the laziest environment,
// which is the one that decides a hang. What a device cannot impose is refused with an
// error for which errors.Is(err, [ErrCannotImpose]) holds.
//
// # Safety
//
// No wait on a device is without a bound. Each command buffer has a kill flag of its own,
// which every poll reads; each wait ends by itself when this process stops beating, and
// after a budget in any case. A run without progress for [Config].Patience is a hang: its
// counters are read, all kill flags are set, and the run is over when every thread has
// come back and every buffer has finished, which is what Released says. Then a probe shows
// that the device still works. Runs on GPUs are made in a child process ([Supervise],
// [Child]) that ends with its parent and is given up after a deadline.
//
// # Comparison
//
// Every transition of a run is recorded with the agent that made it. [Compare] looks for
// an order of the recorded transitions that keeps each agent's own order and is a run of
// package sim on the imposed machine, ending in a final state or a stuck one with the
// counters that were read. Without one, what happened is outside the model: a finding
// about the machine.
package hwreplay
