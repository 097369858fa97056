package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
)

// The last line of every report of a failure is a command that fails alike: with the run
// in it, and with files. The examples and the reported workload stand for the catalog.
func TestLastLineReplays(t *testing.T) {
	failures := 0
	for _, name := range catalog.Names() {
		e, _ := catalog.Get(name)
		if e.Group != "example" && name != "mlx-independent-reductions" {
			continue
		}
		sc, err := model.Parse(e.File, e.Source)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range sc.Expect {
			if x.Verdict == "ok" {
				continue
			}
			args := []string{"explore", name}
			if x.Discipline != nil {
				args = append(args, "--discipline", x.Discipline.String())
			}
			if x.Machine != nil {
				if x.Machine.Name() == "" {
					continue // no flag says it
				}
				args = append(args, "--machine", x.Machine.Name())
			}
			for _, args := range [][]string{args, append(args, "--out", filepath.Join(t.TempDir(), "out"))} {
				failures++
				text, st := output(t, args)
				if st != statusOK {
					t.Errorf("%s: status %d, but it is expected", args, st)
				}
				_, command, ok := strings.Cut(text, "\nreplay: fencesim ")
				if !ok || strings.Count(command, "\n") != 1 {
					t.Errorf("%s: the last line is no command:\n%s", args, text)
					continue
				}
				text, st = output(t, strings.Fields(command))
				if st != statusFound {
					t.Errorf("fencesim %sends with status %d:\n%s", command, st, text)
				}
			}
		}
	}
	if failures == 0 {
		t.Error("no entry is expected to fail")
	}
}

// output runs one command line in this process and gives what it prints and its status.
// Times are left out.
func output(t *testing.T, args []string) (string, status) {
	t.Helper()
	var out bytes.Buffer
	w := &world{
		stdin: strings.NewReader(""), stdout: &out, stderr: &out,
		lookupEnv: func(name string) (string, bool) { return "1", name == "FENCESIM_DETERMINISTIC" },
		terminal:  func(io.Writer) (int, bool) { return 0, false },
	}
	st := w.run(context.Background(), args)
	return out.String(), st
}
