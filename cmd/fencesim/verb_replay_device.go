package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/hwreplay"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// A process that was started to hold a device does that and nothing else. It is an init,
// so that it is so in a test binary of this package too, which is started by its own name.
func init() {
	if hwreplay.IsChild() {
		os.Exit(hwreplay.Child(os.Stdin, os.Stdout))
	}
}

// deviceFlags are the flags of replay that go with a device.
type deviceFlags struct {
	repeat   int
	impose   string
	patience time.Duration
	kernel   time.Duration
	follow   bool
	selftest bool
	set      *pflag.FlagSet
}

func (d *deviceFlags) add(f *pflag.FlagSet) {
	d.set = f
	f.IntVar(&d.repeat, "repeat", 0, "on a device: run it `N` times (default 1; --selftest: 20 of each scenario)")
	f.StringVar(&d.impose, "impose", "", "on a device: impose the machine `NAME|FILE` instead of the scenario's")
	f.DurationVar(&d.patience, "patience", 2*time.Second, "on a device: after `TIME` without progress a run hangs and is released")
	f.DurationVar(&d.kernel, "kernel", 0, "on a device: each kernel computes for `TIME`")
	f.BoolVar(&d.follow, "follow", false, "on a device: impose the buffer ends of the run in which the GPU is ahead of the main thread")
	f.BoolVar(&d.selftest, "selftest", false, "on a device: provoke the reported hangs, release them, run the corpus; --out keeps the record")
}

// deviceOnly are the names of the flags that go with a device.
var deviceOnly = []string{"repeat", "impose", "patience", "kernel", "follow", "selftest"}

// config is how the device is run.
func (d *deviceFlags) config() (hwreplay.Config, error) {
	switch {
	case d.patience < 10*time.Millisecond || d.patience > 10*time.Second:
		return hwreplay.Config{}, usage("replay: --patience %v: want 10ms to 10s", d.patience)
	case d.kernel < 0 || d.kernel > time.Second:
		return hwreplay.Config{}, usage("replay: --kernel %v: want 0 to 1s", d.kernel)
	case d.repeat < 0 || d.repeat == 0 && d.set.Changed("repeat"):
		return hwreplay.Config{}, usage("replay: --repeat %d: want 1 run or more", d.repeat)
	}
	return hwreplay.Config{Patience: d.patience, Kernel: d.kernel}, nil
}

// onDevice is replay with a backend that is a device.
func (v *replayFlags) onDevice(c *cobra.Command, w *world, args []string) error {
	for _, name := range []string{"steps", "rank", "strategy"} {
		if c.Flags().Changed(name) {
			return usage("replay: --%s goes with --backend sim: a device makes its own run, or a trace's", name)
		}
	}
	if _, err := v.output.options(w); err != nil {
		return err
	}
	d := &v.device
	if d.selftest {
		if len(args) > 0 {
			return usage("replay: --selftest runs scenarios of its own: unexpected %q", args[0])
		}
		return w.selftest(c.Context(), v.backend, d, v.output, v.out)
	}
	config, err := d.config()
	if err != nil {
		return err
	}
	sc, t, err := v.open(w, args)
	if err != nil {
		return err
	}
	config.Seed = uint64(v.seed)
	q := &hwreplay.Request{Trace: t, Repeat: d.repeat, Config: config, Brief: v.output.quiet, Follow: d.follow && t == nil}
	src, err := scenarioJSON(sc)
	if err != nil {
		return err
	}
	if q.Scenario = string(src); t != nil {
		t.Scenario = src
	}
	return v.perform(c.Context(), w, q)
}

// perform makes the runs and prints what came of them.
func (v *replayFlags) perform(ctx context.Context, w *world, q *hwreplay.Request) error {
	d, o, dir := &v.device, v.output, v.out
	if d.impose != "" {
		m, err := openMachine(d.impose)
		if err != nil {
			return err
		}
		q.Impose = &hwreplay.Machine{Machine: m}
	}
	if _, _, err := q.Plan(); err != nil { // before the device: the fault is in the input
		return usage("replay: %w", err)
	}
	r, err := hwreplay.Perform(ctx, &hwreplay.Task{Backend: v.backend, Replay: q}, nil)
	if err != nil && (ctx.Err() == nil || r == nil || r.Replay == nil) {
		return deviceError("replay", err)
	}
	res := r.Replay
	if dir != "" {
		if err := makeFolder(dir); err != nil {
			return err
		}
		if err := saveJSON(dir, "replay-"+res.Backend+".json", res); err != nil {
			return err
		}
	}
	switch {
	case o.json:
		err = report.JSON(w.stdout, res)
	case o.quiet:
		err = res.Sentence(w.stdout)
	default:
		err = res.Text(w.stdout, res.Runs == 1)
	}
	if err != nil {
		return err
	}
	return end(deviceStatus(res))
}

func deviceStatus(r *hwreplay.Result) status {
	switch {
	case !r.Released || !r.Usable:
		return statusBackend
	case r.Verdict == hwreplay.VerdictInterrupted:
		return statusOpen
	case r.Verdict != hwreplay.VerdictFinished || r.Model == hwreplay.Outside:
		return statusFound
	case r.Interrupted:
		return statusOpen
	}
	return statusOK
}

// selftest runs the self-test of a device.
func (w *world) selftest(ctx context.Context, backend string, d *deviceFlags, o outputFlags, dir string) error {
	config, err := d.config()
	if err != nil {
		return err
	}
	q := &hwreplay.RecordRequest{Date: time.Now().UTC().Format(time.DateOnly), Repeat: d.repeat, Config: config}
	if dir != "" {
		if err := makeFolder(dir); err != nil {
			return err
		}
	}
	note := func(s string) {
		if !o.quiet {
			fmt.Fprintln(w.stderr, s)
		}
	}
	r, failed := hwreplay.Perform(ctx, &hwreplay.Task{Backend: backend, Record: q}, note)
	if r == nil || r.Record == nil {
		return deviceError("replay", failed)
	}
	rec := r.Record
	if dir != "" {
		if err := saveJSON(dir, "selftest-"+rec.Backend+".json", rec); err != nil {
			return err
		}
	}
	if o.json {
		err = report.JSON(w.stdout, rec)
	} else {
		err = rec.Text(w.stdout)
	}
	switch {
	case failed != nil:
		return deviceError("replay", failed)
	case err != nil:
		return err
	case !rec.Passed:
		return end(statusFound)
	}
	return nil
}

// deviceError is status 4 for what a device cannot do or did wrong, and 3 for an interrupt.
func deviceError(verb string, err error) error {
	var at *model.Error
	if err == nil || errors.As(err, &at) {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return &exitError{statusOpen, fmt.Errorf("%s: interrupted", verb)}
	}
	return &exitError{statusBackend, fmt.Errorf("%s: %w", verb, err)}
}
