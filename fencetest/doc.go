// Package fencetest checks fence schedules from a user's own `go test`.
//
// [Check] decides a scenario on every machine that the test names and fails it where a
// property is violated; [AssertHang] is its opposite. [Property] draws scenarios from a
// rapid generator and shrinks what fails; [Fuzz] turns the same into a native fuzz target.
// [Scenarios], [Graphs] and their like are generators to start from.
//
//	func TestEncoder(t *testing.T) {
//		fencetest.Check(t, fencetest.Load(t, "encoder.yaml"), "lag-0", "lag-3")
//	}
//
// A failure says what hangs and why, and ends with the command that replays it. The case
// is kept as two files in testdata/fencesim/TEST: the scenario, shrunk, to be read and
// edited, and its run, a trace. What is kept there is tried first by the next run of the
// test, as rapid does with its fail files; commit the files, and delete those that do not
// fail any longer.
//
// Three flags of `go test` change all calls: -fencesim.seed draws the same cases again (a
// failure names it), -fencesim.runs says how many cases [Property] draws, and
// -fencesim.machine names the machines to check instead of those of the test. The
// environment variables FENCESIM_SEED, FENCESIM_RUNS and FENCESIM_MACHINE set them where
// some packages do not have the flags.
//
// Inside of rapid.Check a *rapid.T serves as [TB]; shrinking and fail files are then
// rapid's.
package fencetest
