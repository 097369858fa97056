package naive

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// story is one rule as a schedule that a wrong reading would decide otherwise.
type story struct {
	name     string
	why      string
	m        model.Machine
	ranks    []*Builder
	finishes bool   // some run finishes
	stuck    string // counters of all stuck states, sorted, separated by spaces
	violates string // further properties, sorted, separated by spaces
}

func new1() *Builder              { return new(Builder) }
func on(b ...*Builder) []*Builder { return b }
func lag(n int) model.Machine {
	return model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: n}}
}
func toCPU(mode string) model.Visibility { return model.Visibility{Mode: mode} }

func (st *story) run(t *testing.T) {
	t.Helper()
	var programs []*model.Schedule
	for _, b := range st.ranks {
		programs = append(programs, b.Schedule())
	}
	r, done := Explore(programs, st.m, 200000)
	if !done {
		t.Fatal("too many states")
	}
	delete(r.Violated, "hang")
	stuck := strings.Join(slices.Sorted(maps.Keys(r.Stuck)), " ")
	violates := strings.Join(slices.Sorted(maps.Keys(r.Violated)), " ")
	if stuck != st.stuck || violates != st.violates || r.CanFinish != st.finishes {
		t.Errorf("%s\ngot  stuck %q, violates %q, can finish %v\nwant stuck %q, violates %q, can finish %v\n%s", st.why,
			stuck, violates, r.CanFinish, st.stuck, st.violates, st.finishes, Text(programs, st.m))
	}
}

func runStories(t *testing.T, stories []story) {
	for _, st := range stories {
		t.Run(strings.ReplaceAll(st.name, " ", "-"), st.run)
	}
}

// one reduction whose update and wait are a given number of buffers apart.
func apart(between int) *Builder {
	b := new1()
	if between < 0 {
		b.Buffer("q", "kernel x", "update G 1", "wait C 1", "kernel y reads r")
	} else {
		b.Buffer("q", "kernel x", "update G 1")
		for range between {
			b.Buffer("q", "kernel z")
		}
		b.Buffer("q", "wait C 1", "kernel y reads r")
	}
	return b.Stream("c", "wait G 1", "collective r reads x", "update C 1")
}

func TestLag(t *testing.T) {
	chain := func() *Builder {
		return new1().Buffer("q", "update G 1").Buffer("q", "wait C 1").Stream("c", "wait G 1", "update C 1")
	}
	runStories(t, []story{
		{"shared buffer, immediate", "at once visible: encode order is a schedule", model.Machine{}, on(apart(-1)), true, "", ""},
		{"shared buffer, lag 0", "the buffer cannot finish before the store arrives, which only a possible arrival gives", lag(0), on(apart(-1)), true, "1,0,0", ""},
		{"next buffer, lag 0", "the issuing buffer finishes before the wait starts", lag(0), on(apart(0)), true, "", ""},
		{"next buffer, lag 1", "b - a = 1 is not more than 1", lag(1), on(apart(0)), true, "1,0,0", ""},
		{"one between, lag 1", "b - a = 2 > 1", lag(1), on(apart(1)), true, "", ""},
		{"one between, lag 2", "b - a = 2 is not more than 2", lag(2), on(apart(1)), true, "1,0,0", ""},
		{"two between, lag 2", "b - a = 3 > 2", lag(2), on(apart(2)), true, "", ""},
		{"guarantee withdrawn", "alone and finished the store is sure to arrive; a second commit before that takes it back", lag(1),
			on(chain().Main("enqueue c 2", "commit q", "commit q")), true, "1,0,0", ""},
		{"guarantee kept", "the main thread waits for the stream before it commits again", lag(1),
			on(chain().Main("enqueue c 2", "commit q", "synchronize c", "commit q")), true, "", ""},
		{"oldest first", "store 1 comes from an unfinished buffer; store 2 from a finished one queues behind it. In the other order 2 is sure to arrive, but 1 may hide it", lag(0),
			on(new1().Buffer("q", "update G 1", "wait C 1").Buffer("p", "update G 2").Stream("c", "wait G 2", "update C 1")), true, "2,0,0 2,1,0", "backwards"},
		{"possible only", "unreliable stores may never arrive", model.Machine{GPUToCPU: toCPU(model.VisUnreliable)}, on(apart(3)), true, "1,0,0", ""},
		{"possible only, to the GPU", "the same for CPU stores", model.Machine{CPUToGPU: toCPU(model.VisUnreliable)}, on(apart(0)), true, "1,1,0", "orphan"},
		{"stores under way do not matter", "nobody waits: final without arrivals", model.Machine{GPUToCPU: toCPU(model.VisUnreliable)},
			on(new1().Buffer("q", "update G 1")), true, "", ""},
		{"killed buffer counts as finished", "its store travels on and is sure to arrive", model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag}, Watchdog: model.WatchdogMust},
			on(new1().Buffer("q", "update G 1", "wait C 9").Stream("c", "wait G 1")), true, "", ""},
	})
}

func TestStores(t *testing.T) {
	two := func() *Builder {
		return new1().Buffer("q", "update G 1", "update G 2").Stream("c", "wait G 2")
	}
	race := func() *Builder {
		return new1().Buffer("q", "update G 1").Buffer("p", "update G 2").Stream("c", "wait G 2")
	}
	unordered := func(store string) model.Machine {
		return model.Machine{GPUToCPU: toCPU(model.VisUnordered), Store: store}
	}
	released := func() *Builder {
		return new1().Buffer("q", "release G", "update G 1").Stream("c", "wait G 2")
	}
	runStories(t, []story{
		{"unordered", "2 arrives before 1, which then hides it", unordered(""), on(two()), true, "2,1,0", "backwards"},
		{"unordered guarded", "a guarded store is plain on arrival", unordered(model.StoreGuarded), on(two()), true, "2,1,0", "backwards"},
		{"unordered max", "max on arrival", unordered(model.StoreMax), on(two()), true, "", ""},
		{"in order", "lag keeps the order of one fence", lag(0), on(two()), true, "", ""},
		{"plain race", "1 after 2 lowers the view", model.Machine{}, on(race()), true, "2,1,0", "backwards"},
		{"guarded race", "both read 0; 2 is stored, then 1", model.Machine{Store: model.StoreGuarded}, on(race()), true, "2,1,0", "backwards lost-update"},
		{"max race", "max commutes", model.Machine{Store: model.StoreMax}, on(race()), true, "", ""},
		{"guarded skip", "the second reads 2 and does not store", model.Machine{Store: model.StoreGuarded},
			on(new1().Buffer("q", "update G 2", "update G 1").Stream("c", "wait G 2")), true, "", ""},
		{"skipped guarded store does not travel", "else it would lower the CPU's view", model.Machine{Store: model.StoreGuarded, GPUToCPU: toCPU(model.VisUnreliable)},
			on(new1().Buffer("q", "update G 2", "update G 1")), true, "", ""},
		{"rule of the fence", "the fence's own rule beats the machine's", model.Machine{}, on(race().Fence("G", 0, model.StoreMax)), true, "", ""},
		{"max raises nothing but travels", "store 1 raises nothing on the GPU, yet reaches the CPU, which store 2 from unfinished p has not reached: lag 0 keeps the order, so 1 waits behind 2",
			model.Machine{Store: model.StoreMax, GPUToCPU: model.Visibility{Mode: model.VisLag}},
			on(new1().Buffer("q", "wait H 1", "update G 1").Buffer("p", "update G 2", "update H 1", "wait C 1").Stream("c", "wait G 1", "update C 1")), true, "2,0,0", ""},
		{"CPU overwrites under max", "the CPU's store lowers in both views", model.Machine{Store: model.StoreMax},
			on(new1().Stream("c", "update C 2", "update C 1").Buffer("q", "wait C 2")), true, "0,0,1", "backwards orphan"},
		{"release lowered", "a plain update after release, unless the waiter was quick", model.Machine{}, on(released()), true, "4294967295,1,0", "backwards"},
		{"release kept", "release follows the store rule, so does the update", model.Machine{Store: model.StoreMax}, on(released()), true, "", ""},
		{"add is one transition", "two adders never lose one", model.Machine{},
			on(new1().Buffer("q", "add G 1").Buffer("p", "add G 1").Stream("c", "wait G 2")), true, "", ""},
		{"add travels as an increment", "in any order the sum is the same", unordered(""),
			on(new1().Buffer("q", "add G 1", "add G 2").Stream("c", "wait G 3")), true, "", ""},
		{"add wraps", "modulo 2^32, which lowers", model.Machine{}, on(new1().Buffer("q", "add G 4294967295", "add G 2")), true, "", "backwards"},
		{"reset is exempt", "from backwards, not from hanging a waiter", model.Machine{},
			on(new1().Buffer("q", "update G 2", "reset G 0").Stream("c", "wait G 2")), true, "2,0,0", ""},
		{"equals can be missed", "the value 1 passes by", model.Machine{},
			on(new1().Buffer("q", "update G 1", "update G 2").Stream("c", "wait G == 1")), true, "2,2,0", ""},
		{"initial value", "both views start at it", model.Machine{},
			on(new1().Fence("G", 3, "").Buffer("q", "wait G 3").Stream("c", "wait G 3")), true, "", ""},
	})
}

func TestBuffers(t *testing.T) {
	overlap := func(tracking string) model.Machine {
		return model.Machine{Buffers: model.Overlap, Tracking: tracking}
	}
	ahead := func(n int) model.Machine {
		return model.Machine{Buffers: model.Overlap, Tracking: model.TrackNone, LookAhead: n}
	}
	behind := func() *Builder {
		return new1().Buffer("q", "wait C 1").Buffer("q", "update G 1").Stream("c", "wait G 1", "update C 1")
	}
	fences := func() *Builder {
		return new1().Buffer("q", "update G 1", "wait C 1").Buffer("q", "update G 2").Stream("c", "wait G 2", "update C 1")
	}
	maximum := func(m model.Machine) model.Machine { m.Store = model.StoreMax; return m }
	raw := func() *Builder {
		return new1().Buffer("q", "kernel a", "wait C 1").Buffer("q", "kernel b reads a", "update G 1").Stream("c", "wait G 1", "update C 1")
	}
	runStories(t, []story{
		{"in order", "the second buffer starts when the first has finished", model.Machine{}, on(behind()), false, "1,0,0", ""},
		{"overlap", "it may start at once", overlap(""), on(behind()), true, "", ""},
		{"tracking all", "both touch G", overlap(model.TrackAll), on(fences()), false, "2,1,0", ""},
		{"tracking arrays", "fences are not tracked; max makes the order irrelevant", maximum(overlap(model.TrackArrays)), on(fences()), true, "", ""},
		{"overtaking plain stores", "update 2 before 1: the CPU sees 2 and then 1, or misses it", overlap(model.TrackArrays), on(fences()), true, "2,1,0", "backwards"},
		{"read after write is tracked", "b reads what the first writes", overlap(model.TrackArrays), on(raw()), false, "1,0,0", ""},
		{"nothing tracked", "it runs, and may read too early", overlap(model.TrackNone), on(raw()), true, "", "stale-read"},
		{"write after read is not tracked", "the first only reads a", overlap(model.TrackArrays),
			on(new1().Inputs("a").Buffer("q", "kernel b reads a", "wait C 1").Buffer("q", "kernel a", "update G 1").Stream("c", "wait G 1", "update C 1")), true, "", ""},
		{"write after write is tracked", "both write a", overlap(model.TrackArrays),
			on(new1().Buffer("q", "kernel a", "wait C 1").Buffer("q", "kernel a", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "1,0,0", ""},
		{"look-ahead 1", "no earlier buffer may be unfinished: in order", ahead(1), on(behind()), false, "1,0,0", ""},
		{"look-ahead 2", "one may", ahead(2), on(behind()), true, "", ""},
		{"look-ahead counts unfinished ones", "the buffer between finishes", ahead(2),
			on(new1().Buffer("q", "wait C 1").Buffer("q", "kernel a").Buffer("q", "update G 1").Stream("c", "wait G 1", "update C 1")), true, "", ""},
		{"look-ahead reached", "two spin", ahead(2),
			on(new1().Buffer("q", "wait C 1").Buffer("q", "wait C 1").Buffer("q", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "1,0,0", ""},
		{"exclusive, two queues", "whoever starts first keeps the device", model.Machine{Device: model.Exclusive},
			on(new1().Buffer("q", "update G 1").Buffer("p", "wait C 1").Stream("c", "wait G 1", "update C 1")), true, "1,0,0", ""},
		{"exclusive, one queue", "also among buffers of one queue", model.Machine{Device: model.Exclusive, Buffers: model.Overlap}, on(behind()), true, "1,0,0", ""},
		{"concurrent section", "a wait orders nothing within its section", model.Machine{Dispatch: model.Concurrent},
			on(new1().Buffer("q", "wait C 1", "update G 1").Stream("c", "wait G 1", "update C 1")), true, "", ""},
		{"serial", "the update stands behind the wait", model.Machine{},
			on(new1().Buffer("q", "wait C 1", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "1,0,0", ""},
		{"barrier", "ends the section", model.Machine{Dispatch: model.Concurrent},
			on(new1().Buffer("q", "wait C 1", "barrier", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "1,0,0", ""},
		{"encoder", "is a barrier", model.Machine{Dispatch: model.Concurrent},
			on(new1().Buffer("q", "wait C 1", "encoder", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "1,0,0", ""},
		{"signal is ordered", "after all earlier commands of the buffer, whatever the section", model.Machine{Dispatch: model.Concurrent},
			on(new1().Buffer("q", "wait C 1", "signal E 1").Stream("c", "await E 1", "update C 1")), false, "0,0,0", ""},
		{"concurrent race", "a kernel beside the one that writes what it reads", model.Machine{Dispatch: model.Concurrent},
			on(new1().Buffer("q", "kernel a", "kernel b reads a")), true, "", "stale-read"},
		{"in flight 1", "the second commit waits for the first buffer", model.Machine{Buffers: model.Overlap, InFlight: 1}, on(behind()), false, "0,0,0", ""},
		{"in flight 2", "two fit", model.Machine{Buffers: model.Overlap, InFlight: 2}, on(behind()), true, "", ""},
		{"a blocked commit blocks the rest", "queue p is committed after q", model.Machine{InFlight: 1},
			on(new1().Buffer("q", "wait C 1").Buffer("q", "kernel a").Buffer("p", "update G 1").Stream("c", "wait G 1", "update C 1")), false, "0,0,0", ""},
	})
}

// Every kind of command in a buffer beside a wait that holds the only slot. The buffer's
// completion handler lets that wait pass, so what needs no slot never hangs.
func TestSlotKinds(t *testing.T) {
	for _, c := range []struct {
		command string
		needs   bool
	}{
		{"kernel a", true}, {"coherent a", true}, {"update G 1", true}, {"release G", true}, {"signal E 1", true}, {"wait G 0", true},
		{"collective k", true}, {"add G 1", true}, {"reset G 1", true}, {"send s to 0", true},
		{"barrier", false}, {"encoder", false}, {"await E 0", false}, {"free G", false}, {"notify G", false}, {"park G 0", false},
		{"alloc 1", false}, {"dealloc 1", false}, {"fail", false},
	} {
		for _, store := range []string{model.StorePlain, model.StoreGuarded} {
			b := new1().Inputs("s").Buffer("q", "wait C 1").Buffer("p", c.command).OnFinish("p", "update C 1")
			st := story{"", c.command, model.Machine{Slots: 1, Store: store, Transport: model.Transport{Buffered: 1}}, on(b), true, "", ""}
			if c.needs {
				st.stuck, st.violates = "0,0,0", "orphan"
			}
			st.run(t)
		}
	}
}

func TestSlots(t *testing.T) {
	one := model.Machine{Slots: 1}
	runStories(t, []story{
		{"a wait gives its slot back", "both waits pass one after the other", one,
			on(new1().Buffer("q", "wait C 1").Buffer("p", "wait C 1").Stream("c", "update C 1")), true, "", ""},
		{"two slots", "one for the wait, one for the rest", model.Machine{Slots: 2},
			on(new1().Buffer("q", "wait C 1").Buffer("p", "kernel x", "update G 1").Stream("c", "wait G 1", "update C 1")), true, "", ""},
		{"await holds none", "the wait on an event leaves the slot free", one,
			on(new1().Buffer("q", "await E 1").Buffer("p", "kernel x", "signal E 1")), true, "", ""},
		{"a collective holds its slot", "p's kernel never gets one, q's collective waits for the CPU, which waits for p", model.Machine{Slots: 1},
			on(new1().Buffer("q", "collective a in g").Buffer("p", "kernel x", "update G 1").Stream("c", "collective b in h"),
				new1().Stream("c", "wait H 1", "collective a in g").Buffer("q", "update H@0 0").Stream("d", "collective b in h")), false, "0,0,0;0,0,0", "orphan"},
		{"two communicators", "each rank's slot holds the collective that the other has not begun", one,
			on(new1().Buffer("q", "collective a in g").Buffer("p", "collective b in h"), new1().Buffer("q", "collective a in g").Buffer("p", "collective b in h")),
			true, "0,0,0;0,0,0", "orphan"},
		{"a killed wait frees its slot", "must", model.Machine{Slots: 1, Watchdog: model.WatchdogMust},
			on(new1().Buffer("q", "wait C 1").Buffer("p", "kernel x")), true, "", ""},
		{"a wait that gave up frees its slot", "spin limit", model.Machine{Slots: 1, SpinLimit: 1},
			on(new1().Buffer("q", "wait C 1").Buffer("p", "kernel x")), true, "", ""},
	})
}

func TestKills(t *testing.T) {
	dog := func(mode string) model.Machine { return model.Machine{Watchdog: mode} }
	spin := func() *Builder { return new1().Buffer("q", "wait C 1") }
	runStories(t, []story{
		{"off", "it spins for ever; nobody is left: orphan", dog(""), on(spin()), false, "0,0,0", "orphan"},
		{"may", "a kill is possible, not sure", dog(model.WatchdogMay), on(spin()), true, "0,0,0", "orphan"},
		{"must", "it will be killed", dog(model.WatchdogMust), on(spin()), true, "", ""},
		{"must, await", "an await counts", dog(model.WatchdogMust), on(new1().Buffer("q", "await E 1")), true, "", ""},
		{"must, collective", "a collective is no wait", dog(model.WatchdogMust),
			on(new1().Buffer("q", "collective a"), new1()), false, "0,0,0;0,0,0", "orphan"},
		{"may not while satisfied", "only an unsatisfied wait is killed", dog(model.WatchdogMay), on(new1().Buffer("q", "wait G 0", "update G 1").Stream("c", "wait G 1")), true, "", ""},
		{"any", "before its kernel ran", dog(model.WatchdogAny), on(new1().Buffer("q", "kernel a").Buffer("q", "kernel b reads a")), true, "", "stale-read"},
		{"dropped update", "the rest of the buffer never runs", dog(model.WatchdogMust),
			on(new1().Buffer("q", "wait C 1", "update G 1").Stream("c", "wait G 1")), false, "1,0,0", "lost-update"},
		{"half-done guarded store", "dropped with the buffer", model.Machine{Watchdog: model.WatchdogAny, Store: model.StoreGuarded},
			on(new1().Buffer("q", "update G 1").Stream("c", "wait G 1")), true, "1,0,0", "lost-update"},
		{"go on", "the next buffer starts after a kill", dog(model.WatchdogMust),
			on(spin().Buffer("q", "update G 1").Stream("c", "wait G 1")), true, "", ""},
		{"ignore", "no later buffer of the process starts", model.Machine{Watchdog: model.WatchdogMust, AfterKill: model.Ignore},
			on(spin().Buffer("q", "update G 1").Stream("c", "wait G 1")), false, "1,0,0", ""},
		{"ignore, a started buffer", "p has started or it has not", model.Machine{Watchdog: model.WatchdogMust, AfterKill: model.Ignore},
			on(spin().Buffer("p", "kernel a")), true, "0,0,0", "orphan"},
		{"handler of a killed buffer", "runs: it counts as finished", dog(model.WatchdogMust),
			on(spin().OnFinish("q", "update C 1").Stream("c", "wait C 1")), true, "", ""},
		{"spin limit", "gives up at once or later; r may be missing", model.Machine{SpinLimit: 1},
			on(new1().Buffer("q", "wait C 1", "kernel y reads r").Stream("c", "kernel r", "update C 1")), true, "", "stale-read"},
		{"spin limit for ever", "sure to give up", model.Machine{SpinLimit: 1}, on(spin()), true, "", ""},
		{"spin limit is the GPU's", "a CPU wait never gives up", model.Machine{SpinLimit: 1}, on(new1().Stream("c", "wait G 1")), false, "0,0,0", ""},
	})
}

func TestPayload(t *testing.T) {
	coherent := model.Machine{Payload: model.PayloadCoherent}
	reader := func(cs ...string) *Builder {
		return new1().Buffer("q", cs...).Stream("c", "wait G 1", "kernel r reads x")
	}
	runStories(t, []story{
		{"ignored", "what is written is visible", model.Machine{}, on(reader("kernel x", "update G 1")), true, "", ""},
		{"hidden", "read before the buffer has finished", coherent, on(reader("kernel x", "update G 1")), true, "", "stale-read"},
		{"coherent", "shows the write", coherent, on(reader("kernel x", "coherent x", "update G 1")), true, "", ""},
		{"coherent too early", "it ran on no write", coherent, on(reader("coherent x", "kernel x", "update G 1")), true, "", "stale-read"},
		{"hidden again", "by a later GPU write", coherent, on(reader("kernel x", "coherent x", "update G 1", "kernel x2 writes x")), true, "", "stale-read"},
		{"finished buffer", "shows what it wrote", coherent, on(reader("kernel x").Buffer("q", "update G 1")), true, "", ""},
		{"GPU reads its own", "always", coherent, on(new1().Buffer("q", "kernel x", "kernel y reads x")), true, "", ""},
		{"CPU writes", "are visible to the GPU at once", coherent, on(new1().Stream("c", "kernel x", "update C 1").Buffer("q", "wait C 1", "kernel y reads x")), true, "", ""},
		{"killed buffer", "counts as finished, its write shows", model.Machine{Payload: model.PayloadCoherent, Watchdog: model.WatchdogMust},
			on(new1().Buffer("q", "kernel x", "wait C 1").OnFinish("q", "kernel r reads x")), true, "", ""},
		{"never written", "reading nothing", model.Machine{}, on(new1().Stream("c", "kernel r reads x")), true, "", "stale-read"},
		{"version too high", "the second write came first", model.Machine{},
			on(new1().Stream("c", "kernel a writes x", "kernel b writes x", "kernel r reads x@1")), true, "", "overwritten"},
		{"version too low", "an input counts as one write", model.Machine{},
			on(new1().Inputs("x").Stream("c", "kernel r reads x@1", "kernel s reads x@2")), true, "", "stale-read"},
	})
}

func TestRanks(t *testing.T) {
	buffered := func(n int) model.Machine { return model.Machine{Transport: model.Transport{Buffered: n}} }
	swap := func() *Builder { return new1().Stream("c", "kernel s", "send s to next", "recv s from prev") }
	twice := func() *Builder {
		return new1().Stream("c", "kernel s", "kernel t", "send s to next", "send t to next", "recv s from prev", "recv t from prev")
	}
	runStories(t, []story{
		{"order mismatch", "the k-th meets the k-th; a violation does not end the run", model.Machine{},
			on(new1().Stream("c", "collective a", "collective b"), new1().Stream("c", "collective b", "collective a")), true, "", "order-mismatch"},
		{"two groups", "each waits in a group that the other has not reached", model.Machine{},
			on(new1().Stream("c", "collective a in g", "collective b in h"), new1().Stream("c", "collective b in h", "collective a in g")), false, "0,0,0;0,0,0", ""},
		{"two groups, two streams", "streams that do not wait for each other", model.Machine{},
			on(new1().Stream("c", "collective a in g").Stream("d", "collective b in h"), new1().Stream("c", "collective b in h").Stream("d", "collective a in g")), true, "", ""},
		{"default group", "is the stream: nobody else is in c's group on rank 1", model.Machine{},
			on(new1().Stream("c", "collective a"), new1().Stream("d", "collective a")), false, "0,0,0;0,0,0", ""},
		{"arrive and leave", "reads are checked on arrival, before x is written; writes happen on leaving", model.Machine{},
			on(new1().Stream("c", "collective a reads x").Stream("d", "kernel x")), true, "", "stale-read"},
		{"rendezvous", "both send first", model.Machine{}, on(swap(), swap()), false, "0,0,0;0,0,0", ""},
		{"buffered", "one fits", buffered(1), on(swap(), swap()), true, "", ""},
		{"buffer of one", "the second send blocks", buffered(1), on(twice(), twice()), false, "0,0,0;0,0,0", ""},
		{"buffer of two", "both fit", buffered(2), on(twice(), twice()), true, "", ""},
		{"names must match", "s never meets t", model.Machine{}, on(new1().Stream("c", "kernel s", "send s to next"), new1().Stream("c", "recv t from prev")), false, "0,0,0;0,0,0", ""},
		{"first in first out", "s is in front of t", buffered(2),
			on(new1().Stream("c", "kernel s", "kernel t", "send s to 1", "send t to 1"), new1().Stream("c", "recv t from 0", "recv s from 0")), false, "0,0,0;0,0,0", ""},
		{"another rank's fence", "the update lands in rank 1's fence", model.Machine{},
			on(new1().Stream("c", "update F@1 1"), new1().Stream("c", "wait F 1")), true, "", ""},
		{"its own stays", "rank 0's fence is another", model.Machine{}, on(new1().Stream("c", "update F@1 1", "wait F 1"), new1()), false, "0,0,0;0,0,0", ""},
		{"wait for another rank", "reads its view", model.Machine{}, on(new1().Stream("c", "wait F@next 1"), new1().Stream("c", "update F 1")), true, "", ""},
	})
}

func TestEventsAndRareCommands(t *testing.T) {
	runStories(t, []story{
		{"signal keeps the larger", "2 then 1 is 2", model.Machine{}, on(new1().Buffer("q", "signal E 2", "signal E 1").Stream("c", "await E 2")), true, "", ""},
		{"events are immediate", "on every machine", model.Machine{GPUToCPU: toCPU(model.VisUnreliable), CPUToGPU: toCPU(model.VisUnreliable)},
			on(new1().Buffer("q", "signal E 1", "await F 1").Stream("c", "await E 1", "signal F 1")), true, "", ""},
		{"free under a spinning wait", "use after free, while it spins", model.Machine{}, on(new1().Buffer("q", "wait C 1").Stream("c", "free C")), false, "0,0,0", "orphan use-after-free"},
		{"free, then test", "the test is a use", model.Machine{}, on(new1().Stream("c", "free C", "wait C 0")), true, "", "use-after-free"},
		{"free, then store", "the store is a use", model.Machine{}, on(new1().Stream("c", "free C", "update C 1")), true, "", "use-after-free"},
		{"free before the arrival", "the arrival is a use", model.Machine{GPUToCPU: toCPU(model.VisUnreliable)}, on(new1().Buffer("q", "update G 1", "free G")), true, "", "use-after-free"},
		{"free at the end", "no use after it", model.Machine{}, on(new1().Buffer("q", "update G 1").Stream("c", "wait G 1", "free G")), true, "", ""},
		{"lost notification", "between test and sleep", model.Machine{},
			on(new1().Stream("c", "park F 1").Stream("d", "update F 1", "notify F")), true, "0,0,0", ""},
		{"notified too early", "wakes, tests, sleeps again", model.Machine{}, on(new1().Stream("c", "park F 1").Stream("d", "notify F", "update F 1")), true, "0,0,0", ""},
		{"memory", "the first holds it while it waits for the second", model.Machine{Memory: 1},
			on(new1().Stream("c", "alloc 1", "wait D 1", "dealloc 1").Stream("d", "alloc 1", "update D 1", "dealloc 1")), true, "0,0,0", ""},
		{"memory without limit", "alloc never blocks", model.Machine{},
			on(new1().Stream("c", "alloc 1", "wait D 1", "dealloc 1").Stream("d", "alloc 1", "update D 1", "dealloc 1")), true, "", ""},
		{"idle", "waits for a buffer that waits for this stream, unless it comes before the commit", model.Machine{},
			on(new1().Buffer("q", "wait C 1").Stream("c", "idle", "update C 1")), true, "0,0,0", ""},
		{"fail in a buffer", "its update never runs; no kill, so nothing is lost", model.Machine{},
			on(new1().Buffer("q", "fail", "update G 1").Stream("c", "wait G 1")), false, "1,0,0", ""},
		{"fail on the CPU", "the next task runs", model.Machine{}, on(new1().Stream("c", "fail", "update C 1").Buffer("q", "wait C 1")), true, "", ""},
		{"die", "the stream stops; committed buffers run on", model.Machine{}, on(new1().Stream("c", "die", "update C 1").Buffer("q", "wait C 1")), true, "0,0,0", "orphan"},
		{"die without a buffer", "nothing stays locked", model.Machine{}, on(new1().Stream("c", "die", "wait C 1")), true, "", ""},
		{"handler", "runs when the buffer has finished", model.Machine{}, on(new1().Buffer("q", "kernel a").OnFinish("q", "update C 1").Stream("c", "wait C 1")), true, "", ""},
		{"handler that blocks", "is part of the end", model.Machine{}, on(new1().Buffer("q", "kernel a").OnFinish("q", "wait C 1")), false, "0,0,0", "orphan"},
	})
}

func TestMainThread(t *testing.T) {
	b := func() *Builder {
		return new1().Buffer("q", "wait C 1", "update G 1").Buffer("q", "update G 2").Stream("c", "update C 1")
	}
	runStories(t, []story{
		{"throttle blocks", "two active, more than 1: blocks before it hands the task over", model.Machine{}, on(b().Main("commit q", "commit q", "throttle 1", "enqueue c 1")), false, "2,0,0", ""},
		{"throttle passes", "two are not more than 2", model.Machine{}, on(b().Main("commit q", "commit q", "throttle 2", "enqueue c 1")), true, "", ""},
		{"throttle with one active", "does not block", model.Machine{}, on(b().Main("commit q", "throttle 0", "enqueue c 1", "commit q")), true, "", ""},
		{"throttle goes on when fewer are active", "three, then two: not down to the limit. If two are left at the test, it never ends", model.Machine{},
			on(new1().Buffer("q", "kernel a").Buffer("q", "wait C 1").Buffer("q", "kernel b").Stream("c", "update C 1").Main("commit q", "commit q", "commit q", "throttle 1", "enqueue c 1")), true, "0,0,0", ""},
		{"synchronize a queue", "waits for its committed buffers", model.Machine{}, on(b().Main("commit q", "synchronize q", "enqueue c 1", "commit q")), false, "1,0,0", ""},
		{"synchronize a stream", "waits for what it was given: nothing yet", model.Machine{}, on(b().Main("commit q", "synchronize c", "enqueue c 1", "commit q")), true, "", ""},
		{"never committed", "not final", model.Machine{}, on(b().Main("enqueue c 1", "commit q")), false, "1,1,1", "orphan"},
		{"never enqueued", "a task that is not done is not final", model.Machine{}, on(new1().Stream("c", "update C 1").Main()), false, "0,0,0", ""},
		{"orphan", "the process leaves the GPU behind", model.Machine{}, on(b().Main("commit q", "exit")), false, "1,0,0", "orphan"},
		{"exit stops the streams", "before or after they ran", model.Machine{}, on(b().Main("enqueue c 1", "commit q", "commit q", "exit")), true, "2,0,0", "orphan"},
		{"main as an agent", "a wait on the main thread", model.Machine{}, on(b().Main("update C 1", "enqueue c 1", "commit q", "wait G 1", "commit q")), true, "", ""},
	})
}
