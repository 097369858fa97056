package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Memory is bounded by the values of a file, counted before they are built, and by those
// that aliases stand for.
const (
	maxValues  = 16 << 20
	maxAliased = 4 << 20
)

// readTree turns the text of one document into a tree of nodes, aliases left unexpanded.
// The tree of an empty document is nil.
func readTree(file string, src []byte) (root *yaml.Node, err error) {
	src = bytes.TrimPrefix(src, []byte("\ufeff")) // the mark that some editors put before UTF-8
	if err := checkText(file, src); err != nil {
		return nil, err
	}
	text := src
	if isJSON(src) {
		text = escapeJSON(src)
	}
	first, second, err := documents(text)
	switch {
	case err != nil:
		return nil, syntaxError(file, src, text, err)
	case second != nil:
		return nil, &Error{file, max(1, second.Line), max(1, second.Column), "a second document: want one document"}
	case first == nil || len(first.Content) == 0:
		return nil, nil
	}
	return first.Content[0], nil
}

// documents reads the first document of a text and the second; nil for none.
func documents(text []byte) (first, second *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // a fault of the library must not end the caller
			first, second, err = nil, nil, fmt.Errorf("%v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(text))
	for _, to := range []**yaml.Node{&first, &second} {
		n := new(yaml.Node)
		switch err := d.Decode(n); {
		case errors.Is(err, io.EOF):
			return first, second, nil
		case err != nil:
			return nil, nil, err
		}
		*to = n
	}
	return first, second, nil
}

// checkText refuses what is too long, not UTF-8, holds control characters or would make
// too many values.
func checkText(file string, src []byte) error {
	if len(src) > MaxFileBytes {
		return &Error{file, 1, 1, fmt.Sprintf("the file is longer than %d bytes", MaxFileBytes)}
	}
	at := func(offset int, format string, args ...any) error {
		line, col := position(src, offset)
		return &Error{file, line, col, fmt.Sprintf(format, args...)}
	}
	values, json := 0, isJSON(src)
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && size == 1 {
				return at(i, "byte 0x%02x is not UTF-8", c)
			}
			if unprintable(r) && !json {
				return at(i, "control character %U", r)
			}
			i += size
			continue
		case c == 0x7f && json:
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f:
			return at(i, "control character %U", c)
		case c == ',' || c == '\n' || c == ':' || c == '[' || c == '{':
			if values++; values > maxValues {
				return at(i, "more than %d values in one file", maxValues)
			}
		}
		i++
	}
	return nil
}

// Position is the line and column, both from 1 and in characters, of a byte of src.
func Position(src []byte, offset int) (line, col int) {
	return position(src, min(max(0, offset), len(src)))
}

// position is the line and column, both from 1, of a byte of src.
func position(src []byte, offset int) (line, col int) {
	before := src[:offset]
	line = 1 + bytes.Count(before, []byte{'\n'})
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// escapes finds the escapes of JSON one by one, a pair of surrogates as one.
var escapes = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// isJSON guesses that a file is JSON, from how it begins.
func isJSON(src []byte) bool {
	s := bytes.TrimLeft(src, " \t\r\n")
	return len(s) > 0 && s[0] == '{'
}

// spaceJSON moves, on a copy, what JSON lets stand where YAML does not: tabs outside of
// strings become spaces, and a colon that follows the line end behind its key goes before it.
// Lines and their lengths stay as they are, but for such a colon.
func spaceJSON(src []byte) []byte {
	if !bytes.ContainsAny(src, "\t\r\n") {
		return src
	}
	out := bytes.Clone(src)
	quoted := false
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; quoted {
				continue
			}
			space := out[i+1:]
			space = space[:len(space)-len(bytes.TrimLeft(space, " \t\r\n"))]
			if end := i + 1 + len(space); end < len(out) && out[end] == ':' && bytes.ContainsAny(space, "\r\n") {
				copy(out[i+2:], space)
				out[i+1] = ':'
			}
		case c == '\t' && !quoted:
			out[i] = ' '
		}
	}
	return out
}

// escapeJSON rewrites what JSON allows and YAML reads otherwise: the escapes of
// the slash and of surrogate pairs, and characters that YAML forbids or takes for line ends.
func escapeJSON(src []byte) []byte {
	src = spaceJSON(src)
	if bytes.IndexByte(src, '\\') >= 0 {
		src = escapes.ReplaceAllFunc(src, func(e []byte) []byte {
			switch {
			case len(e) == 12:
				high, _ := strconv.ParseUint(string(e[2:6]), 16, 32)
				low, _ := strconv.ParseUint(string(e[8:12]), 16, 32)
				return fmt.Appendf(nil, `\U%08x`, 0x10000+(high-0xd800)<<10+(low-0xdc00))
			case e[1] == '/':
				return e[1:]
			}
			return e
		})
	}
	var out []byte
	from := 0
	for i := 0; i < len(src); {
		if c := src[i]; c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(src[i:])
		if unprintable(r) || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			out = append(append(out, src[from:i]...), fmt.Sprintf(`\u%04x`, r)...)
			from = i + size
		}
		i += size
	}
	if out == nil {
		return src
	}
	return append(out, src[from:]...)
}

// unprintable reports whether YAML refuses a character beyond the space.
func unprintable(r rune) bool {
	return r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff
}
