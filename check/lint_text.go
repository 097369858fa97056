package check

import (
	"bufio"
	"fmt"
	"io"
)

// mostWritten is how many findings of one rule the text shows.
const mostWritten = 6

// Text writes the findings for a person: the verdict, then the findings by rule.
func (l *Lint) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	l.head(b)
	rule, written := "", 0
	more := func() {
		if written > mostWritten {
			fmt.Fprintf(b, "  … %d more (--json lists them)\n", written-mostWritten)
		}
	}
	for _, f := range l.Findings {
		if f.Rule != rule {
			more()
			rule, written = f.Rule, 0
			doc := ""
			for _, r := range LintRules {
				if r.Name == rule {
					doc = r.Doc
				}
			}
			fmt.Fprintf(b, "\n%s %s: %s\n", f.Level, f.Rule, doc)
		}
		if written++; written <= mostWritten {
			fmt.Fprintf(b, "  %s\n    needs %s\n", f.Where, f.Needs)
		}
	}
	more()
	if len(l.Findings) > 0 {
		b.WriteByte('\n')
	}
	switch {
	case l.Slack == nil:
	case *l.Slack < 0:
		b.WriteString("slack  by these rules no lag is safe, not even 0\n")
	default:
		fmt.Fprintf(b, "slack  safe up to lag %d by these rules\n", *l.Slack)
	}
	return b.Flush()
}

// Line writes the verdict alone.
func (l *Lint) Line(w io.Writer) error {
	b := bufio.NewWriter(w)
	l.head(b)
	return b.Flush()
}

func (l *Lint) head(b *bufio.Writer) {
	counts := map[string]int{}
	for _, f := range l.Findings {
		counts[f.Level]++
	}
	found := plural(counts["hang"], "fault") + ", " + plural(counts["risk"], "risk") + ", " + plural(counts["advice"], "hint")
	switch l.Verdict {
	case Hang:
		fmt.Fprintf(b, "hang: %s in %s\n", found, l.name())
	case OK:
		fmt.Fprintf(b, "ok: nothing in %s can hang: %s\n", l.name(), found)
	default:
		fmt.Fprintf(b, "no fault found in %s, which is no proof (%s): %s\n", l.name(), l.Reason, found)
	}
}

func (l *Lint) name() string {
	name := l.Scenario
	if name == "" {
		name = "the scenario"
	}
	if l.Discipline != "" {
		name += " under " + l.Discipline
	}
	if m := l.Machine.Name(); m != "" {
		name += " on " + m
	}
	return name
}

// plural is "1 fault", "2 faults".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
