package fencetest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// graphFamilies are the families whose discipline can be chosen.
const graphFamilies = "independent-reductions chained-reductions pipeline all-gather random graph"

// On the ideal machine count-based, per-update and event waits hang for no graph: every
// wait refers to earlier-encoded updates, and sends and receives match consistently.
func TestIdealMachineNeverHangs(t *testing.T) {
	laws(t, 150, graphFamilies, func(sc *model.Scenario) error {
		for _, d := range []model.Discipline{model.Count, model.PerUpdate, model.Event, model.EventCount} {
			if got, err := hangs(under(sc, d, model.Visibility{})); err != nil || got {
				return fmt.Errorf("%s on the ideal machine: hang %v (%v)", d, got, err)
			}
		}
		return nil
	})
}

// strengths are views of the GPU's stores, each weaker than the one before.
var strengths = []model.Visibility{{}, lag(0), lag(1), lag(2), lag(3), {Mode: model.VisUnreliable}}

// More lag, or unreliable instead of lag, never turns a hang into ok, whatever else the
// machine is.
func TestMoreLagNeverCures(t *testing.T) {
	laws(t, 60, "", func(sc *model.Scenario) error {
		hung := -1
		for i, v := range strengths {
			got, err := hangs(with(sc, func(c *model.Scenario) { c.Machine.GPUToCPU = v }))
			if err == errSkip {
				return err
			}
			if err != nil {
				return err
			}
			if got && hung < 0 {
				hung = i
			}
			if !got && hung >= 0 {
				return fmt.Errorf("hangs under %s and not under %s", strengths[hung], v)
			}
		}
		return nil
	})
}

// In the persistent fragment a later target never turns a hang into ok.
func TestLaterTargetNeverCures(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) *model.Scenario {
		sc := rapid.OneOf(PerUpdateSchedules(2), Schedules()).Draw(t, "schedule")
		waits := 0
		eachCommand(sc.Schedule, func(*string) { waits++ }, "wait")
		if waits > 0 {
			sc.Name = fmt.Sprint(between(t, "which wait", 0, waits-1)) // travels in the name
		}
		return sc
	})
	law(t, 800, gen, func(sc *model.Scenario) error {
		res, err := decide(sc, check.Config{})
		if err != nil {
			return err
		}
		if res.Proofs["hang"] != check.OneRun || res.Properties["hang"] != check.Violated {
			return errSkip // outside the fragment, or nothing to cure
		}
		later := with(sc, func(c *model.Scenario) { c.Schedule = cloneSchedule(sc.Schedule) })
		at := 0
		fmt.Sscan(sc.Name, &at)
		eachCommand(later.Schedule, func(text *string) {
			var fence string
			var n int
			if k, _ := fmt.Sscanf(*text, "wait %s %d", &fence, &n); k == 2 && at == 0 {
				*text = fmt.Sprintf("wait %s %d", fence, n+1)
			}
			at--
		}, "wait")
		got, err := hangs(later)
		if err != nil {
			return err
		}
		if !got {
			return fmt.Errorf("hangs, and not with one target that is one later:\n%s", text(later))
		}
		return nil
	})
}

func cloneSchedule(f *model.ScheduleFile) *model.ScheduleFile {
	c := *f
	c.Queues = slices.Clone(f.Queues)
	for i := range c.Queues {
		c.Queues[i].Buffers = slices.Clone(c.Queues[i].Buffers)
		for k := range c.Queues[i].Buffers {
			c.Queues[i].Buffers[k].Commands = slices.Clone(c.Queues[i].Buffers[k].Commands)
		}
	}
	c.Streams = slices.Clone(f.Streams)
	for i := range c.Streams {
		c.Streams[i].Tasks = slices.Clone(c.Streams[i].Tasks)
	}
	return &c
}

// eachCommand calls f on each command that begins with a word.
func eachCommand(s *model.ScheduleFile, f func(*string), word string) {
	all := func(list []string) {
		for i := range list {
			if len(list[i]) > len(word) && list[i][:len(word)+1] == word+" " {
				f(&list[i])
			}
		}
	}
	for i := range s.Queues {
		for k := range s.Queues[i].Buffers {
			all(s.Queues[i].Buffers[k].Commands)
		}
	}
	for i := range s.Streams {
		all(s.Streams[i].Tasks)
	}
}

// More ranks with the same schedule never turn a hang into ok, and where ranks meet only
// in one sequence of collectives they change nothing.
func TestMoreRanksNeverCure(t *testing.T) {
	laws(t, 60, "independent-reductions chained-reductions all-gather random graph schedule", func(sc *model.Scenario) error {
		hung := 0
		for ranks := 1; ranks <= 3; ranks++ {
			got, err := hangs(with(sc, func(c *model.Scenario) { c.Ranks = ranks }))
			if err == errSkip && ranks == 3 {
				return nil // two were enough for the bound
			}
			if err != nil {
				return err
			}
			if got && hung == 0 {
				hung = ranks
			}
			if !got && hung > 0 {
				return fmt.Errorf("hangs with %d ranks and not with %d", hung, ranks)
			}
		}
		return nil
	})
}

// Ranks whose reductions come in different orders meet under different names, on every
// machine, and ranks that agree never do.
func TestOrderMismatchIsSeen(t *testing.T) {
	const rank1 = `
rank_schedules:
  1: {inputs: [a, b], streams: [{name: cpu, tasks: ["collective rb reads b", "collective ra reads a"]}]}
`
	const both = `
fencesim: 1
ranks: 2
schedule: {inputs: [a, b], streams: [{name: cpu, tasks: ["collective ra reads a", "collective rb reads b"]}]}
`
	for _, p := range model.Presets {
		for text, want := range map[string]check.Status{both: check.Holds, both + rank1: check.Violated} {
			sc := with(Parse(t, text), func(c *model.Scenario) { c.Machine = p.Machine })
			res, err := decide(sc, check.Config{All: true})
			if err != nil || res.Properties["order-mismatch"] != want {
				t.Errorf("%s: %s (%v), want %s", p.Name, res.Properties["order-mismatch"], err, want)
			}
		}
	}
}
