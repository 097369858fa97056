package report_test

import (
	"encoding/xml"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

type junit struct {
	Suites []struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// TestJUnit: a suite's numbers are those of its cases, and it passes exactly if explore
// ends with status 0.
func TestJUnit(t *testing.T) {
	for name, in := range exported(t) {
		if in.Result == nil {
			continue
		}
		var suites junit
		if err := xml.Unmarshal(export(t, "junit", in), &suites); err != nil {
			t.Fatal(err)
		}
		s := suites.Suites[0]
		failures, errors, skipped := 0, 0, 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errors++
			}
			if c.Skipped != nil {
				skipped++
			}
		}
		if s.Tests != len(s.Cases) || s.Failures != failures || s.Errors != errors || s.Skipped != skipped {
			t.Errorf("%s: tests %d, failures %d, errors %d, skipped %d of %d cases with %d, %d and %d", name,
				s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), failures, errors, skipped)
		}
		if met := in.Result.Expect == "met" || in.Result.Verdict == check.OK; met != (failures+errors == 0) {
			t.Errorf("%s: as expected: %v, but %d failures and %d errors", name, met, failures, errors)
		}
	}
}

// TestJUnitExpectation: what fails depends on what the scenario expects.
func TestJUnitExpectation(t *testing.T) {
	const head = "fencesim: 1\nname: x\nschedule:\n" +
		"  queues: [{name: gpu, buffers: [[kernel x, update G 1], [wait C 1]]}]\n  streams: [{name: cpu, tasks: [wait G 1, update C 1]}]\n"
	for _, c := range []struct {
		name, expect     string
		machine          string
		config           check.Config
		failures, errors int
	}{
		{"no expectation", "", "lag-1", check.Config{}, 1, 0},
		{"met", "{verdict: hang}", "lag-1", check.Config{}, 0, 0},
		{"missed by a hang", "{verdict: ok}", "lag-1", check.Config{}, 2, 0},
		{"missed by its counters", "{verdict: hang, counters: {scheduled: 9, gpu: 0, cpu: 0}}", "lag-1", check.Config{}, 2, 0},
		{"of another machine", "{machine: lag-0, verdict: ok}", "lag-1", check.Config{}, 1, 0},
		{"missed by an ok", "{verdict: hang}", "ideal", check.Config{}, 1, 0},
		{"undecided", "{verdict: hang}", "lag-0", check.Config{Strategy: "dfs", MaxStates: 2, Reductions: []string{}}, 0, 9},
	} {
		sc, err := model.Parse(c.name, []byte(head+"machine: "+c.machine+"\nexpect: ["+c.expect+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := check.Explore(t.Context(), sc, c.config)
		if err != nil {
			t.Fatal(err)
		}
		in, err := report.NewInput(sc, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		var suites junit
		b := export(t, "junit", in)
		if err := xml.Unmarshal(b, &suites); err != nil {
			t.Fatal(err)
		}
		if s := suites.Suites[0]; s.Failures != c.failures || s.Errors != c.errors {
			t.Errorf("%s: %d failures and %d errors, want %d and %d:\n%s", c.name, s.Failures, s.Errors, c.failures, c.errors, b)
		}
	}
}
