package check

import (
	"bufio"
	"fmt"
	"io"
)

// Text writes the findings for a person: the verdict, then the findings by rule.
func (l *Lint) Text(w io.Writer) error {
	b := bufio.NewWriter(w)
	l.head(b)
	rule := ""
	for _, f := range l.Findings {
		if f.Rule != rule {
			rule = f.Rule
			doc := ""
			for _, r := range LintRules {
				if r.Name == rule {
					doc = r.Doc
				}
			}
			fmt.Fprintf(b, "\n%s %s: %s\n", f.Level, f.Rule, doc)
		}
		fmt.Fprintf(b, "  %s\n    needs %s\n", f.Where, f.Needs)
	}
	if len(l.Findings) > 0 {
		b.WriteByte('\n')
	}
	if l.Slack != nil {
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
	found := fmt.Sprintf("%d faults, %d risks, %d hints", counts["hang"], counts["risk"], counts["advice"])
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
