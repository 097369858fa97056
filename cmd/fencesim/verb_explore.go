package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/report"
)

type exploreFlags struct {
	scenario scenarioFlags
	output   outputFlags

	strategy      string
	seed          seed
	runs          int64
	maxStates     int64
	time          time.Duration
	memory        byteSize
	workers       int
	stopAt        string
	reduction     string
	shrink        bool
	exact         bool
	deterministic bool
	out           string
}

func newExplore(w *world) *cobra.Command {
	v := &exploreFlags{strategy: "auto", seed: 1, stopAt: "first"}
	c := &cobra.Command{
		Use:   "explore [SCENARIO] [flags]",
		Short: "decide a scenario: hang, violation or none, with the counterexample",
		Long: `explore decides whether a scenario can hang or violate a property, and prints what it
found: the cause, the counters, who is blocked, the steps and the command that replays
them.

Strategy auto takes a certificate or a single run where the theory allows it, else an
exhaustive search within the bounds, else samples; the result says which and why. An
interrupt of the search ends with a result of what is known so far, a second one at once.

` + statusHelp,
		Example: `  fencesim explore mlx-independent-reductions
  fencesim explore mlx-independent-reductions --discipline per-update --machine lag-4
  fencesim explore case.yaml --stop-at all --json
  fencesim explore --generate chained-reductions --reductions 8 --rounds 2 --elems 1048576`,
		Args: v.scenario.arguments,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), w, args) },
	}
	f := c.Flags()
	v.scenario.add(f)
	f.Var(newChoice(&v.strategy, "auto", "dfs", "random", "pct", "pos", "uniform"), "strategy", "auto, dfs (exhaustive), or sampling: random, pct, pos, uniform")
	f.Var(&v.seed, "seed", "seed of all that is drawn, decimal or 0x hex")
	f.Int64Var(&v.runs, "runs", 0, "sampling: `N` runs (default 10000)")
	f.Int64Var(&v.maxStates, "max-states", 0, "stop after `N` states (default no bound)")
	f.DurationVar(&v.time, "time", 0, "stop after a `TIME`, as in 90s or 5m (default no bound)")
	f.Var(&v.memory, "memory", "memory for visited states, as in 2GiB (default half of the machine's)")
	f.IntVar(&v.workers, "workers", 0, "`N` parallel workers (default one per core); the result does not depend on it")
	f.Var(newChoice(&v.stopAt, "first", "all"), "stop-at", "first hang or violation, or all stuck states")
	f.StringVar(&v.reduction, "reduction", "", "the reductions in force: a `LIST` as in merge,ranks, or none (default all: "+strings.Join(reductionWords(), ", ")+")")
	f.BoolVar(&v.shrink, "shrink", true, "look for a smaller scenario that fails alike")
	f.BoolVar(&v.exact, "exact", false, "keep whole states in the visited set instead of hashes")
	f.BoolVar(&v.deterministic, "deterministic", false, "leave the elapsed time out, so that equal runs give equal bytes")
	f.StringVar(&v.out, "out", "", "write result.json and the traces into the folder `DIR`, made if missing")
	v.output.add(f)
	c.ValidArgsFunction = completeScenario
	return c
}

func reductionWords() []string {
	var words []string
	for _, r := range check.Reductions {
		words = append(words, r.Name)
	}
	return words
}

func (v *exploreFlags) config() (check.Config, error) {
	cfg := check.Config{
		Strategy: v.strategy, Seed: uint64(v.seed), Runs: v.runs, MaxStates: v.maxStates, Time: v.time,
		Memory: int64(v.memory), Workers: v.workers, All: v.stopAt == "all", Exact: v.exact, NoShrink: !v.shrink,
	}
	for _, b := range []struct {
		flag  string
		value int64
	}{{"runs", v.runs}, {"max-states", v.maxStates}, {"time", int64(v.time)}, {"workers", int64(v.workers)}} {
		if b.value < 0 {
			return cfg, usage("--%s: want a number from 0", b.flag)
		}
	}
	switch v.reduction {
	case "":
	case "none":
		cfg.Reductions = []string{}
	default:
		cfg.Reductions = strings.Split(v.reduction, ",")
		for _, r := range cfg.Reductions {
			if !slices.Contains(reductionWords(), r) {
				return cfg, usage("--reduction %s: unknown reduction %q: want none, or a list of %s", v.reduction, r, alternatives(reductionWords()))
			}
		}
	}
	return cfg, nil
}

func (v *exploreFlags) run(ctx context.Context, w *world, args []string) error {
	cfg, err := v.config()
	if err != nil {
		return err
	}
	o, err := v.output.options(w)
	if err != nil {
		return err
	}
	sc, err := v.scenario.open(w, "explore", args, v.seed)
	if err != nil {
		return err
	}
	if v.out != "" { // before the work, so that a folder that cannot be made costs none
		if err := makeFolder(v.out); err != nil {
			return err
		}
	}
	stop := func() {}
	if !v.output.quiet {
		cfg.Progress, stop = w.progress(v.maxStates, v.runs)
	}
	r, err := check.Explore(ctx, sc, cfg)
	stop()
	if err != nil {
		return usage("explore: %w", err)
	}
	if v.deterministic {
		r.Elapsed = 0
	}
	r.Replay = v.replay(r, args)
	if v.out != "" {
		if err := saveResult(v.out, r); err != nil {
			return err
		}
	}
	o.Unmet = report.Unmet(sc, r)
	switch {
	case v.output.json:
		err = report.JSON(w.stdout, r)
	case v.output.quiet:
		err = report.Sentence(w.stdout, r, o)
	default:
		err = report.Text(w.stdout, r, o)
	}
	if err != nil {
		return err
	}
	return end(resultStatus(r))
}

// maxLine is the longest replay command; a longer one would not fit a command line.
const maxLine = 2000

// replay is the command that replays a result's first trace: by its choices or, where they
// are too many, by files.
func (v *exploreFlags) replay(r *check.Result, args []string) string {
	t := r.FirstTrace()
	if t == nil {
		return ""
	}
	choices := make([]int, len(t.Steps))
	for i := range t.Steps {
		choices[i] = t.Steps[i].Choice
	}
	words := append([]string{"replay"}, v.scenario.again(args, v.seed)...)
	if t.Rank >= 0 && r.Ranks > 1 {
		words = append(words, "--rank", fmt.Sprint(t.Rank))
	}
	line := commandLine(append(words, "--steps", report.FormatCode(choices)))
	if len(line) <= maxLine {
		return line
	}
	words = append([]string{"explore"}, args...)
	v.scenario.set.Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"json", "quiet", "color", "width", "out", "workers", "deterministic"}, f.Name) {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return commandLine(append(words, "--out", "out")) + " && fencesim replay out/result.json"
}

func commandLine(words []string) string {
	line := "fencesim"
	for _, w := range words {
		line += " " + quote(w)
	}
	return line
}
