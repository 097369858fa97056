package model

import "strings"

// scheduleResolver turns a ScheduleFile into a Schedule and tells its checker about every
// fault: commands are read, names looked up, main steps counted.
type scheduleResolver struct {
	c     *checker
	path  []any
	file  *ScheduleFile
	ranks int
	s     *Schedule

	declared bool          // the file has a section fences: others are refused
	fences   map[Sym]bool  // in s.Fences
	written  map[Sym]bool  // arrays that are inputs or written by a command
	remote   []remoteFence // fences of other ranks that commands touch
	touched  map[remoteKey]bool
	parser   commandParser
}

// A remoteFence is a fence of another rank, with the place of its first use.
type remoteFence struct {
	name string
	rank RankRef
	path []any
}

type remoteKey struct {
	name Sym
	rank RankRef
}

// resolveSchedule gives the schedule of a file section at a path. It is complete only if
// the checker has found nothing.
func resolveSchedule(c *checker, path []any, f *ScheduleFile, ranks int) *scheduleResolver {
	r := &scheduleResolver{c: c, path: path, file: f, ranks: ranks, s: &Schedule{},
		declared: f.Fences != nil,
		fences:   make(map[Sym]bool), written: make(map[Sym]bool), touched: make(map[remoteKey]bool)}
	r.declare()
	r.queues()
	r.streams()
	r.reads()
	r.main()
	return r
}

func (r *scheduleResolver) fail(format string, path []any, args ...any) {
	r.c.fail(join(r.path, path...), format, args...)
}

// declare resolves the sections fences and inputs.
func (r *scheduleResolver) declare() {
	index := make(map[string]int, len(r.file.Fences))
	for i, e := range r.file.Fences {
		r.word("a fence", e.Name, keyOf(e.Name), "fences")
		if _, twice := index[e.Name]; twice {
			r.fail("duplicate fence %q", []any{"fences", keyOf(e.Name)}, e.Name)
		}
		index[e.Name] = i
	}
	for _, e := range r.file.Fences {
		f := Fence{Name: r.s.Names.Intern(e.Name), Store: e.Value.Store}
		if v := e.Value.Initial; v != nil {
			if *v < 0 || *v > Released {
				r.fail("initial %d is outside 0 to %d", []any{"fences", e.Name, "initial"}, *v, uint32(Released))
			}
			f.Initial = uint32(*v)
		}
		switch f.Store {
		case "", StorePlain, StoreGuarded, StoreMax:
		default:
			r.fail("%q is none of %s", []any{"fences", e.Name, "store"}, shorten(f.Store), strings.Join(ParameterNamed("store").Values, ", "))
		}
		r.s.Fences = append(r.s.Fences, f)
		r.fences[f.Name] = true
	}
	r.copies(index)
	for i, name := range r.file.Inputs {
		r.word("an array", name, i, "inputs")
		sym := r.s.Names.Intern(name)
		if r.written[sym] {
			r.fail("duplicate input %q", []any{"inputs", i}, name)
		}
		r.written[sym] = true
		r.s.Inputs = append(r.s.Inputs, sym)
	}
}

// copies fills in what a copy takes from its original: the initial value and the store
// rule, where it has none of its own.
func (r *scheduleResolver) copies(index map[string]int) {
	const unseen, open, done = 0, 1, 2
	state := make([]int8, len(r.file.Fences))
	for start := range r.file.Fences {
		var chain []int
		for i := start; ; {
			if state[i] == done {
				break
			}
			e := r.file.Fences[i]
			if state[i] == open {
				r.fail("fence %q is a copy of itself", []any{"fences", e.Name, "copy_of"}, e.Name)
				break
			}
			state[i] = open
			chain = append(chain, i)
			if e.Value.CopyOf == "" {
				break
			}
			next, ok := index[e.Value.CopyOf]
			if !ok {
				r.fail("copy of the undeclared fence %q", []any{"fences", e.Name, "copy_of"}, shorten(e.Value.CopyOf))
				break
			}
			i = next
		}
		for k := len(chain) - 1; k >= 0; k-- {
			i := chain[k]
			state[i] = done
			e := r.file.Fences[i]
			if original, ok := index[e.Value.CopyOf]; ok && e.Value.CopyOf != "" {
				if e.Value.Initial == nil {
					r.s.Fences[i].Initial = r.s.Fences[original].Initial
				}
				if e.Value.Store == "" {
					r.s.Fences[i].Store = r.s.Fences[original].Store
				}
			}
		}
	}
}

// word refuses a name that no command could contain. at is the last step of its path.
func (r *scheduleResolver) word(what, name string, at any, section ...any) {
	checkWord(r.c, what, name, join(r.path, append(section, at)...))
}

func (r *scheduleResolver) queues() {
	for q, f := range r.file.Queues {
		r.word("a queue", f.Name, "name", "queues", q)
		queue := Queue{Name: f.Name}
		n := 0
		for _, b := range f.Buffers {
			n += len(b.Commands)
		}
		queue.Commands = make([]Command, 0, n)
		for b, buffer := range f.Buffers {
			for i, text := range buffer.Commands {
				queue.Commands = append(queue.Commands, r.command(text, onGPU, "queues", q, "buffers", b, "commands", i))
			}
			queue.Ends = append(queue.Ends, len(queue.Commands))
			if len(buffer.OnFinish) == 0 {
				continue
			}
			if queue.OnFinish == nil {
				queue.OnFinish = make(map[int][]Command)
			}
			for i, text := range buffer.OnFinish {
				queue.OnFinish[b] = append(queue.OnFinish[b], r.command(text, inHandler, "queues", q, "buffers", b, "on_finish", i))
			}
		}
		r.s.Queues = append(r.s.Queues, queue)
	}
}

func (r *scheduleResolver) streams() {
	used := make(map[string]bool)
	for q, f := range r.file.Queues {
		if used[f.Name] {
			r.fail("duplicate name %q: queues and streams share one name space", []any{"queues", q, "name"}, f.Name)
		}
		used[f.Name] = true
	}
	for t, f := range r.file.Streams {
		r.word("a stream", f.Name, "name", "streams", t)
		if used[f.Name] {
			r.fail("duplicate name %q: queues and streams share one name space", []any{"streams", t, "name"}, f.Name)
		}
		used[f.Name] = true
		stream := Stream{Name: f.Name, Tasks: make([]Command, 0, len(f.Tasks))}
		for i, text := range f.Tasks {
			stream.Tasks = append(stream.Tasks, r.command(text, onStream, "streams", t, "tasks", i))
		}
		r.s.Streams = append(r.s.Streams, stream)
	}
}

// A standing is where a command stands, in words.
type standing string

const (
	onGPU     standing = "in a command buffer"
	onStream  standing = "among the tasks of a CPU stream"
	inHandler standing = "in a completion handler"
	onMain    standing = "on the main thread"
)

// command reads one command and notes the fence that it touches and the arrays that it
// writes. Its path is built only for a fault.
func (r *scheduleResolver) command(text string, where standing, at ...any) Command {
	if r.c.full() {
		return Command{}
	}
	r.parser.names = &r.s.Names
	c, err := r.parser.parse(text)
	if err != nil {
		r.c.failIn(join(r.path, at...), err.(*CommandError).Offset, "%s", err)
		return Command{}
	}
	info := c.Op.Info()
	if where == onGPU && !info.GPU || where != onGPU && !info.CPU {
		r.fail("%s may not stand %s", at, c.Op, where)
	}
	if c.Rank > OwnRank && c.Rank.Resolve(0, r.ranks) >= r.ranks {
		r.fail("rank %s is outside 0 to %d", at, c.Rank, r.ranks-1)
	}
	if c.Fence() {
		r.fence(&c, at)
	}
	for _, w := range c.Writes {
		r.written[w] = true
	}
	return c
}

func (r *scheduleResolver) fence(c *Command, at []any) {
	if c.Rank != OwnRank {
		key := remoteKey{c.Name, c.Rank}
		if !r.touched[key] {
			r.touched[key] = true
			r.remote = append(r.remote, remoteFence{r.s.Names.Of(c.Name), c.Rank, join(r.path, at...)})
		}
		return
	}
	if !r.fences[c.Name] {
		if r.declared {
			r.fail("undeclared fence %q", at, shorten(r.s.Names.Of(c.Name)))
		}
		r.addFence(c.Name)
	}
}

func (r *scheduleResolver) addFence(name Sym) {
	r.fences[name] = true
	r.s.Fences = append(r.s.Fences, Fence{Name: name})
}

// reads refuses arrays that nothing makes. Commands of main are looked at by main.
func (r *scheduleResolver) reads() {
	for _, step := range r.file.Main { // a kernel of the main thread writes too
		if word, _, _ := strings.Cut(strings.TrimSpace(step), " "); opByWord[word] != nil {
			if c, err := ParseCommand(step, &r.s.Names); err == nil {
				for _, w := range c.Writes {
					r.written[w] = true
				}
			}
		}
	}
	for q := range r.s.Queues {
		queue := &r.s.Queues[q]
		start := 0
		for b, end := range queue.Ends {
			for i := start; i < end; i++ {
				r.made(&queue.Commands[i], "queues", q, "buffers", b, "commands", i-start)
			}
			start = end
			for i := range queue.OnFinish[b] {
				r.made(&queue.OnFinish[b][i], "queues", q, "buffers", b, "on_finish", i)
			}
		}
	}
	for t := range r.s.Streams {
		for i := range r.s.Streams[t].Tasks {
			r.made(&r.s.Streams[t].Tasks[i], "streams", t, "tasks", i)
		}
	}
}

func (r *scheduleResolver) made(c *Command, at ...any) {
	if c.Op == OpCoherent && !r.written[c.Name] {
		r.unmade(c.Name, at)
	}
	for _, read := range c.Reads {
		if !r.written[read.Array] {
			r.unmade(read.Array, at)
		}
	}
}

func (r *scheduleResolver) unmade(array Sym, at []any) {
	if !r.c.full() {
		r.fail("array %q is neither written nor an input", at, shorten(r.s.Names.Of(array)))
	}
}
