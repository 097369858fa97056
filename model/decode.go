package model

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A decoder fills Go values from a tree of nodes by their json tags: keys without
// omitempty or omitzero are required, unknown and repeated ones refused. It stops at the
// first fault. Depth is bounded by the types; values behind aliases are counted.
type decoder struct {
	file    string
	aliased int // values visited behind aliases
	inAlias int
	shapes  map[reflect.Type]shape
	err     *Error
}

// A nodeDecoder fills itself from a node, which is no alias.
type nodeDecoder interface {
	decodeNode(d *decoder, n *yaml.Node)
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	if d.err == nil {
		d.err = newError(d.file, n.Line, n.Column, format, args...)
	}
}

// value fills v from n.
func (d *decoder) value(n *yaml.Node, v reflect.Value) {
	d.field(n, v, false)
}

func (d *decoder) field(n *yaml.Node, v reflect.Value, number bool) {
	if n.Kind == yaml.AliasNode {
		d.inAlias++
		defer func() { d.inAlias-- }()
		n = n.Alias
	}
	if d.inAlias > 0 {
		if d.aliased++; d.aliased > maxAliased {
			d.fail(n, "aliases stand for more than %d values", maxAliased)
		}
	}
	if d.err != nil {
		return
	}
	if s, ok := v.Addr().Interface().(nodeDecoder); ok {
		s.decodeNode(d, n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem())
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Slice:
		d.list(n, v)
	case reflect.Map:
		d.numbered(n, v)
	case reflect.String:
		if number && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" {
			v.SetString(n.Value)
			return
		}
		v.SetString(d.text(n))
	case reflect.Bool:
		v.SetBool(d.boolean(n))
	case reflect.Int, reflect.Int64:
		v.SetInt(d.integer(n, math.MinInt64, math.MaxInt64))
	case reflect.Uint32:
		v.SetUint(uint64(d.integer(n, 0, math.MaxUint32)))
	case reflect.Uint64:
		v.SetUint(d.unsigned(n))
	default:
		d.fail(n, "no decoder for %s", v.Type())
	}
}

// found says what kind of value n is, for messages.
func found(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!str":
		return fmt.Sprintf("the text %q", shorten(n.Value))
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + shorten(n.Value)
	case "!!bool":
		return n.Value
	}
	return fmt.Sprintf("%q (%s)", shorten(n.Value), n.ShortTag())
}

// shorten cuts text that is too long for a message.
func shorten(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// is reports whether n has the kind, and fails if not.
func (d *decoder) is(n *yaml.Node, kind yaml.Kind, want string) bool {
	if n.Kind != kind {
		d.fail(n, "want %s, found %s", want, found(n))
	}
	return d.err == nil
}

func (d *decoder) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.fail(n, "want text, found %s", found(n))
		return ""
	}
	return n.Value
}

func (d *decoder) boolean(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		d.fail(n, "want true or false, found %s", found(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// integer reads a whole number in low to high.
func (d *decoder) integer(n *yaml.Node, low, high int64) int64 {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, "want a whole number, found %s", found(n))
		return 0
	}
	v, ok := decimal(n.Value)
	if !ok || n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.TaggedStyle) != 0 {
		tag := n.ShortTag()
		base := map[string]int{"0x": 16, "0o": 8}[n.Value[:min(2, len(n.Value))]]
		switch {
		case tag == "!!int" && ok:
		case tag == "!!int" && base > 0 && !strings.Contains(n.Value, "_"):
			var err error
			if v, err = strconv.ParseInt(n.Value[2:], base, 64); err != nil {
				d.fail(n, "%s does not fit 64 bits", shorten(n.Value))
				return 0
			}
		case (tag == "!!int" || tag == "!!float") && tooLarge(n.Value):
			d.fail(n, "%s does not fit 64 bits", shorten(n.Value))
			return 0
		case tag == "!!int":
			d.fail(n, "want a whole number in plain digits, found %s", shorten(n.Value))
			return 0
		default:
			d.fail(n, "want a whole number, found %s", found(n))
			return 0
		}
	}
	if v < low || v > high {
		d.fail(n, "%d is outside %d to %d", v, low, high)
		return 0
	}
	return v
}

func (d *decoder) unsigned(n *yaml.Node) uint64 {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && tooLarge(n.Value) {
		if v, err := strconv.ParseUint(n.Value, 10, 64); err == nil {
			return v
		}
	}
	return uint64(d.integer(n, 0, math.MaxInt64))
}

func (d *decoder) list(n *yaml.Node, v reflect.Value) {
	if !d.is(n, yaml.SequenceNode, "a list") {
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, out.Index(i))
		if d.err != nil {
			return
		}
	}
	v.Set(out)
}

// numbered fills a map whose keys are whole numbers.
func (d *decoder) numbered(n *yaml.Node, v reflect.Value) {
	if !d.is(n, yaml.MappingNode, "a mapping") {
		return
	}
	out := reflect.MakeMap(v.Type())
	for i := 0; i < len(n.Content); i += 2 {
		k := n.Content[i]
		number, ok := decimal(k.Value)
		if k.Kind != yaml.ScalarNode || !ok {
			d.fail(k, "key: want a whole number, found %s", found(k))
			return
		}
		key := reflect.ValueOf(int(number))
		if out.MapIndex(key).IsValid() {
			d.fail(k, "duplicate key %d", number)
			return
		}
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(n.Content[i+1], item)
		if d.err != nil {
			return
		}
		out.SetMapIndex(key, item)
	}
	v.Set(out)
}

// entries calls each for every key of a mapping with its value, in file order, and
// refuses keys that are no text or are repeated.
func (d *decoder) entries(n *yaml.Node, each func(key, value *yaml.Node)) {
	if !d.is(n, yaml.MappingNode, "a mapping") {
		return
	}
	var seen map[string]bool // built only for mappings too large to scan
	if len(n.Content) > 64 {
		seen = make(map[string]bool, len(n.Content)/2)
	}
	for i := 0; i < len(n.Content) && d.err == nil; i += 2 {
		k := n.Content[i]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			d.fail(k, "merge keys are not part of the format")
			return
		}
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!null" {
			d.fail(k, "key: want text, found %s", found(k))
			return
		}
		repeated := seen[k.Value]
		if seen != nil {
			seen[k.Value] = true
		} else {
			for j := 0; j < i; j += 2 {
				repeated = repeated || n.Content[j].Value == k.Value
			}
		}
		if repeated {
			d.fail(k, "duplicate key %q", shorten(k.Value))
			return
		}
		each(k, n.Content[i+1])
	}
}

// A shape is what the json tags of a struct say.
type shape struct {
	keys   []string
	fields []int
	needed []bool
	number []bool // text that may be written as a number
	none   []bool // an empty list means the same as none
}

func shapeOf(t reflect.Type) shape {
	var s shape
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		s.keys = append(s.keys, name)
		s.fields = append(s.fields, i)
		s.needed = append(s.needed, !strings.Contains(options, "omit"))
		s.none = append(s.none, strings.Contains(options, "omitempty"))
		s.number = append(s.number, t.Field(i).Tag.Get("file") == "number")
	}
	return s
}

// structure fills the fields of a struct from the keys of a mapping.
func (d *decoder) structure(n *yaml.Node, v reflect.Value) {
	s, ok := d.shapes[v.Type()]
	if !ok {
		s = shapeOf(v.Type())
		if d.shapes == nil {
			d.shapes = make(map[reflect.Type]shape)
		}
		d.shapes[v.Type()] = s
	}
	var present uint64
	d.entries(n, func(key, value *yaml.Node) {
		i := slices.Index(s.keys, key.Value)
		if i < 0 {
			d.unknown(key, s.keys)
			return
		}
		present |= 1 << i
		field := v.Field(s.fields[i])
		d.field(value, field, s.number[i])
		if s.none[i] && field.Kind() == reflect.Slice && field.Len() == 0 {
			field.SetZero()
		}
	})
	if d.err != nil {
		return
	}
	for i, key := range s.keys {
		if s.needed[i] && present&(1<<i) == 0 {
			d.fail(n, "missing key %q", key)
		}
	}
}

func (d *decoder) unknown(key *yaml.Node, legal []string) {
	d.fail(key, "unknown key %q: want one of %s", shorten(key.Value), strings.Join(legal, ", "))
}

// oneOf refuses a word that is not legal.
func (d *decoder) oneOf(n *yaml.Node, word string, legal []string) {
	if d.err == nil && !slices.Contains(legal, word) {
		d.fail(n, "%q is none of %s", shorten(word), strings.Join(legal, ", "))
	}
}
