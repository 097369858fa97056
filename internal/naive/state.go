package naive

import (
	"slices"
	"strconv"
)

// state is everything that changes during a run. Its identity is key.
type state struct {
	ranks    []rank
	fences   []fence
	arrays   []array
	events   []uint32
	arrived  [][][]string // by group and rank: names of the collectives so far
	channels [][]string   // by sender * ranks + receiver: names of arrays under way

	// violated collects what the transition that made this state violated. It is no part
	// of the identity.
	violated map[string]bool
}

type rank struct {
	dead     bool // the process has ended
	ignoring bool // after a kill: no buffer starts any more
	pc       int  // next step of the main thread
	step     progress
	throttle int // number of active tasks below which a blocked throttle goes on; 0 not blocked
	memory   int // units taken
	queues   []queue
	streams  []stream
}

type queue struct {
	encoded int // commands encoded so far; run-time ends only
	open    int // first command of the open buffer; run-time ends only
	buffers []buffer
}

// buffer is a committed command buffer.
type buffer struct {
	from, to int
	counted  bool // an active task until it finishes
	started  bool
	finished bool
	commands []progress // while started and unfinished
	handler  int        // next command of the completion handler
	step     progress
}

type stream struct {
	given int // tasks handed over so far
	at    int // next task
	step  progress
}

// progress is how far one command has come. What phase means depends on the command.
type progress struct {
	phase int
	read  uint32 // guarded update: the value read
	nth   int    // collective: its ordinal in the group
	slot  bool
	done  bool
}

type fence struct {
	gpu, cpu     uint32
	freed        bool
	toCPU, toGPU []store
}

// storeKind is how a store changes a view.
type storeKind int

const (
	overwrite storeKind = iota
	maximum
	increment
	resetting // overwrites, exempt from backwards
)

// store is one store on its way to the other side.
type store struct {
	kind                storeKind
	value               uint32
	rank, queue, buffer int // who issued it, where that matters
}

type array struct {
	version             int
	hidden              bool // from the CPU
	rank, queue, buffer int  // the buffer whose end unhides it
}

func (w *world) initial() *state {
	s := &state{channels: make([][]string, len(w.ranks)*len(w.ranks)), events: make([]uint32, len(w.events)),
		arrays: make([]array, len(w.arrays))}
	for _, p := range w.ranks {
		s.ranks = append(s.ranks, rank{queues: make([]queue, len(p.Queues)), streams: make([]stream, len(p.Streams))})
	}
	for _, f := range w.fences {
		s.fences = append(s.fences, fence{gpu: f.initial, cpu: f.initial})
	}
	for r, p := range w.ranks {
		for _, a := range p.Inputs {
			s.arrays[w.array(r, a)].version = 1
		}
	}
	for range w.groups {
		s.arrived = append(s.arrived, make([][]string, len(w.ranks)))
	}
	return s
}

func (s *state) clone() *state {
	t := &state{ranks: slices.Clone(s.ranks), fences: slices.Clone(s.fences), arrays: slices.Clone(s.arrays),
		events: slices.Clone(s.events), arrived: slices.Clone(s.arrived), channels: slices.Clone(s.channels)}
	for i := range t.ranks {
		r := &t.ranks[i]
		r.queues, r.streams = slices.Clone(r.queues), slices.Clone(r.streams)
		for j := range r.queues {
			q := &r.queues[j]
			q.buffers = slices.Clone(q.buffers)
			for k := range q.buffers {
				q.buffers[k].commands = slices.Clone(q.buffers[k].commands)
			}
		}
	}
	for i := range t.fences {
		f := &t.fences[i]
		f.toCPU, f.toGPU = slices.Clone(f.toCPU), slices.Clone(f.toGPU)
	}
	for i := range t.arrived {
		t.arrived[i] = slices.Clone(t.arrived[i])
		for j := range t.arrived[i] {
			t.arrived[i][j] = slices.Clone(t.arrived[i][j])
		}
	}
	for i := range t.channels {
		t.channels[i] = slices.Clone(t.channels[i])
	}
	return t
}

// violate records that the transition under way violated a property.
func (s *state) violate(property string) {
	if s.violated == nil {
		s.violated = map[string]bool{}
	}
	s.violated[property] = true
}

// key is the identity of a state: its fields in a fixed order. Stores that arrive in any
// order are written sorted.
func (s *state) key(unordered bool) string {
	b := make([]byte, 0, 512)
	num := func(ns ...int) {
		for _, n := range ns {
			b = strconv.AppendInt(b, int64(n), 36)
			b = append(b, ',')
		}
	}
	flag := func(fs ...bool) {
		for _, f := range fs {
			if f {
				b = append(b, 'y')
			} else {
				b = append(b, 'n')
			}
		}
	}
	steps := func(p progress) {
		num(p.phase, int(p.read), p.nth)
		flag(p.slot, p.done)
	}
	text := func(names []string) {
		for _, n := range names {
			b = append(b, n...)
			b = append(b, ' ')
		}
		b = append(b, '/')
	}
	for _, r := range s.ranks {
		b = append(b, 'R')
		flag(r.dead, r.ignoring)
		num(r.pc, r.throttle, r.memory)
		steps(r.step)
		for _, q := range r.queues {
			b = append(b, 'Q')
			num(q.encoded, q.open)
			for _, x := range q.buffers {
				b = append(b, 'B')
				num(x.from, x.to, x.handler)
				flag(x.counted, x.started, x.finished)
				for _, c := range x.commands {
					steps(c)
				}
				steps(x.step)
			}
		}
		for _, t := range r.streams {
			b = append(b, 'S')
			num(t.given, t.at)
			steps(t.step)
		}
	}
	for _, f := range s.fences {
		b = append(b, 'F')
		num(int(f.gpu), int(f.cpu))
		flag(f.freed)
		to := f.toCPU
		if unordered {
			to = slices.Clone(to)
			slices.SortFunc(to, func(x, y store) int {
				if x.kind != y.kind {
					return int(x.kind) - int(y.kind)
				}
				return int(int64(x.value) - int64(y.value))
			})
		}
		for _, x := range to {
			b = append(b, '>')
			num(int(x.kind), int(x.value), x.rank, x.queue, x.buffer)
		}
		for _, x := range f.toGPU {
			b = append(b, '<')
			num(int(x.kind), int(x.value))
		}
	}
	for _, a := range s.arrays {
		b = append(b, 'A')
		num(a.version, a.rank, a.queue, a.buffer)
		flag(a.hidden)
	}
	for _, e := range s.events {
		num(int(e))
	}
	for _, g := range s.arrived {
		b = append(b, 'G')
		for _, names := range g {
			text(names)
		}
	}
	for _, names := range s.channels {
		text(names)
	}
	return string(b)
}
