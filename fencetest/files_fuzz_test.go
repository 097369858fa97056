package fencetest

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/sim"
)

// A case of a corpus is refused in one line that begins with the file, or has a scenario
// and a property; its run shows the property, or the error says what is stale.
func FuzzSeedFile(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "seeds", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<13 {
			return
		}
		c, err := parseSeed("case.yaml", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "case.yaml") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("not one line with the file: %v", err)
			}
			return
		}
		b, err := json.Marshal(c.scenario)
		if err != nil {
			t.Fatal(err)
		}
		if sc, _ := naive.Small(b, 200); sc == nil {
			return
		}
		if trace, err := c.run(); err == nil && c.Property == "hang" && trace.Verdict != "hang" {
			t.Fatalf("shows a hang, and its trace says %s", trace.Verdict)
		} else if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %v", err)
		}
	})
}

// A kept run is refused in one line that begins with the file, or tried on a scenario: it
// still happens or does not, whatever it says.
func FuzzRecord(f *testing.F) {
	sc, _ := naive.Small([]byte(sharedBuffer+"machine: lag-0\n"), 200)
	if sc == nil {
		f.Fatal("the scenario of the other tests is not small")
	}
	y, err := compile(sc)
	if err != nil {
		f.Fatal(err)
	}
	run := sim.RunWith(y, sim.UntilStuck{Strategy: sim.Laziest{}}, 0)
	for _, choices := range [][]int{run.Choices, run.Choices[:2]} {
		b, err := json.Marshal(sim.NewTrace(y, []byte("{}"), "laziest", 0, -1, choices))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		trace, err := parseRecord("run.trace.json", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "run.trace.json: ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("not one line with the file: %v", err)
			}
			return
		}
		for _, line := range stillHappens(sc, trace, check.Properties) {
			if strings.Contains(line, "\n") {
				t.Fatalf("more than one line: %q", line)
			}
		}
	})
}

// The values of the flags are taken or refused in one line.
func FuzzFlags(f *testing.F) {
	f.Add("0x3aa82f41", "100", "lag-0,lag-3")
	f.Add("-1", "1e9", "")
	f.Fuzz(func(t *testing.T, seed, runs, machine string) {
		var s settings
		set := flag.NewFlagSet("fuzz", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		register(set, &s, func(string) string { return "" })
		for name, value := range map[string]string{"fencesim.seed": seed, "fencesim.runs": runs, "fencesim.machine": machine} {
			if err := set.Set(name, value); err != nil && strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %v", err)
			}
		}
		if s.runs < 0 {
			t.Fatalf("%q runs are %d", runs, s.runs)
		}
		if list := s.machines([]string{"own"}); len(list) != 1+strings.Count(machine, ",") {
			t.Fatalf("%q are the machines %q", machine, list)
		}
	})
}
