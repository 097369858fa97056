package model

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (m *Map[T]) decodeNode(d *decoder, n *yaml.Node) {
	*m = make(Map[T], 0, len(n.Content)/2)
	d.entries(n, func(key, value *yaml.Node) {
		*m = append(*m, Entry[T]{Name: key.Value})
		d.value(value, reflect.ValueOf(&(*m)[len(*m)-1].Value).Elem())
	})
}

func (d *Discipline) decodeNode(dec *decoder, n *yaml.Node) {
	word := dec.text(n)
	if dec.err != nil {
		return
	}
	v, err := ParseDiscipline(shorten(word))
	if err != nil {
		dec.fail(n, "%s", err)
		return
	}
	*d = v
}

// decodeNode reads a buffer: a list of commands, or a mapping with commands and a
// completion handler.
func (b *BufferFile) decodeNode(d *decoder, n *yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		d.value(n, reflect.ValueOf(&b.Commands).Elem())
		if len(b.Commands) == 0 {
			b.Commands = nil
		}
	case yaml.MappingNode:
		d.structure(n, reflect.ValueOf(b).Elem())
	default:
		d.fail(n, "want a list of commands or a mapping, found %s", found(n))
	}
}

// decodeNode reads the rule that makes a graph: its kind says which arguments it needs
// and which more it takes.
func (g *Generate) decodeNode(d *decoder, n *yaml.Node) {
	d.structure(n, reflect.ValueOf(g).Elem())
	if d.err != nil {
		return
	}
	k, ok := KindNamed(g.Kind)
	if !ok {
		return // validation says so, with the legal ones
	}
	has := func(name string) bool { return valueAt(n, name) != nil }
	for _, name := range k.Needs {
		if !has(name) {
			d.fail(n, "missing key %q: kind %s needs %s", name, k.Name, strings.Join(k.Needs, ", "))
		}
	}
	d.entries(n, func(key, _ *yaml.Node) {
		if key.Value != "kind" && !slices.Contains(k.Needs, key.Value) && !slices.Contains(k.Takes, key.Value) {
			d.fail(key, "kind %s has no use for %q", k.Name, key.Value)
		}
	})
}

// evaluatorKeys would fill an evaluator without a decoder of its own.
type evaluatorKeys Evaluator

// decodeNode reads the limits; each that is present is at least 1.
func (e *Evaluator) decodeNode(d *decoder, n *yaml.Node) {
	d.structure(n, reflect.ValueOf((*evaluatorKeys)(e)).Elem())
	d.entries(n, func(_, value *yaml.Node) { d.count(value, 1) })
}

// count reads a number of things, at least low.
func (d *decoder) count(n *yaml.Node, low int64) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return int(d.integer(n, low, math.MaxInt32))
}

// decodeNode reads a machine: the name of a preset, or a mapping of parameters, with
// `preset` as what they override. Values that are defaults are stored as zero.
func (m *Machine) decodeNode(d *decoder, n *yaml.Node) {
	*m = Machine{}
	switch n.Kind {
	case yaml.ScalarNode:
		*m = d.preset(n)
	case yaml.MappingNode:
		d.entries(n, func(key, value *yaml.Node) {
			if key.Value == "preset" {
				*m = d.preset(value)
			}
		})
		d.entries(n, func(key, value *yaml.Node) {
			if value.Kind == yaml.AliasNode {
				value = value.Alias
			}
			if key.Value != "preset" {
				d.parameter(m, key, value)
			}
		})
	default:
		d.fail(n, "want the name of a preset or a mapping, found %s", found(n))
	}
	*m = m.sparse()
}

func (d *decoder) preset(n *yaml.Node) Machine {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	name := d.text(n)
	if d.err != nil {
		return Machine{}
	}
	p, ok := PresetNamed(name)
	if !ok {
		var names []string
		for _, p := range Presets {
			names = append(names, p.Name)
		}
		d.fail(n, "unknown machine preset %q: want one of %s", shorten(name), strings.Join(names, ", "))
	}
	return p.Machine
}

// parameter sets the parameter of m that key names.
func (d *decoder) parameter(m *Machine, key, value *yaml.Node) {
	p := ParameterNamed(key.Value)
	if p == nil {
		legal := []string{"preset"}
		for i := range Parameters {
			legal = append(legal, Parameters[i].Name)
		}
		d.unknown(key, legal)
		return
	}
	switch {
	case p.text != nil:
		word := d.text(value)
		d.oneOf(value, word, p.Values)
		*p.text(m) = word
	case p.number != nil:
		*p.number(m) = d.count(value, 0)
	case p.visibility != nil:
		*p.visibility(m) = d.visibility(value, p.Values)
	default:
		*p.transport(m) = d.transport(value)
	}
}

// visibility reads a mode as a word, lag-n, or a mapping with mode and buffers.
func (d *decoder) visibility(n *yaml.Node, legal []string) Visibility {
	var v Visibility
	buffers := false
	mode := n
	switch n.Kind {
	case yaml.MappingNode:
		d.structure(n, reflect.ValueOf(&v).Elem())
		mode = valueAt(n, "mode")
		buffers = valueAt(n, "buffers") != nil
	case yaml.ScalarNode:
		v.Mode = d.text(n)
		if after, ok := strings.CutPrefix(v.Mode, VisLag+"-"); ok {
			if k, err := strconv.ParseUint(after, 10, 31); err == nil {
				v, buffers = Visibility{VisLag, int(k)}, true
			}
		}
	default:
		d.fail(n, "want a mode or a mapping, found %s", found(n))
	}
	if d.err != nil {
		return Visibility{}
	}
	known := v.Mode == VisLag && slices.ContainsFunc(legal, func(s string) bool { return strings.Contains(s, VisLag) })
	if !known {
		d.oneOf(mode, v.Mode, legal)
	}
	switch {
	case v.Mode == VisLag && !buffers:
		d.fail(n, "missing key %q: mode lag needs a number of buffers", "buffers")
	case v.Mode != VisLag && buffers:
		d.fail(valueAt(n, "buffers"), "mode %s has no use for %q", v.Mode, "buffers")
	case v.Buffers < 0 || v.Buffers > math.MaxInt32:
		d.fail(valueAt(n, "buffers"), "%d is outside 0 to %d", v.Buffers, math.MaxInt32)
	}
	return v
}

// transport reads rendezvous or a mapping with buffered.
func (d *decoder) transport(n *yaml.Node) Transport {
	var t Transport
	switch n.Kind {
	case yaml.MappingNode:
		d.structure(n, reflect.ValueOf(&t).Elem())
		if d.err == nil {
			t.Buffered = d.count(valueAt(n, "buffered"), 0)
		}
	case yaml.ScalarNode:
		word := d.text(n)
		d.oneOf(n, word, []string{TransportRendezvous, "{buffered: n}"})
	default:
		d.fail(n, "want rendezvous or {buffered: n}, found %s", found(n))
	}
	return t
}

// sparse is m with every default as the zero value: the counterpart of Normal.
func (m Machine) sparse() Machine {
	m = m.Normal()
	for i := range Parameters {
		p := &Parameters[i]
		switch {
		case p.text != nil:
			if v := p.text(&m); *v == p.Values[0] {
				*v = ""
			}
		case p.visibility != nil:
			if v := p.visibility(&m); v.Mode == VisImmediate {
				v.Mode = ""
			}
		}
	}
	return m
}

// valueAt is the value of a key of a mapping, aliases followed; nil if it has none.
func valueAt(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Value == key {
			v := n.Content[i+1]
			if v.Kind == yaml.AliasNode {
				v = v.Alias
			}
			return v
		}
	}
	return nil
}
