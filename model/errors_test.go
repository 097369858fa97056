package model

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestErrors holds testdata/errors.txt: prose, then cases of a line `parse` or `machine`,
// the input, a line `----`, and the one message that it gives (or `ok`). Cases end with
// an empty line. go test -run Errors -update writes the messages anew.
func TestErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cases := 0
	lines := strings.SplitAfter(string(src), "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		verb := strings.TrimSpace(lines[i])
		if verb != "parse" && verb != "machine" {
			continue
		}
		start := i + 1
		for i++; i < len(lines) && lines[i] != "----\n"; i++ {
			out.WriteString(lines[i])
		}
		if i+1 >= len(lines) {
			t.Fatalf("%s:%d: no ----", file, start)
		}
		input := strings.Join(lines[start:i], "")
		got := "ok"
		if verb == "parse" {
			_, err = Parse("f.yaml", []byte(input))
		} else {
			_, err = ParseMachine("f.yaml", []byte(input))
		}
		if err != nil {
			got = err.Error()
		}
		i++
		out.WriteString("----\n" + got + "\n")
		if want := strings.TrimSuffix(lines[i], "\n"); got != want && !*update {
			t.Errorf("%s:%d: got\n\t%s\nwant\n\t%s", file, start, got, want)
		}
		cases++
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if cases < 50 {
		t.Errorf("%d cases", cases)
	}
}
