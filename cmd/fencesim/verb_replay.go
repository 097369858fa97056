package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
)

type replayFlags struct {
	scenario scenarioFlags
	output   outputFlags

	strategy string
	seed     seed
	steps    string
	rank     int
	on       string
	backend  string
	out      string
	device   deviceFlags
}

func newReplay(w *world) *cobra.Command {
	v := &replayFlags{strategy: "random", seed: 1, backend: "sim"}
	c := &cobra.Command{
		Use:   "replay [TRACE|RESULT|SCENARIO] [flags]",
		Short: "run one trace, or one run of a scenario, step by step",
		Long: `replay runs a trace file, the first trace of a result (explore --json) or one run of a
scenario, and prints every step, one column per agent, and the state that is left.

A trace carries its scenario. It is refused if a step of it is not what the scenario does
there, or the last state differs; the message names the first step that differs. --on and
the flags that replace parts of a scenario run the trace on another one.

A scenario is run by --steps, or by a strategy: random with --seed, or laziest, which takes
no step that nothing forces.

With --backend the same schedule runs on real fences: on threads or on a GPU. The machine is
imposed, a hang is declared after --patience, every wait is released, and what happened is
held against the model. A trace imposes its buffer ends and the main threads' choices.

` + statusHelp,
		Example: `  fencesim replay out/hang-1.trace.json
  fencesim explore case.yaml --json | fencesim replay -
  fencesim replay mlx-independent-reductions --strategy random --seed 7
  fencesim replay example-one-slot --steps 0:3,1
  fencesim replay mlx-independent-reductions --backend host
  fencesim replay --backend metal --selftest --out record`,
		Args: v.scenario.arguments,
		RunE: func(c *cobra.Command, args []string) error { return v.run(c, w, args) },
	}
	f := c.Flags()
	v.scenario.add(f)
	f.Var(newChoice(&v.strategy, "random", "laziest"), "strategy", "who chooses in a run of a scenario: random, or laziest (nothing that is not forced)")
	f.Var(&v.seed, "seed", "seed of the run, decimal or 0x hex")
	f.StringVar(&v.steps, "steps", "", "the run as a `CODE`: choices among the enabled steps, separated by commas; c:n is n times c, a+bxn n times a and b")
	f.IntVar(&v.rank, "rank", -1, "run rank `N` alone; its collectives pass when it reaches them (default all ranks)")
	f.StringVar(&v.on, "on", "", "run the trace on this `SCENARIO` instead of its own")
	f.Var(newChoice(&v.backend, "sim", "host", "cuda", "metal", "auto"), "backend", "what runs it: sim, the model; or a device: host (threads), cuda, metal, or auto, the first GPU found and else host")
	f.StringVar(&v.out, "out", "", "write replay.trace.json, on a device its result, into the folder `DIR`, made if missing")
	v.device.add(f)
	v.output.add(f)
	c.ValidArgsFunction = completeScenario
	return c
}

func (v *replayFlags) run(c *cobra.Command, w *world, args []string) error {
	if v.backend != "sim" {
		return v.onDevice(c, w, args)
	}
	o, err := v.output.options(w)
	if err != nil {
		return err
	}
	for _, name := range deviceOnly {
		if c.Flags().Changed(name) {
			return usage("replay: --%s goes with a device: --backend host, cuda, metal or auto", name)
		}
	}
	o.Rows = -1
	sc, t, err := v.open(w, args)
	if err != nil {
		return err
	}
	f := c.Flags()
	if t != nil {
		for _, name := range []string{"strategy", "seed", "steps", "rank"} {
			if f.Changed(name) {
				return usage("replay: --%s goes with a scenario, and %s is a trace", name, args[0])
			}
		}
	} else {
		if v.on != "" {
			return usage("replay: --on goes with a trace")
		}
		t = &sim.Trace{Strategy: v.strategy, Seed: uint64(v.seed), Rank: v.rank}
		if f.Changed("steps") {
			switch {
			case f.Changed("strategy"):
				return usage("replay: --strategy %s beside --steps, which say the whole run", v.strategy)
			case f.Changed("seed") && v.scenario.kind != "random":
				return usage("replay: --seed %d beside --steps, which say the whole run", v.seed)
			}
			t.Strategy = "steps"
		}
	}
	y, err := compile(sc, t.Rank)
	if err != nil {
		return err
	}
	run, err := v.play(y, t)
	if err != nil {
		return err
	}
	t, err = trace(sc, y, t, run.Choices)
	if err != nil {
		return err
	}
	if v.out != "" {
		if err := makeFolder(v.out); err != nil {
			return err
		}
		if err := saveJSON(v.out, "replay.trace.json", t); err != nil {
			return err
		}
	}
	r := report.NewReplayed(sc, y, t, run)
	switch {
	case v.output.json:
		err = report.JSON(w.stdout, r)
	case v.output.quiet:
		err = r.Sentence(w.stdout, o)
	default:
		err = r.Text(w.stdout, o)
	}
	if err != nil {
		return err
	}
	return end(replayStatus(r))
}

func replayStatus(r *report.Replayed) status {
	switch {
	case r.Verdict == "hung" || len(r.Violated) > 0:
		return statusFound
	case r.Verdict == "finished":
		return statusOK
	}
	return statusOpen
}

// open reads what is to be run: a scenario, and the trace if the argument holds one.
func (v *replayFlags) open(w *world, args []string) (*model.Scenario, *sim.Trace, error) {
	if len(args) == 0 || v.scenario.kind != "" {
		sc, err := v.scenario.open(w, "replay", args, v.seed)
		return sc, nil, err
	}
	file, src, err := w.read(args[0], maxTrace)
	if err != nil {
		return nil, nil, err
	}
	t, err := readTrace(file, src)
	if err != nil {
		return nil, nil, err
	}
	var sc *model.Scenario
	switch {
	case t == nil:
		if err = mistaken(file, src, "a trace, a result of explore, or a scenario"); err == nil {
			sc, err = parseScenario(file, src)
		}
	case v.on != "":
		if file, src, err = w.read(v.on, model.MaxFileBytes); err == nil {
			sc, err = parseScenario(file, src)
		}
	default:
		sc, err = parseInner(file, src, t.Scenario)
	}
	if err != nil {
		return nil, nil, err
	}
	return sc, t, v.scenario.apply(sc)
}

// compile compiles all ranks of a scenario or, if rank is not negative, that one alone.
func compile(sc *model.Scenario, rank int) (*sim.System, error) {
	ps, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, &exitError{statusUsage, err}
	}
	if rank >= len(ps) || rank < -1 {
		return nil, usage("replay: rank %d alone: the scenario has ranks 0 to %d", rank, len(ps)-1)
	}
	if rank >= 0 {
		ps = ps[rank : rank+1]
	}
	return sim.Compile(ps, sc.Machine, sim.Options{}), nil
}

// play runs a recorded trace, the choices of --steps, or a strategy.
func (v *replayFlags) play(y *sim.System, t *sim.Trace) (sim.Run, error) {
	if t.Digest != "" {
		run, err := t.Replay(y, nil)
		var d *sim.Divergence
		if errors.As(err, &d) {
			return run, usage("replay: the trace is not of this scenario: %w", err)
		}
		if have := y.Verdict(run.Last, run.Violated); err == nil && have != t.Verdict {
			return run, usage("replay: the trace says that its verdict is %q, and it is %q", t.Verdict, have)
		}
		return run, err
	}
	switch t.Strategy {
	case "steps":
		choices, err := report.ParseCode(v.steps)
		if err != nil {
			return sim.Run{}, usage("replay: --steps: %w", err)
		}
		return follow(y, choices)
	case "laziest":
		return sim.RunWith(y, sim.UntilStuck{Strategy: sim.Laziest{}}, 0), nil
	}
	return sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(t.Seed)}, 0), nil
}

// follow runs choices one by one.
func follow(y *sim.System, choices []int) (sim.Run, error) {
	r := sim.Run{Last: y.Initial(), Choices: choices}
	var enabled []sim.Transition
	for i, c := range choices {
		enabled = y.Enabled(r.Last, enabled[:0])
		if c >= len(enabled) {
			return r, usage("replay: --steps: step %d chooses %d of %d enabled transitions (they count from 0)", i+1, c, len(enabled))
		}
		r.Violated |= y.Apply(r.Last, enabled[c])
	}
	r.Stuck, r.Final = y.Stuck(r.Last), y.Final(r.Last)
	return r, nil
}

// trace records a run, with the scenario as it ran.
func trace(sc *model.Scenario, y *sim.System, t *sim.Trace, choices []int) (*sim.Trace, error) {
	src, err := scenarioJSON(sc)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	return sim.NewTrace(y, src, t.Strategy, t.Seed, t.Rank, choices), nil
}
