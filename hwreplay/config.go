package hwreplay

import (
	"time"

	"github.com/fencesim/fencesim/model"
)

// Config is how a run is made. The zero value is the default.
type Config struct {
	Patience time.Duration `json:"patience,omitempty"` // without progress, a hang; 0: 2 s
	Quiet    time.Duration `json:"quiet,omitempty"`    // without progress, an idle queue counts as idle; 0: 20 ms
	Kernel   time.Duration `json:"kernel,omitempty"`   // how long a kernel computes; 0: not at all
	Rounds   time.Duration `json:"rounds,omitempty"`   // how long a collective takes on the CPU once all have met
	Gap      time.Duration `json:"gap,omitempty"`      // between the halves of a guarded store
	GiveUp   time.Duration `json:"give_up,omitempty"`  // spin limit: when a wait gives up; 0: 20 ms
	Kill     time.Duration `json:"kill,omitempty"`     // watchdog: for how long a wait spins before its buffer is killed; 0: 100 ms
	Stagger  time.Duration `json:"stagger,omitempty"`  // at most so long, drawn, before a buffer's first command
	Spin     bool          `json:"spin,omitempty"`     // CPU waits never sleep: needs a core for each thread
	Seed     uint64        `json:"seed,omitempty"`     // of what is drawn: when unordered stores arrive, the stagger

	stall func() // in tests: between what a thread does and the note that it has
}

func (c Config) normal() Config {
	fill := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	fill(&c.Patience, 2*time.Second)
	fill(&c.Quiet, min(20*time.Millisecond, c.Patience/4))
	fill(&c.GiveUp, 20*time.Millisecond)
	fill(&c.Kill, min(100*time.Millisecond, c.Patience/4))
	return c
}

// kernel is for how long a kernel computes.
func (c *Config) kernel(*model.Command) time.Duration { return c.Kernel }
