// Package docs_test holds the documentation to the program: it runs every command block,
// and compares what is generated (pictures, the page of machines) with what is here.
// go test ./docs -update writes what the program prints.
package docs_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the program prints into the documentation")

// program is the folder of the fencesim that the commands run.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "fencesim-docs")
	if err == nil {
		build := exec.Command("go", "build", "-o", filepath.Join(dir, "fencesim"), "../cmd/fencesim")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	program = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// guides are the pages whose blocks are run, each in a folder of its own.
var guides = []string{"first-hang.md", "reading-a-report.md", "writing-a-scenario.md", "machines.md", "ci.md", "theory.md"}

// TestGuides runs the blocks of each guide in order. A block that begins with ```console
// has commands after "$ " and their output, in which a line "…" stands for any lines and
// "(status N)" for an exit status that is not 0. A block that begins with ```yaml FILE is
// the content of that file.
func TestGuides(t *testing.T) {
	for _, name := range guides {
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			g := &guide{t: t, name: name, dir: t.TempDir()}
			out := g.run(string(src))
			if *update && out != string(src) {
				if err := os.WriteFile(name, []byte(out), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type guide struct {
	t         *testing.T
	name, dir string
}

// run runs the blocks and returns the text with what they print.
func (g *guide) run(src string) string {
	var out strings.Builder
	lines := strings.SplitAfter(src, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		info, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "```")
		if !ok || info == "" {
			continue
		}
		end := i + 1
		for end < len(lines) && strings.TrimSpace(lines[end]) != "```" {
			end++
		}
		body := strings.Join(lines[i+1:end], "")
		kind, file, _ := strings.Cut(info, " ")
		switch {
		case kind == "console":
			body = g.console(i+1, body)
		case file != "":
			if err := os.WriteFile(filepath.Join(g.dir, file), []byte(body), 0o666); err != nil {
				g.t.Fatal(err)
			}
		}
		out.WriteString(body)
		if end < len(lines) {
			out.WriteString(lines[end])
		}
		i = end
	}
	return out.String()
}

// console runs the commands of one block.
func (g *guide) console(line int, body string) string {
	var out strings.Builder
	parts := strings.Split("\n"+body, "\n$ ")
	for _, part := range parts[1:] {
		command, want, _ := strings.Cut(part, "\n")
		have := g.command(command)
		fmt.Fprintf(&out, "$ %s\n", command)
		if matches(want, have) {
			if want = strings.TrimRight(want, "\n"); want != "" {
				out.WriteString(want + "\n")
			}
			continue
		}
		if !*update || strings.Contains(want, "…") {
			g.t.Errorf("%s, block at line %d: %s prints\n%s\nwhere the guide has\n%s", g.name, line, command, have, want)
		}
		out.WriteString(have)
	}
	return out.String()
}

// ports are chosen anew at every run; the guides have one of them.
var ports = regexp.MustCompile(`localhost:\d+`)

func (g *guide) command(command string) string {
	c := exec.Command("sh", "-c", command)
	if strings.HasPrefix(command, "fencesim ") { // without a shell between, so that it gets the interrupt
		c = exec.Command("sh", "-c", "exec "+command)
	}
	c.Dir = g.dir
	c.Env = append(os.Environ(), "PATH="+program+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	if strings.HasPrefix(command, "fencesim view ") { // serves until it is interrupted
		time.AfterFunc(2*time.Second, func() { _ = c.Process.Signal(os.Interrupt) })
	}
	err := c.Run()
	text := ports.ReplaceAllString(b.String(), "localhost:43127")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		text += fmt.Sprintf("(status %d)\n", exit.ExitCode())
	case err != nil:
		g.t.Fatal(err)
	}
	return text
}

// matches compares output line by line; a line … of want stands for any lines.
func matches(want, have string) bool {
	w, h := strings.Split(strings.TrimRight(want, "\n"), "\n"), strings.Split(strings.TrimRight(have, "\n"), "\n")
	for len(w) > 0 && w[0] != "…" {
		if len(h) == 0 || strings.TrimRight(w[0], " ") != strings.TrimRight(h[0], " ") {
			return false
		}
		w, h = w[1:], h[1:]
	}
	if len(w) == 0 {
		return len(h) == 0
	}
	for i := range len(h) + 1 {
		if matches(strings.Join(w[1:], "\n"), strings.Join(h[i:], "\n")) || len(w) == 1 {
			return true
		}
	}
	return false
}

func TestMatches(t *testing.T) {
	for _, tc := range []struct {
		want, have string
		ok         bool
	}{
		{"a\nb\n", "a\nb\n", true}, {"a\n", "a\nb\n", false}, {"a\n…\nd\n", "a\nb\nc\nd\n", true}, {"…\n", "", true},
		{"a\n…\n", "a\nb\n", true}, {"a\n…\nx\n", "a\nb\n", false}, {"", "", true}, {"", "a\n", false},
	} {
		if matches(tc.want, tc.have) != tc.ok {
			t.Errorf("matches(%q, %q) is not %v", tc.want, tc.have, tc.ok)
		}
	}
}

// current compares a generated file with what is here, or writes it.
func current(t *testing.T, name string, have []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, have, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, have) {
		t.Errorf("%s is not current (go test ./docs -update writes it)", name)
	}
}
