package check

import (
	"time"
)

// Config is how [Explore] works. The zero value decides a scenario by the best method,
// stops at the first hang, and has no bound but memory.
type Config struct {
	Strategy  string // "" or auto, dfs, random, pct, pos, uniform
	Seed      uint64
	Runs      int64         // sampling: how many runs (0: 10,000)
	MaxStates int64         // 0: no bound
	Time      time.Duration // 0: no bound
	Memory    int64         // bytes for visited states; 0: half of the machine's
	Workers   int           // 0: one per core
	All       bool          // go on past the first hang: all stuck states
	Exact     bool          // keep whole states in the visited set, not hashes
	NoShrink  bool
	NoAdvice  bool // leave Advice empty
	// Reductions names the reductions in force; nil means all of [Reductions], an empty
	// list none.
	Reductions []string
	Depth      int // pct: depth of the bugs looked for (0: 3)

	whole bool // tests: no product of ranks

	Progress func(Progress) // called now and then while searching, from one goroutine
}

// A Progress is how far a search has come.
type Progress struct {
	States, Transitions, Runs int64
	Frontier                  int64
	Elapsed                   time.Duration
}

// Reductions lists every reduction by name, with what it leaves out.
var Reductions = []struct{ Name, Doc string }{
	{"merge", "commit, start and finish of buffers and the handing over of tasks are taken at once where nothing observes them"},
	{"ranks", "ranks that meet only in collectives of one stream are decided one by one"},
	{"persistent", "a guaranteed transition that commutes with all that others may do is taken alone, and so are the steps of a rank that is inside no collective"},
	{"sleep", "where persistent is off and ranks meet only in collectives: steps of different ranks that follow each other are taken in one order only"},
	{"symmetry", "states that differ by a permutation of identical ranks are one"},
	{"slice", "only the updates that the slack certificate leaves open are tracked"},
}

// reduces reports whether a reduction is in force.
func (c *Config) reduces(name string) bool {
	if c.Reductions == nil {
		return true
	}
	for _, r := range c.Reductions {
		if r == name {
			return true
		}
	}
	return false
}

// memory is the bound on visited states in bytes: what is asked for, or half of the
// machine's memory, or 4 GiB where that is not known.
func (c *Config) memory() int64 {
	if c.Memory > 0 {
		return c.Memory
	}
	if n := machineMemory(); n > 0 {
		return n / 2
	}
	return 4 << 30
}
