package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
)

// printed says by a key which verb prints JSON with it under --json. A scenario has none of
// these keys.
var printed = []struct{ key, verb string }{
	{"stuck", "explore"}, {"transitions", "explore --out"}, {"cells", "matrix"}, {"entries", "matrix --catalog"},
	{"explanations", "diagnose"}, {"findings", "lint"}, {"programs", "show"}, {"parameters", "show"}, {"groups", "list"},
	{"tests", "conform"}, {"recording", "replay"}, {"unproven", "replay --selftest"}, {"backends", "version"},
}

// mistaken is the error for a file that some verb printed and this one cannot read; nil for
// any other file. want is what the verb reads.
func mistaken(file string, src []byte, want string) error {
	keys, ok := topKeys(src)
	if !ok {
		return nil
	}
	for _, p := range printed {
		if slices.Contains(keys, p.key) {
			return &exitError{statusUsage, &model.Error{File: file, Line: 1, Col: 1,
				Msg: fmt.Sprintf("this is what %s --json prints: want %s", p.verb, want)}}
		}
	}
	return nil
}

// topKeys are the keys of a JSON object, in order; false for what is no JSON object.
func topKeys(src []byte) ([]string, bool) {
	if s := bytes.TrimLeft(src, " \t\r\n"); len(s) == 0 || s[0] != '{' || !json.Valid(s) {
		return nil, false
	}
	var keys []string
	d := json.NewDecoder(bytes.NewReader(src))
	d.Token()
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil, false
		}
		keys = append(keys, key.(string))
	}
	return keys, true
}
