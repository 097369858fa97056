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
	"slices"
	"strings"
	"testing"
	"time"
)

// mutationSuites are the tests that have to notice a mutant: the laws of this package and
// the definitions that the naive model's tests hold. What notices every change, right or
// wrong (goldens, seeds), is left out.
var mutationSuites = []struct{ pkg, run string }{
	{"./fencetest", "^(TestReportedChain|TestIndependentReductions|TestTargetsThatComeTooLate|TestOrderMismatchIsSeen|TestThrottleCutsBehindTheLastUpdate|TestFewerSlotsNeverCure|TestExactRule|TestExactRuleOfGraphs|TestSlackIsSafe|TestIdealMachineNeverHangs|TestMoreLagNeverCures|TestLaterTargetNeverCures|TestMoreRanksNeverCure|TestNotOrdered|TestPlainSearchEqualsNaive|TestSchedulesEqualNaive|TestHistoriesAreLinearizable|TestReductionsEqualNone|TestOneRunEqualsExhaustive|TestReplayEqualsRun)$"},
	{"./model", "^(TestWorkedExample|TestGroupsFollowTheWidth|TestTapeIsATopologicalOrder|TestForcedAndSection)$"},
	{"./internal/naive", "^(TestSmallArrays|TestEvaluatorRules|TestCutsByDefinition|TestEventsConcurrent|TestPipeline)$"},
}

// quick are mutants that every run of the tests kills, each with the suite that does.
var quick = map[string]string{
	"per-update-counts":   "^TestReportedChain$",
	"lag-short":           "^TestExactRule$",
	"persistent-throttle": "^TestReductionsEqualNone$",
}

// apply writes the mutant's file and the overlay that puts it in place.
func (m mutant) apply(root, dir string) (overlay string, err error) {
	file := filepath.Join(root, filepath.FromSlash(m.file))
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(src), m.old); n != 1 {
		return "", fmt.Errorf("%s: %q stands %d times in %s, want once", m.name, m.old, n, m.file)
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

// kill runs a suite on a mutant: the tests that fail, or nil if it survives.
func (m mutant) kill(root, overlay, pkg, run string) ([]string, error) {
	c := exec.Command("go", "test", "-overlay="+overlay, "-short", // an empty name is no overlay
		"-count=1", "-vet=off", "-timeout=120s", "-run="+run, pkg)
	c.Dir = root
	c.Env = append(os.Environ(), "FENCESIM_MUTANT="+m.name, "GOFLAGS=")
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
			if run, ok := quick[m.name]; ok {
				m.mustDie(t, "./fencetest", run)
			}
		}
		return
	}
	root := moduleRoot(t)
	for _, s := range mutationSuites { // a suite that fails anyway kills nobody
		if by, err := (mutant{name: "none"}).kill(root, "", s.pkg, s.run); err != nil || by != nil {
			t.Fatalf("without a mutant: %v %v", by, err)
		}
	}
	var rows []string
	kills := map[string]int{}
	dead, all := 0, 0
	started := time.Now()
	for _, m := range mutants {
		if chosen != "all" && !slices.Contains(strings.Split(chosen, ","), m.name) {
			continue
		}
		all++
		overlay, err := m.apply(root, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var by []string
		for _, s := range mutationSuites {
			if s.pkg != "./fencetest" && !strings.HasPrefix(m.file, "model/") {
				continue // it does not use the code in question
			}
			tests, err := m.kill(root, overlay, s.pkg, s.run)
			if err != nil {
				t.Fatal(err)
			}
			by = append(by, tests...)
		}
		for _, name := range by {
			kills[name]++
		}
		verdict := strings.Join(by, ", ")
		if len(by) > 0 {
			dead++
		} else {
			verdict = "**survives**"
		}
		fmt.Printf("%-24s %s\n", m.name, verdict)
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |", m.name, m.file, m.says, verdict))
	}
	t.Logf("%d of %d killed in %s", dead, all, time.Since(started).Round(time.Second))
	if 100*dead < 95*all {
		t.Errorf("%d of %d mutants are killed, want 95 %%", dead, all)
	}
	if chosen == "all" {
		if err := os.WriteFile(filepath.Join(root, "docs", "mutations.md"), []byte(mutationPage(rows, kills, dead, all)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func (m mutant) mustDie(t *testing.T, pkg, run string) {
	t.Run(m.name, func(t *testing.T) {
		root := moduleRoot(t)
		overlay, err := m.apply(root, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		by, err := m.kill(root, overlay, pkg, run)
		if err != nil {
			t.Fatal(err)
		}
		if len(by) == 0 {
			t.Errorf("%s (%s) survives %s\nFENCESIM_MUTANTS=%s go test ./fencetest -run '^TestMutants$' -v", m.name, m.says, run, m.name)
		}
	})
}

func mutationPage(rows []string, kills map[string]int, dead, all int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Broken on purpose

Each row is one change of the code that makes it wrong, and the suites that notice. %d of
%d mutants are killed (%.0f %%). Tests that notice every change, right or wrong (goldens,
kept seeds), are not counted. This page is written by

    FENCESIM_MUTANTS=all go test ./fencetest -run '^TestMutants$' -timeout 2h

Every run of the tests kills a few of them. A mutant is compiled in with go test -overlay:
no file of the tree changes.

| suite | kills |
| --- | ---: |
`, dead, all, 100*float64(dead)/float64(all))
	for _, name := range slices.Sorted(maps.Keys(kills)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, kills[name])
	}
	b.WriteString("\n| mutant | file | what is wrong | killed by |\n| --- | --- | --- | --- |\n")
	b.WriteString(strings.Join(rows, "\n"))
	b.WriteString("\n")
	return b.String()
}
