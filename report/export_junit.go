package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/fencesim/fencesim/check"
)

// junitMessage is why a test case did not pass.
type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// JUnit writes the properties of a result as the test cases of one suite, so that a suite
// passes exactly if explore ends with status 0: a violated property fails unless the
// scenario expects what was found; one that is not known is skipped or, where the verdict
// is inconclusive, an error. If the scenario expects something of the run, whether that is
// so is a case of its own.
func JUnit(w io.Writer, in Input) error {
	r := in.Result
	if r == nil {
		return errNoResult
	}
	s := junitSuite{Name: title(r.Scenario) + " (" + in.subject() + ")", Time: fmt.Sprintf("%.3f", r.Elapsed)}
	add := func(name string) *junitCase {
		s.Cases = append(s.Cases, junitCase{Class: "fencesim." + title(r.Scenario), Name: name, Time: "0.000"})
		return &s.Cases[len(s.Cases)-1]
	}
	why := "not known"
	if r.Bound != "" {
		why += ": " + r.Bound
	}
	for _, p := range check.Properties {
		c := add(p)
		switch r.Properties[p] {
		case check.Violated:
			text, where := found(r, p)
			if r.Expect == "met" {
				c.Out = "expected: " + text
				break
			}
			c.Failure = &junitMessage{text, strings.TrimSpace(where + "\n" + replayLine(r))}
		case check.Unknown:
			if r.Verdict == check.Inconclusive && r.Expect != "met" {
				c.Error = &junitMessage{Message: why}
			} else {
				c.Skipped = &junitMessage{Message: why}
			}
		}
	}
	switch says, instead := expected(r, Unmet(in.Scenario, r)); says {
	case "":
	case "no":
		add("expectation").Failure = &junitMessage{fmt.Sprintf("the verdict is %s; %s", r.Verdict, instead), replayLine(r)}
	case "not decided":
		add("expectation").Error = &junitMessage{Message: says + ": " + instead}
	default:
		add("expectation")
	}
	s.count()
	b, err := xml.MarshalIndent(struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}{Suites: []junitSuite{s}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, b)
	return err
}

// count fills in the numbers of a suite.
func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for i := range s.Cases {
		c := &s.Cases[i]
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}
