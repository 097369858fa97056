package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// A status is what the process ends with.
type status int

// The statuses.
const (
	statusOK      status = 0 // nothing violated, or as expected; replay: finished
	statusFound   status = 1 // a hang or violation, or an expectation missed; replay: hung
	statusUsage   status = 2 // wrong usage or input
	statusOpen    status = 3 // inconclusive
	statusBackend status = 4 // a backend or device failed or is missing
)

const statusHelp = `Exit status:
  0  nothing is violated, or the scenario expects what was found; replay: finished
  1  a hang or violation was found, or an expectation is missed; replay: hung
  2  wrong usage or input
  3  inconclusive: a bound was reached or the run was interrupted, and nothing was found
  4  a backend or device failed or is missing`

// An exitError ends the process with a status and, if err is set, a message.
type exitError struct {
	status status
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// end is the error that ends a verb with st and no message; nil for 0.
func end(st status) error {
	if st == statusOK {
		return nil
	}
	return &exitError{status: st}
}

func usage(format string, args ...any) error {
	return &exitError{statusUsage, fmt.Errorf(format, args...)}
}

// exitStatus prints the message of err and gives its status; without one it is wrong usage.
func (w *world) exitStatus(err error) status {
	if err == nil {
		return statusOK
	}
	st, message := statusUsage, err
	var e *exitError
	if errors.As(err, &e) {
		st, message = e.status, e.err
	}
	if st == statusUsage && errors.Is(err, context.Canceled) {
		st, message = statusOpen, errors.New("interrupted")
	}
	if message != nil {
		line := strings.TrimSpace(message.Error())
		var at *model.Error
		if errors.As(message, &at) && at.Line > 0 {
			w.complain("%s", line) // FILE:LINE:COL: message, as editors read it
		} else {
			w.complain("fencesim: %s", line)
		}
	}
	return st
}

// complain writes to standard error. What a message quotes, as the name of a file, may hold
// anything.
func (w *world) complain(format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		fmt.Fprintln(w.stderr, model.Printable(strings.ReplaceAll(line, "\t", "    ")))
	}
}

// resultStatus is the status of explore for a result.
func resultStatus(r *check.Result) status {
	switch {
	case r.Expect == "met":
		return statusOK
	case r.Verdict == check.Inconclusive:
		return statusOpen
	case r.Expect == "missed":
		return statusFound
	case r.Verdict == check.OK:
		return statusOK
	}
	return statusFound
}
