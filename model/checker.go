package model

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A checker collects the faults that validation finds and keeps the first in file order.
// A place is a path of keys and indexes; the tree, if there is one, turns it into a line.
type checker struct {
	file  string
	root  *yaml.Node // nil for a scenario built by hand
	first *Error
	count int
}

// maxFaults bounds the faults looked up in one validation.
const maxFaults = 64

// full reports whether enough faults were found to stop.
func (c *checker) full() bool { return c.count >= maxFaults }

// fail notes a fault in the value at the path, or in its deepest part that exists.
func (c *checker) fail(path []any, format string, args ...any) {
	c.failIn(path, -1, format, args...)
}

// failIn is fail for a fault at a byte offset of a text; -1 means the whole value.
func (c *checker) failIn(path []any, offset int, format string, args ...any) {
	if c.count++; c.count > maxFaults {
		return
	}
	e := newError(c.file, 0, 0, format, args...)
	if c.root == nil {
		if c.first == nil {
			if len(path) > 0 {
				e.Msg = pathText(path) + ": " + e.Msg
			}
			c.first = e
		}
		return
	}
	n := c.find(path)
	e.Line, e.Col = n.Line, n.Column
	if offset >= 0 && n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		e.Col += len([]rune(n.Value[:min(offset, len(n.Value))]))
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			e.Col++
		}
	}
	if c.first == nil || e.Line < c.first.Line || e.Line == c.first.Line && e.Col < c.first.Col {
		c.first = e
	}
}

// find walks the path as far as it goes. A key that is a name of a path's end and carries
// the mark keyOf stands for the key itself.
func (c *checker) find(path []any) *yaml.Node {
	n := c.root
	for _, p := range path {
		var next *yaml.Node
		switch p := p.(type) {
		case string:
			if n.Kind == yaml.MappingNode {
				next = valueAt(n, p)
			} else if n.Kind == yaml.SequenceNode && p == "commands" {
				next = n // a buffer written as a list is its commands
			}
		case keyOf:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == string(p) {
					next = n.Content[i]
				}
			}
		case int:
			switch {
			case n.Kind == yaml.SequenceNode && p < len(n.Content):
				next = n.Content[p]
			case n.Kind == yaml.MappingNode:
				next = valueAt(n, fmt.Sprint(p))
			}
		}
		if next == nil {
			return n
		}
		if next.Kind == yaml.AliasNode {
			next = next.Alias
		}
		n = next
	}
	return n
}

// has reports whether the file has a value at the path; false without a file.
func (c *checker) has(path ...any) bool {
	if c.root == nil {
		return false
	}
	n := c.root
	for _, p := range path {
		i, index := p.(int)
		switch {
		case index && n.Kind == yaml.SequenceNode && i < len(n.Content):
			n = n.Content[i]
		case n.Kind == yaml.MappingNode:
			n = valueAt(n, fmt.Sprint(p))
		default:
			return false
		}
		if n == nil {
			return false
		}
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
	}
	return true
}

// keyOf is a step of a path that leads to a key, not to its value.
type keyOf string

// pathText writes a path as "schedule.queues[0].name".
func pathText(path []any) string {
	var b strings.Builder
	for i, p := range path {
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, p)
		}
	}
	return b.String()
}

// join is a path with more steps, in memory of its own.
func join(path []any, more ...any) []any {
	return append(append(make([]any, 0, len(path)+len(more)), path...), more...)
}
