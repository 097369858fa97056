package hwreplay

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

func conform(t *testing.T, q *ConformRequest) *Conformance {
	t.Helper()
	q.Runs, q.Hangs, q.Config.Patience = 20, 1, brisk
	c, err := Conform(t.Context(), q, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Conformance) machine(t *testing.T, name string) MachineVerdict {
	t.Helper()
	for _, m := range c.Machines {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no word on %s", name)
	return MachineVerdict{}
}

// Threads are within the model, refute the machines that they are not, and the machine
// file that comes out can be read.
func TestConformHost(t *testing.T) {
	c := conform(t, &ConformRequest{})
	if c.Outside != 0 {
		t.Errorf("%d of %d observations outside the model", c.Outside, c.Runs)
	}
	for _, row := range c.Tests {
		if row.Runs == 0 || !row.Released || row.Refused != "" {
			t.Errorf("%+v", row)
		}
	}
	if len(c.Litmus) != 16 || c.Litmus[0].Runs < 200 {
		t.Errorf("%+v", c.Litmus)
	}
	for name, refuted := range map[string]bool{"ideal": false, "lag-3": false, "unreliable-read": false,
		"overlap-untracked": true, "overlap-arrays": true, "exclusive-device": true, "queue-limit-12": true, "spin-limit": true, "watchdog-must": true} {
		if m := c.machine(t, name); m.Refuted != refuted || m.Refuted && m.By == "" {
			t.Errorf("%+v", m)
		}
	}
	b, err := json.Marshal(c.Machine)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.ParseMachine("machine.json", b)
	if err != nil || m.Name() != "ideal" {
		t.Errorf("the machine file %s gives %q, %v", b, m.Name(), err)
	}
	var text strings.Builder
	if err := c.Text(&text); err != nil || !strings.Contains(text.String(), "refuted by same-queue") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// A claim that is wrong is refuted: threads on which stores are made late are not ideal,
// and are what is imposed on them.
func TestConformRefutesWrongClaim(t *testing.T) {
	lag, _ := model.PresetNamed("lag-1")
	c := conform(t, &ConformRequest{Impose: &Machine{lag.Machine}, Claim: &Machine{}})
	if c.Outside == 0 || !c.machine(t, "ideal").Refuted || !c.machine(t, "lag-0").Refuted || c.machine(t, "lag-1").Refuted {
		t.Errorf("%d outside; ideal %+v, lag-0 %+v, lag-1 %+v", c.Outside, c.machine(t, "ideal"), c.machine(t, "lag-0"), c.machine(t, "lag-1"))
	}
	if c.Machine == nil || c.Machine.Machine.Name() != "lag-1" {
		t.Errorf("the machine file says %+v", c.Machine)
	}
	exclusive, _ := model.PresetNamed("exclusive-device")
	if c := conform(t, &ConformRequest{Claim: &Machine{exclusive.Machine}}); c.Outside == 0 {
		t.Error("threads were taken for an exclusive device")
	}
}

// The corpus is written for what it tells apart: for every preset that is not weaker than
// ideal there is a test whose outcomes differ from ideal's.
func TestCorpusTellsMachinesApart(t *testing.T) {
	for _, p := range model.Presets {
		if p.Name == "ideal" || p.Name == "overlap-tracked" {
			continue
		}
		differs := false
		for _, c := range mustCorpus() {
			a, wholeA := outcomes(NewPlan(c.programs, c.on(model.Machine{})).System)
			b, wholeB := outcomes(NewPlan(c.programs, c.on(p.Machine)).System)
			if !wholeA || !wholeB {
				continue // too many states to know
			}
			for o := range b {
				differs = differs || !a[o]
			}
			for o := range a {
				differs = differs || !b[o]
			}
		}
		if !differs {
			t.Errorf("the corpus cannot tell %s from ideal", p.Name)
		}
	}
}

func TestMeasureHost(t *testing.T) {
	m, err := Measure(t.Context(), &MeasureRequest{Rounds: 20, Reductions: 6, Ranks: 2, Repeat: 1, Kernel: 1, Collective: 1}, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if m.Handoff.Count != 19 || m.Handoff.Median <= 0 || len(m.Makespan) != 2 || m.Ratio <= 0 || m.Makespan[0].Discipline != "count" {
		t.Errorf("%+v", m)
	}
}
