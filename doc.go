// Package fencesim is the documentation of the module: it decides whether a schedule of
// fence waits and updates between CPU and GPU can hang, read stale data or lock the GPU, on
// which assumptions about the machine, and what cures it.
//
// The command is cmd/fencesim. Package fencetest is for a user's own go test. Package model
// is what a scenario says, sim one run of it, check the verdicts, hwreplay the same
// schedules on real devices, report results for people and tools, catalog the known cases.
package fencesim
