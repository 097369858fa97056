package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-graphviz"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

// exported are the inputs on which every format is tried: hangs, violations, proofs, ranks
// that run together, and a random run of some scenarios of the catalog.
func exported(t *testing.T) map[string]report.Input {
	t.Helper()
	exportedOnce.Do(func() { exportedInputs = makeExported(t) })
	return exportedInputs
}

var (
	exportedOnce   sync.Once
	exportedInputs map[string]report.Input
)

func makeExported(t *testing.T) map[string]report.Input {
	out := map[string]report.Input{}
	for _, name := range []string{"mlx-independent-reductions", "example-one-slot", "example-spin-limit", "example-next-buffer", "example-shared-buffer"} {
		out[name] = explored(t, name)
	}
	for i, name := range catalog.Names() {
		if _, ok := out[name]; ok || i%4 > 0 { // a quarter of them, to be quick
			continue
		}
		e, _ := catalog.Get(name)
		sc, err := model.Parse(e.File, e.Source)
		if err != nil {
			t.Fatal(err)
		}
		in, err := report.NewInput(sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := sim.RunWith(in.System, sim.NewRandom(11), 300)
		if out[name], err = in.With(run.Choices, "random", -1); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func export(t *testing.T, format string, in report.Input) []byte {
	t.Helper()
	f, ok := report.FormatNamed(format)
	if !ok {
		t.Fatalf("no format is called %s", format)
	}
	var b bytes.Buffer
	if err := f.Write(&b, in); err != nil {
		t.Fatalf("%s of %s: %v", format, in.Scenario.Name, err)
	}
	return b.Bytes()
}

// TestExportBytes: every format gives equal bytes for equal inputs.
func TestExportBytes(t *testing.T) {
	one, two := explored(t, "example-next-buffer"), explored(t, "example-next-buffer")
	for _, f := range report.Formats {
		if !bytes.Equal(export(t, f.Name, one), export(t, f.Name, two)) {
			t.Errorf("%s differs between two runs", f.Name)
		}
		if f.Doc == "" {
			t.Errorf("%s has no line of documentation", f.Name)
		}
	}
}

// TestPerfetto checks a strict subset of the Chrome trace format, as the Perfetto importer
// reads it: known phases with what each needs, slices of a thread that nest, flows that
// begin and end on slices, asynchronous events in pairs, counters that are numbers.
func TestPerfetto(t *testing.T) {
	for name, in := range exported(t) {
		if err := checkPerfetto(export(t, "perfetto", in)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The check is worth something: traces broken by hand are refused.
	good := string(export(t, "perfetto", explored(t, "example-next-buffer")))
	ends := viewed(t, "example-next-buffer")
	ends, err := ends.With(sim.RunWith(ends.System, sim.NewRandom(2), 0).Choices, "random", -1)
	if err != nil {
		t.Fatal(err)
	}
	flowing := string(export(t, "perfetto", ends))
	for what, bad := range map[string]string{
		"slices that do not nest": regexp.MustCompile(`("name":"kernel x"[^\n]*"dur":)1,`).ReplaceAllString(good, "${1}1000,"),
		"a flow without end":      regexp.MustCompile(`,\n\{[^\n]*"ph":"f"[^\n]*`).ReplaceAllString(flowing, ""),
		"an end without begin":    regexp.MustCompile(`,\n\{[^\n]*"ph":"b"[^\n]*`).ReplaceAllString(good, ""),
		"a phase nobody knows":    strings.Replace(good, `"ph":"X"`, `"ph":"Z"`, 1),
	} {
		if bad == good {
			t.Errorf("%s: nothing was broken", what)
		} else if err := checkPerfetto([]byte(bad)); err == nil {
			t.Errorf("%s: not noticed", what)
		}
	}
}

type perfettoEvent struct {
	Name, Cat, Ph, ID, BP string
	TS, Dur               *float64
	PID, TID              *int
	Args                  map[string]any
}

func checkPerfetto(b []byte) error {
	var trace struct {
		DisplayTimeUnit string
		OtherData       map[string]string
		TraceEvents     []perfettoEvent
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&trace); err != nil {
		return err
	}
	type thread struct{ pid, tid int }
	type span struct{ from, to float64 }
	slices_ := map[thread][]span{}
	threads := map[thread]bool{}
	flows := map[string][]perfettoEvent{}
	open := map[string]int{}
	fail := func(e perfettoEvent, what string) error {
		j, _ := json.Marshal(e)
		return errors.New(what + ": " + string(j))
	}
	for _, e := range trace.TraceEvents {
		if e.Name == "" || e.PID == nil || e.TID == nil {
			return fail(e, "an event needs name, pid and tid")
		}
		if e.Ph != "M" && (e.TS == nil || *e.TS < 0) {
			return fail(e, "an event needs a time")
		}
		at := thread{*e.PID, *e.TID}
		switch e.Ph {
		case "M":
			if e.Name == "thread_name" {
				threads[at] = true
			}
			if len(e.Args) != 1 {
				return fail(e, "metadata needs one argument")
			}
		case "X":
			if e.Dur == nil || *e.Dur <= 0 {
				return fail(e, "a slice needs a duration")
			}
			if !threads[at] {
				return fail(e, "a slice on a thread without a name")
			}
			slices_[at] = append(slices_[at], span{*e.TS, *e.TS + *e.Dur})
		case "C":
			for _, v := range e.Args {
				if _, ok := v.(float64); !ok {
					return fail(e, "a counter needs numbers")
				}
			}
		case "b":
			open[e.Cat+e.Name+e.ID]++
		case "e":
			if open[e.Cat+e.Name+e.ID]--; open[e.Cat+e.Name+e.ID] < 0 {
				return fail(e, "an end without a begin")
			}
		case "s", "t", "f":
			if e.Ph == "f" && e.BP != "e" {
				return fail(e, "the end of a flow binds to the slice around it")
			}
			flows[e.ID] = append(flows[e.ID], e)
		default:
			return fail(e, "unknown phase")
		}
	}
	for k, n := range open {
		if n != 0 {
			return errors.New("begin without end: " + k)
		}
	}
	for at, list := range slices_ {
		slices.SortStableFunc(list, func(a, b span) int {
			if a.from != b.from {
				return int(a.from - b.from)
			}
			return int(b.to - a.to)
		})
		var stack []span
		for _, s := range list {
			for len(stack) > 0 && stack[len(stack)-1].to <= s.from {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 && s.to > stack[len(stack)-1].to {
				return errors.New("slices of thread " + strconv.Itoa(at.tid) + " do not nest")
			}
			stack = append(stack, s)
		}
	}
	for id, list := range flows {
		if len(list) < 2 || list[0].Ph != "s" || list[len(list)-1].Ph != "f" {
			return errors.New("flow " + id + " does not begin and end")
		}
		for i, e := range list {
			if i > 0 && *e.TS < *list[i-1].TS {
				return fail(e, "a flow goes back in time")
			}
			on := slices.ContainsFunc(slices_[thread{*e.PID, *e.TID}], func(s span) bool { return s.from <= *e.TS && *e.TS < s.to })
			if !on {
				return fail(e, "a flow on no slice")
			}
		}
	}
	return nil
}

// TestITF: traces follow the format's document, and say what the states of the run are.
func TestITF(t *testing.T) {
	c := jsonschema.NewCompiler()
	schema, err := c.Compile(filepath.Join("testdata", "export", "itf.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range exported(t) {
		b := export(t, "itf", in)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var trace struct {
			Vars   []string
			States []map[string]json.RawMessage
		}
		if err := json.Unmarshal(b, &trace); err != nil {
			t.Fatal(err)
		}
		if len(trace.States) != len(in.Choices)+1 {
			t.Errorf("%s: %d states of a run of %d steps", name, len(trace.States), len(in.Choices))
		}
		for i, s := range trace.States {
			delete(s, "#meta")
			if have := slices.Sorted(maps.Keys(s)); cmp.Diff(slices.Sorted(slices.Values(trace.Vars)), have) != "" {
				t.Fatalf("%s: state %d has %v, the trace %v", name, i, have, trace.Vars)
			}
		}
	}
}

// TestSARIF: logs follow the schema of SARIF 2.1.0, which OASIS publishes
// (github.com/oasis-tcs/sarif-spec, sarif-2.1/schema) and lets anybody copy.
func TestSARIF(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "export", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range exported(t) {
		if in.Result == nil {
			continue
		}
		b := export(t, "sarif", in)
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var log struct {
			Runs []struct{ Results []struct{ Level string } }
		}
		if err := json.Unmarshal(b, &log); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, x := range log.Runs[0].Results {
			if x.Level == "error" {
				failed++
			}
		}
		want := 0
		for _, s := range in.Result.Properties {
			if s.String() == "violated" {
				want++
			}
		}
		if failed != want {
			t.Errorf("%s: %d errors, want %d", name, failed, want)
		}
	}
}

// TestDOT: Graphviz reads what is written as DOT.
func TestDOT(t *testing.T) {
	for name, in := range exported(t) {
		for _, of := range []string{"waits", "schedule"} {
			in.Of = of
			g, err := graphviz.ParseBytes(export(t, "dot", in))
			if err != nil {
				t.Errorf("%s, %s: %v", name, of, err)
				continue
			}
			g.Close()
		}
	}
}

// TestSVG: pictures are well-formed and name nothing outside themselves.
func TestSVG(t *testing.T) {
	for name, in := range exported(t) {
		for _, of := range []string{"run", "waits", "schedule"} {
			in.Of = of
			b := export(t, "svg", in)
			d := xml.NewDecoder(bytes.NewReader(b))
			for {
				_, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Errorf("%s, %s: %v", name, of, err)
					break
				}
			}
			if text := strings.ReplaceAll(string(b), `xmlns="http://www.w3.org/2000/svg"`, ""); strings.Contains(text, "http") || strings.Contains(text, "NaN") {
				t.Errorf("%s, %s: names an address or a coordinate that is none", name, of)
			}
		}
	}
}

// TestShiViz: the log splits by its own pattern, every host counts its own events one by
// one, and a clock knows only what has happened.
func TestShiViz(t *testing.T) {
	pattern := regexp.MustCompile(`(\S+) (\{.*\})\n(.*)`)
	for name, in := range exported(t) {
		log := string(export(t, "shiviz", in))
		_, body, _ := strings.Cut(log, "\n\n")
		own := map[string]int{}
		found := pattern.FindAllStringSubmatch(body, -1)
		if len(found) != len(in.Choices) {
			t.Errorf("%s: %d events of a run of %d steps", name, len(found), len(in.Choices))
		}
		for i, m := range found {
			clock := map[string]int{}
			if err := json.Unmarshal([]byte(m[2]), &clock); err != nil {
				t.Fatal(err)
			}
			own[m[1]]++
			for h, v := range clock {
				if v > own[h] || h == m[1] && v != own[h] {
					t.Fatalf("%s: event %d of %s has clock %v where %v have happened", name, i, m[1], clock, own)
				}
			}
		}
	}
}

// TestExportGolden: one small hang in every format that is text.
func TestExportGolden(t *testing.T) {
	in := explored(t, "example-next-buffer")
	for _, f := range report.Formats {
		if f.Name == "promela" || f.Name == "json" { // these have tests of their own
			continue
		}
		golden(t, filepath.Join("testdata", "export", "next-buffer."+f.Name), export(t, f.Name, in))
	}
}

func golden(t *testing.T, file string, have []byte) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, have, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Errorf("%s is not current (go test ./report -update writes it): -have +want\n%s", file, diff)
	}
}
