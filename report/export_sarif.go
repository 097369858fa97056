package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/fencesim/fencesim/check"
)

func replayLine(r *check.Result) string {
	if r.Replay == "" {
		return ""
	}
	return "replay: " + r.Replay
}

// found is what a result says of a violated property: a sentence, and where.
func found(r *check.Result, property string) (text, where string) {
	if property == "hang" && len(r.Stuck) > 0 {
		s := &r.Stuck[0]
		return cause(r), fmt.Sprintf("stuck at %s after %s\n%s", s.Counters, count(int64(s.Steps), "step"), strings.Join(s.Cycle, "\n"))
	}
	for _, f := range r.Violations {
		if f.Property == property {
			return fmt.Sprintf("%s at step %d: %s", property, f.Steps, f.Where), f.Where
		}
	}
	if property == "orphan" {
		return "the hang leaves the GPU locked: main thread and CPU streams have ended", ""
	}
	return property + " is violated", ""
}

// propertyDocs says what each property demands, for rules of SARIF.
var propertyDocs = map[string]string{
	"hang":           "A state is reachable in which nothing is sure to happen any more and the schedule is not done.",
	"stale-read":     "An array is read before it is written or visible.",
	"overwritten":    "An array is read after a later write has replaced the version that was asked for.",
	"order-mismatch": "Ranks meet in collectives of different names.",
	"backwards":      "A store lowers a counter that others wait for.",
	"use-after-free": "A fence is used after its end.",
	"orphan":         "The process has ended and the GPU stays locked.",
	"lost-update":    "A kill or a race drops an update.",
}

// sarifSchema is the schema that the log names.
const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// SARIF writes what a result found in the Static Analysis Results Interchange Format,
// version 2.1.0: an error for each violated property, a note for each piece of advice, all
// at the scenario's file. What the scenario expects is marked as suppressed.
func SARIF(w io.Writer, in Input) error {
	r := in.Result
	if r == nil {
		return errNoResult
	}
	type m = map[string]any
	rules, index := []m{}, map[string]int{}
	rule := func(id, doc, level string) int {
		if i, ok := index[id]; ok {
			return i
		}
		index[id] = len(rules)
		rules = append(rules, m{"id": id, "shortDescription": m{"text": doc}, "defaultConfiguration": m{"level": level}})
		return index[id]
	}
	for _, p := range check.Properties {
		rule(p, propertyDocs[p], "error")
	}
	uri := filepath.ToSlash(in.File)
	if uri == "" || uri == "-" {
		uri = title(r.Scenario) + ".yaml"
	}
	place := []m{{"physicalLocation": m{"artifactLocation": m{"uri": (&url.URL{Path: uri}).EscapedPath()}, "region": m{"startLine": 1}},
		"logicalLocations": []m{{"name": title(r.Scenario), "kind": "module"}}}}
	results := []m{}
	add := func(i int, level, text string, properties m) {
		x := m{"ruleId": rules[i]["id"], "ruleIndex": i, "level": level, "message": m{"text": text}, "locations": place,
			"partialFingerprints": m{"scenario/v1": in.Scenario.Digest() + "/" + r.Machine.Name() + "/" + fmt.Sprint(rules[i]["id"])}}
		if properties != nil {
			x["properties"] = properties
		}
		if level == "error" && r.Expect == "met" {
			x["suppressions"] = []m{{"kind": "inSource", "justification": "the scenario expects it"}}
		}
		results = append(results, x)
	}
	for i, p := range check.Properties {
		if r.Properties[p] == check.Violated {
			text, where := found(r, p)
			add(i, "error", strings.Join(nonEmpty(text, where, replayLine(r)), "\n"), m{"proof": r.Proofs[p].String(), "assumed": in.subject()})
		}
	}
	for _, a := range r.Advice {
		add(rule(a.Rule, "Advice: never a failure.", "note"), "note", a.Where+": "+a.Needs, nil)
	}
	b, err := json.MarshalIndent(m{"$schema": sarifSchema, "version": "2.1.0", "runs": []m{{
		"tool":       m{"driver": m{"name": "fencesim", "informationUri": "https://github.com/fencesim/fencesim", "rules": rules}},
		"results":    results,
		"columnKind": "utf16CodeUnits",
	}}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}
