package naive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// Config bounds what Random and RandomGraph draw. The zero value is the default.
type Config struct {
	Ranks      int  // at most; 0 stands for 2
	Reductions int  // at most; 0 stands for 4
	Plain      bool // only waits, updates, kernels and collectives: no sprinkling
}

// drawing is one random case on its way.
type drawing struct {
	*rand.Rand
	Config
	ranks    int
	n        int // reductions
	queues   int
	streams  int
	lags     bool // stores take time, so there are many interleavings
	parallel bool // under concurrent dispatch
	items    [][]string
	tasks    [][]string
	ends     [][]int
	handlers map[[2]int][]string // by queue and buffer
	main     []string
}

// Random draws small explicit schedules, one per rank, and a machine: a few reductions that
// the GPU feeds and consumes through fences, mostly right, with one or two faults and
// rarities thrown in.
func Random(rng *rand.Rand, cfg Config) ([]*model.Schedule, model.Machine) {
	d := &drawing{Rand: rng, Config: cfg}
	if d.Config.Ranks == 0 {
		d.Config.Ranks = 2
	}
	if d.Reductions == 0 {
		d.Reductions = 4
	}
	m := d.machine()
	d.parallel = m.Dispatch == model.Concurrent
	d.lags = m.GPUToCPU.Mode != "" || m.CPUToGPU.Mode != ""
	d.ranks = 1
	if d.Config.Ranks > 1 && d.one(4) {
		d.ranks = 2
	}
	d.n = 2 + d.IntN(max(1, d.Reductions-1))
	if d.lags || d.parallel {
		d.n = min(d.n, 3)
	}
	if d.ranks > 1 {
		d.n = min(d.n, 1+d.IntN(2))
	}
	d.queues = 1
	if d.one(3) {
		d.queues = 2
	}
	d.streams = 1
	if d.one(4) {
		d.streams = 2
	}
	d.reductions()
	for range 2 {
		if !cfg.Plain && d.one(3) {
			d.rarity(&m)
		}
	}
	d.cut()
	d.mainThread()
	initial := map[string]uint32{}
	store := map[string]string{}
	if !cfg.Plain && d.one(12) {
		initial["G0"] = uint32(d.IntN(3))
	}
	if d.one(8) {
		store["G0"] = d.pick(model.StorePlain, model.StoreGuarded, model.StoreMax)
	}
	var programs []*model.Schedule
	for r := range d.ranks {
		if r > 0 && !cfg.Plain && d.one(2) {
			d.swap()
		}
		programs = append(programs, d.schedule())
	}
	declare(programs, initial, store)
	return programs, m
}

func (d *drawing) one(in int) bool                  { return d.IntN(in) == 0 }
func (d *drawing) pick(words ...string) string      { return words[d.IntN(len(words))] }
func (d *drawing) number(numbers ...int) int        { return numbers[d.IntN(len(numbers))] }
func (d *drawing) fence(side string, at int) string { return fmt.Sprintf("%s%d", side, at) }

// machine draws a machine near the default: each parameter departs from it rarely.
func (d *drawing) machine() model.Machine {
	var m model.Machine
	switch d.IntN(8) {
	case 0, 1, 2, 3:
		m.GPUToCPU = model.Visibility{Mode: model.VisLag, Buffers: d.number(0, 0, 1, 1, 2, 3)}
	case 4:
		m.GPUToCPU = model.Visibility{Mode: d.pick(model.VisUnordered, model.VisUnreliable)}
	}
	if d.one(12) {
		m.CPUToGPU = model.Visibility{Mode: model.VisUnreliable}
	}
	if d.one(3) {
		m.Buffers = model.Overlap
		m.Tracking = d.pick(model.TrackAll, model.TrackArrays, model.TrackArrays, model.TrackNone)
		m.LookAhead = d.number(0, 0, 1, 2)
	}
	if d.one(5) {
		m.Dispatch = model.Concurrent
	}
	if d.one(6) {
		m.Device = model.Exclusive
	}
	if d.one(4) {
		m.Slots = d.number(1, 1, 2)
	}
	if d.one(6) {
		m.InFlight = d.number(1, 2)
	}
	switch d.IntN(5) {
	case 0:
		m.Store = model.StoreGuarded
	case 1:
		m.Store = model.StoreMax
	}
	if d.one(10) {
		m.SpinLimit = 1
	}
	if d.one(5) {
		m.Watchdog = d.pick(model.WatchdogMay, model.WatchdogMust, model.WatchdogAny)
		if d.one(3) {
			m.AfterKill = model.Ignore
		}
	}
	if d.one(5) {
		m.Payload = model.PayloadCoherent
	}
	if d.one(3) {
		m.Transport.Buffered = d.number(1, 2)
	}
	return m
}

// reductions draws the order of producers and consumers on the queues, the targets of the
// waits, and the tasks between.
func (d *drawing) reductions() {
	d.items, d.tasks = make([][]string, d.queues), make([][]string, d.streams)
	d.handlers = map[[2]int][]string{}
	type kind struct{ i, what int } // 0 produce, 1 consume
	var order []kind
	for i := range d.n {
		order = append(order, kind{i, 0})
	}
	for i := range d.n {
		if d.one(6) {
			continue // nobody consumes it
		}
		at := slices.Index(order, kind{i, 0})
		order = slices.Insert(order, at+1+d.IntN(len(order)-at), kind{i, 1})
	}
	scheduled := make([]uint32, d.queues+d.streams)
	target := func(own, all uint32) uint32 {
		switch d.IntN(12) {
		case 0, 1, 2:
			return all // count, seen from where it is encoded
		case 3:
			return own + uint32(d.IntN(2))
		case 4:
			return max(own, 1) - uint32(d.IntN(2))
		}
		return own
	}
	queueOf, streamOf, reduced := make([]int, d.n), make([]int, d.n), make([]uint32, d.n)
	for _, k := range order {
		if k.what == 1 {
			c := streamOf[k.i]
			q := d.IntN(d.queues)
			read := fmt.Sprintf("kernel y%d reads r%d", k.i, k.i)
			d.items[q] = append(d.items[q], fmt.Sprintf("wait %s %d", d.fence("C", c), target(reduced[k.i], scheduled[d.queues+c])))
			if d.parallel && !d.one(3) {
				d.items[q] = append(d.items[q], "barrier")
			}
			d.items[q] = append(d.items[q], read)
			continue
		}
		q, c := d.IntN(d.queues), d.IntN(d.streams)
		queueOf[k.i], streamOf[k.i] = q, c
		if !d.one(3) {
			d.items[q] = append(d.items[q], fmt.Sprintf("kernel x%d", k.i))
		}
		has := len(d.items[q]) > 0 && d.items[q][len(d.items[q])-1] == fmt.Sprintf("kernel x%d", k.i)
		if has && d.one(2) {
			if d.parallel {
				d.items[q] = append(d.items[q], "barrier")
			}
			d.items[q] = append(d.items[q], fmt.Sprintf("coherent x%d", k.i))
		}
		if d.parallel && !d.one(3) {
			d.items[q] = append(d.items[q], d.pick("barrier", "barrier", "encoder"))
		}
		scheduled[q]++
		d.items[q] = append(d.items[q], fmt.Sprintf("update %s %d", d.fence("G", q), scheduled[q]))
		reads := ""
		if has {
			reads = fmt.Sprintf(" reads x%d", k.i)
		}
		group := ""
		if d.one(5) {
			group = d.pick(" in a", " in b")
		}
		// The wait is encoded with the collective: count's target may have grown by then.
		all := scheduled[q]
		if d.one(5) {
			all++
		}
		scheduled[d.queues+c]++
		reduced[k.i] = scheduled[d.queues+c]
		d.tasks[c] = append(d.tasks[c],
			fmt.Sprintf("wait %s %d", d.fence("G", q), target(scheduled[q], all)),
			fmt.Sprintf("collective r%d%s%s", k.i, group, reads),
			fmt.Sprintf("update %s %d", d.fence("C", c), reduced[k.i]))
	}
}

// cut divides each queue's commands into one to three buffers.
func (d *drawing) cut() {
	d.ends = make([][]int, d.queues)
	for q, items := range d.items {
		var ends []int
		for range d.IntN(4) {
			ends = append(ends, d.IntN(len(items)+1))
		}
		ends = append(ends, len(items))
		slices.Sort(ends)
		d.ends[q] = slices.Compact(ends)
		if d.one(8) { // an empty buffer
			at := d.IntN(len(d.ends[q]))
			d.ends[q] = slices.Insert(d.ends[q], at, d.ends[q][at])
		}
	}
}

// mainThread sometimes spells the main thread out.
func (d *drawing) mainThread() {
	if d.main != nil || !d.one(2) {
		return
	}
	var steps []string
	left := make([]int, d.streams)
	for c := range d.tasks {
		left[c] = len(d.tasks[c])
	}
	commits := make([]int, d.queues)
	for {
		var next []string
		for c, n := range left {
			if n > 0 {
				next = append(next, fmt.Sprintf("enqueue c%d %d", c, 1+d.IntN(n)))
			}
		}
		for q := range commits {
			if commits[q] < len(d.ends[q]) {
				next = append(next, fmt.Sprintf("commit q%d", q))
			}
		}
		if len(next) == 0 {
			break
		}
		step := next[d.IntN(len(next))]
		steps = append(steps, step)
		var at, n int
		if _, err := fmt.Sscanf(step, "enqueue c%d %d", &at, &n); err == nil {
			left[at] -= n
		} else if _, err := fmt.Sscanf(step, "commit q%d", &at); err == nil {
			commits[at]++
		}
		if d.one(6) {
			steps = append(steps, d.pick(fmt.Sprintf("throttle %d", d.IntN(3)), "synchronize q0", "synchronize c0"))
		}
	}
	switch {
	case d.Plain:
	case d.one(6):
		steps = append(steps, "exit")
	case d.one(10):
		steps = slices.Insert(steps, d.IntN(len(steps)+1), d.pick("exit", "wait C0 1", "update C0 1", "idle", "await E 1", "alloc 1", "die", "kernel z"))
	case d.one(12):
		steps = steps[:len(steps)-1] // the last is never handed over
	}
	d.main = steps
}

// swap exchanges two neighbouring tasks of a stream, rather collectives: a rank out of step.
func (d *drawing) swap() {
	c := d.IntN(d.streams)
	tasks := slices.Clone(d.tasks[c])
	d.tasks[c] = tasks
	var at []int
	for i := range tasks {
		if strings.HasPrefix(tasks[i], "collective") {
			at = append(at, i)
		}
	}
	if len(at) > 0 && d.one(3) { // or one collective under another name
		i := at[d.IntN(len(at))]
		w := strings.Fields(tasks[i])
		tasks[i] = strings.Join(append([]string{"collective", "k"}, append(w[2:], "writes", w[1])...), " ")
		return
	}
	if len(at) < 2 || d.one(3) {
		at = at[:0]
		for i := range tasks {
			at = append(at, i)
		}
	}
	if len(at) > 1 {
		i := d.IntN(len(at) - 1)
		tasks[at[i]], tasks[at[i+1]] = tasks[at[i+1]], tasks[at[i]]
	}
}

// schedule parses what was drawn.
func (d *drawing) schedule() *model.Schedule {
	b := Builder{}
	for q, items := range d.items {
		name := fmt.Sprintf("q%d", q)
		from := 0
		for i, end := range d.ends[q] {
			b.Buffer(name, items[from:end]...)
			if h := d.handlers[[2]int{q, i}]; h != nil {
				b.OnFinish(name, h...)
			}
			from = end
		}
	}
	for c, tasks := range d.tasks {
		b.Stream(fmt.Sprintf("c%d", c), tasks...)
	}
	if d.main != nil {
		b.Main(d.main...)
	}
	s := b.Schedule()
	written := map[model.Sym]bool{}
	each(s, func(c *model.Command) {
		for _, a := range c.Writes {
			written[a] = true
		}
	})
	each(s, func(c *model.Command) { // what nobody writes is an input
		reads, _ := touches(c)
		for _, a := range reads {
			if !written[a] {
				written[a] = true
				s.Inputs = append(s.Inputs, a)
			}
		}
	})
	return s
}

// declare lists every fence in every program, with what is special about some.
func declare(programs []*model.Schedule, initial map[string]uint32, store map[string]string) {
	var fences []string
	for _, s := range programs {
		each(s, func(c *model.Command) {
			if name := s.Names.Of(c.Name); c.Fence() && !slices.Contains(fences, name) {
				fences = append(fences, name)
			}
		})
	}
	for _, s := range programs {
		for _, name := range fences {
			s.Fences = append(s.Fences, model.Fence{Name: s.Names.Intern(name), Initial: initial[name], Store: store[name]})
		}
	}
}

// each calls f on every command of s, in a fixed order.
func each(s *model.Schedule, f func(*model.Command)) {
	all := func(cs []model.Command) {
		for i := range cs {
			f(&cs[i])
		}
	}
	for q := range s.Queues {
		all(s.Queues[q].Commands)
		for i := range s.Queues[q].Ends {
			all(s.Queues[q].OnFinish[i])
		}
	}
	for i := range s.Streams {
		all(s.Streams[i].Tasks)
	}
	for _, st := range s.Main {
		if st.Kind == model.StepCommand {
			f(st.Command)
		}
	}
}
