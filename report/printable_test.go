package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
)

// JSON holds no character that does not show, and reads back to the same text.
func TestJSONShows(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1bb":              `"a\u001bb"`,
		"a\x7fb":              `"a\u007fb"`,
		"\u0085\u202e":        `"\u0085\u202e"`,
		"\U000e0001":          `"\udb40\udc01"`,
		"é <&> 日本 \U0001F600": `"é <&> 日本 ` + "\U0001F600" + `"`,
	} {
		var b bytes.Buffer
		if err := JSON(&b, in); err != nil {
			t.Fatal(err)
		}
		if have := strings.TrimSpace(b.String()); have != want {
			t.Errorf("%q: %s, want %s", in, have, want)
		}
		var back string
		if err := json.Unmarshal(b.Bytes(), &back); err != nil || back != in {
			t.Errorf("%q reads back as %q, %v", in, back, err)
		}
	}
}

// What a result from a file says is made printable, wherever it stands.
func TestPrintable(t *testing.T) {
	r := &check.Result{Scenario: "a\x1b", Advice: []check.Advice{{Where: "\u202e"}}, Stuck: []check.Stuck{{Cycle: []string{"x\a"}}}, Source: []byte("\x1b")}
	Printable(r)
	if r.Scenario != `a\x1b` || r.Advice[0].Where != `\u202e` || r.Stuck[0].Cycle[0] != `x\a` || string(r.Source) != "\x1b" {
		t.Errorf("%+v", r)
	}
	if have := prose("one\ttwo\r\n\x1bthree"); have != "one two\n"+`\x1bthree` {
		t.Errorf("%q", have)
	}
	if have := markup("<\x00>"); have != `&lt;\x00&gt;` {
		t.Errorf("%q", have)
	}
}
