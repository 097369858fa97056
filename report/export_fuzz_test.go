package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

// Every scenario and every run of it can be shown: each format gives what its reader can
// read, whatever stands in names and texts.
func FuzzExport(f *testing.F) {
	for _, text := range []string{
		"fencesim: 1\nname: a <b> & \"c\" `d` ]]>\nabout: |\n  two\n  lines </script>\nschedule: {queues: [{name: \"g<p>u\", buffers: [[kernel x, update G 1, wait C 1, kernel y reads r]]}], streams: [{name: cpu, tasks: [wait G 1, collective r reads x, update C 1]}]}\n",
		"fencesim: 1\nname: graph\nmachine: lag-3\ngenerate: {kind: independent-reductions, reductions: 2, rounds: 1, elems: 1048576}\n",
		"fencesim: 1\nranks: 2\nschedule: {queues: [{name: q, buffers: [{commands: [kernel a], on_finish: [notify G]}]}], streams: [{name: s, tasks: [park G 1]}]}\n",
	} {
		f.Add([]byte(text), []byte{0, 1, 0, 0, 2, 0, 0})
	}
	f.Fuzz(func(t *testing.T, src, bytes []byte) {
		sc, _ := naive.Small(src, 40)
		if sc == nil {
			return
		}
		in, err := report.NewInput(sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var choices []int
		for s, i := in.System.Initial(), 0; i < min(len(bytes), 40); i++ {
			enabled := in.System.Enabled(s, nil)
			if len(enabled) == 0 {
				break
			}
			choices = append(choices, int(bytes[i])%len(enabled))
			in.System.Apply(s, enabled[choices[i]])
		}
		if in, err = in.With(choices, "steps", -1); err != nil {
			t.Fatal(err)
		}
		for _, format := range report.Formats {
			exportsWell(t, format, in)
		}
		showsWell(t, in)
	})
}

func exportsWell(t *testing.T, format report.Format, in report.Input) {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, in); err != nil {
		if b.Len() > 0 {
			t.Fatalf("%s: %v, behind %d bytes", format.Name, err, b.Len())
		}
		return // not every run has every form
	}
	switch format.Name {
	case "json", "perfetto", "itf", "sarif":
		if !json.Valid(b.Bytes()) {
			t.Fatalf("%s is no JSON:\n%s", format.Name, b.Bytes())
		}
	case "junit", "svg":
		for d := xml.NewDecoder(&b); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v", format.Name, err)
			}
		}
	}
}

// pageScripts is how many scripts a page has: its data and its code.
const pageScripts = 2

func showsWell(t *testing.T, in report.Input) {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(context.Background(), &b, in); err != nil {
		t.Fatalf("html: %v", err)
	}
	if bytes.Count(b.Bytes(), []byte("</script")) != pageScripts || bytes.Count(b.Bytes(), []byte("<script")) != pageScripts {
		t.Fatal("a page with more scripts than its own")
	}
	shown, err := report.NewShown(in.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := report.JSON(&b, shown); err != nil || !json.Valid(b.Bytes()) {
		t.Fatalf("show: %v\n%s", err, b.Bytes())
	}
	run, err := in.Trace.Replay(in.System, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := report.NewReplayed(in.Scenario, in.System, in.Trace, run)
	for _, width := range []int{0, 1, 20, 200} {
		if err := r.Text(io.Discard, report.Options{Width: width, Color: width == 20, Rows: -1}); err != nil {
			t.Fatal(err)
		}
	}
	if run.Stuck != (in.System.Verdict(run.Last, sim.Violations(0)) == "hang") {
		t.Fatal("a stuck run has no verdict hang")
	}
}
