package report_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

// explored is a scenario of the catalog with its result.
func explored(t testing.TB, name string) report.Input {
	t.Helper()
	e, ok := catalog.Get(name)
	if !ok {
		t.Fatalf("no scenario is called %s", name)
	}
	sc, err := model.Parse(e.File, e.Source)
	if err != nil {
		t.Fatal(err)
	}
	return exploredScenario(t, sc)
}

func exploredScenario(t testing.TB, sc *model.Scenario) report.Input {
	t.Helper()
	r, err := check.Explore(context.Background(), sc, check.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	r.Elapsed = 0
	in, err := report.NewInput(sc, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// long is a run of about 10,000 steps.
func long(t testing.TB) report.Input {
	t.Helper()
	d := model.PerUpdate
	lag, _ := model.PresetNamed("lag-3")
	sc := &model.Scenario{Version: 1, Name: "long", Discipline: &d, Machine: lag.Machine,
		Generate: &model.Generate{Kind: "independent-reductions", Reductions: 107, Rounds: 8, Elems: 1 << 24}}
	in, err := report.NewInput(sc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := sim.RunWith(in.System, sim.NewRandom(3), 0)
	if in, err = in.With(run.Choices, "random", -1); err != nil {
		t.Fatal(err)
	}
	if n := len(in.Choices); n < 9_900 || n > 12_000 {
		t.Fatalf("the long run has %d steps: want about 10,000", n)
	}
	return in
}

// writePage writes the page of in and gives its address.
func writePage(t testing.TB, in report.Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(context.Background(), &b, in); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: file}).String()
}

// TestPage: the page of the reproducer and of a long run open without complaint, ask
// nobody for anything, and show at every step that is looked at the state that a replay
// has there.
func TestPage(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   report.Input
	}{{"reproducer", explored(t, "mlx-independent-reductions")}, {"long", long(t)}} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBrowser(t)
			page := writePage(t, tc.in)
			b.open(t, page)
			t.Logf("%d steps: first paint after %.0f ms", len(tc.in.Choices), b.firstPaint(t))
			lanes := eval[[]string](t, b, `[...document.querySelectorAll("[data-run=given] .gutter text:not(.soft)")].map(e => e.textContent)`)
			if diff := cmp.Diff([]string{"main", "queue gpu", "stream cpu", "memory", "fence G", "fence C"}, lanes); diff != "" {
				t.Errorf("lanes: %s", diff)
			}
			n := len(tc.in.Choices)
			for _, step := range []int{n, n - 1, n / 2, n / 3, 1, 0} {
				b.run(t, chromedp.Evaluate(fmt.Sprintf(`{const s = document.querySelector("[data-run=given] input[type=range]"); s.value = %d; s.dispatchEvent(new Event("input"))}`, step), nil))
				agree(t, b, tc.in, step)
			}
			b.run(t, chromedp.Evaluate(`document.activeElement.blur()`, nil))
			for _, press := range []struct {
				key  string
				want int
			}{{kb.ArrowRight, 1}, {kb.ArrowRight, 2}, {kb.PageDown, 102}, {kb.ArrowLeft, 101}, {kb.End, n}, {kb.Home, 0}} {
				b.run(t, chromedp.KeyEvent(press.key))
				if have := eval[int](t, b, `+document.querySelector("[data-run=given] input[type=range]").value`); have != press.want {
					t.Errorf("after key %q the cursor is at %d, want %d", press.key, have, press.want)
				}
			}
			agree(t, b, tc.in, 0)
			b.run(t, chromedp.KeyEvent(kb.End))
			b.keep(t, "report-"+tc.name)
			b.quiet(t, page)
		})
	}
}

// agree compares the state that the page shows with that of a replay.
func agree(t *testing.T, b *browser, in report.Input, step int) {
	t.Helper()
	y := in.System
	s := y.Initial()
	for _, c := range in.Choices[:step] {
		y.Apply(s, y.Enabled(s, nil)[c])
	}
	var fences [][]string
	for i, f := range y.FenceStates(s, 0) {
		var way []string
		for _, gpu := range []bool{false, true} {
			for _, st := range y.Stores(s, int32(i), gpu) {
				if st.OnItsWay {
					way = append(way, fmt.Sprint(st.Value))
				}
			}
		}
		if n := len(way); n > 14 {
			way = append(way[:12:12], fmt.Sprintf("and %d more", n-12))
		}
		fences = append(fences, []string{f.Name, fmt.Sprint(f.Scheduled), fmt.Sprint(f.SeenByGPU), fmt.Sprint(f.SeenByCPU), strings.Join(way, " ")})
	}
	enabled := []string{}
	for _, e := range y.Enabled(s, nil) {
		word := "sure"
		if e.Possible {
			word = "possible"
		}
		enabled = append(enabled, y.Agent(e)+": "+y.Describe(e)+" "+word)
	}
	const rows = `[...document.querySelectorAll("[data-run=given] .counters tbody tr")].map(r => [...r.children].map(c => c.textContent))`
	if diff := cmp.Diff(fences, eval[[][]string](t, b, rows)); diff != "" {
		t.Errorf("step %d: fences of replay (-) and page (+): %s", step, diff)
	}
	const next = `[...document.querySelectorAll("[data-run=given] .next li.sure, [data-run=given] .next li.maybe")].map(l => l.textContent.replace(", taken in this run", ""))`
	if diff := cmp.Diff(enabled, eval[[]string](t, b, next)); diff != "" {
		t.Errorf("step %d: enabled in replay (-) and page (+): %s", step, diff)
	}
	if step > 0 {
		where := eval[string](t, b, `document.querySelector("[data-run=given] .where").textContent`)
		if want := in.Trace.Steps[step-1]; !strings.Contains(where, want.Agent+": "+want.Transition) {
			t.Errorf("step %d: the page says %q, the trace %q", step, where, want.Agent+": "+want.Transition)
		}
	}
	blocked := map[string]string{}
	for _, x := range y.Blocked(s, 0) {
		blocked[x.Agent] = x.Needs
	}
	shown := eval[[][]string](t, b, `[...document.querySelectorAll("[data-run=given] .lanes tbody tr.blocked")].map(r => [r.children[0].textContent, r.children[2].textContent])`)
	for _, x := range shown {
		if blocked[x[0]] != x[1] {
			t.Errorf("step %d: the page says that %s needs %q, the state %q", step, x[0], x[1], blocked[x[0]])
		}
	}
}

// TestPageBytes: equal inputs give equal bytes, and a page names no address to load from.
func TestPageBytes(t *testing.T) {
	for _, name := range []string{"mlx-independent-reductions", "example-one-slot", "example-spin-limit"} {
		in := explored(t, name)
		var one, two bytes.Buffer
		if err := report.HTML(context.Background(), &one, in); err != nil {
			t.Fatal(err)
		}
		if err := report.HTML(context.Background(), &two, explored(t, name)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: two pages of one input differ", name)
		}
		for _, load := range []string{"src=", "href=\"http", "@import", "url(http"} {
			if strings.Contains(one.String(), load) {
				t.Errorf("%s: the page has %q", name, load)
			}
		}
		t.Logf("%s: %d bytes", name, one.Len())
	}
}

// TestTimeline: what a timeline draws is what the states of the run are: the views of every
// fence after every step.
func TestTimeline(t *testing.T) {
	for _, name := range catalog.Names() {
		e, _ := catalog.Get(name)
		sc, err := model.Parse(e.File, e.Source)
		if err != nil {
			t.Fatal(err)
		}
		in, err := report.NewInput(sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		run := sim.RunWith(in.System, sim.NewRandom(5), 600)
		tl := report.NewTimeline(context.Background(), in.System, run.Choices)
		if len(tl.Steps) != len(run.Choices) || len(tl.Enabled) != len(run.Choices)+1 {
			t.Errorf("%s: %d steps and %d states of a run of %d", name, len(tl.Steps), len(tl.Enabled), len(run.Choices))
		}
		y, s := in.System, in.System.Initial()
		for time := 0; ; time++ {
			for r := range y.Ranks() {
				for _, f := range y.FenceStates(s, r) {
					line := lineOf(tl, r, f.Name)
					have := []uint32{report.Value(line.Scheduled, time), report.Value(line.GPU, time), report.Value(line.CPU, time)}
					if want := []uint32{f.Scheduled, f.SeenByGPU, f.SeenByCPU}; cmp.Diff(want, have) != "" {
						t.Fatalf("%s: fence %s of rank %d after %d steps: drawn %v, want %v", name, f.Name, r, time, have, want)
					}
				}
			}
			if time == len(run.Choices) {
				break
			}
			y.Apply(s, y.Enabled(s, nil)[run.Choices[time]])
		}
		if have := y.Digest(s); have != tl.Digest {
			t.Errorf("%s: last state %s, want %s", name, tl.Digest, have)
		}
	}
}

func lineOf(tl *report.Timeline, rank int, name string) report.CounterLine {
	for _, l := range tl.Lines {
		if !l.Event && l.Rank == rank && (l.Name == name || strings.HasSuffix(l.Name, " "+name)) {
			return l
		}
	}
	return report.CounterLine{}
}

// BenchmarkPage is the time to lay out and write the page of a run of 10,000 steps.
func BenchmarkPage(b *testing.B) {
	in := long(b)
	for b.Loop() {
		var w bytes.Buffer
		if err := report.HTML(context.Background(), &w, in); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(w.Len()))
	}
}

// BenchmarkFirstPaint is the time from opening the page of 10,000 steps to its first paint.
func BenchmarkFirstPaint(b *testing.B) {
	br := newBrowser(b)
	page := writePage(b, long(b))
	sum := 0.0
	for b.Loop() {
		br.open(b, page)
		sum += br.firstPaint(b)
	}
	b.ReportMetric(sum/float64(b.N), "ms-to-paint")
}
