package check

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

func presetsNamed(names ...string) []model.Preset {
	var out []model.Preset
	for _, n := range names {
		p, _ := model.PresetNamed(n)
		out = append(out, p)
	}
	return out
}

// The worked example, scaled down: eight reductions of which three come first.
func TestMatrix(t *testing.T) {
	m, err := NewMatrix(context.Background(), reductions(8, 4, 5), nil, presetsNamed(Order...), Config{MaxStates: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Cells) != len(model.Disciplines)*len(Order) {
		t.Errorf("%d cells", len(m.Cells))
	}
	for discipline, want := range map[string]string{"count": "ideal", "per-update": "lag-0", "event": "unreliable-read", "event-count": "unreliable-read", "tape": ""} {
		if got, ok := m.WeakestSafe[discipline]; !ok || got != want {
			t.Errorf("%s: the weakest safe machine is %q, want %q", discipline, got, want)
		}
	}
	for discipline, want := range map[string]string{"count": "lag-0", "per-update": "lag-1", "tape": "ideal", "event": ""} {
		if got := m.FirstUnsafe[discipline]; got != want {
			t.Errorf("%s: the first unsafe machine is %q, want %q", discipline, got, want)
		}
	}
	if c := m.Cell("count", "lag-1"); c.Verdict != Hang || c.Counters == nil || c.Counters.Scheduled != 3 {
		t.Errorf("count on lag-1 is %+v", c)
	}
	var text, markdown, svg bytes.Buffer
	if m.Text(&text) != nil || m.Markdown(&markdown) != nil || m.SVG(&svg) != nil {
		t.Fatal("writing failed")
	}
	if !strings.Contains(text.String(), "per-update: the weakest safe machine is lag-0, the first unsafe one lag-1") {
		t.Errorf("text:\n%s", text.String())
	}
	if !strings.HasPrefix(markdown.String(), "| machine | count | late |") {
		t.Errorf("markdown:\n%s", markdown.String())
	}
	for d := xml.NewDecoder(&svg); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// A cell that reached a bound is neither safe nor unsafe.
func TestMatrixBound(t *testing.T) {
	m, err := NewMatrix(context.Background(), reductions(8, 4, 5), []model.Discipline{model.Late}, presetsNamed("ideal"), Config{MaxStates: 1})
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Cells[0]; c.Verdict == Inconclusive && (c.Word() != "?" || m.FirstUnsafe["late"] != "" || m.WeakestSafe["late"] != "") {
		t.Errorf("%+v, %v, %v", c, m.WeakestSafe, m.FirstUnsafe)
	}
}

func scenarioOf(t *testing.T, text string) *model.Scenario {
	t.Helper()
	s, err := model.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const always = `{fencesim: 1, name: always, sources: [here], machine: %, expect: [{verdict: hang, always: true}, {machine: ideal, verdict: ok}, {verdict: violation}],
  schedule: {queues: [{name: gpu, buffers: [["wait F 1"], ["update F 1"]]}]}}`

// A hang in every run is told from one in some, and rows say why they are missed.
func TestMatrixRows(t *testing.T) {
	s := scenarioOf(t, strings.Replace(always, "%", "ideal", 1))
	rows, err := NewMatrixRows(context.Background(), s, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "the verdict is hang", "the verdict is hang"} {
		if rows[i].Why != want || (rows[i].Expect == "met") != (want == "") {
			t.Errorf("row %d: %+v, want %q", i, rows[i], want)
		}
	}
	s = scenarioOf(t, strings.Replace(always, "%", "overlap-untracked", 1))
	if rows, err = NewMatrixRows(context.Background(), s, Config{}); err != nil || rows[0].Expect != "missed" {
		t.Errorf("overlap: %+v, %v", rows[0], err)
	}
	finishes, known, err := Finishes(context.Background(), s, Config{})
	if !finishes || !known || err != nil {
		t.Errorf("overlap finishes: %v %v %v", finishes, known, err)
	}
}

func TestMachineText(t *testing.T) {
	for want, m := range map[string]model.Machine{
		"ideal": {}, "lag-2": {GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: 2}}, "slots 3, store max": {Slots: 3, Store: model.StoreMax}} {
		if got := MachineText(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is interrupted says so, and what was not decided by then is not decided.
func TestMatrixAndDiagnosisInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sc := reductions(8, 4, 5)
	m, err := NewMatrix(ctx, sc, nil, nil, Config{})
	if err != nil || !m.Interrupted || len(m.Cells) != len(model.Presets)*len(model.Disciplines) {
		t.Fatalf("%v %+v", err, m)
	}
	for _, c := range m.Cells {
		if c.Verdict != Inconclusive || c.Bound != "interrupt" {
			t.Errorf("%+v", c)
		}
	}
	d, err := Diagnose(ctx, sc, Observation{}, Config{})
	if err != nil || !d.Interrupted {
		t.Errorf("%v %+v", err, d)
	}
	if m, err = NewMatrix(t.Context(), sc, []model.Discipline{sc.Effective()}, model.Presets[:1], Config{}); err != nil || m.Interrupted {
		t.Errorf("%v %+v", err, m)
	}
}
