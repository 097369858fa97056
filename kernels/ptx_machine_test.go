package kernels

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ptxMachine runs the PTX of this package, and no other PTX, one instruction of
// one thread at a time: slow, sequentially consistent, and everywhere. It shows
// what the kernels compute and that they end. What hardware makes of their
// orders only a device can show.
type ptxMachine struct {
	t      *testing.T
	memory []byte // address 0 is none; addresses are indexes
	clock  uint64
	tick   uint64         // nanoseconds between two looks at the clock
	before func(step int) // the CPU: called before each step
}

type ptxThread struct {
	own    uint64
	pc     int
	regs   map[string]uint64
	atBar  bool
	exited bool
}

func newMachine(t *testing.T) *ptxMachine {
	return &ptxMachine{t: t, memory: make([]byte, 1<<16), tick: 100}
}

func (m *ptxMachine) word(at int) uint32 { return binary.LittleEndian.Uint32(m.memory[at:]) }

func (m *ptxMachine) set(at int, v uint32) { binary.LittleEndian.PutUint32(m.memory[at:], v) }

func (m *ptxMachine) result(at int) Result {
	b := m.memory[at:]
	u64 := binary.LittleEndian.Uint64
	return Result{Outcome(m.word(at)), m.word(at + 4), u64(b[8:]), u64(b[16:]), m.word(at + 24), m.word(at + 28)}
}

// run runs one block to its end and returns the steps of all threads together;
// it fails the test after most of them.
func (m *ptxMachine) run(name string, threads, most int, args ...uint64) int {
	m.t.Helper()
	k, ok := Find(PTX, name)
	if !ok || len(args) != len(k.Params) {
		m.t.Fatalf("kernel %s: %d arguments for %d parameters", name, len(args), len(k.Params))
	}
	var e ptxEntry
	for _, c := range parsePTX(m.t, k.Source) {
		if c.name == k.Entry {
			e = c
		}
	}
	params, labels, shared := map[string]uint64{}, map[string]int{}, map[string]uint64{}
	for i, p := range k.Params {
		params[p.Name] = args[i]
	}
	for i, line := range e.body {
		if l, ok := strings.CutSuffix(line, ":"); ok {
			labels[l] = i
		}
	}
	all := make([]*ptxThread, threads)
	for i := range all {
		all[i] = &ptxThread{own: uint64(i), regs: map[string]uint64{"%ntid.x": uint64(threads), "%nctaid.x": 1, "%tid.x": uint64(i)}}
	}
	for step := 0; ; {
		live, waiting := 0, 0
		for _, th := range all {
			if th.exited {
				continue
			}
			live++
			if th.atBar {
				waiting++
				continue
			}
			if m.before != nil {
				m.before(step)
			}
			m.step(e, th, params, shared, labels)
			if step++; step > most {
				m.t.Fatalf("%s: not ended after %d steps, at %q", name, most, e.body[min(th.pc, len(e.body)-1)])
			}
		}
		if live == 0 {
			return step
		}
		if live == waiting {
			for _, th := range all {
				th.atBar = false
			}
		}
	}
}

var (
	ptxGuard   = regexp.MustCompile(`^@(!?)(%\w+) (.*)$`)
	ptxAddress = regexp.MustCompile(`^\[([%\w]+)(?:\+(\d+))?\]$`)
)

// step runs the thread's next instruction.
func (m *ptxMachine) step(e ptxEntry, th *ptxThread, params, shared map[string]uint64, labels map[string]int) {
	line := e.body[th.pc]
	th.pc++
	if strings.HasPrefix(line, ".") || strings.HasSuffix(line, ":") {
		return
	}
	if g := ptxGuard.FindStringSubmatch(line); g != nil {
		if (th.regs[g[2]] != 0) == (g[1] == "!") {
			return
		}
		line = g[3]
	}
	op, rest, _ := strings.Cut(line, " ")
	rest = strings.ReplaceAll(strings.ReplaceAll(rest, "{", ""), "}", "")
	operand := strings.Split(rest, ", ")
	parts := strings.Split(op, ".")
	width := parts[len(parts)-1]
	value := func(i int) uint64 {
		o := strings.TrimPrefix(operand[i], "!")
		if o == "%globaltimer" {
			m.clock += m.tick
			return m.clock
		}
		v, isReg := th.regs[o]
		if !isReg && !strings.HasPrefix(o, "%") {
			n, err := strconv.ParseUint(o, 10, 64)
			if err != nil {
				m.t.Fatalf("%s: operand %q of %q", e.name, o, line)
			}
			v = n
		}
		if o != operand[i] {
			v ^= 1
		}
		return v
	}
	put := func(v uint64) {
		if width == "u32" && op != "mul.wide.u32" || width == "b32" {
			v &= 1<<32 - 1
		}
		th.regs[operand[0]] = v
	}
	address := func(i int) int {
		a := ptxAddress.FindStringSubmatch(operand[i])
		if a == nil {
			m.t.Fatalf("%s: address %q of %q", e.name, operand[i], line)
		}
		n, _ := strconv.Atoi(a[2])
		n += int(th.regs[a[1]])
		if align := 4; n < 8 || n >= len(m.memory)-8 || n%align != 0 {
			m.t.Fatalf("%s: address %#x in %q", e.name, n, line)
		}
		return n
	}
	name := func(i int) string { return strings.Trim(operand[i], "[]") }
	update := func(old, v uint64) uint64 {
		switch {
		case strings.Contains(op, ".max."):
			return max(old, v)
		case strings.Contains(op, ".add."):
			return (old + v) & (1<<32 - 1)
		}
		return v // exch
	}
	switch parts[0] {
	case "ret":
		th.exited = true
	case "bra":
		at, ok := labels[operand[0]]
		if !ok {
			m.t.Fatalf("%s: no label %q", e.name, operand[0])
		}
		th.pc = at
	case "bar":
		th.atBar = true
	case "fence", "nanosleep":
	case "mov":
		put(value(1))
	case "add":
		put(value(1) + value(2))
	case "sub":
		put(value(1) - value(2))
	case "min":
		put(min(value(1), value(2)))
	case "mul":
		put(value(1) * value(2))
	case "mad":
		put(value(1)*value(2) + value(3))
	case "selp":
		if value(3) != 0 {
			put(value(1))
		} else {
			put(value(2))
		}
	case "setp":
		a, b := value(1), value(2)
		is := map[string]bool{"eq": a == b, "ne": a != b, "lt": a < b, "ge": a >= b, "gt": a > b}[parts[1]]
		if parts[2] == "and" {
			is = is && value(3) != 0
		}
		th.regs[operand[0]] = 0
		if is {
			th.regs[operand[0]] = 1
		}
	case "ld":
		switch {
		case parts[1] == "param":
			put(params[name(1)])
		case parts[1] == "shared":
			put(shared[name(1)])
		case strings.Contains(op, ".v2."):
			at := address(2)
			th.regs[operand[0]], th.regs[operand[1]] = uint64(m.word(at)), uint64(m.word(at+4))
		default:
			put(uint64(m.word(address(1))))
		}
	case "st":
		switch {
		case parts[1] == "shared":
			shared[name(0)] = value(1)
		case width == "u64":
			binary.LittleEndian.PutUint64(m.memory[address(0):], value(1))
		default:
			m.set(address(0), uint32(value(1)))
		}
	case "atom":
		if parts[1] == "shared" {
			old := shared[name(1)]
			shared[name(1)] = update(old, value(2))
			put(old)
			return
		}
		at := address(1)
		old := uint64(m.word(at))
		m.set(at, uint32(update(old, value(2))))
		put(old)
	default:
		m.t.Fatalf("%s: unknown instruction %q", e.name, line)
	}
}

// Addresses that the tests use.
const (
	simControl = 16
	simFence   = 64
	simIn      = 1024
	simOut     = 2048
	simResult  = 4096
)

// worst returns arguments that let a kernel stay as long as it can: bounds at
// their greatest, a fence that never comes.
func worst(k Kernel) []uint64 {
	var args []uint64
	for _, p := range k.Params {
		v, ok := map[string]uint64{
			"control_at": simControl, "fence_at": simFence, "release_at": simFence, "payload_at": simIn,
			"in_at": simIn, "out_at": simOut, "result_at": simResult, "target": 1 << 31, "polls": 1<<32 - 1, "value": 9,
			"in_words": 5, "out_words": 5, "words": 5, "order": 2, "warm": 1, "how": 0, "exact": 0, "fill": 3, "in_fill": 3, "out_fill": 4,
		}[p.Name]
		if !ok {
			v = 1<<64 - 1 // budget, duration, gap, silence
		}
		args = append(args, v)
	}
	return args
}

// Released at any step, every kernel ends within a hundred steps a thread, and
// with the clock at rest, so that no other bound can have ended it.
func TestPTXReleaseEndsEveryKernel(t *testing.T) {
	for _, k := range Of(PTX) {
		for kill := range 250 {
			m := newMachine(t)
			m.tick = 0
			m.before = func(step int) {
				if step == kill {
					m.set(simControl, 1)
				}
			}
			const threads = 2
			m.run(k.Name, threads, kill+100*threads, worst(k)...)
		}
	}
}

// Never released, every kernel ends by the clock after 60 s, whatever its
// arguments, and says so.
func TestPTXClockEndsEveryKernel(t *testing.T) {
	for _, k := range Of(PTX) {
		m := newMachine(t)
		m.tick = 500_000_000
		m.run(k.Name, 2, 10_000, worst(k)...)
		if m.clock > 65_000_000_000 {
			t.Errorf("%s: ended after %d s", k.Name, m.clock/1_000_000_000)
		}
		if got := m.result(simResult); k.Name != "coherent" && (!got.Outcome.Ended() || got.Outcome == Killed) {
			t.Errorf("%s: %v", k.Name, got.Outcome)
		}
	}
}

func TestPTXStores(t *testing.T) {
	for _, tc := range []struct {
		name                string
		before, value       uint32
		after, seen, detail uint32
	}{
		{"update", 5, 3, 3, 3, 0},
		{"update-guarded", 5, 3, 5, 5, 0},
		{"update-guarded", 5, 5, 5, 5, 0},
		{"update-guarded", 3, 1 << 31, 1 << 31, 3, 1},
		{"update-max", 5, 3, 5, 5, 0},
		{"update-max", 3, 1 << 31, 1 << 31, 3, 1},
		{"add", 1<<32 - 1, 2, 1, 1<<32 - 1, 0},
	} {
		for _, order := range Orders() {
			for _, kill := range []uint32{0, 1} {
				for _, control := range []uint64{0, simControl} {
					m := newMachine(t)
					m.set(simFence, tc.before)
					m.set(simControl, kill)
					args := []uint64{control, simFence, uint64(tc.value), uint64(order), simResult}
					if tc.name == "update-guarded" {
						args = []uint64{control, simFence, uint64(tc.value), uint64(order), 1000, simResult}
					}
					m.run(tc.name, 1, 200, args...)
					got, after := m.result(simResult), m.word(simFence)
					if killed := kill == 1 && control != 0; killed {
						if got.Outcome != Killed || after != tc.before {
							t.Errorf("%s killed: fence %d, %+v", tc.name, after, got)
						}
						continue
					}
					if got.Outcome != Passed || after != tc.after || got.Value != tc.seen || got.Detail != tc.detail || got.End < got.Begin {
						t.Errorf("%s %d on %d: fence %d, %+v", tc.name, tc.value, tc.before, after, got)
					}
				}
			}
		}
	}
}

// A store that falls between the halves of a guarded update is lost.
func TestPTXGuardedIsTwoAccesses(t *testing.T) {
	m := newMachine(t)
	m.before = func(int) {
		if m.clock > 500 { // after the read, within the gap
			m.set(simFence, 9)
			m.before = nil
		}
	}
	m.run("update-guarded", 1, 500, simControl, simFence, 7, 0, 2000, simResult)
	if got := m.word(simFence); got != 7 {
		t.Errorf("the fence is %d, want 7: lowered from 9", got)
	}
}

func TestPTXWaitOutcomes(t *testing.T) {
	const long = uint64(1) << 40
	for i, tc := range []struct {
		fence, target, exact, polls uint32
		budget, silence             uint64
		kill                        uint32
		want                        Outcome
		wantPolls                   uint32
	}{
		{4, 4, 0, 0, 0, 0, 0, Passed, 1},
		{9, 4, 0, 0, 0, 0, 0, Passed, 1},
		{1<<32 - 1, 4, 0, 0, 0, 0, 0, Passed, 1},
		{4, 4, 1, 0, 0, 0, 0, Passed, 1},
		{9, 4, 1, 7, long, 0, 0, GaveUp, 7},
		{3, 4, 0, 0, long, 0, 0, GaveUp, 1},
		{3, 4, 0, 7, long, 0, 0, GaveUp, 7},
		{3, 4, 0, 1 << 31, 1000, 0, 0, OutOfTime, 10},
		{3, 4, 0, 1 << 31, long, 1000, 0, Orphaned, 11},
		{4, 4, 0, 1 << 31, long, 0, 1, Killed, 1},
	} {
		for _, order := range Orders() {
			m := newMachine(t)
			m.set(simFence, tc.fence)
			m.set(simControl, tc.kill)
			m.run("wait", 1, 2000, simControl, simFence, uint64(tc.target), uint64(tc.exact), uint64(order), uint64(tc.polls),
				tc.budget, tc.silence, simResult)
			got := m.result(simResult)
			if got.Outcome != tc.want || got.Value != tc.fence || got.Polls != tc.wantPolls {
				t.Errorf("case %d, %v: %+v, want %v after %d", i, order, got, tc.want, tc.wantPolls)
			}
		}
	}
}

// A beat that goes on keeps a wait that watches it; the fence then ends it.
func TestPTXWaitHearsTheBeat(t *testing.T) {
	m := newMachine(t)
	m.before = func(step int) {
		m.set(simControl+4, uint32(step/50))
		if step == 5000 {
			m.set(simFence, 1)
		}
	}
	m.run("wait", 1, 6000, simControl, simFence, 1, 0, 1, 1<<31, 1<<40, 3000, simResult)
	if got := m.result(simResult); got.Outcome != Passed || got.End-got.Begin < 6000 {
		t.Errorf("%+v", got)
	}
}

func TestPTXPayload(t *testing.T) {
	for _, threads := range []int{1, 3, 8} {
		t.Run(fmt.Sprint(threads, " threads"), func(t *testing.T) {
			m := newMachine(t)
			const words = 7
			m.run("message-send", threads, 5000, simControl, simIn, words, 5, 1, simFence, 2, 1, simResult)
			m.run("message-receive", threads, 9000, simControl, simFence, 2, 1, 1, simIn, words, 5, 0, 100, 1<<40, 0, simResult+32)
			if got := m.result(simResult + 32); got.Outcome != Passed || got.Detail != 0 || got.Value != 5 {
				t.Errorf("received %+v", got)
			}
			m.set(simIn+8, 4)
			m.run("message-receive", threads, 9000, simControl, simFence, 2, 1, 0, simIn, words, 5, 0, 100, 1<<40, 0, simResult+32)
			if got := m.result(simResult + 32); got.Outcome != Passed || got.Detail != 1 || got.Value != 4 {
				t.Errorf("received with one stale word %+v", got)
			}
			m.run("message-receive", threads, 9000, simControl, simFence, 3, 1, 0, simIn, words, 5, 0, 10, 1<<40, 0, simResult+32)
			if got := m.result(simResult + 32); got.Outcome != GaveUp || got.Detail != 0 {
				t.Errorf("gave up %+v", got)
			}
			m.run("compute", threads, 9000, simControl, simIn, words, 5, 1000, 0, simOut, words, 6, simResult)
			if got := m.result(simResult); got.Outcome != Passed || got.Detail != 1 || got.End-got.Begin < 1000 {
				t.Errorf("computed %+v", got)
			}
			m.run("coherent", threads, 9000, simOut, words)
			for i := range words + 1 {
				want := uint32(6)
				if i == words {
					want = 0
				}
				if got := m.word(simOut + 4*i); got != want {
					t.Errorf("word %d is %d, want %d", i, got, want)
				}
			}
			m.set(simControl, 1)
			m.run("compute", threads, 9000, simControl, simIn, words, 5, 1000, 0, simOut, words, 8, simResult)
			m.run("message-send", threads, 9000, simControl, simOut, words, 8, 1, simFence, 9, 1, simResult+32)
			if a, b := m.result(simResult), m.result(simResult+32); a.Outcome != Killed || b.Outcome != Killed || m.word(simOut) != 6 || m.word(simFence) != 2 {
				t.Errorf("killed: %+v, %+v", a, b)
			}
		})
	}
}

// The other loops that watch the beat have the same endings as a wait.
func TestPTXSilenceAndBounds(t *testing.T) {
	const long = uint64(1) << 40
	for _, tc := range []struct {
		name string
		args []uint64
		want Outcome
	}{
		{"hold", []uint64{simControl, simFence, 9, long, 0, simResult}, GaveUp},
		{"hold", []uint64{simControl, simFence, 1 << 31, 2000, 0, simResult}, OutOfTime},
		{"hold", []uint64{simControl, simFence, 1 << 31, long, 2000, simResult}, Orphaned},
		{"compute", []uint64{simControl, 0, 0, 0, long, 2000, 0, 0, 0, simResult}, Orphaned},
		{"compute", []uint64{simControl, 0, 0, 0, 2000, 3000, 0, 0, 0, simResult}, Passed},
		{"message-receive", []uint64{simControl, simFence, 1, 0, 0, simIn, 4, 0, 0, 9, long, 0, simResult}, GaveUp},
		{"message-receive", []uint64{simControl, simFence, 1, 0, 0, simIn, 4, 0, 0, 1 << 31, 2000, 0, simResult}, OutOfTime},
		{"message-receive", []uint64{simControl, simFence, 1, 0, 0, simIn, 4, 0, 0, 1 << 31, long, 2000, simResult}, Orphaned},
	} {
		m := newMachine(t)
		m.run(tc.name, 2, 1000, tc.args...)
		if got := m.result(simResult); got.Outcome != tc.want {
			t.Errorf("%s: %+v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestPTXHold(t *testing.T) {
	m := newMachine(t)
	m.before = func(step int) {
		if step == 900 {
			m.set(simFence, 1)
		}
	}
	m.run("hold", 4, 1000, simControl, simFence, 1<<31, 1<<40, 0, simResult)
	if got := m.result(simResult); got.Outcome != Passed || got.Polls < 10 {
		t.Errorf("%+v", got)
	}
	m.run("stamp", 1, 100, simResult)
	if got := m.result(simResult); got.Outcome != Passed || got.Begin == 0 || got.Begin != got.End {
		t.Errorf("%+v", got)
	}
}
