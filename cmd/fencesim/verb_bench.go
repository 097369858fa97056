package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/internal/spin"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

func init() { verbs = slices.Insert(verbs, len(verbs)-1, newBench) }

type benchFlags struct {
	output outputFlags
	repeat int
	quick  bool
	spin   bool
	only   string
	time   time.Duration
}

func newBench(w *world) *cobra.Command {
	v := &benchFlags{repeat: 3, spin: true, time: time.Minute}
	c := &cobra.Command{
		Use:   "bench [flags]",
		Short: "measure the engine, and Spin beside it if installed",
		Long: `bench measures the engine on two models, independent reductions and a fence ring: searches
of all states to compare raw speed, and decisions by the best method. Where Spin and a C
compiler are installed, Spin runs the same scenario, exported as Promela, right after each
measurement that it can finish. What counts are the ratios: absolute times depend on the
machine and what else it does.

Speeds and ratios of one worker are of processor time, so that other work on the machine
disturbs less (below 10 ms of the time elapsed, for its clock is coarse). Spin is compiled
with -O2 -DSAFETY. Two workers and one run by turns, and their ratio is of the time elapsed:
it means something on idle cores alone. A decision is compared with Spin's search of the
same scenario, without and with translation and compilation.

Exit status:
  0  everything was measured
  2  wrong usage
  3  interrupted, or a measurement reached its bound
  4  a measurement failed`,
		Example: `  fencesim bench
  fencesim bench --quick --json
  fencesim bench --only ring --repeat 5`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return v.run(c.Context(), w) },
	}
	f := c.Flags()
	f.IntVar(&v.repeat, "repeat", 3, "runs of each measurement, of which the median counts; one over 20 s is not repeated")
	f.BoolVar(&v.quick, "quick", false, "only what takes about a second")
	f.BoolVar(&v.spin, "spin", true, "run Spin beside it where it is installed")
	f.StringVar(&v.only, "only", "", "measurements whose name has this in it")
	f.DurationVar(&v.time, "time", time.Minute, "most time of one run")
	v.output.add(f)
	return c
}

// benchResult is what bench prints.
type benchResult struct {
	Format   int        `json:"fencesim"`
	Platform string     `json:"platform"`
	Cores    int        `json:"cores"`
	Spin     string     `json:"spin"`      // its version, or why it was not run
	Startup  float64    `json:"startup_s"` // whole process of fencesim version
	Rows     []benchRow `json:"rows"`
}

// benchRow is one measurement with Spin's beside it.
type benchRow struct {
	Name          string         `json:"name"`
	What          string         `json:"what"`
	Own           check.BenchRun `json:"own"`
	StatesPerS    float64        `json:"states_per_s,omitempty"` // searches: per second of processor time with one worker, of wall time with more
	BytesPerState float64        `json:"bytes_per_state,omitempty"`
	OneWorker     float64        `json:"speedup_over_one_worker,omitempty"` // several workers: of the time elapsed, run by turns
	Spin          *benchSpin     `json:"spin,omitempty"`
	Ratios        *benchRatios   `json:"ratios,omitempty"`
}

type benchSpin struct {
	States        int64   `json:"states"`
	Errors        int64   `json:"errors"`
	Wall          float64 `json:"wall_s"`
	CPU           float64 `json:"cpu_s"`
	Compile       float64 `json:"compile_s"` // processor time
	StatesPerS    float64 `json:"states_per_s"`
	BytesPerState float64 `json:"bytes_per_state"`
	Complete      bool    `json:"complete"`
}

// benchRatios are above 1 where fencesim is better.
type benchRatios struct {
	Speed float64 `json:"states_per_s,omitempty"` // searches: own over Spin's
	Bytes float64 `json:"bytes_per_state,omitempty"`
	Time  float64 `json:"time"`              // Spin's run over own
	Whole float64 `json:"time_with_compile"` // Spin's run, translation and compilation over own
}

// busy is the processor time of a run, or the time elapsed where that says more: of a run
// too short for its clock, and of one with several workers.
func busy(c *check.BenchCase, r *check.BenchRun) float64 {
	if c.Config.Workers > 1 || r.CPU < 0.01 {
		return r.Wall
	}
	return r.CPU
}

func (v *benchFlags) run(ctx context.Context, w *world) error {
	if _, err := v.output.options(w); err != nil {
		return err
	}
	if v.repeat < 1 || v.time <= 0 {
		return usage("bench: want at least 1 run and a time above 0")
	}
	res := &benchResult{Format: model.FormatVersion, Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Rows: []benchRow{}}
	beside := v.spin
	switch _, err := spin.Found(); {
	case !v.spin:
		res.Spin = "not asked for"
	case err != nil:
		res.Spin, beside = err.Error(), false
	default:
		res.Spin = spin.Version(ctx)
	}
	res.Startup = startup(ctx)
	st := statusOK
	for i := range check.BenchCases {
		c := &check.BenchCases[i]
		if v.quick && !c.Quick || !strings.Contains(c.Name, v.only) {
			continue
		}
		if ctx.Err() != nil {
			st = statusOpen
			break
		}
		if !v.output.quiet {
			w.complain("%s: %s", c.Name, c.What)
		}
		row, err := v.measure(ctx, c, beside)
		if err != nil {
			if ctx.Err() != nil {
				st = statusOpen
				break
			}
			return &exitError{statusBackend, fmt.Errorf("bench: %s: %w", c.Name, err)}
		}
		if row.Own.Bound != "" {
			st = statusOpen
		}
		res.Rows = append(res.Rows, row)
	}
	if len(res.Rows) == 0 && st == statusOK {
		return usage("bench: --only %s: no measurement has that in its name", v.only)
	}
	var err error
	if v.output.json {
		err = report.JSON(w.stdout, res)
	} else {
		err = res.text(w.stdout)
	}
	if err != nil {
		return err
	}
	return end(st)
}

// startup is how long a process of this program takes that does nothing, the least of five.
func startup(ctx context.Context) float64 {
	self, err := os.Executable()
	if err != nil {
		return 0
	}
	best := time.Duration(0)
	for range 5 {
		started := time.Now()
		if exec.CommandContext(ctx, self, "version", "--quiet").Run() != nil {
			return 0
		}
		if d := time.Since(started); best == 0 || d < best {
			best = d
		}
	}
	return best.Seconds()
}

func (v *benchFlags) measure(ctx context.Context, c *check.BenchCase, beside bool) (benchRow, error) {
	row := benchRow{Name: c.Name, What: c.What}
	var own check.BenchRun
	var err error
	if c.Config.Workers > 1 {
		own, row.OneWorker, err = v.byTurns(ctx, c)
	} else {
		own, err = check.Bench(ctx, c, v.repeat, v.time)
	}
	if err != nil {
		return row, err
	}
	row.Own = own
	search := c.Config.Strategy == "dfs"
	if search {
		row.StatesPerS = float64(own.States) / busy(c, &own)
		row.BytesPerState = own.Bytes / float64(own.States)
	}
	if !beside || !c.Peer {
		return row, nil
	}
	if row.Spin, err = v.spinBeside(ctx, c); err != nil {
		return row, err
	}
	s := row.Spin
	row.Ratios = &benchRatios{Time: s.CPU / busy(c, &own), Whole: (s.CPU + s.Compile) / busy(c, &own)}
	if search {
		row.Ratios.Speed = row.StatesPerS / s.StatesPerS
		row.Ratios.Bytes = s.BytesPerState / row.BytesPerState
	}
	return row, nil
}

// byTurns measures a case with its workers and with one by turns, and returns the run of
// median time and the median ratio of the times elapsed.
func (v *benchFlags) byTurns(ctx context.Context, c *check.BenchCase) (check.BenchRun, float64, error) {
	one := *c
	one.Config.Workers = 1
	var runs []check.BenchRun
	var ratios []float64
	for range v.repeat {
		a, err := check.Bench(ctx, &one, 1, v.time)
		if err != nil {
			return a, 0, err
		}
		b, err := check.Bench(ctx, c, 1, v.time)
		if err != nil {
			return b, 0, err
		}
		runs, ratios = append(runs, b), append(ratios, a.Wall/b.Wall)
		if a.Bound != "" || b.Bound != "" {
			break
		}
	}
	middle := (len(runs) - 1) / 2
	slices.SortFunc(runs, func(a, b check.BenchRun) int { return cmp.Compare(a.Wall, b.Wall) })
	slices.Sort(ratios)
	own := runs[middle]
	own.Runs = len(runs)
	return own, ratios[middle], nil
}

// spinBeside runs Spin on the scenario of a case: all states of a search, the first error
// of a decision.
func (v *benchFlags) spinBeside(ctx context.Context, c *check.BenchCase) (*benchSpin, error) {
	sc, err := c.Scenario()
	if err != nil {
		return nil, err
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := report.Promela(&b, programs, sc.Machine, report.PromelaOptions{Stale: true, Merge: true}); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "fencesim-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	k, err := spin.Compile(ctx, filepath.Clean(dir), b.Bytes(), "-O2", "-DSAFETY")
	if err != nil {
		return nil, err
	}
	args := []string{"-m100000"}
	if c.Config.Strategy == "dfs" {
		args = append(args, "-c0")
	}
	var runs []spin.Result
	for range v.repeat {
		r, err := k.Run(ctx, args...)
		if err != nil {
			return nil, err
		}
		if runs = append(runs, r); r.Elapsed > 20*time.Second {
			break
		}
	}
	slices.SortFunc(runs, func(a, b spin.Result) int { return int(a.CPU - b.CPU) })
	r := runs[(len(runs)-1)/2]
	return &benchSpin{States: r.States, Errors: r.Errors, Wall: r.Elapsed.Seconds(), CPU: r.CPU.Seconds(), Compile: k.Compile.Seconds(),
		StatesPerS: float64(r.States) / r.CPU.Seconds(), BytesPerState: r.Memory * (1 << 20) / float64(r.States), Complete: r.Complete}, nil
}

func (r *benchResult) text(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "spin     %s\nplatform %s, %d cores; a process that does nothing takes %s\n\n", r.Spin, r.Platform, r.Cores, seconds(r.Startup))
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s: %s\n", row.Name, row.What)
		fmt.Fprintf(w, "  fencesim  %s by %s, %d states in %s%s\n", row.Own.Verdict, row.Own.Proof, row.Own.States, seconds(row.Own.Wall), speed(row.StatesPerS, row.BytesPerState))
		if row.Own.Stuck > 0 {
			fmt.Fprintf(w, "            %d stuck states\n", row.Own.Stuck)
		}
		if row.Own.Bound != "" {
			fmt.Fprintf(w, "            ended by its bound: %s\n", row.Own.Bound)
		}
		if row.OneWorker > 0 {
			fmt.Fprintf(w, "  ratio     %.2f times one worker, of the time elapsed\n", row.OneWorker)
		}
		if s := row.Spin; s != nil {
			fmt.Fprintf(w, "  spin      %d errors, %d states in %s after %s of compiling%s\n", s.Errors, s.States, seconds(s.Wall), seconds(s.Compile), speed(s.StatesPerS, s.BytesPerState))
		}
		if q := row.Ratios; q != nil {
			fmt.Fprintf(w, "  ratio     time %.3g, with compiling %.3g", q.Time, q.Whole)
			if q.Speed > 0 {
				fmt.Fprintf(w, ", states/s %.2f, bytes/state %.2f", q.Speed, q.Bytes)
			}
			w.WriteByte('\n')
		}
	}
	return w.Flush()
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond).String()
}

func speed(states, bytes float64) string {
	if states == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.2f M states/s, %.0f bytes/state)", states/1e6, bytes)
}
