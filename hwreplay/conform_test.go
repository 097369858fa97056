package hwreplay

import (
	"encoding/json"
	"testing"

	"github.com/fencesim/fencesim/model"
)

func TestConformHost(t *testing.T) {
	c, err := Conform(&ConformRequest{Runs: 100, Hangs: 2}, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range c.Tests {
		t.Logf("%+v", row)
	}
	for _, m := range c.Machines {
		t.Logf("%+v", m)
	}
	for _, m := range c.Litmus {
		t.Logf("%+v", m)
	}
	b, _ := json.Marshal(c.Machine)
	t.Logf("%s %d of %d outside, %.2f s", b, c.Outside, c.Runs, c.Elapsed)
	if _, err := model.ParseMachine("x", b); err != nil {
		t.Error(err)
	}
}

func TestMeasureHost(t *testing.T) {
	m, err := Measure(&MeasureRequest{}, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.MarshalIndent(m, "", " ")
	t.Logf("%s", b)
}
