package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
)

// TestMan: the man pages of docs/man are what the command line says of itself. -update
// writes them.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	w := &world{stdin: strings.NewReader(""), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	root := newRoot(w)
	root.DisableAutoGenTag = true
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // the shells' own pages say how to load it
			root.RemoveCommand(c)
		}
	}
	date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // no date of the build
	header := &doc.GenManHeader{Title: "FENCESIM", Section: "1", Source: "fencesim", Manual: "fencesim", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	const kept = "../../docs/man"
	made, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(made) < 2 {
		t.Fatalf("%d pages were made: %v", len(made), err)
	}
	if *update {
		if err := os.RemoveAll(kept); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(kept, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]bool{}
	for _, file := range made {
		name := filepath.Base(file)
		names[name] = true
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(kept, name), have, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(filepath.Join(kept, name))
		if err != nil || !bytes.Equal(want, have) {
			t.Errorf("docs/man/%s is not current (go test ./cmd/fencesim -run TestMan -update writes it): %v", name, err)
		}
	}
	old, err := filepath.Glob(filepath.Join(kept, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if !names[filepath.Base(file)] {
			t.Errorf("%s is of a verb that is no more", file)
		}
	}
}

// TestCompletion: a shell is offered verbs, built-in scenarios and formats.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"__complete exp":                    "export",
		"__complete report mlx-indep":       "mlx-independent-reductions",
		"__complete export x --format perf": "perfetto",
		"__complete view example-next":      "example-next-buffer",
		"completion zsh":                    "compdef",
		"completion fish":                   "complete -c fencesim",
	} {
		var out bytes.Buffer
		w := &world{stdin: strings.NewReader(""), stdout: &out, stderr: new(bytes.Buffer), lookupEnv: func(string) (string, bool) { return "", false }}
		if st := w.run(t.Context(), strings.Fields(line)); st != statusOK {
			t.Errorf("%s: status %d", line, st)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s offers %q, not %s", line, out.String()[:min(200, out.Len())], want)
		}
	}
}
