package model

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Parse reads a scenario file, YAML or JSON, and validates it. file is its name in
// messages. The error is an *Error: the first fault in the file. Time and memory are
// bounded for every input: see the limits of [Scenario].
func Parse(file string, src []byte) (*Scenario, error) {
	root, err := readTree(file, src)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, &Error{file, 1, 1, `missing key "fencesim": the document is empty`}
	}
	d := &decoder{file: file}
	d.version(root, true)
	s := new(Scenario)
	d.value(root, reflect.ValueOf(s).Elem())
	if d.err != nil {
		return nil, d.err
	}
	c := &checker{file: file, root: root}
	s.check(c)
	if c.first != nil {
		return nil, c.first
	}
	s.Freeze()
	return s, nil
}

// UnmarshalJSON is [Parse], for scenarios inside traces and results.
func (s *Scenario) UnmarshalJSON(b []byte) error {
	p, err := Parse("", b)
	if err == nil {
		*s = *p
	}
	return err
}

// version refuses another version of the format before any of its keys is looked at.
func (d *decoder) version(root *yaml.Node, required bool) {
	if !d.is(root, yaml.MappingNode, "a mapping") {
		return
	}
	v := valueAt(root, "fencesim")
	switch {
	case v == nil && required:
		d.fail(root, "missing key %q: want fencesim: %d", "fencesim", FormatVersion)
	case v != nil && d.integer(v, -1<<63, 1<<63-1) != FormatVersion:
		d.fail(v, "version %s of the format: want %d", shorten(v.Value), FormatVersion)
	}
}

// machineFile is a machine with what may stand around it in a file of its own.
type machineFile struct {
	Version int     `json:"fencesim,omitempty"`
	Name    string  `json:"name,omitempty"`
	About   string  `json:"about,omitempty"`
	Machine Machine `json:"machine"`
}

// ParseMachine reads a machine: the name of a preset, a mapping of parameters that may
// name a `preset` to override, or such a mapping under the key `machine`, beside which
// fencesim, name and about may stand. file is its name in messages. The error is an
// *Error. Parameters with their default value are zero in the result.
func ParseMachine(file string, src []byte) (Machine, error) {
	root, err := readTree(file, src)
	if err != nil {
		return Machine{}, err
	}
	if root == nil {
		return Machine{}, &Error{file, 1, 1, "want a machine: the document is empty"}
	}
	d := &decoder{file: file}
	if root.Kind == yaml.MappingNode && valueAt(root, "machine") != nil {
		var f machineFile
		d.version(root, false)
		d.value(root, reflect.ValueOf(&f).Elem())
		if d.err != nil {
			return Machine{}, d.err
		}
		return f.Machine, nil
	}
	var m Machine
	d.value(root, reflect.ValueOf(&m).Elem())
	if d.err != nil {
		return Machine{}, d.err
	}
	return m, nil
}

// UnmarshalJSON is [ParseMachine], for machines inside traces and results.
func (m *Machine) UnmarshalJSON(b []byte) error {
	p, err := ParseMachine("", b)
	if err == nil {
		*m = p
	}
	return err
}
