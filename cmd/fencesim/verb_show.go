package main

import (
	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

type showFlags struct {
	scenario scenarioFlags
	output   outputFlags
	seed     seed
}

func newShow(w *world) *cobra.Command {
	v := &showFlags{seed: 1}
	c := &cobra.Command{
		Use:   "show [SCENARIO|MACHINE] [flags]",
		Short: "print a scenario or a machine in full",
		Long: `show prints what a scenario runs: the tape of a graph, the command buffers of each queue,
the tasks of each CPU stream, the main thread. Of a machine it prints every parameter with
what it means and where the claim comes from.

With --json a scenario has a digest of what its ranks run: equal for scenarios that differ
in name, comments or form only.`,
		Example: `  fencesim show mlx-independent-reductions --discipline per-update
  fencesim show lag-3
  fencesim show case.yaml --json`,
		Args: v.scenario.arguments,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c, w, args) },
	}
	v.scenario.add(c.Flags())
	c.Flags().Var(&v.seed, "seed", "for --generate random, decimal or 0x hex")
	v.output.add(c.Flags())
	c.ValidArgsFunction = completeScenario
	return c
}

func (v *showFlags) run(c *cobra.Command, w *world, args []string) error {
	if w.atOnce != nil {
		w.atOnce()
	}
	o, err := v.output.options(w)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if preset, ok := model.PresetNamed(args[0]); ok {
			return v.machine(c, w, preset, o)
		}
	}
	sc, err := v.scenario.open(w, "show", args, v.seed)
	if err != nil {
		return err
	}
	s, err := report.NewShown(sc)
	switch {
	case err != nil:
		return &exitError{statusUsage, err}
	case v.output.json:
		return report.JSON(w.stdout, s)
	case v.output.quiet:
		return s.Line(w.stdout)
	}
	return s.Text(w.stdout, o)
}

func (v *showFlags) machine(c *cobra.Command, w *world, preset model.Preset, o report.Options) error {
	for _, name := range []string{"discipline", "machine", "ranks", "generate", "seed"} {
		if c.Flags().Changed(name) {
			return usage("show: --%s goes with a scenario, and %s is a machine", name, preset.Name)
		}
	}
	s := report.NewShownMachine(preset)
	switch {
	case v.output.json:
		return report.JSON(w.stdout, s)
	case v.output.quiet:
		return s.Line(w.stdout)
	}
	return s.Text(w.stdout, o)
}
