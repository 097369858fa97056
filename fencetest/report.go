package fencetest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// failure is a scenario that violates something on a machine.
type failure struct {
	scenario   *model.Scenario
	machine    machine
	result     *check.Result
	properties []string
	seed       uint64 // of the draw; 0 for a scenario that was not drawn
	drawn      string // how it was drawn, for people
}

// trace is the run that shows the failure: of the property that is named first.
func (f *failure) trace() *sim.Trace {
	if f.properties[0] == "hang" || f.properties[0] == "orphan" {
		for _, s := range f.result.Stuck {
			if s.Trace != nil {
				return s.Trace
			}
		}
	}
	for _, v := range f.result.Violations {
		if v.Trace != nil {
			return v.Trace
		}
	}
	for _, s := range f.result.Stuck {
		if s.Trace != nil {
			return s.Trace
		}
	}
	return nil
}

// report keeps the case as files and says what it is. The last line is the command that
// replays it.
func (c Config) report(t TB, f *failure) string {
	var b strings.Builder
	verb := "violates " + strings.Join(f.properties, ", ")
	if f.properties[0] == "hang" {
		verb = "can hang"
	}
	fmt.Fprintf(&b, "%s %s on %s (proof: %s)\n", title(f.scenario), verb, f.machine.name, f.result.Proof)
	if f.drawn != "" {
		fmt.Fprintf(&b, "%s\n", f.drawn)
	}
	if len(f.result.Stuck) > 0 {
		s := &f.result.Stuck[0]
		fmt.Fprintf(&b, "stuck at %s after %d steps: %s\n", s.Counters, s.Steps, s.Cause)
		for _, line := range s.Cycle {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for _, v := range f.result.Violations {
		fmt.Fprintf(&b, "%s after %d steps: %s\n", v.Property, v.Steps, v.Where)
	}
	small, trace := f.smallest()
	text, err := small.Format()
	if err == nil && bytes.Count(text, []byte("\n")) <= 60 {
		title := "the case:"
		if f.result.Shrunk != nil && trace != nil && trace == f.result.Shrunk.Trace {
			title = fmt.Sprintf("the case, shrunk to a run of %d steps:", len(trace.Steps))
		}
		fmt.Fprintf(&b, "%s\n%s", title, indent(string(text)))
	}
	fmt.Fprintf(&b, "again:  %s\n", f.testCommand(t))
	fmt.Fprint(&b, c.replay(t, f, small, trace))
	return b.String()
}

// smallest is the shrunk scenario with its run or, where shrinking gave none, the scenario
// itself.
func (f *failure) smallest() (*model.Scenario, *sim.Trace) {
	if s := f.result.Shrunk; s != nil && s.Trace != nil {
		if sc, err := model.Parse("shrunk", s.Scenario); err == nil {
			return sc, s.Trace
		}
	}
	return on(f.scenario, f.machine), f.trace()
}

// replay keeps the case and is the command that replays it.
func (c Config) replay(t TB, f *failure, small *model.Scenario, trace *sim.Trace) string {
	if trace == nil || !c.keeps(t) {
		return "fencesim explore - # with the case above"
	}
	r := record{dir: c.dirOf(t), name: f.name()}
	if err := r.save(t, f, small, trace); err != nil {
		return fmt.Sprintf("the case is not kept: %v", err)
	}
	file, err := filepath.Abs(r.trace())
	if err != nil {
		file = r.trace()
	}
	return "fencesim replay " + quote(file)
}

// name is that of the failure's files.
func (f *failure) name() string {
	name := f.properties[0] + "-" + safe(f.machine.name)
	if f.seed != 0 {
		name += fmt.Sprintf("-%x", f.seed)
	}
	return name
}

func (f *failure) testCommand(t TB) string {
	line := "go test -run " + quote(pattern(t.Name()))
	if f.seed != 0 {
		line += fmt.Sprintf(" -fencesim.seed=%#x -fencesim.runs=1", f.seed)
	}
	return line
}

// pattern matches a test and its parents, each alone.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// quote quotes a word for a POSIX shell where it has to.
func quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:@%+", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// safe is text as part of a file name on every system.
func safe(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r) {
			return r
		}
		return '_'
	}, text)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
