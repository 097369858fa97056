package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

func init() { verbs = slices.Insert(verbs, len(verbs)-1, newDiagnose) }

type diagnoseFlags struct {
	scenario scenarioFlags
	output   outputFlags

	observed  check.Observation
	scheduled counter
	gpu       counter
	cpu       counter
	later     counter
	seen      string
	format    string
	seed      seed
	maxStates int64
	time      time.Duration
}

// counter is a fence value that may be absent.
type counter struct{ value *uint32 }

func (c *counter) String() string {
	if c.value == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*c.value), 10)
}

func (c *counter) Type() string { return "N" }

func (c *counter) Set(text string) error {
	v, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return errors.New("want a number from 0 to " + strconv.FormatUint(math.MaxUint32, 10))
	}
	n := uint32(v)
	c.value = &n
	return nil
}

func newDiagnose(w *world) *cobra.Command {
	v := &diagnoseFlags{format: "text", seed: 1}
	c := &cobra.Command{
		Use:   "diagnose [SCENARIO] [flags]",
		Short: "which machines explain what was observed on a hang, and what to look at next",
		Long: `diagnose runs a scenario under every hypothesis about the machine and says which reach a
stuck state that looks as observed, and how: forced, by what is guaranteed; by luck, with
steps that nothing forces; not at all, with a proof; or unknown. For those that are left it
prints what they predict for what was not looked at yet, and the observation that splits
them best. The scenario's own machine is not read.

Every observation is optional.

Exit status:
  0  at least one explanation is left
  1  none is left
  2  wrong usage or input
  3  interrupted`,
		Example: `  fencesim diagnose mlx-independent-reductions --scheduled 12 --gpu 8 --cpu 0
  fencesim diagnose mlx-independent-reductions --scheduled 12 --gpu 8 --cpu 0 --device idle --json
  fencesim diagnose case.yaml --gpu 8 --later 12 --main throttle`,
		Args: v.scenario.arguments,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), w, args) },
	}
	f := c.Flags()
	f.Var(&v.scheduled, "scheduled", "updates scheduled, as the main thread has counted them")
	f.Var(&v.gpu, "gpu", "the GPU's counter, as the CPU sees it")
	f.Var(&v.cpu, "cpu", "the CPU's counter, as the GPU sees it")
	f.Var(newChoice(&v.observed.Device, "", "busy", "idle"), "device", "the GPU: busy (also if it only spins) or idle")
	f.StringVar(&v.observed.Main, "main", "", "where the main thread stands: throttle, synchronize, end, or one in full, as in 'throttle d20'")
	f.Var(newChoice(&v.observed.Stream, "", "wait", "collective", "done"), "stream", "where the CPU stream stands: wait, collective or done")
	f.Var(newChoice(&v.observed.Error, "", "yes", "no"), "error", "whether a command buffer ended with an error: yes or no")
	f.Var(&v.later, "later", "the GPU's counter after waiting for a while")
	f.StringVar(&v.seen, "seen", "", "the GPU's counter in several hangs, as in 8,8,7")
	f.Var(newChoice(&v.observed.Executed, "", "none", "some", "all"), "executed", "which of the updates that are not seen have run: none, some or all")
	v.scenario.add(f)
	f.Var(newChoice(&v.format, "text", "markdown"), "format", "text or markdown")
	f.Var(&v.seed, "seed", "seed of all that is drawn, decimal or 0x hex")
	f.Int64Var(&v.maxStates, "max-states", 0, "most states of the search for one hypothesis: `N` (default no bound, 200000 where the scenario is not of the evaluator's form)")
	f.DurationVar(&v.time, "time", 0, "stop after a `TIME`, as in 90s (default no bound)")
	v.output.add(f)
	c.ValidArgsFunction = completeScenario
	return c
}

func (v *diagnoseFlags) observation() (check.Observation, error) {
	o := v.observed
	o.Scheduled, o.GPU, o.CPU, o.Later = v.scheduled.value, v.gpu.value, v.cpu.value, v.later.value
	if v.seen == "" {
		return o, nil
	}
	for _, text := range strings.Split(v.seen, ",") {
		var c counter
		if err := c.Set(strings.TrimSpace(text)); err != nil {
			return o, usage("--seen %s: %w", v.seen, err)
		}
		o.Seen = append(o.Seen, *c.value)
	}
	return o, nil
}

// left says in a line which explanations are left.
func left(d *check.Diagnosis) string {
	names := d.Survivors()
	text := fmt.Sprintf("%d of %d explanations are left", len(names), len(d.Explanations))
	if len(names) == 0 {
		return text
	}
	return text + ": " + strings.Join(names, ", ")
}

// mainWords are what an observation of the main thread may begin with.
func mainWords() []string {
	words := []string{"throttle", "synchronize", "end", "enqueue", "commit", "exit", "encode", "hand"}
	for _, o := range model.Ops {
		words = append(words, o.Word)
	}
	return words
}

func (v *diagnoseFlags) run(ctx context.Context, w *world, args []string) error {
	if _, err := v.output.options(w); err != nil {
		return err
	}
	o, err := v.observation()
	if err != nil {
		return err
	}
	if word, _, _ := strings.Cut(o.Main, " "); o.Main != "" && !slices.Contains(mainWords(), word) {
		return usage("diagnose: --main %s: the main thread stands at throttle, synchronize, end, or a step of its own in full", o.Main)
	}
	if v.scenario.set.Changed("machine") {
		return usage("diagnose: --machine: every hypothesis has its own")
	}
	if v.maxStates < 0 || v.time < 0 {
		return usage("diagnose: want bounds from 0")
	}
	sc, err := v.scenario.open(w, "diagnose", args, v.seed)
	if err != nil {
		return err
	}
	if v.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, v.time)
		defer cancel()
	}
	d, err := check.Diagnose(ctx, sc, o, check.Config{Seed: uint64(v.seed), MaxStates: v.maxStates})
	if err != nil {
		return usage("diagnose: %w", err)
	}
	switch {
	case v.output.json:
		err = report.JSON(w.stdout, d)
	case v.output.quiet:
		_, err = fmt.Fprintln(w.stdout, left(d))
	case v.format == "markdown":
		err = d.Markdown(w.stdout)
	default:
		err = d.Text(w.stdout)
	}
	switch {
	case err != nil:
		return err
	case d.Interrupted:
		why := "interrupted"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			why = "the time is over"
		}
		return &exitError{statusOpen, fmt.Errorf("diagnose: %s; what was not decided by then is unknown", why)}
	case len(d.Survivors()) == 0:
		return end(statusFound)
	}
	return nil
}
