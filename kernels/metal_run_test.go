//go:build (linux || darwin) && (amd64 || arm64)

package kernels

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

// A metalBuild is one way of compiling the Metal source as C++.
type metalBuild struct {
	name    string
	version string // __METAL_VERSION__
	stale   bool   // ordinary loads give 0 for ever
}

var metalBuilds = []metalBuild{
	{"3.2", "320", false}, // with the system scope
	{"3.1", "310", false}, // without
	{"3.2 stale", "320", true},
}

// metalCPU holds the kernels as functions of the CPU. A launch of n threads is n
// calls.
type metalCPU struct {
	metalBuild
	plain, max   func(fence *uint32, record *Result, value *uint32)
	guarded      func(fence *uint32, record *Result, value, gap *uint32)
	wait         func(fence *uint32, control *Control, record *Result, target, limit, fallback, silence *uint32)
	coherent     func(array, count *uint32, index uint32)
	payloadWrite func(array, count, version *uint32, index uint32)
	payloadCheck func(array, record, count, version *uint32, index uint32)
	work         func(sink, count, rounds *uint32, index uint32)
}

// eachMetalBuild compiles the source with the C++ compiler and the stand-in for
// Metal's library, loads it, and runs the test on it.
func eachMetalBuild(t *testing.T, stale bool, test func(t *testing.T, k metalCPU)) {
	compiler := ""
	for _, name := range []string{os.Getenv("CXX"), "c++", "g++", "clang++"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			compiler = path
			break
		}
	}
	if compiler == "" {
		list := strings.Split(os.Getenv("FENCESIM_REQUIRE"), ",")
		if slices.Contains(list, "all") || slices.Contains(list, "cxx") {
			t.Fatal("cxx is required and missing: a C++ compiler (c++, g++, clang++ or $CXX)")
		}
		t.Skip("needs cxx: a C++ compiler (c++, g++, clang++ or $CXX)")
	}
	for _, build := range metalBuilds {
		if build.stale == stale {
			t.Run(build.name, func(t *testing.T) { test(t, loadMetal(t, compiler, build)) })
		}
	}
}

func loadMetal(t *testing.T, compiler string, build metalBuild) metalCPU {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kernels.so")
	args := []string{"-std=c++17", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror",
		"-Wno-attributes", "-Wno-unknown-attributes", "-Wno-unknown-pragmas",
		"-Itestdata/metalshim", "-D__METAL_VERSION__=" + build.version, "-x", "c++", "-", "-o", path}
	if build.stale {
		args = append([]string{"-DMETALSHIM_STALE"}, args...)
	}
	cmd := exec.Command(compiler, args...)
	cmd.Stdin = strings.NewReader(metalSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := purego.Dlclose(handle); err != nil {
			t.Error(err)
		}
	})
	k := metalCPU{metalBuild: build}
	for entry, fn := range map[string]any{
		"fs_update_plain": &k.plain, "fs_update_guarded": &k.guarded, "fs_update_max": &k.max,
		"fs_wait": &k.wait, "fs_coherent": &k.coherent, "fs_payload_write": &k.payloadWrite,
		"fs_payload_check": &k.payloadCheck, "fs_work": &k.work,
	} {
		purego.RegisterLibFunc(fn, handle, entry)
	}
	return k
}

// A cell is a word or a few in memory of its own, on a cache line of its own.
func newCell() *[32]uint32 { return new([32]uint32) }

// A metalWait is a wait that is going on.
type metalWait struct {
	fence   *[32]uint32
	control *Control
	record  *Result
	done    chan struct{}
}

// startWait launches a wait on a thread.
func (k metalCPU) startWait(target, limit, fallback, silence uint32) metalWait {
	w := metalWait{newCell(), new(Control), new(Result), make(chan struct{})}
	go func() {
		k.wait(&w.fence[0], w.control, w.record, &target, &limit, &fallback, &silence)
		close(w.done)
	}()
	return w
}

// ends fails the test unless the wait has ended with that outcome after a minute.
func (w metalWait) ends(t *testing.T, want Outcome) {
	t.Helper()
	select {
	case <-w.done:
	case <-time.After(time.Minute):
		t.Fatal("the wait is still there after a minute")
	}
	if got := w.record.Outcome; got != want {
		t.Fatalf("outcome %s, want %s; record %+v", got, want, *w.record)
	}
}

func TestMetalWaitReachesTarget(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		w := k.startWait(3, 0, 0, 0)
		for v := uint32(1); v <= 3; v++ {
			atomic.StoreUint32(&w.fence[0], v)
			runtime.Gosched()
		}
		w.ends(t, Passed)
		if last := w.record.Value; last != 3 {
			t.Errorf("last value %d, want 3", last)
		}
		// A value above the target counts, also at the top of the range.
		for _, v := range []uint32{1 << 31, 1<<32 - 1} {
			w := newCell()
			control, record, target, zero := new(Control), new(Result), v-1, uint32(0)
			w[0] = v
			k.wait(&w[0], control, record, &target, &zero, &zero, &zero)
			if record.Outcome != Passed || record.Value != v || record.Polls != 1 {
				t.Errorf("fence %d, target %d: record %+v", v, target, *record)
			}
		}
	})
}

func TestMetalKillReleasesEveryWait(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		const waits = 8
		control := new(Control)
		var records [waits]*Result
		var group sync.WaitGroup
		for i := range waits {
			records[i] = new(Result)
			group.Go(func() {
				fence, target, zero := newCell(), uint32(i+1), uint32(0)
				k.wait(&fence[0], control, records[i], &target, &zero, &zero, &zero)
			})
		}
		time.Sleep(5 * time.Millisecond)
		control.Release()
		group.Wait()
		for i, record := range records {
			// On a loaded machine a wait may have run into its limit before the flag.
			if o := record.Outcome; o != Killed && !(o == GaveUp && record.Polls == MetalPollsMax) {
				t.Errorf("wait %d: record %+v", i, *record)
			}
		}
		// With the flag set before, the first poll ends it; a reached target wins.
		fence, record, target, zero := newCell(), new(Result), uint32(1), uint32(0)
		k.wait(&fence[0], control, record, &target, &zero, &zero, &zero)
		if record.Outcome != Killed || record.Polls != 1 {
			t.Errorf("flag set before: record %+v", *record)
		}
		fence[0] = 1
		k.wait(&fence[0], control, record, &target, &zero, &zero, &zero)
		if record.Outcome != Passed {
			t.Errorf("flag and target: record %+v", *record)
		}
	})
}

// A wait that spins says so in its record.
func TestMetalWaitSaysItIsRunning(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		for range 20 {
			w := k.startWait(1, 0, 0, 0)
			seen := NotBegun
			for seen == NotBegun {
				runtime.Gosched()
				seen = w.record.Load().Outcome
			}
			w.control.Release()
			<-w.done
			if seen == Running {
				return
			}
		}
		t.Error("no wait was seen running in 20 tries")
	})
}

func TestMetalWaitIsBounded(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		for limit, polls := range map[uint32]uint32{1: 1, 1000: 1000, 0: MetalPollsMax, 1<<32 - 1: MetalPollsMax} {
			w := k.startWait(1, limit, 0, 0)
			w.ends(t, GaveUp)
			if w.record.Polls != polls {
				t.Errorf("limit %d: %d polls, want %d", limit, w.record.Polls, polls)
			}
		}
	})
}

func TestMetalWaitEndsWithoutHeartbeat(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		w := k.startWait(1, 0, 0, 500)
		w.ends(t, Orphaned)
		if got := w.record.Polls; got != 500 {
			t.Errorf("silent from the start: %d polls, want 500", got)
		}
	})
}

// A heart that beats keeps a wait alive up to its limit.
func TestMetalWaitLivesWithHeartbeat(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		for range 10 {
			w := k.startWait(1, 0, 0, MetalPollsMax/2)
			for beating := true; beating; {
				select {
				case <-w.done:
					beating = false
				default:
					w.control.Pulse()
					runtime.Gosched()
				}
			}
			if w.record.Outcome == GaveUp {
				return
			}
		}
		t.Error("a wait with a living host was orphaned in 10 of 10 tries")
	})
}

// On the machine whose ordinary loads never change, a wait without a fallback runs
// into its limit, one with a fallback passes, and the kill flag still works.
func TestMetalFallbackLoad(t *testing.T) {
	eachMetalBuild(t, true, func(t *testing.T, k metalCPU) {
		fence, control, record := newCell(), new(Control), new(Result)
		fence[0] = 7
		wait := func(target, limit, fallback uint32) Result {
			record.Clear()
			zero := uint32(0)
			k.wait(&fence[0], control, record, &target, &limit, &fallback, &zero)
			return *record
		}
		if got, want := wait(7, 300, 0), (Result{Outcome: GaveUp, Polls: 300}); got != want {
			t.Errorf("without a fallback: %+v, want %+v", got, want)
		}
		if got, want := wait(7, 300, 100), (Result{Outcome: Passed, Value: 7, Polls: 100, Detail: 1}); got != want {
			t.Errorf("fallback at poll 100: %+v, want %+v", got, want)
		}
		if got, want := wait(8, 300, 100), (Result{Outcome: GaveUp, Value: 7, Polls: 300, Detail: 201}); got != want {
			t.Errorf("fallback, target not reached: %+v, want %+v", got, want)
		}
		control.Release()
		if got, want := wait(8, 300, 0), (Result{Outcome: Killed, Polls: 64}); got != want {
			t.Errorf("kill flag through the atomic load: %+v, want %+v", got, want)
		}
	})
}

// Several writers raise one fence, each to a value that nobody had before; an
// observer never sees it fall, no writer finds it below what it wrote, and the
// largest value stays.
func TestMetalMaxNeverLowers(t *testing.T) {
	const writers, updates = 4, 20000
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		fence := newCell()
		var group sync.WaitGroup
		var next, raised atomic.Uint32
		stop := make(chan struct{})
		fell := make(chan [2]uint32, 1)
		go func() {
			defer close(fell)
			for last := uint32(0); ; {
				v := atomic.LoadUint32(&fence[0])
				if v < last {
					fell <- [2]uint32{last, v}
					return
				}
				last = v
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		for range writers {
			group.Go(func() {
				record := new(Result)
				for range updates {
					v := next.Add(1)
					k.max(&fence[0], record, &v)
					if now := atomic.LoadUint32(&fence[0]); now < v {
						t.Errorf("after max %d the fence is %d", v, now)
						return
					}
					if record.Detail == 1 {
						raised.Add(1)
					}
				}
			})
		}
		group.Wait()
		close(stop)
		if f, ok := <-fell; ok {
			t.Errorf("the fence fell from %d to %d", f[0], f[1])
		}
		if fence[0] != writers*updates || raised.Load() == 0 {
			t.Errorf("fence %d, largest update %d, %d raised it", fence[0], writers*updates, raised.Load())
		}
	})
}

// Two guarded updates: the one of 2 reads 0, the one of 5 stores, then the 2
// overwrites it. Both report that they stored.
func TestMetalGuardedCanLose(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			fence, slow, fast := newCell(), new(Result), new(Result)
			two, five, gap, none := uint32(2), uint32(5), uint32(MetalGapMax), uint32(0)
			begun, done := make(chan struct{}), make(chan struct{})
			go func() {
				close(begun)
				k.guarded(&fence[0], slow, &two, &gap)
				close(done)
			}()
			<-begun
			pause := time.Duration(random.Uint32N(400)) * time.Microsecond
			for start := time.Now(); time.Since(start) < pause; {
			}
			k.guarded(&fence[0], fast, &five, &none)
			<-done
			if fence[0] == 2 && fast.Detail == 1 && slow.Detail == 1 {
				return
			}
		}
		t.Error("no update was lost in 2000 tries")
	})
}

func TestMetalUpdatesAlone(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		none := uint32(0)
		guarded := func(f *uint32, r *Result, v *uint32) { k.guarded(f, r, v, &none) }
		for _, c := range []struct {
			name              string
			old, value, after uint32
			want              Result
			update            func(fence *uint32, record *Result, value *uint32)
		}{
			{"plain raises", 3, 9, 9, Result{Value: 9, Detail: 1}, k.plain},
			{"plain lowers", 9, 3, 3, Result{Value: 3, Detail: 1}, k.plain},
			{"guarded raises", 3, 9, 9, Result{Value: 3, Detail: 1}, guarded},
			{"guarded keeps", 9, 3, 9, Result{Value: 9}, guarded},
			{"max raises", 3, 1<<32 - 1, 1<<32 - 1, Result{Value: 3, Detail: 1}, k.max},
			{"max keeps", 9, 3, 9, Result{Value: 9}, k.max},
			{"max equal", 9, 9, 9, Result{Value: 9}, k.max},
		} {
			fence, record := newCell(), new(Result)
			fence[0] = c.old
			c.want.Outcome = Passed
			c.update(&fence[0], record, &c.value)
			if fence[0] != c.after || *record != c.want {
				t.Errorf("%s: fence %d, record %+v; want %d, %+v", c.name, fence[0], *record, c.after, c.want)
			}
		}
	})
}

func TestMetalPayload(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		const words, count = 40, uint32(33)
		var array [words]uint32
		record := newCell()
		launch := func(kernel func(index uint32)) {
			for i := range uint32(words) {
				kernel(i)
			}
		}
		c, old, version := count, uint32(6), uint32(7)
		check := func(version uint32) [3]uint32 {
			clear(record[:])
			launch(func(i uint32) { k.payloadCheck(&array[0], &record[0], &c, &version, i) })
			return [3]uint32(record[:3])
		}
		launch(func(i uint32) { k.payloadWrite(&array[0], &c, &version, i) })
		for i, got := range array {
			want := MetalPayload(version, uint32(i))
			if uint32(i) >= count {
				want = 0
			}
			if got != want {
				t.Errorf("word %d is %#x, want %#x", i, got, want)
			}
		}
		before := array
		launch(func(i uint32) { k.coherent(&array[0], &c, i) })
		if array != before {
			t.Error("coherent changed the array")
		}
		if got := check(version); got != [3]uint32{count, 0, 0} {
			t.Errorf("check of the version written: %v", got)
		}
		array[0], array[20] = MetalPayload(old, 0), MetalPayload(old, 20)
		if got := check(version); got != [3]uint32{count, 2, 21} {
			t.Errorf("check with two words of the version before: %v", got)
		}
	})
}

func TestMetalWork(t *testing.T) {
	eachMetalBuild(t, false, func(t *testing.T, k metalCPU) {
		var sink [3]uint32
		count := uint32(2)
		for _, rounds := range []uint32{0, 10, 1<<32 - 1} {
			for i := range uint32(3) {
				k.work(&sink[0], &count, &rounds, i)
			}
			for i := range uint32(2) {
				want := i
				for range min(rounds, MetalRoundsMax) {
					want = want*1664525 + 1013904223
				}
				if sink[i] != want {
					t.Errorf("%d rounds: thread %d gives %d, want %d", rounds, i, sink[i], want)
				}
			}
		}
		if sink[2] != 0 {
			t.Error("a thread beyond count stored")
		}
	})
}
