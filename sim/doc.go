// Package sim runs schedules: it is the transition system of a fence schedule on a
// machine, and one run of it.
//
// [Compile] lays a schedule per rank and a machine out as a [System]. A [State] of it is
// flat. [System.Enabled] lists the enabled transitions of a state in a fixed order and
// [System.Next] takes one, so that a run is a list of indexes into those lists; random
// runs, exhaustive search, replay and stepping are one mechanism.
//
// The order of Enabled: for each rank its main thread, its queues (buffers in order,
// commands in order), its CPU streams, its completion handlers; then for each fence what
// may arrive, oldest first; then kills, by queue and buffer.
//
// A transition is guaranteed (if it stays enabled it happens) or only possible. A state
// that is not final and has no guaranteed transition is stuck, which is what a hang is.
//
// The package is pure: no clock, no goroutine, no map iteration, no global that changes.
package sim
