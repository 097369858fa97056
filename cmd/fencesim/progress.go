package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/fencesim/fencesim/check"
)

// progress gives what shows how far a search has come and what ends it: a bar if a bound
// on states or runs says how long it can get, else a spinner with the numbers. Where
// standard error is no terminal both do nothing.
func (w *world) progress(states, runs int64) (func(check.Progress), func()) {
	width, ok := w.terminal(w.stderr)
	if !ok {
		return nil, func() {}
	}
	most := int64(-1)
	if states > 0 {
		most = states
	} else if runs > 0 {
		most = runs
	}
	bar := progressbar.NewOptions64(most,
		progressbar.OptionSetWriter(w.stderr),
		progressbar.OptionSetWidth(max(8, min(30, width-70))),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSpinnerType(14))
	show := func(p check.Progress) {
		rate := float64(p.States+p.Runs) / max(p.Elapsed.Seconds(), 1e-3)
		bar.Describe(fmt.Sprintf("%d states, %d to visit, %d runs, %.0f/s", p.States, p.Frontier, p.Runs, rate))
		at := p.States
		if states <= 0 && runs > 0 {
			at = p.Runs
		}
		if most > 0 {
			at = min(at, most)
		}
		_ = bar.Set64(at) // a terminal that cannot be written to is no reason to stop
	}
	return show, func() { _ = bar.Finish() }
}
