package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/hwreplay"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
	"github.com/fencesim/fencesim/sim"
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
	selftest bool
}

func (d *deviceFlags) add(f *pflag.FlagSet) {
	f.IntVar(&d.repeat, "repeat", 0, "on a device: run it `N` times (default 1; --selftest: 20 of each scenario)")
	f.StringVar(&d.impose, "impose", "", "on a device: impose the machine `NAME|FILE` instead of the scenario's")
	f.DurationVar(&d.patience, "patience", 2*time.Second, "on a device: after `TIME` without progress a run hangs and is released")
	f.DurationVar(&d.kernel, "kernel", 0, "on a device: each kernel computes for `TIME`")
	f.BoolVar(&d.selftest, "selftest", false, "on a device: provoke the reported hangs, release them, run the corpus; --out keeps the record")
}

// deviceOnly are the names of the flags that go with a device.
var deviceOnly = []string{"repeat", "impose", "patience", "kernel", "selftest"}

// config is how the device is run.
func (d *deviceFlags) config() (hwreplay.Config, error) {
	switch {
	case d.patience < 10*time.Millisecond || d.patience > 10*time.Second:
		return hwreplay.Config{}, usage("replay: --patience %v: want 10ms to 10s", d.patience)
	case d.kernel < 0 || d.kernel > time.Second:
		return hwreplay.Config{}, usage("replay: --kernel %v: want 0 to 1s", d.kernel)
	case d.repeat < 0:
		return hwreplay.Config{}, usage("replay: --repeat %d: want a number of runs", d.repeat)
	}
	return hwreplay.Config{Patience: d.patience, Kernel: d.kernel}, nil
}

// replayDevice runs a scenario, or if t is not nil that trace of it, on a device. With
// fast a run in which the GPU is ahead of the main thread is imposed.
func (w *world) replayDevice(ctx context.Context, backend string, d *deviceFlags, sc *model.Scenario, t *sim.Trace, fast bool, drawn seed, o outputFlags, dir string) error {
	config, err := d.config()
	if err != nil {
		return err
	}
	config.Seed = uint64(drawn)
	q := &hwreplay.Request{Trace: t, Repeat: d.repeat, Config: config, Brief: o.quiet, Follow: fast && t == nil}
	if d.impose != "" {
		m, err := openMachine(d.impose)
		if err != nil {
			return err
		}
		q.Impose = &hwreplay.Machine{Machine: m}
	}
	if t == nil {
		src, err := scenarioJSON(sc)
		if err != nil {
			return err
		}
		q.Scenario = string(src)
	}
	r, err := hwreplay.Perform(ctx, &hwreplay.Task{Backend: backend, Replay: q}, nil)
	if err != nil {
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
	case r.Verdict != hwreplay.VerdictFinished || r.Model == hwreplay.Outside:
		return statusFound
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

// deviceError is status 4 for what a device cannot do or did wrong.
func deviceError(verb string, err error) error {
	var at *model.Error
	if err == nil || errors.As(err, &at) {
		return err
	}
	return &exitError{statusBackend, fmt.Errorf("%s: %w", verb, err)}
}
