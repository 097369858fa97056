package hwreplay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentMark makes this test binary a process that supervises a hang until it is killed.
const parentMark = "FENCESIM_TEST_PARENT"

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(Child(os.Stdin, os.Stdout))
	}
	if backend := os.Getenv(parentMark); backend != "" {
		os.Unsetenv(parentMark)
		_, err := Supervise(context.Background(), &Task{Backend: backend, Replay: never(time.Minute)}, 0, func(s string) { fmt.Println(s) })
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// never is a run that hangs.
func never(patience time.Duration) *Request {
	return &Request{Scenario: tapeGroups(4), Config: Config{Patience: patience}}
}

// require opens a backend, or skips with the reason; FENCESIM_REQUIRE lists those that
// must be there.
func require(t *testing.T, backend string) Device {
	t.Helper()
	d, err := Open(backend)
	if err == nil {
		return d
	}
	for _, r := range strings.Split(os.Getenv("FENCESIM_REQUIRE"), ",") {
		if r == "all" || r == backend {
			t.Fatalf("%s is required and missing: %v", backend, err)
		}
	}
	if !errors.Is(err, ErrUnavailable) {
		t.Fatal(err)
	}
	t.Skipf("needs %s: %v", backend, err)
	return nil
}

func mustSupervise(t *testing.T, task *Task) *Report {
	t.Helper()
	r, err := Supervise(context.Background(), task, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A child process gives what the same task gives in this one.
func TestSupervise(t *testing.T) {
	r := mustSupervise(t, &Task{Backend: "host", Replay: never(200 * time.Millisecond)}).Replay
	if r.Verdict != VerdictHung || !r.Released || !r.Usable || r.Counters.GPU != 4 || r.Model != Allowed || len(r.Recording) == 0 {
		t.Errorf("%+v", r)
	}
	_, err := Supervise(context.Background(), &Task{Backend: "host", Replay: &Request{Scenario: "x"}}, 0, nil)
	var te *TaskError
	if !errors.As(err, &te) {
		t.Errorf("a bad request gives %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := Supervise(ctx, &Task{Backend: "host", Replay: never(time.Minute)}, 0, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an interrupted task gives %v", err)
	}
	if _, err := Supervise(context.Background(), &Task{Backend: "host", Replay: never(time.Minute)}, 3*time.Second, nil); err == nil || !strings.Contains(err.Error(), "run 1") {
		t.Errorf("a task past its deadline gives %v", err)
	}
	if c := children(os.Getpid()); len(c) > 0 {
		t.Errorf("children left: %v", c)
	}
}

// children lists the processes whose parent is pid; none where there is no /proc.
func children(pid int) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		// pid (name) state ppid …
		rest := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(rest) > 1 && rest[1] == strconv.Itoa(pid) && rest[0] != "Z" {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			out = append(out, n)
		}
	}
	return out
}

// Killing the process that supervises a hang leaves no child and no wait behind.
func TestKilledSupervisorLeavesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	for _, backend := range []string{"host", "cuda"} {
		t.Run(backend, func(t *testing.T) {
			require(t, backend)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), parentMark+"="+backend)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 16)
			if n, _ := out.Read(buf); !strings.HasPrefix(string(buf[:n]), "run 1") {
				t.Fatalf("the supervisor said %q", buf)
			}
			time.Sleep(500 * time.Millisecond)
			pids := children(cmd.Process.Pid)
			if len(pids) != 1 {
				t.Fatalf("children of the supervisor: %v", pids)
			}
			start := time.Now()
			cmd.Process.Signal(syscall.SIGKILL)
			cmd.Wait()
			for gone := false; !gone; time.Sleep(10 * time.Millisecond) {
				gone = syscall.Kill(pids[0], 0) != nil || zombie(pids[0])
				if time.Since(start) > time.Minute {
					t.Fatal("the child outlives its parent by a minute")
				}
			}
			t.Logf("the child was gone %v after its parent", time.Since(start))
			r := mustSupervise(t, &Task{Backend: backend, Replay: &Request{Scenario: firstGroup(false)}}).Replay
			if r.Verdict != VerdictFinished {
				t.Errorf("afterwards a run is %s", r.Verdict)
			}
		})
	}
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// The child itself killed with every wait on the device: the device works at once.
func TestKilledChildLeavesDeviceUsable(t *testing.T) {
	for _, backend := range []string{"host", "cuda"} {
		t.Run(backend, func(t *testing.T) {
			require(t, backend)
			done := make(chan error, 1)
			said := make(chan string, 10)
			go func() {
				_, err := Supervise(context.Background(), &Task{Backend: backend, Replay: never(time.Minute)}, 0, func(s string) { said <- s })
				done <- err
			}()
			<-said
			time.Sleep(500 * time.Millisecond)
			for _, pid := range children(os.Getpid()) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if err := <-done; err == nil || !strings.Contains(err.Error(), "run 1") {
				t.Errorf("the supervisor says %v", err)
			}
			start := time.Now()
			r := mustSupervise(t, &Task{Backend: backend, Replay: &Request{Scenario: firstGroup(false)}}).Replay
			t.Logf("a run afterwards is %s, %v later", r.Verdict, time.Since(start))
			if r.Verdict != VerdictFinished {
				t.Error("the device was not usable")
			}
		})
	}
}

// The self-test of a GPU, in a child. FENCESIM_RECORD_DIR keeps the record.
func TestRecordDevice(t *testing.T) {
	for _, backend := range []string{"cuda", "metal"} {
		t.Run(backend, func(t *testing.T) {
			require(t, backend)
			q := &RecordRequest{Date: time.Now().UTC().Format(time.DateOnly), Config: Config{Patience: 500 * time.Millisecond}}
			r, err := Supervise(context.Background(), &Task{Backend: backend, Record: q}, 0, func(s string) { fmt.Fprintln(os.Stderr, s) })
			if r == nil || r.Record == nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Error(err)
			}
			b, _ := json.MarshalIndent(r.Record, "", " ")
			if dir := os.Getenv("FENCESIM_RECORD_DIR"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, backend+".json"), b, 0o666); err != nil {
					t.Error(err)
				}
			}
			for _, row := range r.Record.Runs {
				h, _ := json.Marshal(row.Histogram)
				t.Logf("%s: %d of %d %s; released %v usable %v, model %v %s %s %s %.2fs", row.Name, row.AsExpected, row.Runs, row.Expect, row.Released, row.Usable, row.Model, row.Reason, row.Refused, h, row.Elapsed)
			}
			if !r.Record.Passed {
				t.Errorf("%q", r.Record.Unproven)
			}
		})
	}
}
