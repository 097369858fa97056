package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands in the console blocks of README.md that are fencesim's and
// compares what they print; -update writes it there. Other commands have no output there.
func TestReadme(t *testing.T) {
	const file = "../../README.md"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n(.*?)```\n")
	ran := make(map[string]bool)
	now := block.ReplaceAllStringFunc(string(old), func(b string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for _, line := range strings.Split(b, "\n") {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			out.WriteString(line + "\n")
			args, ours := strings.CutPrefix(command, "go run ./cmd/fencesim ")
			if !ours {
				args, ours = strings.CutPrefix(command, "fencesim ")
			}
			if ours && !ran[command] { // a command that is there again has no output
				text, st := output(t, strings.Fields(args))
				if st == statusUsage || st == statusBackend {
					t.Errorf("%s: status %d", command, st)
				}
				out.WriteString(text)
			}
			ran[command] = true
		}
		return out.String() + "```\n"
	})
	if now == string(old) {
		return
	}
	if !*update {
		t.Fatalf("README.md does not have what the commands print: run go test ./cmd/fencesim -run Readme -update\n%s", now)
	}
	if err := os.WriteFile(file, []byte(now), 0o666); err != nil {
		t.Fatal(err)
	}
}
