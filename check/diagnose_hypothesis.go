package check

import "github.com/fencesim/fencesim/model"

// A Hypothesis is one explanation of hangs: what it says, and the machines on which it is
// tried.
type Hypothesis struct {
	Name  string
	About string
	Rows  []HypothesisRow
}

// A HypothesisRow is a machine, with what is changed beside it.
type HypothesisRow struct {
	Machine string // in results: a preset or words
	machine model.Machine
	twist   twist
}

// twist is what a hypothesis changes in the programs.
type twist uint8

const (
	noTwist  twist = iota
	absent         // peers never arrive at a collective
	foreign        // a kernel of another process spins, and holds a slot from the start
	recycled       // a counter starts with a value of an earlier use
)

func rowsOf(names ...string) []HypothesisRow {
	var rows []HypothesisRow
	for _, n := range names {
		p, _ := model.PresetNamed(n)
		rows = append(rows, HypothesisRow{Machine: n, machine: p.Machine})
	}
	return rows
}

// Hypotheses is the table of explanations. The one-letter names are those under which the
// reported stall was discussed; E1, E4 and E9 are assumptions about machines that were held
// responsible for other reports.
var Hypotheses = []Hypothesis{
	{"S", "a spinning buffer overtakes the updates before it and holds the only slot", rowsOf("overtake")},
	{"V1", "the CPU is sure to see a GPU store only when its buffer has finished", rowsOf("lag-0")},
	{"V2", "the CPU is sure to see a GPU store only when several later buffers have finished", rowsOf("lag-1", "lag-2", "lag-3", "lag-4", "lag-5")},
	{"R", "plain stores reach the CPU in another order: an older value lands last", rowsOf("unordered")},
	{"C", "the CPU re-reads a stale line: nothing makes it see a GPU store", rowsOf("unreliable-read")},
	{"K", "a command buffer was killed or dropped", append(rowsOf("kill-any"),
		HypothesisRow{Machine: "kill-any, then ignored", machine: model.Machine{Watchdog: model.WatchdogAny, AfterKill: model.Ignore}})},
	{"W", "an orphaned kernel of an earlier process spins and holds the device from the start", []HypothesisRow{{Machine: "one-slot, taken", machine: model.Machine{Slots: 1}, twist: foreign}}},
	{"P", "the peers are late or dead: a collective waits for them", []HypothesisRow{{Machine: "ideal, no peers", twist: absent}}},
	{"L", "the waits form a cycle by themselves", rowsOf("ideal")},
	{"Z", "a counter is used again and starts with an old value", []HypothesisRow{{Machine: "ideal, old value", twist: recycled}}},
	{"E1", "the device runs one command buffer at a time", rowsOf("exclusive-device")},
	{"E4", "a queue takes twelve unfinished buffers, then commit blocks", rowsOf("queue-limit-12")},
	{"E9", "nothing makes a running kernel see a CPU store", rowsOf("unreliable-write")},
}
