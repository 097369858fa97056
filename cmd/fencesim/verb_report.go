package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

type reportFlags struct {
	output string
}

func newReport(w *world) *cobra.Command {
	v := &reportFlags{output: "report.html"}
	c := &cobra.Command{
		Use:   "report [RESULT|TRACE] [flags]",
		Short: "write a page that shows a result or a trace",
		Long: `report writes one HTML file that needs nothing else: the cause in a sentence, the counters,
a lane for each agent over the steps with a cursor that shows the whole state, the cycle
of waits, and the same schedule with the waits that should cure it.

RESULT is what explore --json or --out wrote, TRACE what explore --out or replay --out
wrote, - is standard input. A scenario, by file or name, is explored first.`,
		Example: `  fencesim explore mlx-independent-reductions --out out
  fencesim report out/result.json -o hang.html`,
		Args: oneOf("result or trace"),
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), w, args[0]) },
	}
	c.Flags().StringVarP(&v.output, "output", "o", v.output, "the file to write; - is standard output")
	c.ValidArgsFunction = completeScenario
	return c
}

func (v *reportFlags) run(ctx context.Context, w *world, arg string) error {
	in, err := w.openInput(ctx, "report", arg, true)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := report.HTML(ctx, &b, in); err != nil {
		return usage("report: %s: %w", arg, err)
	}
	return w.save("report", v.output, b.Bytes())
}

// openInput reads a result, a trace or a scenario. A scenario is explored if its run is
// needed.
func (w *world) openInput(ctx context.Context, verb, arg string, run bool) (report.Input, error) {
	file, src, err := w.read(arg, maxTrace)
	if err != nil {
		return report.Input{}, err
	}
	result, trace, err := readRun(file, src)
	if err != nil {
		return report.Input{}, err
	}
	var scenario []byte
	switch {
	case trace != nil:
		scenario = trace.Scenario
	case result != nil:
		scenario = result.Source
		if len(scenario) == 0 {
			return report.Input{}, usage("%s: a result without its scenario", file)
		}
	}
	var sc *model.Scenario
	if scenario != nil {
		sc, err = parseInner(file, src, scenario)
	} else if err = mistaken(file, src, "what explore --json or --out wrote, or a scenario"); err == nil {
		sc, err = parseScenario(file, src)
	}
	if err != nil {
		return report.Input{}, err
	}
	if trace == nil && result == nil && run {
		result, err = check.Explore(ctx, sc, check.Config{Seed: 1})
		if err != nil {
			return report.Input{}, usage("%s: %w", verb, err)
		}
		result.Elapsed = 0
		result.Replay = commandLine([]string{"explore", arg})
	}
	in, err := report.NewInput(sc, result, trace)
	if err != nil {
		return in, usage("%s: %s: %w", verb, file, err)
	}
	if trace == nil && (result == nil || run) {
		in.File = arg
	}
	return in, nil
}

// readRun reads a result, a trace, or neither.
func readRun(file string, src []byte) (*check.Result, *sim.Trace, error) {
	trace, err := readTrace(file, src)
	var r check.Result
	isResult := isResult(src)
	switch {
	case err != nil && !isResult, trace == nil && !isResult:
		return nil, nil, err
	case !isResult:
		return nil, trace, nil
	}
	if err := json.Unmarshal(src, &r); err != nil {
		return nil, nil, misread(file, src, "a result", err)
	}
	if err := unknownWords(file, src); err != nil {
		return nil, nil, err
	}
	report.Printable(&r)
	if trace == nil {
		return &r, nil, nil
	}
	return &r, trace, nil
}

// unknownWords is an error if a result has another version, no verdict, or a property of
// which it does not say what is known.
func unknownWords(file string, src []byte) error {
	var r struct {
		Version    int               `json:"fencesim"`
		Verdict    string            `json:"verdict"`
		Properties map[string]string `json:"properties"`
	}
	if err := json.Unmarshal(src, &r); err != nil {
		return misread(file, src, "a result", err)
	}
	at := func(key, format string, args ...any) error {
		line, col := model.Position(src, keyOffset(src, key))
		return &exitError{statusUsage, &model.Error{File: file, Line: line, Col: col, Msg: "not a result: " + fmt.Sprintf(format, args...)}}
	}
	if r.Version != model.FormatVersion {
		return at("fencesim", "version %d of the format: want %d", r.Version, model.FormatVersion)
	}
	var v check.Verdict
	if v.UnmarshalText([]byte(r.Verdict)); v.String() != r.Verdict {
		return at("verdict", "verdict: want ok, hang, violation or inconclusive, found %q", r.Verdict)
	}
	for _, p := range check.Properties {
		var s check.Status
		if s.UnmarshalText([]byte(r.Properties[p])); s.String() != r.Properties[p] {
			return at("properties", "property %s: want holds, violated or unknown, found %q", p, r.Properties[p])
		}
	}
	return nil
}

// isResult reports whether a file is a result, which has stuck states even if none.
func isResult(src []byte) bool {
	if s := bytes.TrimLeft(src, " \t\r\n"); len(s) == 0 || s[0] != '{' {
		return false
	}
	var keys struct {
		Stuck json.RawMessage `json:"stuck"`
	}
	return json.Unmarshal(src, &keys) == nil && keys.Stuck != nil
}

// save writes a file, or standard output for "-".
func (w *world) save(verb, name string, content []byte) error {
	if name == "" {
		return usage("%s: --output: want a file, or - for standard output", verb)
	}
	if name == "-" {
		_, err := w.stdout.Write(content)
		return err
	}
	if err := os.WriteFile(name, content, 0o666); err != nil {
		return usage("%s: %w", verb, err)
	}
	return nil
}

// oneOf wants exactly one argument called what.
func oneOf(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage("%s: no %s", c.Name(), what)
		case len(args) > 1:
			return usage("%s: one %s, not %d: unexpected %q", c.Name(), what, len(args), args[1])
		}
		return nil
	}
}
