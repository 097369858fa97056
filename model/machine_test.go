package model

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestPresets: each preset is found by its name, differs from the others, and reads back
// from what it prints.
func TestPresets(t *testing.T) {
	seen := make(map[Machine]string)
	for _, p := range Presets {
		if other, twice := seen[p.Machine.Normal()]; twice {
			t.Errorf("%s equals %s", p.Name, other)
		}
		seen[p.Machine.Normal()] = p.Name
		if got := p.Machine.Name(); got != p.Name {
			t.Errorf("%s is named %s", p.Name, got)
		}
		m, err := ParseMachine("m", []byte(p.Name))
		if err != nil || m != p.Machine.sparse() {
			t.Errorf("%s: %+v, %v", p.Name, m, err)
		}
	}
}

func TestMachineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMachine(t)
		j, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseMachine("m.json", j)
		if err != nil || back != m {
			t.Fatalf("%+v, %v\n%s", back, err, j)
		}
		var direct Machine
		if err := json.Unmarshal(j, &direct); err != nil || direct != m {
			t.Fatalf("%+v, %v", direct, err)
		}
		if m.Normal().sparse() != m || m.sparse().Normal() != m.Normal() {
			t.Fatalf("Normal and sparse are no inverses for %+v", m)
		}
	})
}

// TestMachineOverrides: a default written beside a preset undoes what the preset sets.
func TestMachineOverrides(t *testing.T) {
	m, err := ParseMachine("m.yaml", []byte("slots: 0\nlook_ahead: 0\nbuffers: in-order\ntracking: all\npreset: overtake\n"))
	if err != nil || m != (Machine{}) {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestParameterTable: each row has exactly one accessor, a text and a source.
func TestParameterTable(t *testing.T) {
	for i := range Parameters {
		p := &Parameters[i]
		n := 0
		for _, set := range []bool{p.text != nil, p.number != nil, p.visibility != nil, p.transport != nil} {
			if set {
				n++
			}
		}
		if n != 1 || p.Doc == "" || p.Source == "" || ParameterNamed(p.Name) != p {
			t.Errorf("%+v", p)
		}
	}
}
