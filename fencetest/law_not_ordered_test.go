package fencetest

import (
	"fmt"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// Slots, look-ahead, in-flight limit and store rule are not ordered: for each two values
// there is a schedule that is right under the first and wrong under the second, and one
// the other way round. A report must not say "safe from here on" of any of them.
func TestNotOrdered(t *testing.T) {
	slots := func(n int) model.Machine { return model.Machine{Slots: n} }
	ahead := func(n int) model.Machine {
		return model.Machine{Buffers: model.Overlap, Tracking: model.TrackNone, LookAhead: n, GPUToCPU: lag(0)}
	}
	flight := func(n int) model.Machine {
		return model.Machine{Buffers: model.Overlap, Tracking: model.TrackNone, InFlight: n, GPUToCPU: lag(0)}
	}
	store := func(rule string) model.Machine { return model.Machine{Store: rule} }
	overtaken := func(rule string) model.Machine {
		return model.Machine{Buffers: model.Overlap, Tracking: model.TrackNone, Store: rule}
	}
	// The second buffer's update is lost if the first, which overwrites it, runs behind it.
	const overwritten = `
  queues: [{name: gpu, buffers: [["reset G 0"], ["update G 1"]]}]
  streams: [{name: cpu, tasks: ["wait G 1"]}]`
	// The first buffer waits for what the second starts.
	const backwards = `
  queues: [{name: gpu, buffers: [["wait C 1"], ["update G 1"]]}]
  streams: [{name: cpu, tasks: ["wait G 1", "update C 1"]}]`
	// A wait for a value that a later store overwrites, which only a plain store does.
	const falling = `
  queues: [{name: gpu, buffers: [["update G 2"], ["update G 1"]]}]
  streams: [{name: cpu, tasks: ["wait G == 1"]}]`
	// Two updates that overtake each other.
	const overtaking = `
  queues: [{name: gpu, buffers: [["update G 1"], ["update G 2"]]}]
  streams: [{name: cpu, tasks: ["wait G 2"]}]`

	for _, c := range []struct {
		name     string
		schedule string
		right    model.Machine
		wrong    model.Machine
		verdict  check.Verdict
	}{
		{"slots: 2 is right, 1 is wrong", `
  queues:
    - {name: gpu, buffers: [["wait C 1"]]}
    - {name: side, buffers: [["update S 1"]]}
  streams: [{name: cpu, tasks: ["wait S 1", "update C 1"]}]`, slots(2), slots(1), check.Hang},
		// Rank 1 tells rank 0 that it has left the reduction, and rank 0 uses the result: too
		// early, unless the reduction still holds the only slot.
		{"slots: 1 is right, 2 is wrong", `
  fences: {F: {}}
  queues:
    - {name: gpu, buffers: [["collective r"]]}
    - {name: side, buffers: [["await E 1", "kernel u reads r"]]}
  streams: [{name: cpu, tasks: ["wait F 1", "signal E 1"]}]
rank_schedules:
  1:
    queues: [{name: gpu, buffers: [["collective r", "update F@0 1"]]}]`, slots(1), slots(2), check.Violation},
		{"look_ahead: 1 is right, 2 is wrong", overwritten, ahead(1), ahead(2), check.Hang},
		{"look_ahead: 2 is right, 1 is wrong", backwards, ahead(2), ahead(1), check.Hang},
		{"in_flight: 1 is right, 2 is wrong", overwritten, flight(1), flight(2), check.Hang},
		{"in_flight: 2 is right, 1 is wrong", backwards, flight(2), flight(1), check.Hang},
		{"store: plain is right, max is wrong", falling, store(model.StorePlain), store(model.StoreMax), check.Hang},
		{"store: plain is right, guarded is wrong", falling, store(model.StorePlain), store(model.StoreGuarded), check.Hang},
		{"store: max is right, plain is wrong", overtaking, overtaken(model.StoreMax), overtaken(model.StorePlain), check.Hang},
		{"store: max is right, guarded is wrong", overtaking, overtaken(model.StoreMax), overtaken(model.StoreGuarded), check.Hang},
		// In order a guarded store keeps the larger value, whichever comes first.
		{"store: guarded is right, plain is wrong", `
  queues: [{name: gpu, buffers: [["update G 2", "update G 1"]]}]
  streams: [{name: cpu, tasks: ["wait G 2"]}]`, store(model.StoreGuarded), store(model.StorePlain), check.Hang},
	} {
		t.Run(c.name, func(t *testing.T) {
			ranks := "ranks: 1\n"
			if c.verdict == check.Violation {
				ranks = "ranks: 2\n"
			}
			sc := Parse(t, "fencesim: 1\nname: not-ordered\n"+ranks+"schedule:"+c.schedule+"\n")
			decided := func(m model.Machine) check.Verdict {
				res, err := decide(with(sc, func(s *model.Scenario) { s.Machine = m }), check.Config{All: true})
				if err != nil {
					t.Fatal(err)
				}
				if res.Verdict == check.Violation && res.Properties["stale-read"] != check.Violated {
					return check.OK // values fall on purpose in some
				}
				return res.Verdict
			}
			if got := decided(c.right); got != check.OK {
				t.Errorf("under the first: %s, want ok", got)
			}
			if got := decided(c.wrong); got != c.verdict {
				t.Errorf("under the second: %s, want %s", got, c.verdict)
			}
		})
	}
}

// As far as hangs go, fewer slots never cure: a wait that passes may take its slot just
// before, so that with one slot everything can happen that can with more.
func TestFewerSlotsNeverCure(t *testing.T) {
	laws(t, 80, "independent-reductions graph schedule", func(sc *model.Scenario) error {
		hung := 0
		for n := 3; n >= 1; n-- {
			got, err := hangs(with(sc, func(c *model.Scenario) { c.Ranks, c.Machine.Slots = 1, n }))
			if err != nil {
				return err
			}
			if got && hung == 0 {
				hung = n
			}
			if !got && hung > 0 {
				return fmt.Errorf("hangs with %d slots and not with %d", hung, n)
			}
		}
		return nil
	})
}
