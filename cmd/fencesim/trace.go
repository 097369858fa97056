package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// maxTrace is the longest trace or result: a trace may be longer than a scenario.
const maxTrace = 512 << 20

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
		line, col := model.Position(src, keyOffset(src, "fencesim"))
		return nil, &exitError{statusUsage, &model.Error{File: file, Line: line, Col: col, Msg: fmt.Sprintf("version %d of the format: want %d", keys.Version, model.FormatVersion)}}
	}
	t := new(sim.Trace)
	if isTrace {
		if err := strictly(file, src, t); err != nil {
			return nil, err
		}
	} else {
		var r check.Result
		if err := json.Unmarshal(src, &r); err != nil {
			return nil, misread(file, src, "a result", err)
		}
		if t = r.FirstTrace(); t == nil {
			return nil, usage("%s: a result with verdict %s and no trace", file, r.Verdict)
		}
	}
	if t.Digest == "" || len(t.Scenario) == 0 {
		return nil, &exitError{statusUsage, &model.Error{File: file, Line: 1, Col: 1, Msg: "the trace has no digest or no scenario"}}
	}
	return t, nil
}

// strictly reads a trace that has no unknown key.
func strictly(file string, src []byte, t *sim.Trace) error {
	d := json.NewDecoder(bytes.NewReader(src))
	d.DisallowUnknownFields()
	err := d.Decode(t)
	if err == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		line, col := model.Position(src, keyOffset(src, strings.Trim(name, `"`)))
		return &exitError{statusUsage, &model.Error{File: file, Line: line, Col: col, Msg: "not a trace: unknown key " + name}}
	}
	return misread(file, src, "a trace", err)
}

// misread is the error of the JSON decoder with its position.
func misread(file string, src []byte, what string, err error) error {
	e := &model.Error{File: file, Line: 1, Col: 1, Msg: fmt.Sprintf("not %s: %v", what, err)}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		e.Line, e.Col = model.Position(src, int(kind.Offset)-1)
		e.Msg = fmt.Sprintf("not %s: %s: want %s, found %s", what, kind.Field, jsonWords[kind.Type.Kind()], strings.Replace(kind.Value, "string", "text", 1))
	}
	return &exitError{statusUsage, e}
}

// jsonWords says what a Go type is in JSON.
var jsonWords = map[reflect.Kind]string{
	reflect.String: "text", reflect.Bool: "true or false", reflect.Struct: "an object", reflect.Map: "an object", reflect.Slice: "a list",
	reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Uint32: "a whole number", reflect.Uint64: "a whole number", reflect.Float64: "a number",
}

// keyOffset is where a key of a trace or of one of its steps stands; keys of the scenario
// in it are passed over.
func keyOffset(src []byte, name string) int {
	d := json.NewDecoder(bytes.NewReader(src))
	var open []json.Delim // of which objects expect a key next where key is true
	key := false
	for {
		token, err := d.Token()
		if err != nil {
			return 0
		}
		switch v := token.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				open = append(open, v)
			} else {
				open = open[:len(open)-1]
			}
		case string:
			if key && v == name {
				end := int(d.InputOffset())
				return bytes.LastIndexByte(src[:end-1], '"')
			}
			if key && v == "scenario" && len(open) == 1 {
				var skip json.RawMessage
				if d.Decode(&skip) != nil {
					return 0
				}
				key = true
				continue
			}
			if key {
				key = false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] == '{'
	}
}
