package catalog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

var update = flag.Bool("update", false, "write docs/catalog.md")

const page = "../docs/catalog.md"

// The page of the catalog says what the entries say and what came out.
func TestPage(t *testing.T) {
	verdicts := make(map[string][]string)
	for _, d := range all(t) {
		verdicts[d.name] = append(verdicts[d.name], outcome(d))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# The catalog

Reported systems as scenarios: %d cases, each broken and fixed. The entries are called
NAME-broken and NAME-fixed; where the discipline is the whole difference, one file has both.
fencesim explore ENTRY gives the story, fencesim matrix --catalog decides every expectation.

A broken entry ends well in some run unless its verdict says *always*. A fixed one is proved.
"Assumes" is what the machine must do for the failure, and how well that is known: measured
(somebody has numbers, stacks or a test), argued (from source, documentation or the change
that cured it) or guessed (it fits, nobody has shown it).

This page is written by the test of package catalog: go test ./catalog -run TestPage -update.

`, len(Cases()))
	fmt.Fprintln(&b, "| case | sources | assumes | known | broken | fixed | the fix changes |")
	fmt.Fprintln(&b, "| --- | --- | --- | --- | --- | --- | --- |")
	for _, c := range Cases() {
		e := c.Broken()
		s := parse(t, e)
		broken, fixed := verdicts[e.Name], verdicts[c.Fixed().Name]
		if c.One {
			broken = slices.DeleteFunc(slices.Clone(broken), func(v string) bool { return strings.HasPrefix(v, "ok") })
			fixed = slices.DeleteFunc(slices.Clone(fixed), func(v string) bool { return !strings.HasPrefix(v, "ok") })
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", c.Name, strings.Join(s.Sources, ", "), c.Assumes, c.Evidence,
			strings.Join(broken, "; "), strings.Join(fixed, "; "), c.Changes)
	}
	fmt.Fprint(&b, "\n## What each case is, and what its fix changes\n")
	for _, c := range Cases() {
		br, fi := parse(t, c.Broken()), parse(t, c.Fixed())
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", c.Name, br.About)
		if c.One {
			continue
		}
		fmt.Fprintf(&b, "\nFixed: %s\n\n```diff\n%s```\n", fi.About, difference(lines(t, br), lines(t, fi)))
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("%s is not what the catalog says; go test ./catalog -run TestPage -update writes it", page)
	}
}

// outcome is the verdict of an expectation with its machine.
func outcome(d decided) string {
	text := d.expect.Verdict
	switch {
	case d.expect.Property != "":
		text = d.expect.Property
	case d.expect.Counters != nil:
		c := d.expect.Counters
		text += fmt.Sprintf(" (%d, %d, %d)", c.Scheduled, c.GPU, c.CPU)
	}
	if d.expect.Always {
		text += " *always*"
	}
	text += " on " + check.MachineText(d.scenario.Machine)
	if !d.scenario.Explicit() {
		text += " with " + d.scenario.Effective().String()
	}
	if d.expect.Ranks > 0 {
		text += fmt.Sprintf(" at %d ranks", d.expect.Ranks)
	}
	return text
}

// lines are what runs, one item a line: each buffer's commands are lines of their own.
func lines(t *testing.T, s *model.Scenario) []string {
	t.Helper()
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	add("machine: %s", check.MachineText(s.Machine))
	if !s.Explicit() {
		add("discipline: %s", s.Effective())
		e := s.Evaluator.Normal()
		add("evaluator: width %d, ops %d, MB %d, active %d", e.BFSWidth, e.MaxOps, e.MaxMB, e.MaxActive)
		return out
	}
	schedule := func(head string, f *model.ScheduleFile) {
		for _, e := range f.Fences {
			add("%sfence %s %s copy of %q", head, e.Name, e.Value.Store, e.Value.CopyOf)
		}
		for _, q := range f.Queues {
			for i, b := range q.Buffers {
				add("%squeue %s buffer %d", head, q.Name, i)
				for _, c := range b.Commands {
					add("%s  %s", head, c)
				}
				for _, c := range b.OnFinish {
					add("%s  on finish: %s", head, c)
				}
			}
		}
		for _, st := range f.Streams {
			add("%sstream %s", head, st.Name)
			for _, c := range st.Tasks {
				add("%s  %s", head, c)
			}
		}
		if f.Main != nil {
			add("%smain", head)
			for _, c := range f.Main {
				add("%s  %s", head, c)
			}
		}
	}
	schedule("", s.Schedule)
	for r := range s.NumRanks() {
		if f := s.RankSchedules[r]; f != nil {
			schedule(fmt.Sprintf("rank %d ", r), f)
		}
	}
	return out
}

// difference is a line diff: a longest common subsequence, with one line of context.
func difference(a, b []string) string {
	n, m := len(a), len(b)
	common := make([][]int, n+1)
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	type row struct {
		mark byte
		text string
	}
	var rows []row
	i, j := 0, 0
	for i < n || j < m {
		switch {
		case i < n && j < m && a[i] == b[j]:
			rows = append(rows, row{' ', a[i]})
			i, j = i+1, j+1
		case i < n && (j == m || common[i+1][j] >= common[i][j+1]):
			rows = append(rows, row{'-', a[i]})
			i++
		default:
			rows = append(rows, row{'+', b[j]})
			j++
		}
	}
	var out strings.Builder
	for k, r := range rows {
		near := r.mark != ' ' || k > 0 && rows[k-1].mark != ' ' || k+1 < len(rows) && rows[k+1].mark != ' '
		if near {
			fmt.Fprintf(&out, "%c %s\n", r.mark, r.text)
		}
	}
	return out.String()
}
