package report

import (
	"slices"
	"strings"
	"testing"
)

// A code is refused in one line, or stands for choices whose own code is read as the same.
func FuzzParseCode(f *testing.F) {
	for _, code := range []string{"", "0", "0:3,1", "1+2x3,0", "0:2+1x4,7", "0:16777217"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		choices, err := ParseCode(code)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
			return
		}
		if len(choices) > maxChoices {
			t.Fatalf("%d choices", len(choices))
		}
		if len(choices) > 1<<12 {
			return
		}
		short := FormatCode(choices)
		if back, err := ParseCode(short); err != nil || !slices.Equal(back, choices) {
			t.Fatalf("%q is written as %q, which is %v, %v", code, short, back, err)
		}
	})
}

// The code of any choices is read back, and is no longer than they are one by one.
func FuzzFormatCode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 1, 2, 1, 2, 1, 2, 0})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 1<<10 {
			return
		}
		var choices []int
		for _, b := range bytes {
			choices = append(choices, int(b)%5)
		}
		code := FormatCode(choices)
		if back, err := ParseCode(code); err != nil || !slices.Equal(back, choices) {
			t.Fatalf("%v is written as %q, which is %v, %v", choices, code, back, err)
		}
		if len(code) > 2*len(choices) {
			t.Fatalf("%d choices make the code %q", len(choices), code)
		}
	})
}
