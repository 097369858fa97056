package fencetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A module of its own imports fencetest: its tests fail with a shrunk case and a command
// that replays it, fail again by the files that were kept, and pass once its encoder is
// fixed. All without a network.
func TestConsumer(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs; without -short")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "testdata", "consumer"))); err != nil {
		t.Fatal(err)
	}
	edit := func(file, old, new string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !bytes.Contains(b, []byte(old)) {
			t.Fatalf("%s: no %q: %v", file, old, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), bytes.Replace(b, []byte(old), []byte(new), 1), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	edit("go.mod", "=> ../..", "=> "+root)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666); err != nil {
		t.Fatal(err)
	}
	command := func(in, name string, args ...string) (string, int) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = in
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "FENCESIM_SEED=", "FENCESIM_RUNS=", "FENCESIM_MACHINE=")
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s %v: %v", name, args, err)
		}
		return string(out), c.ProcessState.ExitCode()
	}

	first, status := command(dir, "go", "test", "./...")
	if status == 0 {
		t.Fatalf("the tests pass on a schedule that hangs:\n%s", first)
	}
	for _, want := range []string{"encoder can hang on lag-0", "shrunk", "wait C 1", "--- FAIL: TestThreeLayers", "--- FAIL: TestAnyNumberOfLayers"} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	lines := regexp.MustCompile(`(?m)^\s+fencesim (replay (\S+))\n(--- |FAIL)`).FindAllStringSubmatch(first, -1)
	if len(lines) != 2 {
		t.Fatalf("%d failures end with a replay command, want 2:\n%s", len(lines), first)
	}
	// Two layers are the fewest, and the case that is kept has no more.
	kept, err := os.ReadFile(strings.TrimSuffix(lines[1][2], ".trace.json") + ".yaml")
	if err != nil || bytes.Contains(kept, []byte("update G 3")) {
		t.Errorf("not shrunk (%v):\n%s", err, kept)
	}
	program := filepath.Join(t.TempDir(), "fencesim.exe")
	if out, status := command(root, "go", "build", "-o", program, "./cmd/fencesim"); status != 0 {
		t.Fatalf("fencesim does not build:\n%s", out)
	}
	for _, l := range lines {
		out, status := command(t.TempDir(), program, strings.Fields(l[1])...)
		if status != 1 || !strings.Contains(out, "wait C") {
			t.Errorf("fencesim %s: status %d, want 1 and the hang:\n%s", l[1], status, out)
		}
	}

	second, status := command(dir, "go", "test", "./...")
	if status == 0 || !strings.Contains(second, "still happens") {
		t.Errorf("the kept cases do not fail first: status %d\n%s", status, second)
	}

	edit("encoder.go", "waitForOwn = false", "waitForOwn = true")
	third, status := command(dir, "go", "test", "-v", "./...")
	if status != 0 || !strings.Contains(third, "does not happen any longer") || !strings.Contains(third, "does not fail any longer") {
		t.Errorf("the fixed schedule: status %d\n%s", status, third)
	}
	var files int
	filepath.WalkDir(filepath.Join(dir, "testdata", "fencesim"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return nil
	})
	if files < 4 {
		t.Errorf("%d files are kept, want at least 4", files)
	}
}
