// Package model says what a user writes and what it means before anything runs.
//
// A [Scenario] holds one of three forms of the same thing: a [Generate] rule, a
// [Graph] of array operations, or an explicit schedule of command buffers and CPU
// tasks. [Scenario.Programs] turns each of them into a [Schedule] per rank: commands
// of queues, tasks of CPU streams and steps of the main thread, on interned names.
// Everything else (simulator, explorer, exporters, devices) reads that one form.
//
// What is not in a schedule but in the machine (in what order buffers run, when a
// store becomes visible, who may be killed) is a [Machine]: a list of named
// parameters, each documented in the one table [Parameters].
//
// The package is pure: no clock, no goroutine, no global that changes.
package model
