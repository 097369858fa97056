package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/hwreplay"
	"github.com/fencesim/fencesim/report"
)

type conformFlags struct {
	backend  string
	runs     int
	impose   string
	claim    string
	patience time.Duration
	out      string
	output   outputFlags
}

func newConform(w *world) *cobra.Command {
	v := &conformFlags{backend: "auto", patience: 250 * time.Millisecond}
	c := &cobra.Command{
		Use:   "conform [flags]",
		Short: "which machine parameters a device's observations allow and refute",
		Long: `conform runs a corpus of small schedules and message-passing tests many times on a device.
What it sees is held against a claimed machine and against every preset: a machine is
refuted by one observation that it does not allow, and consistent otherwise. What a
machine allows and was never seen is counted, for it is no refutation.

With --out DIR it writes conform.json and machine.json, the strongest consistent preset, which
--machine takes.

` + statusHelp,
		Example: `  fencesim conform
  fencesim conform --backend host --impose lag-1 --claim ideal
  fencesim conform --backend cuda --out out && fencesim explore case.yaml --machine out/machine.json`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c, w) },
	}
	f := c.Flags()
	f.Var(newChoice(&v.backend, "host", "cuda", "metal", "auto"), "backend", "the device: host (threads), cuda, metal, or auto, the first GPU found and else host")
	f.IntVar(&v.runs, "runs", 200, "run each test `N` times; one that hangs is left after five hangs")
	f.StringVar(&v.impose, "impose", "", "impose the machine `NAME|FILE` on the device")
	f.StringVar(&v.claim, "claim", "", "hold what is seen against the machine `NAME|FILE` (default what is imposed, else ideal)")
	f.DurationVar(&v.patience, "patience", v.patience, "after `TIME` without progress a run hangs and is released")
	f.StringVar(&v.out, "out", "", "write conform.json and machine.json into the folder `DIR`, made if missing")
	v.output.add(f)
	return c
}

func (v *conformFlags) run(c *cobra.Command, w *world) error {
	q := &hwreplay.ConformRequest{Runs: v.runs, Config: hwreplay.Config{Patience: v.patience}}
	switch {
	case v.runs < 1:
		return usage("conform: --runs %d: want a number of runs", v.runs)
	case v.patience < 10*time.Millisecond || v.patience > 10*time.Second:
		return usage("conform: --patience %v: want 10ms to 10s", v.patience)
	}
	for _, m := range []struct {
		name string
		to   **hwreplay.Machine
	}{{v.impose, &q.Impose}, {v.claim, &q.Claim}} {
		if m.name == "" {
			continue
		}
		machine, err := openMachine(m.name)
		if err != nil {
			return err
		}
		*m.to = &hwreplay.Machine{Machine: machine}
	}
	if v.out != "" {
		if err := makeFolder(v.out); err != nil {
			return err
		}
	}
	_, terminal := w.terminal(w.stderr)
	r, err := hwreplay.Perform(c.Context(), &hwreplay.Task{Backend: v.backend, Conform: q}, func(s string) {
		if terminal && !v.output.quiet {
			fmt.Fprintf(w.stderr, "\r\x1b[K%s", s)
		}
	})
	if terminal && !v.output.quiet {
		fmt.Fprint(w.stderr, "\r\x1b[K")
	}
	if err != nil && (c.Context().Err() == nil || r == nil || r.Conform == nil) {
		return deviceError("conform", err)
	}
	return v.print(w, r.Conform)
}

func (v *conformFlags) print(w *world, r *hwreplay.Conformance) error {
	if v.out != "" {
		if err := saveJSON(v.out, "conform.json", r); err != nil {
			return err
		}
		if r.Machine != nil {
			if err := saveJSON(v.out, "machine.json", r.Machine); err != nil {
				return err
			}
		}
	}
	var err error
	switch {
	case v.output.json:
		err = report.JSON(w.stdout, r)
	case v.output.quiet:
		more := ""
		if r.Interrupted {
			more = "; interrupted"
		}
		_, err = fmt.Fprintf(w.stdout, "%d observations, %d outside the claim%s\n", r.Runs, r.Outside, more)
	default:
		err = r.Text(w.stdout)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Outside > 0:
		return end(statusFound)
	case r.Interrupted:
		return end(statusOpen)
	}
	return nil
}
