package model

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestParseHostile gives Parse inputs that are made to cost time or memory. Each must be
// refused, with a position, in seconds and without growing the heap out of bounds.
func TestParseHostile(t *testing.T) {
	head := "fencesim: 1\n"
	fill := func(unit string, size int) string { return strings.Repeat(unit, size/len(unit)) }
	bomb := head + "about: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	explicitBomb := head + "schedule:\n  inputs: &a0 [" + fill("x,", 4000) + "x]\n  queues:\n    - name: q\n      buffers: &b0 [" +
		fill("*a0,", 8000) + "*a0]\n    - {name: r, buffers: *b0}\n    - {name: r, buffers: *b0}\n    - {name: r, buffers: *b0}\n"
	for i := range 9 {
		bomb += fmt.Sprintf("k%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9), i)
	}
	big := func(key string) string {
		return head + "generate: {kind: independent-reductions, rounds: 8, elems: 1, reductions: " + key + "}\n"
	}
	const most = MaxFileBytes
	random := make([]byte, most/8)
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < len(random); i++ {
		const letters = " \n:,-[]{}#&*!|>'\"%@`?abcdefghijk0123"
		random[i] = letters[r.IntN(len(letters))]
	}
	for _, h := range []struct{ name, text string }{
		{"too long", fill("a", most+1)},
		{"letters", fill("a", most/8)},
		{"zeroes", fill("\x00", most)},
		{"high bytes", fill("\xff", most)},
		{"commas", "[" + fill("a,", most-1)},
		{"flow depth", fill("[", 100_000)},
		{"flow depth most", fill("[", most)},
		{"mapping depth", fill("{a: ", 400_000)},
		{"block depth", fill("- ", 200_000)},
		{"question marks", fill("? ", most)},
		{"newlines", fill("\n", most)},
		{"dashes", fill("-\n", most)},
		{"keys", fill("a:\n", most)},
		{"anchors", fill("&a ", most)},
		{"tags", fill("!a ", most)},
		{"quotes", fill(`"`, most)},
		{"one quote", `"` + fill("a\n", most/8)},
		{"comments", fill("#\n", most/8)},
		{"documents", fill("---\n", most/8)},
		{"alias bomb", bomb},
		{"alias bomb of commands", explicitBomb},
		{"alias of itself", head + "about: &a [*a]\n"},
		{"huge reductions", big("9223372036854775807")},
		{"large reductions", big("2147483647")},
		{"beyond 64 bits", big("99999999999999999999999")},
		{"spaces", fill(" ", most/8) + head},
		{"tabs", fill("\t", most)},
		{"random text", string(random)},
		{"indent", fill(" \n", most/8) + "x"},
	} {
		t.Run(h.name, func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			s, err := Parse("f.yaml", []byte(h.text))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Fatalf("accepted: %+v", s.Name)
			}
			e, ok := err.(*Error)
			if !ok || e.Line < 1 || e.Col < 1 {
				t.Errorf("no position: %v", err)
			}
			if len(e.Msg) > 1000 {
				t.Errorf("message of %d bytes", len(e.Msg))
			}
			alloc := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%.80s; %v, %d MiB allocated", err, took.Round(time.Millisecond), alloc)
			if took > time.Minute || alloc > 4096 {
				t.Errorf("%v, %d MiB allocated", took, alloc)
			}
		})
	}
}

// TestParseJSON reads what only JSON allows: no spaces, tabs, a colon on the next line, surrogate pairs, raw
// characters that YAML takes for line ends.
func TestParseJSON(t *testing.T) {
	want := "a\u2028b \U0001F600 \u007f / \u0085."
	text := "\t{\"fencesim\"\n:1,\r\n\t\"about\"\t \r\n\t:\t\"a\u2028b \\ud83d\\uDE00 \u007f \\/ \u0085.\",\"generate\":{\"kind\":\"random\",\"seed\":18446744073709551615,\t\"size\":3\t}\t\n}\t\n\t"
	if !json.Valid([]byte(text)) {
		t.Fatal("the test's text is no JSON")
	}
	s := mustParse(t, text)
	if s.About != want {
		t.Errorf("about %q, want %q", s.About, want)
	}
	if s.Generate.Seed != 1<<64-1 {
		t.Errorf("seed %d", s.Generate.Seed)
	}
}
