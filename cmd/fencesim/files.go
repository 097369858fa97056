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

// scenarioJSON is a scenario as a trace carries it.
func scenarioJSON(sc *model.Scenario) (json.RawMessage, error) { return json.Marshal(sc) }
