package naive

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// Builder makes an explicit schedule of one rank from the text of its commands. It panics
// on text that is no command: it serves tests only.
type Builder struct {
	s       model.Schedule
	queues  map[string]int
	streams map[string]int
}

func (b *Builder) command(text string) model.Command {
	c, err := model.ParseCommand(text, &b.s.Names)
	if err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
	return c
}

func (b *Builder) commands(texts []string) []model.Command {
	var cs []model.Command
	for _, t := range texts {
		cs = append(cs, b.command(t))
	}
	return cs
}

// Inputs declares arrays that are written and visible at the start.
func (b *Builder) Inputs(names ...string) *Builder {
	for _, n := range names {
		b.s.Inputs = append(b.s.Inputs, b.s.Names.Intern(n))
	}
	return b
}

// Fence declares a fence with an initial value and the GPU's store rule ("": the machine's).
func (b *Builder) Fence(name string, initial uint32, store string) *Builder {
	b.s.Fences = append(b.s.Fences, model.Fence{Name: b.s.Names.Intern(name), Initial: initial, Store: store})
	return b
}

// Buffer appends a command buffer to a queue.
func (b *Builder) Buffer(queue string, commands ...string) *Builder {
	if b.queues == nil {
		b.queues = map[string]int{}
	}
	i, ok := b.queues[queue]
	if !ok {
		i = len(b.s.Queues)
		b.queues[queue] = i
		b.s.Queues = append(b.s.Queues, model.Queue{Name: queue})
	}
	q := &b.s.Queues[i]
	q.Commands = append(q.Commands, b.commands(commands)...)
	q.Ends = append(q.Ends, len(q.Commands))
	return b
}

// OnFinish gives the queue's last buffer a completion handler.
func (b *Builder) OnFinish(queue string, commands ...string) *Builder {
	q := &b.s.Queues[b.queues[queue]]
	if q.OnFinish == nil {
		q.OnFinish = map[int][]model.Command{}
	}
	q.OnFinish[len(q.Ends)-1] = b.commands(commands)
	return b
}

// Stream adds a CPU stream with its tasks.
func (b *Builder) Stream(name string, tasks ...string) *Builder {
	if b.streams == nil {
		b.streams = map[string]int{}
	}
	b.streams[name] = len(b.s.Streams)
	b.s.Streams = append(b.s.Streams, model.Stream{Name: name, Tasks: b.commands(tasks)})
	return b
}

// Main spells the main thread out. Queues and streams must exist by then.
func (b *Builder) Main(steps ...string) *Builder {
	b.s.Main = []model.Step{}
	for _, text := range steps {
		b.s.Main = append(b.s.Main, b.step(text))
	}
	return b
}

func (b *Builder) step(text string) model.Step {
	st := model.Step{Array: model.NoSym}
	words := strings.Fields(text)
	if len(words) > 1 {
		if i, ok := b.queues[words[1]]; ok {
			st.Target, st.Queue = int32(i), true
		} else if i, ok := b.streams[words[1]]; ok {
			st.Target = int32(i)
		}
	}
	switch words[0] {
	case "enqueue":
		fmt.Sscan(words[2], &st.N)
	case "commit":
		st.Kind = model.StepCommit
	case "throttle":
		st.Kind = model.StepThrottle
		fmt.Sscan(words[1], &st.N)
	case "synchronize":
		st.Kind = model.StepSynchronize
	case "exit":
		st.Kind = model.StepExit
	default:
		c := b.command(text)
		st.Kind, st.Command = model.StepCommand, &c
	}
	return st
}

// Schedule is what was built. Without Main the main thread hands out all tasks of every
// stream and then commits every buffer, queue by queue.
func (b *Builder) Schedule() *model.Schedule {
	if b.s.Main != nil {
		return &b.s
	}
	b.s.Main = []model.Step{}
	for i := range b.s.Streams {
		if n := len(b.s.Streams[i].Tasks); n > 0 {
			b.s.Main = append(b.s.Main, model.Step{Kind: model.StepEnqueue, Target: int32(i), N: int32(n), Array: model.NoSym})
		}
	}
	for q := range b.s.Queues {
		for range b.s.Queues[q].Ends {
			b.s.Main = append(b.s.Main, model.Step{Kind: model.StepCommit, Queue: true, Target: int32(q), Array: model.NoSym})
		}
	}
	return &b.s
}
