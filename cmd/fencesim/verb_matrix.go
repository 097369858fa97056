package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

func init() { verbs = slices.Insert(verbs, len(verbs)-1, newMatrix) }

type matrixFlags struct {
	scenario scenarioFlags
	output   outputFlags

	catalog       bool
	only          string
	machines      string
	format        string
	seed          seed
	maxStates     int64
	time          time.Duration
	deterministic bool
}

func newMatrix(w *world) *cobra.Command {
	v := &matrixFlags{format: "text", seed: 1}
	c := &cobra.Command{
		Use:   "matrix [SCENARIO | --catalog] [flags]",
		Short: "disciplines against machines, or the catalog against its expectations",
		Long: `matrix decides a scenario under every discipline on every machine and says for each
discipline which is the weakest machine on which it is safe, in the order ` + strings.Join(check.Order, " < ") + `.

With --catalog it decides every expectation of every built-in scenario.

Exit status:
  0  the matrix was made; --catalog: every expectation is met
  1  --catalog: an expectation is missed
  2  wrong usage or input
  3  interrupted before the end`,
		Example: `  fencesim matrix mlx-one-group-broken
  fencesim matrix case.yaml --machines ideal,lag-0,lag-1 --json
  fencesim matrix --catalog
  fencesim matrix --catalog --only dist-`,
		Args: v.scenario.arguments,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), w, args) },
	}
	f := c.Flags()
	v.scenario.add(f)
	f.BoolVar(&v.catalog, "catalog", false, "every built-in scenario against what it expects")
	f.StringVar(&v.only, "only", "", "--catalog: entries whose name has this in it")
	f.StringVar(&v.machines, "machines", "", "the machines, as in ideal,lag-3 (default every preset)")
	f.Var(newChoice(&v.format, "text", "markdown", "svg"), "format", "text, markdown or svg (not for --catalog)")
	f.Var(&v.seed, "seed", "seed of all that is drawn, decimal or 0x hex")
	f.Int64Var(&v.maxStates, "max-states", 0, "most states of one cell: `N` (default no bound)")
	f.DurationVar(&v.time, "time", 2*time.Second, "most `TIME` of one cell, as in 10s; 0 is no bound (--catalog has none unless given)")
	f.BoolVar(&v.deterministic, "deterministic", false, "leave elapsed times out, so that equal runs give equal bytes")
	v.output.add(f)
	c.ValidArgsFunction = completeScenario
	return c
}

// tabular is what both forms of the result can be written as.
type tabular interface {
	Text(io.Writer) error
	Markdown(io.Writer) error
}

func (v *matrixFlags) run(ctx context.Context, w *world, args []string) error {
	if _, err := v.output.options(w); err != nil {
		return err
	}
	if v.maxStates < 0 || v.time < 0 {
		return usage("matrix: want bounds from 0")
	}
	cfg := check.Config{Seed: uint64(v.seed), MaxStates: v.maxStates, Time: v.time}
	if v.catalog {
		return v.runCatalog(ctx, w, args, cfg)
	}
	if v.only != "" {
		return usage("matrix: --only goes with --catalog")
	}
	if v.scenario.set.Changed("machine") {
		return usage("matrix: --machine: want --machines with a list")
	}
	presets, err := v.presets()
	if err != nil {
		return err
	}
	sc, err := v.scenario.open(w, "matrix", args, v.seed)
	if err != nil {
		return err
	}
	var disciplines []model.Discipline
	if v.scenario.set.Changed("discipline") {
		disciplines = []model.Discipline{sc.Effective()}
	}
	m, err := check.NewMatrix(ctx, sc, disciplines, presets, cfg)
	if err != nil {
		return usage("matrix: %w", err)
	}
	if v.deterministic {
		m.Elapsed = 0
	}
	if v.format == "svg" && !v.output.json && !v.output.quiet {
		err = m.SVG(w.stdout)
	} else {
		err = v.print(w, m, m, tally(m.Cells))
	}
	if err == nil && m.Interrupted {
		return &exitError{statusOpen, errors.New("matrix: interrupted; what was not decided by then is inconclusive")}
	}
	return err
}

func (v *matrixFlags) presets() ([]model.Preset, error) {
	if v.machines == "" {
		return nil, nil
	}
	var out []model.Preset
	for _, name := range strings.Split(v.machines, ",") {
		name = strings.TrimSpace(name)
		p, ok := model.PresetNamed(name)
		if !ok {
			m, err := openMachine(name)
			if err != nil {
				return nil, err
			}
			p = model.Preset{Name: model.Printable(name), Machine: m}
		}
		out = append(out, p)
	}
	return out, nil
}

func (v *matrixFlags) print(w *world, value any, t tabular, line string) error {
	switch {
	case v.output.json:
		return report.JSON(w.stdout, value)
	case v.output.quiet:
		_, err := fmt.Fprintln(w.stdout, line)
		return err
	case v.format == "markdown":
		return t.Markdown(w.stdout)
	}
	return t.Text(w.stdout)
}

// tally is how many cells have each verdict.
func tally(cells []check.MatrixCell) string {
	n := make(map[check.Verdict]int)
	for i := range cells {
		n[cells[i].Verdict]++
	}
	var parts []string
	for _, v := range []check.Verdict{check.OK, check.Hang, check.Violation, check.Inconclusive} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return strings.Join(parts, ", ")
}

func (v *matrixFlags) runCatalog(ctx context.Context, w *world, args []string, cfg check.Config) error {
	if len(args) > 0 || v.scenario.kind != "" || v.machines != "" {
		return usage("matrix: --catalog takes no scenario and no machines")
	}
	for _, name := range []string{"discipline", "machine", "ranks"} {
		if v.scenario.set.Changed(name) {
			return usage("matrix: --%s does not go with --catalog", name)
		}
	}
	if v.format == "svg" {
		return usage("matrix: --format svg does not go with --catalog")
	}
	if !v.scenario.set.Changed("time") {
		cfg.Time = 0
	}
	if !slices.ContainsFunc(catalog.Names(), func(name string) bool { return strings.Contains(name, v.only) }) {
		return usage("matrix: --only %s: no built-in scenario has that in its name (fencesim list)", v.only)
	}
	started := time.Now()
	m := &check.CatalogMatrix{Version: model.FormatVersion, Entries: []check.MatrixRow{}}
	for _, name := range catalog.Names() {
		if !strings.Contains(name, v.only) || ctx.Err() != nil {
			continue
		}
		e, _ := catalog.Get(name)
		sc, err := model.Parse(e.File, e.Source)
		if err != nil {
			return &exitError{statusBackend, err}
		}
		rows, err := check.NewMatrixRows(ctx, sc, cfg)
		if err != nil {
			return &exitError{statusBackend, err}
		}
		if ctx.Err() != nil {
			break // what was interrupted is not missed
		}
		for _, r := range rows {
			r.Variant = catalog.VariantOf(name, strings.HasPrefix(r.Want, "ok"))
			if r.Expect == "missed" {
				m.Missed++
			}
			if v.deterministic {
				r.Elapsed = 0
			}
			m.Entries = append(m.Entries, r)
		}
	}
	if !v.deterministic {
		m.Elapsed = time.Since(started).Seconds()
	}
	m.Interrupted = ctx.Err() != nil
	if err := v.print(w, m, m, fmt.Sprintf("%d expectations, %d missed", len(m.Entries), m.Missed)); err != nil {
		return err
	}
	switch {
	case m.Interrupted:
		return &exitError{statusOpen, errors.New("matrix: interrupted; the rows are those decided by then")}
	case m.Missed > 0:
		return end(statusFound)
	}
	return nil
}
