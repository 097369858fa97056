package report

import (
	"html"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencesim/fencesim/model"
)

// prose is text of a file for people, its line ends kept and what does not show escaped.
func prose(s string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\t", " ").Replace(s), "\n")
	for i, l := range lines {
		lines[i] = model.Printable(l)
	}
	return strings.Join(lines, "\n")
}

// markup is text as it stands in XML and HTML, where control characters may not stand even
// by number.
func markup(s string) string { return html.EscapeString(model.Printable(s)) }

// Printable makes every text in what v points to printable: a result that was read from a
// file may have been written by anybody. Raw JSON is left, for it is parsed later.
func Printable(v any) { printable(reflect.ValueOf(v)) }

func printable(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(model.Printable(v.String()))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			printable(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				printable(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			printable(v.Index(i))
		}
	}
}

// jsonWriter escapes in JSON the characters that do not show, which encoding/json leaves
// from U+007F on: they stand in texts only.
type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(b []byte) (int, error) {
	var out []byte
	from := 0
	for i := 0; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if !unicode.IsPrint(r) {
			out = append(out, b[from:i]...)
			if r > 0xffff {
				high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
				out = append(appendEscape(out, high), appendEscape(nil, low)...)
			} else {
				out = appendEscape(out, r)
			}
			from = i + size
		}
		i += size
	}
	if out == nil {
		return j.w.Write(b)
	}
	if _, err := j.w.Write(append(out, b[from:]...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
