// Command fencesim decides whether a schedule of fence waits and updates between CPU and
// GPU can hang, read stale data or lock the GPU, on which assumptions about the machine.
//
// Each verb is a file verb_*.go: a constructor, its flags, a run function that calls the
// packages that do the work. Results go to standard output, progress and messages to
// standard error; exit.go has the exit statuses.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"
)

// A world is what a verb touches outside the process, files aside.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookupEnv      func(string) (string, bool)
	// terminal gives the width of a stream that is a terminal.
	terminal func(stream io.Writer) (width int, ok bool)
	// atOnce, if not nil, makes an interrupt end the process at once: for a verb whose work
	// has no part that could be shown.
	atOnce func()
}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // a schedule of a million operations has to fit in a gibibyte
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { // the first signal asks for a result of what is known, the second ends the process
		<-ctx.Done()
		stop()
	}()
	w := &world{&interruptible{ctx, os.Stdin}, os.Stdout, os.Stderr, os.LookupEnv, terminalWidth, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }}
	os.Exit(int(w.run(ctx, os.Args[1:])))
}

// run runs one command line. A panic is a bug of fencesim and reported as one.
func (w *world) run(ctx context.Context, args []string) (st status) {
	defer func() {
		if r := recover(); r != nil {
			w.complain("fencesim: a bug of fencesim: %v\n%s", r, debug.Stack())
			st = statusBackend
		}
	}()
	root := newRoot(w)
	root.SetArgs(args)
	return w.exitStatus(root.ExecuteContext(ctx))
}

// An interruptible reader ends with an interrupt, though nobody writes what it waits for.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(b []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	got, mine := make(chan result, 1), make([]byte, len(b)) // a read that comes too late may not write into b
	go func() {
		n, err := i.r.Read(mine)
		got <- result{n, err}
	}()
	select {
	case r := <-got:
		return copy(b, mine[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

func terminalWidth(stream io.Writer) (int, bool) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil
}
