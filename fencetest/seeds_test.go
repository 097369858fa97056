package fencetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/hwreplay"
)

// A GPU is used in a child process, which is this test binary.
func TestMain(m *testing.M) {
	if hwreplay.IsChild() {
		os.Exit(hwreplay.Child(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// The kept cases show what they did. To add one:
//
//	go test ./fencetest -run 'TestSeeds$' -fencesim.add=$PWD/case.yaml
func TestSeeds(t *testing.T) {
	dir := filepath.Join("..", "testdata", "seeds")
	Seeds(t, dir)
	if files, _ := filepath.Glob(filepath.Join(dir, "*.yaml")); len(files) < 5 {
		t.Errorf("%d cases, want at least 5", len(files))
	}
}

// A case is added with what its run shows, and is stale once the scenario runs otherwise.
func TestSeedsAddedAndStale(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "case.yaml")
	if err := os.WriteFile(file, []byte(sharedBuffer+"machine: lag-0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := addSeed(filepath.Join(dir, "seeds"), file, 3)
	if err != nil {
		t.Fatal(err)
	}
	f, err := readSeed(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.run(); err != nil || f.Property != "hang" || f.Seed != 3 {
		t.Fatalf("%+v: %v", f, err)
	}
	if _, err := addSeed(filepath.Join(dir, "seeds"), file, 3); err == nil {
		t.Error("added twice")
	}
	src, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"another schedule", "machine: lag-0", "machine: ideal", "shows [none], want hang"},
		{"another run", "steps: ", "steps: 1", "it was after 1"},
		{"an unknown key", "seed: 3", "seed: 3\nseeds: 4", "seeds"},
		{"an unknown property", "property: hang", "property: hangs", "hangs"},
		{"a broken scenario", "kernel x", "karnel x", "karnel"},
	} {
		if !strings.Contains(string(src), c.old) {
			t.Fatalf("%s: no %q in\n%s", c.name, c.old, src)
		}
		if err := os.WriteFile(out, []byte(strings.Replace(string(src), c.old, c.new, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := readSeed(out)
		if err == nil {
			_, err = f.run()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// What is wrong with a case is said with its position in the file, in its scenario too.
func TestSeedPositions(t *testing.T) {
	const sound = "seed: 4\nproperty: hang\nsteps: 3\ndigest: ab\nscenario:\n  fencesim: 1\n  schedule: {queues: [{name: gpu, buffers: [[wait C 1]]}]}\n"
	if _, err := parseSeed("s", []byte(sound)); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{"4", "-4", "s:1:7: seed: want a number"},
		{"3", "-3", "s:3:8: steps: want a number that is not negative"},
		{"4", "[", "s:2:1: yaml: line 2: did not find expected ',' or ']'"},
		{"hang", "hung", `s:2:11: property "hung" is none of hang`},
		{"steps", "step", `s:3:1: unknown key "step": want one of seed, property, steps, digest, scenario`},
		{"steps", "seed", `s:3:1: key "seed" twice`},
		{"fencesim: 1", "fencesim: 2", "s:6:13: version 2 of the format: want 1"},
		{"wait C 1", "wiat C 1", `s:7:46: unknown command "wiat"`},
		{"scenario:\n", "", "s:5:1: yaml: line 5: "},
	} {
		src := strings.Replace(sound, tc.old, tc.new, 1)
		if _, err := parseSeed("s", []byte(src)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.new, err, tc.want)
		}
	}
	if _, err := parseSeed("s", []byte("seed: 4\n")); err == nil || err.Error() != `s:1:1: missing key "scenario"` {
		t.Error(err)
	}
	// The scenario need not be the last key, nor stand in lines of its own.
	if f, err := parseSeed("s", []byte("scenario: {fencesim: 1, name: é, schedule: {queues: [{name: gpu, buffers: [[wait C 1]]}]}}\nproperty: hang\n")); err != nil || f.scenario.Name != "é" {
		t.Errorf("%v", err)
	}
}
