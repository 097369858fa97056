package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// MarshalJSON writes a mapping in its own order.
func (m Map[T]) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range m {
		if i > 0 {
			b = append(b, ',')
		}
		k, err := json.Marshal(m[i].Name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(m[i].Value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, k...), ':'), v...)
	}
	return append(b, '}'), nil
}

// MarshalJSON writes a list of commands, or a mapping if there is a completion handler.
func (b BufferFile) MarshalJSON() ([]byte, error) {
	if len(b.OnFinish) == 0 {
		if b.Commands == nil {
			return []byte("[]"), nil
		}
		return json.Marshal(b.Commands)
	}
	type plain BufferFile
	return json.Marshal(plain(b))
}

// MarshalJSON writes every argument that the kind needs, also those that are zero.
func (g Generate) MarshalJSON() ([]byte, error) {
	type plain Generate
	all := struct {
		Kind       string  `json:"kind"`
		Reductions *int    `json:"reductions,omitempty"`
		Rounds     *int    `json:"rounds,omitempty"`
		Elems      *int64  `json:"elems,omitempty"`
		Seed       *uint64 `json:"seed,omitempty"`
		Size       *int    `json:"size,omitempty"`
	}{Kind: g.Kind}
	k, ok := KindNamed(g.Kind)
	if !ok {
		return json.Marshal(plain(g))
	}
	needs := make(map[string]bool)
	for _, name := range k.Needs {
		needs[name] = true
	}
	if needs["reductions"] || g.Reductions != 0 {
		all.Reductions = &g.Reductions
	}
	if needs["rounds"] || g.Rounds != 0 {
		all.Rounds = &g.Rounds
	}
	if needs["elems"] || g.Elems != 0 {
		all.Elems = &g.Elems
	}
	if needs["seed"] || g.Seed != 0 {
		all.Seed = &g.Seed
	}
	if needs["size"] || g.Size != 0 {
		all.Size = &g.Size
	}
	return json.Marshal(all)
}

// Format writes the scenario as a YAML file that [Parse] reads back to an equal value.
func (s *Scenario) Format() ([]byte, error) {
	j, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	root, err := readTree("scenario", j)
	if err != nil {
		return nil, err
	}
	namePresets(root)
	block(root, 0)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// namePresets writes the name of a preset where a machine equals one.
func namePresets(root *yaml.Node) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		value := root.Content[i+1]
		switch root.Content[i].Value {
		case "machine":
			var m Machine
			m.decodeNode(new(decoder), value)
			if name := m.Name(); name != "" {
				*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
			}
		case "expect":
			for _, e := range value.Content {
				namePresets(e)
			}
		}
	}
}

// block turns the flow style of JSON into indented lines; lists and mappings without
// further ones inside stay on one line from the third level on.
func block(n *yaml.Node, depth int) {
	leaf := depth > 1
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			leaf = false
		}
	}
	n.Style = 0
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && !plainText(n.Value) {
		n.Style = yaml.DoubleQuotedStyle
	}
	if leaf && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		block(c, depth+1)
	}
}

// plainText reports whether text may stand without quotes, or as an indented block: lines
// that neither begin nor end with a space, without control characters.
func plainText(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if line != strings.TrimSpace(line) || line == "" && s != "" {
			return false
		}
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}
