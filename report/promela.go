package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// PromelaOptions chooses what an exported model keeps. The zero value keeps every
// transition and looks for hangs only.
type PromelaOptions struct {
	// Stale asserts at every read that it is not stale, which needs a variable per array.
	Stale bool
	// Merge takes commit, start, finish and the handing over of tasks at once where nothing
	// observes them, as the reduction of that name does.
	Merge bool
}

// Promela writes programs, one explicit schedule per rank, on machine m as a Promela model
// in which the hangs are exactly the invalid end states, so that Spin decides the schedule:
//
//	spin -a model.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -A -m100000   # hangs
//	./pan -E -m100000                                                        # stale reads, with Stale
//
// Every transition of the schedule is one statement or d_step. The main thread, each CPU
// stream, each completion handler and each queue is a process; with overlapping buffers
// each buffer is one. Under concurrent dispatch a buffer is a loop over the commands of
// its open section. Stores on their way belong to the process memory.
//
// Spin reports a state without successors in which some process is not at a label that
// begins with end. A process that has done all it was given stands at such a label, and
// memory always does, for stores still on their way do not matter. So a stuck state of
// guaranteed transitions is an invalid end state, and nothing else is.
//
// A merely possible transition must not count as progress: a state that only an early
// arrival or a kill could leave is a hang. The model therefore has a variable kind, true at
// first, which guards every merely possible transition, and memory may set it to false at
// any time, for ever. While it is true, setting it is a successor, so no state is an end
// state. Once it is false only guaranteed transitions are left, so an end state is a hang.
// And no hang is missed: the run to it that leaves kind true until then, and sets it there,
// ends in it. Hangs and invalid end states correspond one to one; the number of states at
// most doubles, and does not change where no transition is merely possible.
//
// Left out are fence views that no wait tests, the counters of finished buffers that
// nothing needs and, without Stale, arrays. What is left has as many states as a search of
// package check with the same reduction, unless ranks may end early (their processes take
// a step each to their end) or send meets recv under limited slots.
//
// The error says what is not covered: graphs, whose buffer ends depend on the run, waits
// whose target grows, sums of adds that may pass 2147483647, and models beyond Spin's
// limits of 255 processes and channels.
func Promela(w io.Writer, programs []*model.Schedule, m model.Machine, o PromelaOptions) error {
	p, err := newPromela(programs, m, o)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	p.write(&b)
	if p.processes > maxPromela {
		return fmt.Errorf("promela: %d processes: Spin has room for %d", p.processes, maxPromela)
	}
	if p.channels > maxPromela {
		return fmt.Errorf("promela: %d channels: Spin has room for %d", p.channels, maxPromela)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// maxPromela is how many processes and how many channels Spin can have.
const maxPromela = 250

// promela is a model on its way.
type promela struct {
	y        *sim.System
	m        model.Machine
	o        PromelaOptions
	taken    map[string]bool
	info     [][]sim.CommandInfo // by agent
	src      [][]*model.Command  // by agent; nil where a main step is no command
	ranks    []promelaRank
	queues   []*promelaQueue // by agent; nil for others
	fences   []promelaFence
	arrays   []promelaArray
	events   []string // variable; "" if nothing awaits it
	groups   []promelaGroup
	pairs    map[[2]int32]string // channel by sender and receiver
	names    map[string]int      // what a message carries, from 1
	asleep   map[[2]int32]string // park: variable by agent and command
	position map[int32]string    // tasks done of a stream, where main synchronizes with it
	writers  int                 // ids of buffers that write arrays

	globals   []string
	kind      bool // some transition is merely possible
	processes int
	channels  int
}

// promelaRank is what the processes of a rank share.
type promelaRank struct {
	steps    []model.Step
	main     int32 // agent
	handed   bool  // merge: all work is handed over at the start, there is no main process
	dead     string
	ignored  string
	used     string // slots held
	busy     string // exclusive device
	memory   string
	throttle bool
	idle     bool
	enqueued map[int32]string // by stream's agent
	given    map[int32]int    // tasks that main hands over in all
}

// promelaQueue is one queue.
type promelaQueue struct {
	agent     int32
	name      string
	src       *model.Queue
	committed string // variable or number
	total     int    // buffers that main commits in all
	finished  string // variable: how many have finished
	done      []string
	starts    bool // start is a transition of its own
	finishes  bool // finish is
	writer    []int
}

func newPromela(programs []*model.Schedule, m model.Machine, o PromelaOptions) (*promela, error) {
	for r, s := range programs {
		if s.FromGraph {
			return nil, fmt.Errorf("promela: rank %d runs a graph, whose buffer ends depend on the run: export an explicit schedule", r)
		}
	}
	y := sim.Compile(programs, m, sim.Options{})
	p := &promela{y: y, m: y.Machine, o: o, taken: map[string]bool{}, pairs: map[[2]int32]string{}, names: map[string]int{},
		asleep: map[[2]int32]string{}, position: map[int32]string{}, queues: make([]*promelaQueue, y.NumAgents())}
	for a := range int32(y.NumAgents()) {
		p.info = append(p.info, y.Commands(a))
		p.src = append(p.src, nil)
	}
	for r, s := range programs {
		p.declareRank(int32(r), s)
	}
	if err := p.declareFences(); err != nil {
		return nil, err
	}
	if err := p.declareObjects(); err != nil {
		return nil, err
	}
	p.declareQueues()
	if p.kind = p.hasPossible(); p.kind {
		p.globals = append(p.globals, "bit kind = 1 /* merely possible transitions still happen */")
	}
	return p, nil
}

// declareRank lists the agents of a rank with their commands, and its shared variables.
func (p *promela) declareRank(r int32, s *model.Schedule) {
	lo, _ := p.y.AgentsOf(r)
	rk := promelaRank{steps: s.Steps(), main: lo, enqueued: map[int32]string{}, given: map[int32]int{}}
	commands := func(cs []model.Command) (out []*model.Command) {
		for i := range cs {
			out = append(out, &cs[i])
		}
		return out
	}
	a := lo + 1
	for i := range s.Queues {
		p.src[a] = commands(s.Queues[i].Commands)
		p.queues[a] = &promelaQueue{agent: a, name: s.Queues[i].Name, src: &s.Queues[i]}
		a++
	}
	for i := range s.Streams {
		p.src[a] = commands(s.Streams[i].Tasks)
		a++
	}
	for i := range s.Queues {
		for b := range s.Queues[i].Ends {
			if cs := s.Queues[i].OnFinish[b]; len(cs) > 0 {
				p.src[a] = commands(cs)
				a++
			}
		}
	}
	ends := false
	simple := p.m.InFlight == 0
	for _, st := range rk.steps {
		p.src[lo] = append(p.src[lo], st.Command)
		switch st.Kind {
		case model.StepCommit:
			q := p.queues[lo+1+st.Target]
			q.total = min(q.total+1, len(q.src.Ends))
		case model.StepEnqueue:
			rk.given[lo+1+int32(len(s.Queues))+st.Target] += int(st.N)
		case model.StepExit:
			ends = true
		case model.StepThrottle:
			rk.throttle, simple = true, false
		default:
			simple = false
		}
	}
	for _, cs := range p.src[lo:a] {
		for _, c := range cs {
			if c == nil {
				continue
			}
			ends = ends || c.Op == model.OpDie
			rk.idle = rk.idle || c.Op == model.OpIdle
		}
	}
	rk.handed = p.o.Merge && simple && !ends && !rk.idle
	if ends {
		rk.dead = p.global("bit", "dead", r, "the process has ended")
	}
	if p.m.Watchdog != model.WatchdogOff && p.m.AfterKill == model.Ignore {
		rk.ignored = p.global("bit", "ignored", r, "no buffer starts any more")
	}
	if p.m.Slots > 0 {
		rk.used = p.global(promelaType(int64(p.m.Slots)), "used", r, "slots held")
	}
	if p.m.Device == model.Exclusive {
		rk.busy = p.global("bit", "busy", r, "a buffer has the device")
	}
	if p.m.Memory > 0 {
		rk.memory = p.global(promelaType(int64(p.m.Memory)), "taken", r, "units of memory")
	}
	p.ranks = append(p.ranks, rk)
}

// declareQueues decides which counters of each queue are needed.
func (p *promela) declareQueues() {
	overlap := p.m.Buffers == model.Overlap
	for a, q := range p.queues {
		if q == nil {
			continue
		}
		r := p.y.RankOf(int32(a))
		rk := &p.ranks[r]
		if q.committed = fmt.Sprint(q.total); !rk.handed {
			q.committed = p.global(promelaType(int64(len(q.src.Ends))), q.name+"_committed", r, "")
		}
		lag := false
		for i := range p.fences {
			for _, s := range p.fences[i].toCPU {
				lag = lag || p.m.GPUToCPU.Mode == model.VisLag && s.agent == int32(a)
			}
		}
		count := lag || p.m.InFlight > 0 || rk.throttle || rk.idle
		for _, st := range rk.steps {
			count = count || st.Kind == model.StepSynchronize && st.Queue && rk.main+1+st.Target == int32(a)
		}
		each := lag || len(q.src.OnFinish) > 0
		if !overlap {
			count = count || each
		} else if each || p.m.LookAhead > 0 || p.m.Tracking != model.TrackNone {
			for b := range q.src.Ends {
				q.done = append(q.done, p.global("bit", fmt.Sprintf("%s_%d_finished", q.name, b), r, ""))
			}
		}
		if count {
			q.finished = p.global(promelaType(int64(len(q.src.Ends))), q.name+"_finished", r, "")
		}
		q.starts = !p.o.Merge || rk.busy != "" || rk.ignored != "" || overlap || !rk.handed
		q.finishes = !p.o.Merge || p.m.Watchdog == model.WatchdogAny || rk.throttle || p.o.Stale && p.m.Payload == model.PayloadCoherent
		for range q.src.Ends {
			p.writers++
			q.writer = append(q.writer, p.writers)
		}
	}
}

// hasPossible reports whether some transition of the model is merely possible.
func (p *promela) hasPossible() bool {
	if p.m.Watchdog == model.WatchdogMay || p.m.Watchdog == model.WatchdogAny {
		return true
	}
	for i := range p.fences {
		f := &p.fences[i]
		if len(f.toGPU) > 0 || len(f.toCPU) > 0 && p.m.GPUToCPU.Mode != model.VisUnordered {
			return true
		}
	}
	return false
}

// write writes the whole model.
func (p *promela) write(b *bytes.Buffer) {
	fmt.Fprintf(b, "/* A fence schedule of %d rank(s). Invalid end states are hangs.\n   Machine:", len(p.ranks))
	for _, c := range changed(p.m) {
		fmt.Fprintf(b, " %s %s;", c.Name, c.Value(&p.m))
	}
	b.WriteString(" else defaults. */\n\n")
	var bodies bytes.Buffer
	for a := range p.src {
		p.writeAgent(&bodies, int32(a))
	}
	p.writeMemory(&bodies)
	for _, g := range p.globals {
		text, comment, found := cutPromelaComment(g)
		fmt.Fprintf(b, "%s;", text)
		if found {
			fmt.Fprintf(b, " %s", comment)
		}
		b.WriteByte('\n')
	}
	b.Write(bodies.Bytes())
}
