package metal

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// rig is what a replay device holds, on the model of the runtime.
type rig struct {
	f        *fake
	device   *Device
	queue    *Queue
	library  *Library
	pipeline *Pipeline
	memory   *Buffer
	event    *Event
	fence    *Fence
}

// must unwraps a result that the test cannot go on without.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{f: newFake(t)}
	r.device = must[*Device](t)(openDevice(r.f))
	r.queue = must[*Queue](t)(r.device.NewQueue(0))
	r.library = must[*Library](t)(r.device.NewLibrary("kernel void spin() {}", Language32))
	r.pipeline = must[*Pipeline](t)(r.device.NewPipeline(r.library, "spin"))
	r.memory = must[*Buffer](t)(r.device.NewBuffer(8))
	r.event = must[*Event](t)(r.device.NewEvent())
	r.fence = must[*Fence](t)(r.device.NewFence())
	return r
}

// closers are the Close methods, in the order of creation.
func (r *rig) closers() []func() {
	return []func(){r.device.Close, r.queue.Close, r.library.Close, r.pipeline.Close,
		r.memory.Close, r.event.Close, r.fence.Close}
}

func (r *rig) close() {
	for _, c := range r.closers() {
		c()
	}
}

// fill encodes one of everything into a new command buffer.
func (r *rig) fill(t *testing.T, onDone func()) *CommandBuffer {
	t.Helper()
	c := must[*CommandBuffer](t)(r.queue.NewCommandBuffer(onDone))
	e := must[*Encoder](t)(c.Compute(Concurrent))
	e.WaitFence(r.fence)
	e.SetPipeline(r.pipeline)
	e.SetBuffer(0, r.memory, 3)
	e.SetWords(1, 5, 6)
	e.Dispatch(2, 64)
	e.Barrier()
	e.UpdateFence(r.fence)
	if err := errors.Join(e.End(), c.Signal(r.event, 9), c.WaitFor(r.event, 10), c.Commit()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOpenElsewhereSaysWhatIsMissing(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("this is darwin: TestOnDevice opens the device")
	}
	_, err := Open()
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "needs macOS") {
		t.Errorf("Open: %v", err)
	}
}

func TestOpenWithoutDevice(t *testing.T) {
	f := newFake(t)
	f.absent = true
	if _, err := openDevice(f); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no device: %v", err)
	}
	f = newFake(t)
	f.lacks["newSharedEvent"] = true
	if _, err := openDevice(f); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "MTLDevice has no newSharedEvent") {
		t.Errorf("a selector is missing: %v", err)
	}
}

func TestInfo(t *testing.T) {
	r := newRig(t)
	defer r.close()
	got, err := r.device.Info()
	want := Info{Name: "Fake M1", RegistryID: 0x100000abc, OS: Version{15, 3, 1}, UnifiedMemory: true,
		Metal3: true, WorkingSet: 10 << 30, BufferLength: 5 << 30}
	if err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got.OS.String() != "15.3.1" {
		t.Errorf("OS is %s", got.OS)
	}
	if cpu, gpu, err := r.device.Clocks(); cpu != 7 || gpu != 11 || err != nil {
		t.Errorf("clocks %d, %d, %v", cpu, gpu, err)
	}
}

// The messages of one command buffer, from its making to its end.
func TestCommandBufferLife(t *testing.T) {
	r := newRig(t)
	defer r.close()
	r.f.sent = nil
	handled := 0
	c := r.fill(t, func() { handled++ })
	if err := c.Wait(0); !errors.Is(err, ErrTimeout) || !strings.Contains(err.Error(), "is committed") {
		t.Errorf("wait before the end: %v", err)
	}
	time.AfterFunc(time.Millisecond, func() { r.f.finish(c, Completed, 0, "") })
	if err := c.Wait(time.Minute); err != nil {
		t.Error(err)
	}
	if start, end := c.Times(); start != 1500*time.Millisecond || end != 1750*time.Millisecond {
		t.Errorf("times %v, %v", start, end)
	}
	select {
	case <-c.Done():
	default:
		t.Error("Done is open")
	}
	if handled != 1 || c.Status() != Completed {
		t.Errorf("handled %d times, status %s", handled, c.Status())
	}
	c.Close()
	c.Close()
	want := `commandBuffer
addCompletedHandler:
computeCommandEncoderWithDispatchType: 1
waitForFence:
setComputePipelineState:
setBuffer:offset:atIndex: 12 0
setBytes:length:atIndex: 8 1
dispatchThreadgroups:threadsPerThreadgroup: {2 1 1} {64 1 1}
memoryBarrierWithScope: 1
updateFence:
endEncoding
encodeSignalEvent:value: 9
encodeWaitForEvent:value: 10
commit`
	if got := strings.Join(r.f.sent[:min(14, len(r.f.sent))], "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFailedBufferSaysWhy(t *testing.T) {
	r := newRig(t)
	defer r.close()
	c := r.fill(t, nil)
	defer c.Close()
	if err := c.Err(); err != nil {
		t.Errorf("error before the end: %v", err)
	}
	r.f.finish(c, Failed, 2, "Caused GPU Timeout Error\x00")
	err := c.Wait(time.Minute)
	var failure *CommandError
	if !errors.As(err, &failure) || failure.Name() != "Timeout" || failure.Code != 2 {
		t.Fatalf("got %v", err)
	}
	if want := "metal: command buffer: MTLCommandBufferErrorDomain 2 (Timeout): Caused GPU Timeout Error"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestCompileErrors(t *testing.T) {
	r := newRig(t)
	defer r.close()
	_, err := r.device.NewLibrary("error", Language32)
	var failure *CommandError
	if !errors.As(err, &failure) || failure.Domain != "MTLLibraryErrorDomain" || !strings.HasPrefix(failure.Text, "program_source:1:1") {
		t.Errorf("source that does not compile: %v", err)
	}
	if _, err := r.device.NewPipeline(r.library, "turn"); err == nil || !strings.Contains(err.Error(), `kernel "turn": not in the library`) {
		t.Errorf("kernel that is not there: %v", err)
	}
	if r.f.lang != 3<<16|2 {
		t.Errorf("compiled in language %#x", r.f.lang)
	}
	for l, want := range map[Language]string{0: "default", Language24: "2.4", Language32: "3.2"} {
		if l.String() != want {
			t.Errorf("language %d is %q, want %q", uint64(l), l, want)
		}
	}
}

// Sizes and orders that would end the process come back as errors, and nothing is
// sent to Metal that the model refuses.
func TestMistakesComeBack(t *testing.T) {
	r := newRig(t)
	defer r.close()
	gone := must[*Buffer](t)(r.device.NewBuffer(1))
	gone.Close()
	encode := func(fn func(e *Encoder)) func(*CommandBuffer) error {
		return func(c *CommandBuffer) error {
			e := must[*Encoder](t)(c.Compute(Serial))
			fn(e)
			if c.err != nil { // what follows a mistake changes nothing
				e.SetPipeline(r.pipeline)
				e.Dispatch(1, 1)
			}
			return errors.Join(e.End(), c.Commit())
		}
	}
	for _, c := range []struct {
		name, want string
		is         error
		do         func(*CommandBuffer) error
	}{
		{"open encoder at commit", "commit: an encoder is open", ErrOrder, func(c *CommandBuffer) error {
			must[*Encoder](t)(c.Compute(Serial))
			return c.Commit()
		}},
		{"two encoders", "an encoder is open", ErrOrder, func(c *CommandBuffer) error {
			must[*Encoder](t)(c.Compute(Serial))
			_, err := c.Compute(Serial)
			return err
		}},
		{"event inside an encoder", "signal: an encoder is open", ErrOrder, func(c *CommandBuffer) error {
			must[*Encoder](t)(c.Compute(Serial))
			return c.Signal(r.event, 1)
		}},
		{"unknown dispatch", "dispatch 2", nil, func(c *CommandBuffer) error { _, err := c.Compute(2); return err }},
		{"no event", "wait: the event is closed", ErrClosed, func(c *CommandBuffer) error { return c.WaitFor(nil, 1) }},
		{"dispatch without pipeline", "dispatch: no pipeline", ErrOrder, encode(func(e *Encoder) { e.Dispatch(1, 1) })},
		{"too many threads", "1 groups of 1025 threads", nil, encode(func(e *Encoder) { e.SetPipeline(r.pipeline); e.Dispatch(1, 1025) })},
		{"no threads", "0 groups of 1 threads", nil, encode(func(e *Encoder) { e.SetPipeline(r.pipeline); e.Dispatch(0, 1) })},
		{"index", "argument 31 is not in 0 to 30", nil, encode(func(e *Encoder) { e.SetBuffer(31, r.memory, 0) })},
		{"word", "word 8 of 8", nil, encode(func(e *Encoder) { e.SetBuffer(0, r.memory, 8) })},
		{"closed memory", "the buffer: closed", ErrClosed, encode(func(e *Encoder) { e.SetBuffer(0, gone, 0) })},
		{"no words", "0 words", nil, encode(func(e *Encoder) { e.SetWords(0) })},
		{"many words", "1025 words", nil, encode(func(e *Encoder) { e.SetWords(0, make([]uint32, 1025)...) })},
		{"closed fence", "the fence: closed", ErrClosed, encode(func(e *Encoder) { e.UpdateFence(nil) })},
		{"closed pipeline", "the pipeline: closed", ErrClosed, encode(func(e *Encoder) { e.SetPipeline(nil) })},
		{"after the end", "the encoder has ended", ErrOrder, encode(func(e *Encoder) { e.End(); e.Barrier() })},
	} {
		b := must[*CommandBuffer](t)(r.queue.NewCommandBuffer(nil))
		err := c.do(b)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if slices.Contains(r.f.sent, "commit") {
			t.Errorf("%s: committed all the same", c.name)
		}
		b.Close()
	}
	c := r.fill(t, nil)
	if err := c.Commit(); !errors.Is(err, ErrOrder) {
		t.Errorf("second commit: %v", err)
	}
	r.f.finish(c, Completed, 0, "")
	c.Close()
	if err := c.Commit(); !errors.Is(err, ErrClosed) {
		t.Errorf("commit after close: %v", err)
	}
	if err := c.Wait(0); !errors.Is(err, ErrClosed) {
		t.Errorf("wait after close: %v", err)
	}
	for words, ok := range map[int]bool{-1: false, 0: false, 1 << 30: false, 1: true} {
		b, err := r.device.NewBuffer(words)
		if (err == nil) != ok {
			t.Errorf("buffer of %d words: %v", words, err)
		}
		if err == nil {
			b.Close()
		}
	}
	if _, err := r.device.NewQueue(-1); err == nil {
		t.Error("a queue of -1 buffers")
	}
	q := must[*Queue](t)(r.device.NewQueue(12))
	q.Close()
}

// A nil answer to anything that makes an object is an error, and nothing leaks.
func TestNilAnswers(t *testing.T) {
	r := newRig(t)
	defer r.close()
	for name, do := range map[string]func() error{
		"newCommandQueue":              func() error { _, err := r.device.NewQueue(0); return err },
		"newBufferWithLength:options:": func() error { _, err := r.device.NewBuffer(4); return err },
		"contents":                     func() error { _, err := r.device.NewBuffer(4); return err },
		"newFence":                     func() error { _, err := r.device.NewFence(); return err },
		"newSharedEvent":               func() error { _, err := r.device.NewEvent(); return err },
		"commandBuffer":                func() error { _, err := r.queue.NewCommandBuffer(nil); return err },
		"computeCommandEncoderWithDispatchType:": func() error {
			c := must[*CommandBuffer](t)(r.queue.NewCommandBuffer(nil))
			defer c.Close()
			_, err := c.Compute(Serial)
			return err
		},
		"newComputePipelineStateWithFunction:error:": func() error { _, err := r.device.NewPipeline(r.library, "spin"); return err },
		"newLibraryWithSource:options:error:":        func() error { _, err := r.device.NewLibrary("", 0); return err },
	} {
		r.f.refuse[name] = true
		if err := do(); err == nil {
			t.Errorf("%s answered nil and there was no error", name)
		}
		delete(r.f.refuse, name)
	}
}

// Memory is zero, shared and gone after Close; an event is set from both sides.
func TestMemoryAndEvents(t *testing.T) {
	r := newRig(t)
	r.memory.Words()[7] = 5
	if w := r.memory.Words(); len(w) != 8 || w[0] != 0 || w[7] != 5 {
		t.Errorf("words %v", w)
	}
	if err := r.event.Signal(12); err != nil || r.event.Value() != 12 {
		t.Errorf("event %d, %v", r.event.Value(), err)
	}
	if r.pipeline.MaxThreads() != 1024 || r.pipeline.Width() != 32 {
		t.Errorf("pipeline %d, %d", r.pipeline.MaxThreads(), r.pipeline.Width())
	}
	r.close()
	if r.memory.Words() != nil || r.event.Value() != 0 || !errors.Is(r.event.Signal(1), ErrClosed) {
		t.Error("closed values answer")
	}
	if _, err := r.device.NewFence(); !errors.Is(err, ErrClosed) {
		t.Errorf("fence of a closed device: %v", err)
	}
}

// Whatever is closed first, also while a buffer runs, every reference is given
// back exactly once.
func TestAnyOrderOfClosing(t *testing.T) {
	for seed := range uint64(200) {
		t.Run("", func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			r := newRig(t)
			c := r.fill(t, nil)
			closers := append(r.closers(), c.Close)
			open := must[*CommandBuffer](t)(r.queue.NewCommandBuffer(nil))
			must[*Encoder](t)(open.Compute(Serial))
			closers = append(closers, open.Close)
			early := random.IntN(len(closers) + 1)
			random.Shuffle(len(closers), func(i, j int) { closers[i], closers[j] = closers[j], closers[i] })
			committed := &CommandBuffer{handle: handle{id: c.id}}
			for i, fn := range closers {
				if i == early {
					r.f.finish(committed, Completed, 0, "")
				}
				fn()
				fn()
			}
			if early == len(closers) {
				r.f.finish(committed, Completed, 0, "")
			}
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// The zero values may be closed, and answer ErrClosed.
func TestZeroValues(t *testing.T) {
	(&Device{}).Close()
	(&CommandBuffer{}).Close()
	if _, err := (&Device{}).Info(); !errors.Is(err, ErrClosed) {
		t.Errorf("Info of the zero Device: %v", err)
	}
	if _, err := (&Queue{}).NewCommandBuffer(nil); !errors.Is(err, ErrClosed) {
		t.Errorf("buffer of the zero Queue: %v", err)
	}
	if s := Status(9); s.String() != "status 9" || Failed.String() != "failed" {
		t.Errorf("status names: %s, %s", s, Failed)
	}
}
