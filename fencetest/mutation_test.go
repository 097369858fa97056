package fencetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// mutationSuites are the tests that have to notice a mutant: the laws of this package and
// the definitions that the naive model's tests hold; of lists the packages whose code they
// use. What notices every change, right or wrong (goldens, seeds), is left out.
var mutationSuites = []struct{ pkg, of, run string }{
	{"./fencetest", "model sim check", "^(TestReportedChain|TestIndependentReductions|TestTargetsThatComeTooLate|TestOrderMismatchIsSeen|TestThrottleCutsBehindTheLastUpdate|TestFewerSlotsNeverCure|TestExactRule|TestExactRuleOfGraphs|TestSlackIsSafe|TestIdealMachineNeverHangs|TestMoreLagNeverCures|TestLaterTargetNeverCures|TestMoreRanksNeverCure|TestNotOrdered|TestPlainSearchEqualsNaive|TestSchedulesEqualNaive|TestHistoriesAreLinearizable|TestReductionsEqualNone|TestOneRunEqualsExhaustive|TestReplayEqualsRun)$"},
	{"./model", "model", "^(TestWorkedExample|TestGroupsFollowTheWidth|TestTapeIsATopologicalOrder|TestForcedAndSection)$"},
	{"./check", "check", "^TestSafeCommutes$"},
	{"./internal/naive", "model sim", "^(TestLockstep|TestSmallArrays|TestEvaluatorRules|TestCutsByDefinition|TestEventsConcurrent|TestPipeline)$"},
}

// quick are mutants that every run of the tests kills, one of each package, each with the
// suite that does.
var quick = map[string]struct{ pkg, run string }{
	"per-update-counts":   {"./model", "^TestWorkedExample$"},
	"lag-short":           {"./internal/naive", "^TestLockstep$"},
	"persistent-throttle": {"./fencetest", "^TestReductionsEqualNone$"},
}

// place is the file of the package in which the mutant's text stands, and its content.
func (m mutant) place(root string) (file string, src []byte, err error) {
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*.go"))
	if err != nil {
		return "", nil, err
	}
	times := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return "", nil, err
		}
		if n := strings.Count(string(b), m.old); n > 0 {
			times += n
			file, src = f, b
		}
	}
	if times != 1 {
		return "", nil, fmt.Errorf("%s: %q stands %d times in package %s, want once", m.name, m.old, times, m.pkg)
	}
	return file, src, nil
}

// apply writes the mutant's file and the overlay that puts it in place.
func (m mutant) apply(root, dir string) (overlay string, err error) {
	file, src, err := m.place(root)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, m.name+".go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), m.old, m.new, 1)), 0o666); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, m.name+".json")
	return overlay, os.WriteFile(overlay, b, 0o666)
}

// kill runs a suite on a mutant, at its usual or its full length: the tests that fail, or nil
// if it survives. It takes one processor, so that as many mutants run side by side as there
// are.
func (m mutant) kill(root, overlay, pkg, run string, long bool) ([]string, error) {
	c := exec.Command("go", "test", "-overlay="+overlay, "-short", // an empty name is no overlay
		"-count=1", "-vet=off", "-ldflags=-s -w", "-timeout=240s", "-run="+run, pkg)
	c.Dir = root
	c.Env = append(os.Environ(), "FENCESIM_MUTANT="+m.name, "FENCESIM_LONG=", "GOFLAGS=", "GOMAXPROCS=1")
	if long {
		c.Env = append(c.Env, "FENCESIM_LONG=1")
	}
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil, nil
	case !errors.As(err, &exit):
		return nil, err
	case strings.Contains(string(out), "[build failed]") || strings.Contains(string(out), "[setup failed]"):
		return nil, fmt.Errorf("%s does not build:\n%s", m.name, out)
	}
	tests := map[string]bool{}
	for _, l := range regexp.MustCompile(`(?m)^--- FAIL: (\w+)`).FindAllStringSubmatch(string(out), -1) {
		tests[l[1]] = true
	}
	if len(tests) == 0 { // a panic or a timeout names the test elsewhere, if at all
		name := "a panic"
		if strings.Contains(string(out), "test timed out") {
			name = "a timeout"
		}
		tests[name] = true
	}
	return slices.Sorted(maps.Keys(tests)), nil
}

// killers are the tests of all suites that notice the mutant; at their full length if none
// does at its usual one.
func (m mutant) killers(root, dir string) ([]string, error) {
	overlay, err := m.apply(root, dir)
	if err != nil {
		return nil, err
	}
	for _, long := range []bool{false, true} {
		var by []string
		for _, s := range mutationSuites {
			if !slices.Contains(strings.Fields(s.of), m.pkg) {
				continue
			}
			tests, err := m.kill(root, overlay, s.pkg, s.run, long)
			if err != nil {
				return nil, err
			}
			by = append(by, tests...)
		}
		if len(by) > 0 {
			return by, nil
		}
	}
	return nil, nil
}

func moduleRoot(t *testing.T) string {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Each mutant still has its place in the code.
func TestMutantsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if names[m.name] {
			t.Errorf("two mutants are called %s", m.name)
		}
		names[m.name] = true
		if _, err := m.apply(moduleRoot(t), t.TempDir()); err != nil {
			t.Error(err)
		}
	}
	if len(mutants) < 40 {
		t.Errorf("%d mutants, want at least 40", len(mutants))
	}
}

// The suites notice code that is broken on purpose: a few mutants each time, all of them
// with FENCESIM_MUTANTS=all, which also writes the table docs/mutations.md. A name or a
// list of names in its place runs those.
func TestMutants(t *testing.T) {
	chosen := os.Getenv("FENCESIM_MUTANTS")
	if chosen == "" {
		if testing.Short() || os.Getenv("FENCESIM_MUTANT") != "" {
			t.Skip("compiles mutants; without -short, all of them with FENCESIM_MUTANTS=all")
		}
		for _, m := range mutants {
			if s, ok := quick[m.name]; ok {
				m.mustDie(t, s.pkg, s.run)
			}
		}
		return
	}
	var list []mutant
	for _, m := range mutants {
		if chosen == "all" || slices.Contains(strings.Split(chosen, ","), m.name) {
			list = append(list, m)
		}
	}
	root := moduleRoot(t)
	for _, s := range mutationSuites { // a suite that fails anyway kills nobody
		if by, err := (mutant{name: "none"}).kill(root, "", s.pkg, s.run, true); err != nil || by != nil {
			t.Fatalf("without a mutant: %v %v", by, err)
		}
	}
	started := time.Now()
	by := runMutants(t, root, list)
	dead := 0
	for _, tests := range by {
		if len(tests) > 0 {
			dead++
		}
	}
	t.Logf("%d of %d killed in %s", dead, len(list), time.Since(started).Round(time.Second))
	if 100*dead < 95*len(list) {
		t.Errorf("%d of %d mutants are killed, want 95 %%", dead, len(list))
	}
	if chosen == "all" && !t.Failed() {
		if err := os.WriteFile(filepath.Join(root, "docs", "mutations.md"), []byte(mutationPage(list, by)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// runMutants gives for each mutant the tests that notice it. As many run side by side as
// there are processors.
func runMutants(t *testing.T, root string, list []mutant) [][]string {
	by := make([][]string, len(list))
	var wait sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, m := range list {
		free <- true
		dir := t.TempDir()
		wait.Go(func() {
			defer func() { <-free }()
			tests, err := m.killers(root, dir)
			switch by[i] = tests; {
			case err != nil:
				t.Error(err)
			case len(tests) == 0:
				fmt.Printf("%-24s survives\n", m.name)
			default:
				fmt.Printf("%-24s %s\n", m.name, strings.Join(tests, ", "))
			}
		})
	}
	wait.Wait()
	return by
}

func (m mutant) mustDie(t *testing.T, pkg, run string) {
	t.Run(m.name, func(t *testing.T) {
		t.Parallel()
		root := moduleRoot(t)
		overlay, err := m.apply(root, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		by, err := m.kill(root, overlay, pkg, run, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(by) == 0 {
			t.Errorf("%s (%s) survives %s\nFENCESIM_MUTANTS=%s go test ./fencetest -run '^TestMutants$' -v", m.name, m.says, run, m.name)
		}
	})
}

func mutationPage(list []mutant, by [][]string) string {
	kills := map[string]int{}
	dead := 0
	var rows strings.Builder
	for i, m := range list {
		verdict := "**survives**"
		if len(by[i]) > 0 {
			dead++
			verdict = strings.Join(by[i], ", ")
		}
		for _, name := range by[i] {
			kills[name]++
		}
		fmt.Fprintf(&rows, "| %s | %s | %s | %s |\n", m.name, m.pkg, m.says, verdict)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Broken on purpose

Each row is one change of the code that makes it wrong, and the suites that notice. %d of
%d mutants are killed (%.0f %%). Tests that notice every change, right or wrong (goldens,
kept seeds), are not counted; the others run as in a usual go test, and at full length for a
mutant that none of them notices. This page is written by

    FENCESIM_MUTANTS=all go test ./fencetest -run '^TestMutants$' -timeout 2h

which takes about 20 minutes on two processors, a mutant on each; a name or a list of names
in place of all runs those and writes nothing. Every run of the tests kills a few of them. A
mutant is compiled in with go test -overlay: no file of the tree changes. It names a package
and the text to change, so that it follows its code from file to file.

| suite | kills |
| --- | ---: |
`, dead, len(list), 100*float64(dead)/float64(len(list)))
	for _, name := range slices.Sorted(maps.Keys(kills)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, kills[name])
	}
	b.WriteString("\n| mutant | package | what is wrong | killed by |\n| --- | --- | --- | --- |\n")
	b.WriteString(rows.String())
	return b.String()
}
