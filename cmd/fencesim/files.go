package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return usage("--out: %w", err)
	}
	return nil
}

// saveResult writes result.json, a file for each trace that the result holds and the
// shrunk scenario, and makes the replay command name the first trace.
func saveResult(dir string, r *check.Result) error {
	first := ""
	save := func(t *sim.Trace, file *string, name string) error {
		if t == nil {
			return nil
		}
		*file = name
		if first == "" {
			first = name
		}
		return saveJSON(dir, name, t)
	}
	for i := range r.Stuck {
		s := &r.Stuck[i]
		if err := save(s.Trace, &s.File, fmt.Sprintf("hang-%d.trace.json", i+1)); err != nil {
			return err
		}
	}
	for i := range r.Violations {
		f := &r.Violations[i]
		if err := save(f.Trace, &f.File, f.Property+".trace.json"); err != nil {
			return err
		}
	}
	if first != "" {
		r.Replay = "fencesim replay " + quote(filepath.Join(dir, first))
	}
	if r.Shrunk != nil {
		if err := saveShrunk(dir, r.Shrunk); err != nil {
			return err
		}
	}
	return saveJSON(dir, "result.json", r)
}

func saveShrunk(dir string, s *check.Shrunk) error {
	sc, err := model.Parse("shrunk", s.Scenario)
	if err != nil {
		return err
	}
	text, err := sc.Format()
	if err != nil {
		return err
	}
	if err := saveFile(dir, "shrunk.yaml", text); err != nil || s.Trace == nil {
		return err
	}
	return saveJSON(dir, "shrunk.trace.json", s.Trace)
}

func saveJSON(dir, name string, v any) error {
	var b bytes.Buffer
	if err := report.JSON(&b, v); err != nil {
		return err
	}
	return saveFile(dir, name, b.Bytes())
}

func saveFile(dir, name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
		return usage("--out: %w", err)
	}
	return nil
}

// readTrace reads a trace, or the first one of a result; nil for a file that is neither,
// which then is a scenario.
func readTrace(file string, src []byte) (*sim.Trace, error) {
	if s := bytes.TrimLeft(src, " \t\r\n"); len(s) == 0 || s[0] != '{' {
		return nil, nil
	}
	var keys struct {
		Version     int             `json:"fencesim"`
		Transitions json.RawMessage `json:"transitions"`
		Stuck       json.RawMessage `json:"stuck"`
		Digest      string          `json:"digest"`
	}
	if err := json.Unmarshal(src, &keys); err != nil {
		return nil, nil // the parser of scenarios says where
	}
	isTrace := bytes.HasPrefix(keys.Transitions, []byte("["))
	if !isTrace && keys.Stuck == nil {
		return nil, nil
	}
	if keys.Version != model.FormatVersion {
		return nil, usage("%s: version %d of the format: want %d", file, keys.Version, model.FormatVersion)
	}
	t := new(sim.Trace)
	if isTrace {
		if err := json.Unmarshal(src, t); err != nil {
			return nil, usage("%s: not a trace: %w", file, err)
		}
	} else {
		var r check.Result
		if err := json.Unmarshal(src, &r); err != nil {
			return nil, usage("%s: not a result: %w", file, err)
		}
		if t = r.FirstTrace(); t == nil {
			return nil, usage("%s: a result with verdict %s and no trace", file, r.Verdict)
		}
	}
	if t.Digest == "" || len(t.Scenario) == 0 {
		return nil, usage("%s: the trace has no digest or no scenario", file)
	}
	return t, nil
}

// scenarioJSON is a scenario as a trace carries it.
func scenarioJSON(sc *model.Scenario) (json.RawMessage, error) { return json.Marshal(sc) }
