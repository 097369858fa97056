package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/report"
)

func init() { verbs = slices.Insert(verbs, 1, newLint) }

type lintFlags struct {
	scenario      scenarioFlags
	output        outputFlags
	seed          seed
	deterministic bool
}

func newLint(w *world) *cobra.Command {
	v := &lintFlags{seed: 1}
	c := &cobra.Command{
		Use:   "lint [SCENARIO] [flags]",
		Short: "look for faults by rules, in linear time",
		Long: `lint applies rules to a scenario, in time linear in its size: the exact rule for lag, waits
that wait for each other, waits that nothing satisfies, stores whose order is not known,
and targets later than needed. Its verdict is hang (a fault that hangs on this machine),
ok (the rules prove that nothing hangs) or that neither is known: then explore decides.

Rules:
` + lintRules() + `
Exit status:
  0  no fault of level hang was found; ok or no proof
  1  a fault of level hang was found
  2  wrong usage or input`,
		Example: `  fencesim lint case.yaml
  fencesim lint case.yaml --machine lag-3 --json
  fencesim lint mlx-independent-reductions --discipline per-update --machine lag-4`,
		Args: v.scenario.arguments,
		RunE: func(_ *cobra.Command, args []string) error { return v.run(w, args) },
	}
	f := c.Flags()
	v.scenario.add(f)
	f.Var(&v.seed, "seed", "for --generate random, decimal or 0x hex")
	f.BoolVar(&v.deterministic, "deterministic", false, "leave the elapsed time out, so that equal runs give equal bytes")
	v.output.add(f)
	c.ValidArgsFunction = completeScenario
	return c
}

// lintRules lists the rules with their levels.
func lintRules() string {
	var b strings.Builder
	for _, r := range check.LintRules {
		b.WriteString("  " + r.Name + " (" + r.Level + "): " + r.Doc + "\n")
	}
	return b.String()
}

func (v *lintFlags) run(w *world, args []string) error {
	if w.atOnce != nil {
		w.atOnce()
	}
	if _, err := v.output.options(w); err != nil {
		return err
	}
	sc, err := v.scenario.open(w, "lint", args, v.seed)
	if err != nil {
		return err
	}
	l, err := check.NewLint(sc)
	if err != nil {
		return usage("lint: %w", err)
	}
	if v.deterministic {
		l.Elapsed = 0
	}
	switch {
	case v.output.json:
		err = report.JSON(w.stdout, l)
	case v.output.quiet:
		err = l.Line(w.stdout)
	default:
		err = l.Text(w.stdout)
	}
	if err != nil {
		return err
	}
	if l.Verdict == check.Hang {
		return end(statusFound)
	}
	return nil
}
