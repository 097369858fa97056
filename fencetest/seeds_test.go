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
