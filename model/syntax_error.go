package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

var (
	atLine        = regexp.MustCompile(`^line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	// lineBefore are the messages of which the line counts from 0.
	lineBefore = regexp.MustCompile(`^did not find expected (<|node content|key|'-'|',')`)
	jsonObject = regexp.MustCompile(`^\s*\{\s*["}]`)
)

// syntaxError gives what the parser says of text a position in src, from which text was
// made.
func syntaxError(file string, src, text []byte, err error) error {
	if jsonObject.Match(src[:min(len(src), 1<<16)]) {
		var syntax *json.SyntaxError
		if errors.As(json.Unmarshal(src, &struct{}{}), &syntax) {
			line, col := position(src, max(0, int(syntax.Offset)-1))
			return newError(file, line, col, "not JSON: %s", syntax)
		}
	}
	msg, line := withoutLine(err)
	if m := unknownAnchor.FindStringSubmatch(msg); m != nil {
		msg = fmt.Sprintf("alias %q has no anchor before it", shorten(m[1]))
		if i := bytes.Index(src, []byte("*"+m[1])); i >= 0 {
			line, col := position(src, i)
			return newError(file, line, col, "not YAML: %s", msg)
		}
	}
	line, col := whereYAML(text, msg, line)
	return newError(file, line, col, "not YAML: %s", msg)
}

// withoutLine splits what the parser says into its message and the line; 0 for none.
func withoutLine(err error) (msg string, line int) {
	msg = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := atLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
		if lineBefore.MatchString(msg) {
			line++
		}
	}
	return msg, line
}

// maxLocated bounds the texts in which the place of a fault is looked for.
const maxLocated = 256 << 10

// whereYAML is the place of a fault in YAML. The parser tells no column, and often the line
// at which the broken construct begins. So the place is the end of a
// shortest beginning of the text that fails alike; for a quote that is never closed, that
// is the quote. In a text too long for this it is the first character on the parser's line.
func whereYAML(text []byte, msg string, line int) (int, int) {
	if len(text) <= maxLocated {
		n := sort.Search(len(text), func(n int) bool {
			_, _, err := documents(text[:n])
			if err == nil {
				return false
			}
			have, _ := withoutLine(err)
			return have == msg
		})
		for n > 1 && (n > len(text) || text[n-1] == '\n' || text[n-1] == '\r') { // the last character of the line
			n--
		}
		return position(text, max(0, n-1))
	}
	from := 0
	for range max(1, line) - 1 {
		i := bytes.IndexByte(text[from:], '\n')
		if i < 0 || from+i+1 == len(text) {
			break
		}
		from += i + 1
	}
	for from+1 < len(text) && text[from] == ' ' {
		from++
	}
	return position(text, from)
}
