package docs_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// TestPictures: the pictures are what the program draws of the catalog.
func TestPictures(t *testing.T) {
	hang := decided(t, "mlx-independent-reductions", nil)
	perUpdate := model.PerUpdate
	fixed := decided(t, "mlx-independent-reductions", &perUpdate)
	small := decided(t, "example-next-buffer", nil)
	for _, p := range []struct {
		file, of string
		in       report.Input
	}{
		{"hang.svg", "run", hang}, {"hang-waits.svg", "waits", hang}, {"fixed.svg", "run", fixed},
		{"next-buffer.svg", "run", small}, {"next-buffer-schedule.svg", "schedule", small},
	} {
		svg, _ := report.FormatNamed("svg")
		p.in.Of = p.of
		var b bytes.Buffer
		if err := svg.Write(&b, p.in); err != nil {
			t.Fatal(err)
		}
		current(t, filepath.Join("pictures", p.file), b.Bytes())
	}
}

// TestMatrixPicture: disciplines against machines for the reported workload.
func TestMatrixPicture(t *testing.T) {
	sc := scenario(t, "mlx-independent-reductions")
	var presets []model.Preset
	for _, name := range check.Order {
		p, _ := model.PresetNamed(name)
		presets = append(presets, p)
	}
	m, err := check.NewMatrix(context.Background(), sc, nil, presets, check.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.MatrixSVG(&b, m); err != nil {
		t.Fatal(err)
	}
	current(t, filepath.Join("pictures", "matrix.svg"), b.Bytes())
}

func scenario(t *testing.T, name string) *model.Scenario {
	t.Helper()
	e, ok := catalog.Get(name)
	if !ok {
		t.Fatalf("no scenario is called %s", name)
	}
	sc, err := model.Parse(e.File, e.Source)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func decided(t *testing.T, name string, d *model.Discipline) report.Input {
	t.Helper()
	sc := scenario(t, name)
	if d != nil {
		sc.Discipline = d
	}
	r, err := check.Explore(context.Background(), sc, check.Config{Seed: 1, NoShrink: true})
	if err != nil {
		t.Fatal(err)
	}
	in, err := report.NewInput(sc, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}
