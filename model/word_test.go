package model

import (
	"strconv"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é 日": "plain é 日", "a\x1b[1m": `a\x1b[1m`, "\n\t": `\n\t`, "\u202e": `\u202e`, "\xff": `\xff`, "\ufffd": "\ufffd", `\x1b`: `\x1b`,
	} {
		if have := Printable(in); have != want {
			t.Errorf("Printable(%q) = %q, want %q", in, have, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		have := Printable(rapid.String().Draw(t, "text"))
		for _, r := range have {
			if !strconv.IsPrint(r) {
				t.Fatalf("%q has %U", have, r)
			}
		}
		if !utf8.ValidString(have) || Printable(have) != have {
			t.Fatalf("%q is not left as it is", have)
		}
	})
}

func TestDecimal(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "7": 7, "-3": -3, "4294967296": 1 << 32} {
		if v, ok := decimal(in); !ok || v != want {
			t.Errorf("decimal(%q) = %d, %v", in, v, ok)
		}
	}
	for _, in := range []string{"", "-", "+1", "01", "-0", "-01", "00", "1_0", "0x1", "1e3", " 1", "1.0", "١", "9223372036854775808", "--1", "-+1"} {
		if v, ok := decimal(in); ok {
			t.Errorf("decimal(%q) = %d", in, v)
		}
	}
	for in, want := range map[string]bool{"9223372036854775808": true, "-9223372036854775809": true, "1": false, "01": false, "1x": false, "": false} {
		if tooLarge(in) != want {
			t.Errorf("tooLarge(%q) is %v", in, !want)
		}
	}
}
