package model

import "fmt"

// lowering is the main thread's walk over the tapes of one graph: it appends commands,
// tasks and steps, and knows how many updates of each stream are scheduled.
type lowering struct {
	graph      *Graph
	discipline Discipline
	eval       Evaluator
	s          *Schedule

	at        []int32 // per graph stream: index of its queue or CPU stream
	fence     []Sym   // per graph stream: its fence (or event) in this eval
	scheduled []uint32
	total     []uint32 // per graph stream: updates of this eval's whole tape
	update    []uint32 // per array: number of its update in its eval; 0 none
	evalOf    []int32  // per array: eval that made it + 1
	awaited   []Sym    // per array: event that marks the end of an asynchronous eval of its stream
	symbol    []Sym    // per array
	dispatch  []int    // per CPU stream: dispatches so far
	opened    []bool
	sizes     [][]sizeRow // per queue: what each command adds to the open buffer
	forks     [][]int32   // per queue: command counts at which the size rule is tested
	reads     []Read      // backing store of the commands' reads
	bound     []int32     // backing store of the size rows' arrays
}

// sizeRow is what one command adds to its buffer: ops, and bound[from:to], distinct arrays
// with elements.
type sizeRow struct {
	ops      int32
	from, to int32
}

// LowerGraph turns a graph into the schedule of one rank under a discipline: semantics
// section 7. All ranks of a graph run the same schedule.
func LowerGraph(g *Graph, d Discipline, e Evaluator) *Schedule {
	l := &lowering{graph: g, discipline: d, eval: e.Normal(), s: &Schedule{FromGraph: true}}
	l.streams()
	l.s.Names.grow(len(g.Arrays))
	l.symbol = make([]Sym, len(g.Arrays))
	for i := range g.Arrays {
		l.symbol[i] = l.s.Names.Intern(g.Arrays[i].Name)
		if g.Arrays[i].Kind == OpNone {
			l.s.Inputs = append(l.s.Inputs, l.symbol[i])
		}
	}
	l.reserve()
	n := len(g.Arrays)
	l.update, l.evalOf, l.awaited = make([]uint32, n), make([]int32, n), make([]Sym, n)
	for i := range l.awaited {
		l.awaited[i] = NoSym
	}
	evals := g.Evals
	if len(evals) == 0 {
		evals = []GraphEval{{Outputs: g.Outputs}}
	}
	done := make([]bool, n)
	for k, ev := range evals {
		l.run(int32(k), ev, done)
	}
	l.finish()
	return l.s
}

// reserve makes room for what is known to come: appending a million commands one by one
// would copy them several times.
func (l *lowering) reserve() {
	g := l.graph
	ins, steps := 0, 0
	counts := make([]int, len(g.Streams))
	for i := range g.Arrays {
		a := &g.Arrays[i]
		if a.Kind == OpNone {
			continue
		}
		ins += len(a.In)
		steps += 2
		counts[a.Stream]++
		for _, in := range a.In {
			if b := &g.Arrays[in]; b.Kind != OpNone && b.Stream != a.Stream {
				counts[a.Stream]++    // a wait
				counts[b.Stream] += 3 // at most an update
				steps++
			}
		}
	}
	l.reads, l.bound = make([]Read, 0, ins), make([]int32, 0, ins+2*len(g.Arrays))
	l.s.Main = make([]Step, 0, steps)
	for i, st := range g.Streams {
		if st.CPU {
			l.s.Streams[l.at[i]].Tasks = make([]Command, 0, counts[i])
			l.s.Streams[l.at[i]].Counted = make([]uint8, 0, counts[i])
		} else {
			l.s.Queues[l.at[i]].Commands = make([]Command, 0, counts[i])
			l.sizes[l.at[i]] = make([]sizeRow, 0, counts[i])
		}
	}
}

func (l *lowering) streams() {
	g := l.graph
	l.at = make([]int32, len(g.Streams))
	for i, st := range g.Streams {
		if st.CPU {
			l.at[i] = int32(len(l.s.Streams))
			l.s.Streams = append(l.s.Streams, Stream{Name: st.Name})
			l.dispatch = append(l.dispatch, 0)
		} else {
			l.at[i] = int32(len(l.s.Queues))
			l.s.Queues = append(l.s.Queues, Queue{Name: st.Name, FirstUse: -1})
			l.sizes = append(l.sizes, nil)
			l.forks = append(l.forks, nil)
		}
	}
	l.fence = make([]Sym, len(g.Streams))
	l.scheduled, l.total = make([]uint32, len(g.Streams)), make([]uint32, len(g.Streams))
	l.opened = make([]bool, len(g.Streams))
}

// FenceName is the name in reports of the fence of a graph's stream in the k-th eval,
// which counts from 0: G and C for gpu and cpu, and a fence of its own in each eval.
func FenceName(stream string, eval int) string {
	switch stream {
	case "gpu":
		stream = "G"
	case "cpu":
		stream = "C"
	}
	if eval > 0 {
		return fmt.Sprintf("%s.%d", stream, eval+1)
	}
	return stream
}

// run lowers one eval.
func (l *lowering) run(k int32, ev GraphEval, done []bool) {
	g := l.graph
	tape := g.Tape(ev.Outputs, l.eval.BFSWidth, done)
	crossing := make([]bool, len(g.Arrays)) // needed by another stream in this eval
	inTape := make([]bool, len(g.Arrays))
	for _, a := range tape {
		inTape[a] = true
	}
	for _, a := range tape {
		for _, in := range g.Arrays[a].In {
			if inTape[in] && g.Arrays[in].Stream != g.Arrays[a].Stream {
				crossing[in] = true
			}
		}
	}
	updates := false
	for i := range g.Streams {
		l.scheduled[i], l.total[i] = 0, 0
		l.fence[i] = NoSym
	}
	for _, a := range tape {
		if crossing[a] {
			l.total[g.Arrays[a].Stream]++
			updates = true
		}
	}
	if updates {
		for i, st := range g.Streams {
			if l.total[i] == 0 {
				continue
			}
			l.fence[i] = l.s.Names.Intern(FenceName(st.Name, int(k)))
			if !l.discipline.Events() {
				l.s.Fences = append(l.s.Fences, Fence{Name: l.fence[i]})
			}
		}
		number := make([]uint32, len(g.Streams))
		for _, a := range tape {
			if crossing[a] {
				st := g.Arrays[a].Stream
				number[st]++
				l.update[a] = number[st]
			}
		}
	}
	for _, a := range tape {
		l.encode(a, inTape)
		l.s.Main = append(l.s.Main, Step{Kind: StepThrottle, N: int32(l.eval.MaxActive), Array: l.symbol[a]})
		if crossing[a] {
			l.encodeUpdate(a)
		}
		done[a] = true
		l.evalOf[a] = k + 1
	}
	l.epilogue(k, ev, tape)
}

// epilogue ends an eval: an asynchronous one signals the event of each open stream; what
// is open is committed; a synchronous one waits for the streams of its outputs.
func (l *lowering) epilogue(k int32, ev GraphEval, tape []int32) {
	g := l.graph
	used := make([]bool, len(g.Streams))
	for _, a := range tape {
		used[g.Arrays[a].Stream] = true
	}
	last := len(g.Evals) == 0 || int(k) == len(g.Evals)-1
	for i, st := range g.Streams {
		if !used[i] {
			continue
		}
		if !ev.Sync && !last {
			event := l.s.Names.Intern(fmt.Sprintf("end.%d.%s", k+1, st.Name))
			c := Command{Op: OpSignal, Name: event, Group: NoSym, For: NoSym, Value: 1}
			if st.CPU {
				l.task(int32(i), c, 0)
				l.step(StepTask, int32(i), NoSym)
			} else {
				l.gpu(int32(i), plain(OpEncoder), 0)
				l.gpu(int32(i), c, 0)
				l.step(StepUpdate, int32(i), NoSym)
			}
			for _, a := range tape {
				if g.Arrays[a].Stream == int32(i) {
					l.awaited[a] = event
				}
			}
		}
		if !st.CPU {
			l.s.Main = append(l.s.Main, Step{Kind: StepFlush, Target: l.at[i], Array: NoSym})
		}
	}
	if ev.Sync {
		waited := make([]bool, len(g.Streams))
		for _, a := range ev.Outputs {
			st := g.Arrays[a].Stream
			if g.Arrays[a].Kind == OpNone || waited[st] {
				continue
			}
			waited[st] = true
			l.s.Main = append(l.s.Main, Step{Kind: StepSynchronize, Queue: !g.Streams[st].CPU, Target: l.at[st], Array: NoSym})
		}
	}
}

func (l *lowering) step(kind StepKind, stream int32, array Sym) {
	st := Step{Kind: kind, Target: l.at[stream], Array: array}
	if l.graph.Streams[stream].CPU {
		st.N = int32(len(l.s.Streams[st.Target].Tasks))
	} else {
		st.N = int32(len(l.s.Queues[st.Target].Commands))
	}
	l.s.Main = append(l.s.Main, st)
}

func (l *lowering) gpu(stream int32, c Command, ops int32, arrays ...int32) {
	q := l.at[stream]
	queue := &l.s.Queues[q]
	if queue.FirstUse < 0 {
		queue.FirstUse = len(l.s.Main)
	}
	queue.Commands = append(queue.Commands, c)
	from := int32(len(l.bound))
	l.bound = append(l.bound, arrays...)
	l.sizes[q] = append(l.sizes[q], sizeRow{ops, from, int32(len(l.bound))})
}

func (l *lowering) task(stream int32, c Command, counted uint8) {
	st := &l.s.Streams[l.at[stream]]
	st.Tasks = append(st.Tasks, c)
	st.Counted = append(st.Counted, counted)
}

// plain is a command that names nothing.
func plain(op Op) Command { return Command{Op: op, Name: NoSym, Group: NoSym, For: NoSym} }

// encode is step 3 of an array: the waits for inputs of other streams, the operation.
func (l *lowering) encode(a int32, inTape []bool) {
	g := l.graph
	arr := &g.Arrays[a]
	cpu := g.Streams[arr.Stream].CPU
	for _, in := range arr.In {
		producer := g.Arrays[in].Stream
		if g.Arrays[in].Kind == OpNone || producer == arr.Stream {
			continue
		}
		c := Command{Op: OpWait, Name: l.fence[producer], Group: NoSym, For: l.symbol[in]}
		if !inTape[in] {
			if l.awaited[in] == NoSym {
				continue // a synchronous eval has finished it
			}
			c.Op, c.Name, c.Value = OpAwait, l.awaited[in], 1
		} else {
			switch l.discipline {
			case Count, EventCount:
				c.Value = l.scheduled[producer]
			case PerUpdate, Event:
				c.Value = l.update[in]
			case Whole:
				c.Value = l.total[producer]
			case Late:
				c.Late = true
			}
			if l.discipline.Events() {
				c.Op = OpAwait
			}
		}
		ops := int32(1)
		if c.Op == OpAwait {
			ops = 0 // an event is no dispatch; it splits the encoder
			if !cpu {
				l.gpu(arr.Stream, plain(OpEncoder), 0)
			}
		}
		if cpu {
			l.task(arr.Stream, c, 0)
		} else {
			l.gpu(arr.Stream, c, ops)
		}
	}
	op := Command{Op: arr.Kind, Name: l.symbol[a], Group: NoSym, For: NoSym, Rank: arr.Peer, Writes: l.symbol[a : a+1 : a+1]}
	from := len(l.reads)
	for _, in := range arr.In {
		l.reads = append(l.reads, Read{Array: l.symbol[in]})
	}
	op.Reads = l.reads[from:len(l.reads):len(l.reads)]
	if !cpu {
		l.gpu(arr.Stream, op, 1, arr.In...)
		q := l.at[arr.Stream]
		l.bound = append(l.bound, a)
		l.sizes[q][len(l.sizes[q])-1].to++
		l.forks[l.at[arr.Stream]] = append(l.forks[l.at[arr.Stream]], int32(len(l.s.Queues[l.at[arr.Stream]].Commands)))
		l.step(StepEncode, arr.Stream, l.symbol[a])
		return
	}
	const dispatches = 2 // the operation and the task that keeps its inputs alive
	n := &l.dispatch[l.at[arr.Stream]]
	before := *n / l.eval.DispatchesPerTask
	*n += dispatches
	l.task(arr.Stream, op, uint8(*n/l.eval.DispatchesPerTask-before))
	l.step(StepTask, arr.Stream, l.symbol[a])
}

// encodeUpdate is step 5: the update that other streams wait for.
func (l *lowering) encodeUpdate(a int32) {
	arr := &l.graph.Arrays[a]
	st := arr.Stream
	l.scheduled[st]++
	c := Command{Op: OpUpdate, Name: l.fence[st], Group: NoSym, For: l.symbol[a], Value: l.scheduled[st]}
	if l.discipline.Events() {
		c.Op = OpSignal
	}
	if l.graph.Streams[st].CPU {
		l.task(st, c, 0)
		l.step(StepTask, st, l.symbol[a])
		return
	}
	if l.discipline.Events() {
		l.gpu(st, plain(OpEncoder), 0)
		l.gpu(st, c, 0)
	} else {
		l.gpu(st, Command{Op: OpCoherent, Name: l.symbol[a], Group: NoSym, For: NoSym}, 1, a)
		l.gpu(st, plain(OpBarrier), 0)
		l.gpu(st, c, 1)
	}
	l.step(StepUpdate, st, l.symbol[a])
}

// finish computes for each queue where the size rule cuts and where sections end.
func (l *lowering) finish() {
	for q := range l.s.Queues {
		l.s.Queues[q].Forced = l.forced(q)
		l.s.Queues[q].Section = sections(l.s.Queues[q].Commands, l.s.Names.Len())
		if l.s.Queues[q].FirstUse < 0 {
			l.s.Queues[q].FirstUse = len(l.s.Main)
		}
	}
}

// forced computes Queue.Forced with two pointers: what a buffer holds only grows when
// either end moves outward, so a later start is never cut earlier.
func (l *lowering) forced(q int) []int32 {
	rows := l.sizes[q]
	n := len(rows)
	inBuffer := make([]int32, len(l.graph.Arrays))
	ops, elems := 0, int64(0)
	add := func(i int) {
		ops += int(rows[i].ops)
		for _, a := range l.bound[rows[i].from:rows[i].to] {
			if inBuffer[a]++; inBuffer[a] == 1 {
				elems += l.graph.Arrays[a].Elems
			}
		}
	}
	remove := func(i int) {
		ops -= int(rows[i].ops)
		for _, a := range l.bound[rows[i].from:rows[i].to] {
			if inBuffer[a]--; inBuffer[a] == 0 {
				elems -= l.graph.Arrays[a].Elems
			}
		}
	}
	full := func() bool { return ops > l.eval.MaxOps || elems>>20 > int64(l.eval.MaxMB) }
	out := make([]int32, n+1)
	forks := l.forks[q]
	fork, end := -1, 0 // commands [s, end) are in the buffer; end is forks[fork]
	for s := range out {
		for !full() && fork+1 < len(forks) {
			fork++
			for ; end < int(forks[fork]); end++ {
				add(end)
			}
		}
		out[s] = NeverForced
		if full() {
			out[s] = forks[fork]
		}
		if s < end {
			remove(s)
		}
	}
	return out
}

// sections computes Queue.Section: like forced, a later start is never cut earlier.
func sections(cs []Command, names int) []int32 {
	write, read := lastTouches(cs, names)
	out := make([]int32, len(cs)+1)
	for s := range out {
		out[s] = NeverForced
	}
	for i := range cs {
		if p := max(write[i], read[i]); p >= 0 {
			out[p] = min(out[p], int32(i))
		}
	}
	for s := len(cs) - 1; s >= 0; s-- {
		out[s] = min(out[s], out[s+1])
	}
	return out
}

// lastTouches gives for each command the last earlier one whose writes it reads or
// overwrites, and the last earlier one whose reads it overwrites; -1 for none.
func lastTouches(cs []Command, names int) (write, read []int32) {
	write, read = make([]int32, len(cs)), make([]int32, len(cs))
	lastWrite, lastRead := make([]int32, names), make([]int32, names)
	for i := range lastWrite {
		lastWrite[i], lastRead[i] = -1, -1
	}
	for i := range cs {
		c := &cs[i]
		write[i], read[i] = -1, -1
		reads, writes := c.Reads, c.Writes
		switch c.Op {
		case OpCoherent:
			reads, writes = []Read{{Array: c.Name}}, []Sym{c.Name}
		case OpWait, OpAwait:
			reads, writes = nil, nil
			if c.For != NoSym {
				writes = []Sym{c.For}
			}
		}
		for _, r := range reads {
			write[i] = max(write[i], lastWrite[r.Array])
		}
		for _, w := range writes {
			if c.Op != OpWait && c.Op != OpAwait { // a second wait for an array needs none
				write[i] = max(write[i], lastWrite[w])
			}
			read[i] = max(read[i], lastRead[w])
		}
		for _, r := range reads {
			lastRead[r.Array] = int32(i)
		}
		for _, w := range writes {
			lastWrite[w] = int32(i)
		}
	}
	return write, read
}
