package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
)

const (
	fuzzedHang   = "fencesim: 1\nname: hang\nmachine: lag-0\nschedule: {queues: [{name: gpu, buffers: [[kernel x, update G 1, wait C 1]]}], streams: [{name: cpu, tasks: [wait G 1, collective r reads x, update C 1]}]}\n"
	fuzzedOK     = "fencesim: 1\nranks: 2\nmachine: ideal\nschedule: {queues: [{name: gpu, buffers: [[kernel x, update G 1], [wait C 1]]}], streams: [{name: cpu, tasks: [wait G 1, collective r reads x, update C 1]}]}\n"
	fuzzedFaulty = "fencesim: 1\nschedule: {queues: [{name: gpu, buffers: [[kernel x, up G 1]]}]}\n"
)

// runFiles gives the corpus a scenario of each kind, its result and its trace.
func runFiles(f *testing.F, add func([]byte)) {
	for _, text := range []string{fuzzedHang, fuzzedOK, fuzzedFaulty} {
		add([]byte(text))
		sc, err := model.Parse("seed", []byte(text))
		if err != nil {
			continue
		}
		r, err := check.Explore(context.Background(), sc, check.Config{Workers: 1})
		if err != nil {
			f.Fatal(err)
		}
		r.Elapsed = 0
		for _, v := range []any{r, r.FirstTrace()} {
			b, err := json.Marshal(v)
			if err != nil {
				f.Fatal(err)
			}
			add(b)
		}
	}
}

// A file is a trace, a result, neither, or refused in one line as wrong input.
func FuzzReadRun(f *testing.F) {
	runFiles(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		r, trace, err := readRun("f.json", src)
		if err != nil {
			e, ok := err.(*exitError)
			if !ok || e.status != statusUsage || strings.Contains(e.Error(), "\n") {
				t.Fatalf("not one line: %v", err)
			}
			return
		}
		if trace != nil && (r == nil && trace.Version != model.FormatVersion || trace.Digest == "" || len(trace.Scenario) == 0) {
			t.Fatalf("a trace without what a replay needs: %+v", trace)
		}
		if r != nil && !isResult(src) {
			t.Fatal("a result that is none")
		}
	})
}

// fuzzedVerbs are command lines that read standard input; of the last ones a trace or result.
var fuzzedVerbs = [][]string{
	{"lint", "-"}, {"lint", "-", "--json"}, {"show", "-"}, {"show", "-", "--json"}, {"replay", "-"}, {"replay", "-", "--json"},
	{"explore", "-", "--max-states", "2000", "--shrink=false"}, {"explore", "-", "--json", "--strategy", "random", "--runs", "3"},
	{"report", "-", "-o", "-"}, {"export", "-", "--format", "json"}, {"export", "-", "--format", "junit"}, {"export", "-", "--format", "sarif"},
}

// firstOfRun is the first of fuzzedVerbs that would explore a scenario without a bound.
const firstOfRun = 8

// Whatever a verb is given, it ends with a result, or with one line and the status of wrong
// input and nothing else.
func FuzzVerbs(f *testing.F) {
	for i := range fuzzedVerbs {
		runFiles(f, func(b []byte) { f.Add(uint8(i), b) })
	}
	f.Fuzz(func(t *testing.T, verb uint8, src []byte) {
		i := int(verb) % len(fuzzedVerbs)
		if !quick(src, i >= firstOfRun) {
			return
		}
		var out, errs bytes.Buffer
		w := &world{
			stdin: bytes.NewReader(src), stdout: &out, stderr: &errs,
			lookupEnv: func(name string) (string, bool) { return "1", name == "FENCESIM_DETERMINISTIC" },
			terminal:  func(io.Writer) (int, bool) { return 0, false },
		}
		switch st := w.run(context.Background(), fuzzedVerbs[i]); st {
		case statusOK, statusFound, statusOpen:
			if out.Len() == 0 {
				t.Fatalf("%v: status %d and no result\n%s", fuzzedVerbs[i], st, errs.Bytes())
			}
		case statusUsage:
			if out.Len() > 0 || strings.Count(errs.String(), "\n") != 1 {
				t.Fatalf("%v: not one line but\n%s%s", fuzzedVerbs[i], out.Bytes(), errs.Bytes())
			}
		default:
			t.Fatalf("%v: status %d\n%s", fuzzedVerbs[i], st, errs.Bytes())
		}
	})
}

// quick reports whether verbs end soon on a file: what it holds is refused or small. A
// scenario counts only if none of a run is needed.
func quick(src []byte, ofRun bool) bool {
	if len(src) > 1<<14 {
		return false
	}
	r, trace, err := readRun("f", src)
	scenarios := [][]byte{src}
	switch {
	case err != nil:
		return true
	case trace != nil:
		scenarios = [][]byte{trace.Scenario}
	case r != nil:
		scenarios = [][]byte{r.Source}
	case ofRun:
		return false
	}
	if r != nil && r.Source != nil {
		scenarios = append(scenarios, r.Source)
	}
	for _, s := range scenarios {
		if _, err := model.Parse("f", s); err == nil && bytes.ContainsRune(s, '&') {
			return false
		} else if sc, _ := naive.Small(s, 20); err == nil && sc == nil {
			return false
		}
	}
	return true
}

// The values of flags are read back from what they say of themselves.
func FuzzFlagValues(f *testing.F) {
	for _, text := range []string{"0", "7", "0x1F", "18446744073709551615", "4294967295", "512MiB", "2GiB", "1.5KB", "1e3", "8,8,7", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, s2 seed
		if s.Set(text) == nil && (s2.Set(s.String()) != nil || s != s2) {
			t.Errorf("seed %q is %d, and %q is %d", text, s, s.String(), s2)
		}
		var b, b2 byteSize
		if b.Set(text) == nil && (b2.Set(b.String()) != nil || b != b2 || b < 0) {
			t.Errorf("size %q is %d, and %q is %d", text, b, b.String(), b2)
		}
		var c, c2 counter
		if c.Set(text) == nil && (c2.Set(c.String()) != nil || *c.value != *c2.value) {
			t.Errorf("counter %q is %d, and %q is not", text, *c.value, c.String())
		}
		v := diagnoseFlags{seen: text}
		if o, err := v.observation(); err == nil && text != "" && len(o.Seen) != 1+strings.Count(text, ",") {
			t.Errorf("--seen %q is %v", text, o.Seen)
		}
	})
}
