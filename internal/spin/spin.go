// Package spin runs the model checker Spin on Promela models, where it is installed. Tests
// and fencesim bench compare with it.
package spin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Result is what one run of a compiled model found.
type Result struct {
	Errors      int64         // with all: every error, else 0 or 1
	States      int64         // stored
	Transitions int64         // taken
	Vector      int64         // bytes of a state
	Memory      float64       // MiB in all
	Elapsed     time.Duration // of the checker's process
	CPU         time.Duration // its processor time
	Complete    bool          // the search was not cut short
}

// Found looks for Spin and a C compiler and returns the compiler's name. The error says
// what is missing.
func Found() (cc string, err error) {
	if _, err := exec.LookPath("spin"); err != nil {
		return "", errors.New("spin is not installed")
	}
	for _, name := range []string{"gcc", "cc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no C compiler is installed")
}

// Version is what spin -V prints.
func Version(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "spin", "-V").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// A Checker is a compiled model in a folder of its own.
type Checker struct {
	dir     string
	Compile time.Duration // processor time of translation and compilation
}

// Compile translates a model and compiles it in folder dir with flags of the C compiler,
// as in -O2 -DSAFETY. Statements are not merged, so that a statement is a transition.
func Compile(ctx context.Context, dir string, model []byte, flags ...string) (*Checker, error) {
	cc, err := Found()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "model.pml"), model, 0o644); err != nil {
		return nil, err
	}
	translation, err := execute(ctx, dir, "spin", "-a", "-o3", "model.pml")
	if err != nil {
		return nil, err
	}
	compilation, err := execute(ctx, dir, cc, append(append([]string{"-w"}, flags...), "-o", "pan", "pan.c")...)
	if err != nil {
		return nil, err
	}
	return &Checker{dir, translation + compilation}, nil
}

// execute runs a command and gives the processor time of it and of what it ran.
func execute(ctx context.Context, dir, name string, args ...string) (time.Duration, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err == nil && name == "spin" && bytes.Contains(out, []byte("Error")) {
		err = errors.New("a fault in the model")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

var (
	errorsLine = regexp.MustCompile(`errors: (\d+)`)
	vectorLine = regexp.MustCompile(`State-vector (\d+) byte`)
	statesLine = regexp.MustCompile(`(?m)^\s*([0-9.e+]+) states, stored`)
	transLine  = regexp.MustCompile(`(?m)^\s*([0-9.e+]+) transitions`)
	memoryLine = regexp.MustCompile(`(?m)^\s*([0-9.e+]+)\s+total actual memory usage`)
)

// Run runs the checker. args are those of pan: -A leaves assertions out, -E invalid end
// states, -c0 goes on past errors.
func (c *Checker) Run(ctx context.Context, args ...string) (Result, error) {
	cmd := exec.CommandContext(ctx, "./pan", args...)
	cmd.Dir = c.dir
	started := time.Now()
	out, err := cmd.CombinedOutput()
	r := Result{Elapsed: time.Since(started)}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if cmd.ProcessState != nil {
		r.CPU = max(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), time.Microsecond)
	}
	m := errorsLine.FindSubmatch(out)
	if m == nil {
		return r, fmt.Errorf("pan: %v\n%s", err, out)
	}
	number := func(e *regexp.Regexp) float64 {
		m := e.FindSubmatch(out)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(string(m[1]), 64)
		return v
	}
	r.Errors, _ = strconv.ParseInt(string(m[1]), 10, 64)
	r.Vector, r.States, r.Transitions, r.Memory = int64(number(vectorLine)), int64(number(statesLine)), int64(number(transLine)), number(memoryLine)
	r.Complete = !bytes.Contains(out, []byte("Search not completed")) && !bytes.Contains(out, []byte("max search depth too small"))
	return r, nil
}

// Decide compiles a model in folder dir and says whether it has invalid end states and
// whether an assertion can fail. A search that found nothing and was cut short is an error.
func Decide(ctx context.Context, dir string, model []byte) (invalid, asserted bool, err error) {
	c, err := Compile(ctx, dir, model, "-O0", "-DSAFETY")
	if err != nil {
		return false, false, err
	}
	for _, ask := range []struct {
		flag  string
		found *bool
	}{{"-A", &invalid}, {"-E", &asserted}} {
		r, err := c.Run(ctx, ask.flag, "-m50000", "-w20")
		if err != nil {
			return false, false, err
		}
		if *ask.found = r.Errors > 0; !*ask.found && !r.Complete {
			return false, false, fmt.Errorf("pan %s: the search was not completed", ask.flag)
		}
	}
	return invalid, asserted, nil
}

// Required reports whether the environment variable FENCESIM_REQUIRE, all or a list with
// commas, makes the absence of Spin a failure of the tests that compare with it.
func Required(list string) bool {
	for _, w := range strings.Split(list, ",") {
		if w = strings.TrimSpace(w); w == "all" || w == "spin" {
			return true
		}
	}
	return false
}
