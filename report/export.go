package report

import (
	"context"
	"errors"
	"io"
	"strings"
)

// A Format is one form in which a scenario, its result or its run leaves for other tools.
type Format struct {
	Name string
	Doc  string // one line
	// Static says that only the scenario is written: no run is looked for.
	Static bool
	Write  func(io.Writer, Input) error
}

// Formats is the table of all formats: the command line, its help and the tests walk it.
// What each writes is a function of its input alone: equal inputs give equal bytes.
var Formats = []Format{
	{Name: "json", Doc: "the result as explore --json has it, or the trace", Write: exportJSON},
	{Name: "perfetto", Doc: "Chrome trace events for the Perfetto UI: agents as tracks, fences as counters, update to wait as flows", Write: Perfetto},
	{Name: "svg", Doc: "a picture: of the run, of who waits for whom, or of the schedule (--of run, waits, schedule)", Write: exportSVG},
	{Name: "dot", Doc: "the graph of who waits for whom, or the schedule, for Graphviz (--of waits, schedule)", Write: exportDOT},
	{Name: "itf", Doc: "the states of the run as an ITF trace, for Apalache, Quint and other TLA+ tools", Write: ITF},
	{Name: "shiviz", Doc: "the run as a log with vector clocks, for ShiViz", Write: ShiViz},
	{Name: "junit", Doc: "the properties as JUnit test cases, for CI", Write: JUnit},
	{Name: "sarif", Doc: "what was found as SARIF 2.1.0, for code scanning", Write: SARIF},
	{Name: "promela", Doc: "the schedule as a model for Spin; explicit schedules only", Static: true, Write: func(w io.Writer, in Input) error {
		return Promela(w, in.Programs, in.Scenario.Machine, in.Promela)
	}},
}

// FormatNamed is the row of [Formats] with that name.
func FormatNamed(name string) (Format, bool) {
	for _, f := range Formats {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

var (
	errNoRun    = errors.New("there is no run: want a trace, a result or a scenario that is explored")
	errNoResult = errors.New("nothing was decided: want a result or a scenario, not a trace")
)

func exportJSON(w io.Writer, in Input) error {
	switch {
	case in.Result != nil:
		return JSON(w, in.Result)
	case in.Trace != nil:
		return JSON(w, in.Trace)
	}
	return errNoRun
}

// timeline lays out in's run.
func (in Input) timeline() (*Timeline, error) {
	if in.Trace == nil {
		return nil, errNoRun
	}
	return NewTimeline(context.Background(), in.System, in.Choices), nil
}

// waits is the graph of waits at the end of in's run.
func (in Input) waits() (*WaitGraph, error) {
	if in.Trace == nil {
		return nil, errNoRun
	}
	s, _ := last(in.System, in.Choices)
	return NewWaitGraph(in.System, s), nil
}

func exportSVG(w io.Writer, in Input) error {
	switch in.Of {
	case "", "run":
		t, err := in.timeline()
		if err != nil {
			return err
		}
		title, says := in.caption(t)
		return TimelineSVG(w, t, title, says)
	case "waits":
		g, err := in.waits()
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, strings.Replace(g.SVG(), "<defs>", "<style>"+pictureStyle+"</style><defs>", 1)+"\n")
		return err
	case "schedule":
		return ScheduleSVG(w, in)
	}
	return errors.New("svg draws run, waits or schedule, not " + in.Of)
}

func exportDOT(w io.Writer, in Input) error {
	switch in.Of {
	case "", "waits":
		g, err := in.waits()
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, g.DOT(in.Scenario.Name))
		return err
	case "schedule":
		return ScheduleDOT(w, in)
	}
	return errors.New("dot has waits or schedule, not " + in.Of)
}

// caption is a picture's title and what it says below.
func (in Input) caption(t *Timeline) (string, string) {
	o := in.outcome(t)
	return title(in.Scenario.Name) + ": " + in.subject(), o.Verdict + ": " + o.Cause
}
