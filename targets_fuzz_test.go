package fencesim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A fuzzTarget is a native fuzz target of some package.
type fuzzTarget struct{ pkg, name string }

// corpus is the folder of the inputs that every run of the tests tries.
func (f fuzzTarget) corpus() string { return filepath.Join(f.pkg, "testdata", "fuzz", f.name) }

// fuzzTargets finds all of them.
func fuzzTargets(t *testing.T) []fuzzTarget {
	var out []fuzzTarget
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && strings.HasPrefix(d.Name.Name, "Fuzz") {
				out = append(out, fuzzTarget{filepath.ToSlash(filepath.Dir(path)), d.Name.Name})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every fuzz target has a corpus, which is small, and every corpus a target. FENCESIM_FUZZ=10s
// fuzzes each target for so long, one by one; what fails is kept in its corpus:
//
//	FENCESIM_FUZZ=10s go test . -run '^TestFuzzTargets$' -timeout 1h -v
func TestFuzzTargets(t *testing.T) {
	const least, most, longest = 3, 40, 16 << 10
	corpora := map[string]bool{}
	for _, f := range fuzzTargets(t) {
		corpora[f.corpus()] = true
		files, err := os.ReadDir(f.corpus())
		if err != nil || len(files) < least || len(files) > most {
			t.Errorf("%s has %d files, want %d to %d: %v", f.corpus(), len(files), least, most, err)
		}
		for _, e := range files {
			if i, err := e.Info(); err != nil || i.Size() > longest {
				t.Errorf("%s in %s has more than %d bytes", e.Name(), f.corpus(), longest)
			}
		}
		if d := os.Getenv("FENCESIM_FUZZ"); d != "" {
			t.Run(f.pkg+"/"+f.name, func(t *testing.T) { f.fuzz(t, d) })
		}
	}
	found, err := filepath.Glob("*/testdata/fuzz/*")
	deeper, err2 := filepath.Glob("*/*/testdata/fuzz/*")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for _, dir := range append(found, deeper...) {
		if !corpora[dir] {
			t.Errorf("%s is the corpus of no target", dir)
		}
	}
	if len(corpora) < 20 {
		t.Errorf("%d targets", len(corpora))
	}
}

// fuzz fuzzes one target. Inputs are hardly minimised, which takes a minute each otherwise.
// Before Go 1.27 a target may fail for the end of its time alone (go.dev/issue/75804): with
// that error and without an input that failed it is fuzzed again.
func (f fuzzTarget) fuzz(t *testing.T, d string) {
	var out []byte
	for try := 1; ; try++ {
		c := exec.Command("go", "test", "./"+f.pkg, "-run", "^$", "-fuzz", "^"+f.name+"$", "-fuzztime", d, "-fuzzminimizetime", "20x")
		c.Env = append(os.Environ(), "FENCESIM_FUZZ=")
		var err error
		if out, err = c.CombinedOutput(); err == nil {
			break
		}
		if try == 3 || !endOfTime(string(out)) {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("the end of the time was taken for a failure; again")
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, l := range lines {
		if strings.Contains(l, "elapsed") {
			lines[0] = l
		}
	}
	t.Log(lines[0])
}

// endOfTime reports whether the end of the fuzzing time is all that failed.
func endOfTime(out string) bool {
	_, after, failed := strings.Cut(out, "--- FAIL: ")
	_, why, _ := strings.Cut(after, "\n")
	return failed && strings.HasPrefix(strings.TrimSpace(why), "context deadline exceeded\n") && !strings.Contains(out, "Failing input")
}

func TestEndOfTime(t *testing.T) {
	const bare = "fuzz: elapsed: 5s, execs: 104982 (20072/sec)\n--- FAIL: FuzzWords (5.13s)\n    context deadline exceeded\nFAIL\nexit status 1\n"
	for out, want := range map[string]bool{
		bare: true,
		"":   false,
		"--- FAIL: FuzzWords (5.13s)\n    --- FAIL: FuzzWords (0.00s)\n        words_test.go:7: context deadline exceeded\n    \n    Failing input written to testdata/fuzz/FuzzWords/582528ddfad69eb5\n": false,
		bare + "Failing input written to testdata/fuzz/FuzzWords/582528ddfad69eb5\n": false,
	} {
		if got := endOfTime(out); got != want {
			t.Errorf("%v, want %v: %q", got, want, out)
		}
	}
}
