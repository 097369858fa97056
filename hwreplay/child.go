package hwreplay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/fencesim/fencesim/cuda"
)

// childMark is the variable that makes a process a child of [Supervise].
const childMark = "FENCESIM_DEVICE_CHILD"

// IsChild reports whether this process was started by [Supervise]. A program that
// supervises devices asks first thing in main, and then does nothing but
//
//	os.Exit(hwreplay.Child(os.Stdin, os.Stdout))
func IsChild() bool { return os.Getenv(childMark) != "" }

// childLine is one line of what a child says.
type childLine struct {
	Note    string  `json:"note,omitempty"`
	Partial *Report `json:"partial,omitempty"` // what is known so far
	Report  *Report `json:"report,omitempty"`
}

// Child does the task on its input and says on its output what it is about to do before
// each step and what came of it at the end. It returns the exit status, at the latest two
// seconds after its input has ended: a child outlives no parent.
func Child(in io.Reader, out io.Writer) int {
	lines := bufio.NewReaderSize(in, 1<<20)
	src, err := lines.ReadBytes('\n')
	if err != nil {
		return 2
	}
	orphan := make(chan bool)
	go func() {
		io.Copy(io.Discard, lines)
		close(orphan)
	}()
	done := make(chan int, 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { done <- childWork(ctx, src, json.NewEncoder(out)) }()
	select {
	case code := <-done:
		return code
	case <-orphan:
		stop()
	}
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
	return 3
}

func childWork(ctx context.Context, src []byte, out *json.Encoder) int {
	report := new(Report)
	t, err := decodeTask(src)
	if err == nil {
		var d Device
		if d, err = Open(t.Backend); err == nil {
			var r *Report
			r, err = t.Do(ctx, d, func(s string) { out.Encode(childLine{Note: s}) }, func(p *Report) { out.Encode(childLine{Partial: p}) })
			if r != nil {
				report = r
			}
		}
	}
	if err != nil {
		report.Error = &TaskError{"device", err.Error()}
		switch {
		case errors.Is(err, ErrUnavailable):
			report.Error.Kind = "unavailable"
		case errors.Is(err, ErrCannotImpose):
			report.Error.Kind = "impose"
		}
	}
	if out.Encode(childLine{Report: report}) != nil {
		return 1
	}
	return 0
}

// Supervise does a task in a child process, this program again. The child ends with this
// process, whatever ends it, and its GPU waits end within a fifth of a second of it. A
// child that takes no step for a deadline (0: a minute) is killed and given up. What the
// child is about to do goes to note, if that is not nil. With an error the report is what
// was known before it, or nil.
func Supervise(ctx context.Context, t *Task, deadline time.Duration, note func(string)) (*Report, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if deadline <= 0 {
		deadline = time.Minute
	}
	src, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), cuda.Environ()...), childMark+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer reap(cmd)
	defer in.Close()
	lines := make(chan childLine)
	quit := make(chan bool)
	defer close(quit)
	go readChild(out, lines, quit)
	if _, err := in.Write(append(src, '\n')); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	last, known := "start", (*Report)(nil)
	for timer := time.NewTimer(deadline); ; timer.Reset(deadline) {
		select {
		case l, ok := <-lines:
			switch {
			case !ok:
				return known, fmt.Errorf("the child ended without a report, in %s", last)
			case l.Partial != nil:
				known = l.Partial
				continue
			case l.Report == nil:
				last = l.Note
				if note != nil {
					note(l.Note)
				}
				continue
			case l.Report.Error != nil:
				return l.Report, l.Report.Error
			}
			return l.Report, nil
		case <-timer.C:
			return known, fmt.Errorf("the child took no step for %v, in %s; it was killed", deadline, last)
		case <-ctx.Done():
			return known, fmt.Errorf("in %s: %w", last, ctx.Err())
		}
	}
}

// readChild passes the child's lines on.
func readChild(out io.Reader, lines chan<- childLine, quit <-chan bool) {
	defer close(lines)
	for d := json.NewDecoder(out); ; {
		var l childLine
		if d.Decode(&l) != nil {
			return
		}
		select {
		case lines <- l:
		case <-quit:
			return
		}
	}
}

// reap ends a child: it gets three seconds to leave by itself, since its input has ended,
// and is killed then.
func reap(cmd *exec.Cmd) {
	gone := make(chan bool)
	go func() { cmd.Wait(); close(gone) }()
	select {
	case <-gone:
		return
	case <-time.After(3 * time.Second):
		cmd.Process.Kill()
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second): // stuck in the driver: nothing more can be done
	}
}
