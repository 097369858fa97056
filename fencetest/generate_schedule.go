package fencetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// Schedules draws explicit schedules of one or two queues and CPU streams: reductions that
// the GPU feeds and consumes through fences, cut into buffers anywhere. Two in three are
// right; the others have one fault: a wrong target, a second writer, a missing update, two
// commands in the wrong order.
func Schedules() *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		d := &drawing{T: t, queues: pick(t, "queues", 1, 1, 2), streams: pick(t, "streams", 1, 1, 2), counts: one(t, "count targets", 2)}
		d.reductions(between(t, "reductions", 1, 4), 5)
		if one(t, "a fault", 3) {
			d.fault()
		}
		s := d.scenario()
		if one(t, "main thread", 4) {
			d.main(s.Schedule)
		}
		s.Ranks = pick(t, "ranks", 1, 1, 1, 2)
		s.Machine = Machines().Draw(t, "machine")
		return s
	})
}

// PerUpdateSchedules draws right schedules on one queue and one or two CPU streams, with
// the targets of per-update waits and buffer ends anywhere, on a machine with a lag of at
// most most: what the exact rule decides.
func PerUpdateSchedules(most int) *rapid.Generator[*model.Scenario] {
	return rapid.Custom(func(t *rapid.T) *model.Scenario {
		d := &drawing{T: t, queues: 1, streams: pick(t, "streams", 1, 1, 2), longest: pick(t, "longest buffer", 1, 2, 4, 8), far: one(t, "far apart", 2)}
		d.reductions(between(t, "reductions", 1, 6), 8)
		s := d.scenario()
		s.Machine.GPUToCPU = model.Visibility{Mode: model.VisLag, Buffers: min(between(t, "lag", 0, most), between(t, "lag again", 0, most))}
		return s
	})
}

// drawing is a schedule on its way: commands by queue, tasks by stream.
type drawing struct {
	*rapid.T
	queues, streams int
	counts          bool // targets of count-based waits instead of per-update ones
	longest         int  // commands of a buffer; 0 stands for 12
	far             bool // consumers come behind all producers
	commands, tasks [][]string
}

func queueName(q int) string  { return [...]string{"gpu", "side"}[q] }
func streamName(c int) string { return [...]string{"cpu", "aux"}[c] }
func queueFence(q int) string { return [...]string{"G", "S"}[q] }
func taskFence(c int) string  { return [...]string{"C", "A"}[c] }

// reductions draws n of them in an order of encoding in which each is consumed behind its
// production, one in unread not at all.
func (d *drawing) reductions(n, unread int) {
	d.commands, d.tasks = make([][]string, d.queues), make([][]string, d.streams)
	type event struct{ i, kind int }
	const produce, consume = 0, 1
	var order []event
	for i := range n {
		order = append(order, event{i, produce})
	}
	for i := range n {
		if one(d.T, "unread", unread) {
			continue
		}
		at := slices.Index(order, event{i, produce})
		if d.far {
			at = n - 1
		}
		order = slices.Insert(order, between(d.T, "consumed at", at+1, len(order)), event{i, consume})
	}
	scheduled := make([]int, d.queues)
	done := make([]int, d.streams)
	stream, reduced := make([]int, n), make([]int, n)
	for _, e := range order {
		q := between(d.T, "queue", 0, d.queues-1)
		if e.kind == consume {
			c := stream[e.i]
			target := reduced[e.i]
			if d.counts {
				target = done[c]
			}
			d.commands[q] = append(d.commands[q], fmt.Sprintf("wait %s %d", taskFence(c), target), fmt.Sprintf("kernel y%d reads r%d", e.i, e.i))
			continue
		}
		c := between(d.T, "stream", 0, d.streams-1)
		stream[e.i] = c
		scheduled[q]++
		done[c]++
		reduced[e.i] = done[c]
		d.commands[q] = append(d.commands[q], fmt.Sprintf("kernel x%d", e.i))
		if one(d.T, "coherent", 2) {
			d.commands[q] = append(d.commands[q], fmt.Sprintf("coherent x%d", e.i))
		}
		d.commands[q] = append(d.commands[q], "barrier", fmt.Sprintf("update %s %d", queueFence(q), scheduled[q]))
		d.tasks[c] = append(d.tasks[c], fmt.Sprintf("wait %s %d", queueFence(q), scheduled[q]),
			fmt.Sprintf("collective r%d reads x%d", e.i, e.i), fmt.Sprintf("update %s %d", taskFence(c), done[c]))
	}
}

// fault breaks one thing.
func (d *drawing) fault() {
	q, c := between(d.T, "faulty queue", 0, d.queues-1), between(d.T, "faulty stream", 0, d.streams-1)
	list := &d.commands[q]
	if one(d.T, "in a task", 2) {
		list = &d.tasks[c]
	}
	insert := func(text string) {
		*list = slices.Insert(*list, between(d.T, "at", 0, len(*list)), text)
	}
	switch between(d.T, "fault", 0, 5) {
	case 0: // a target that is one too late or early
		for i, text := range *list {
			var fence string
			var n int
			if k, _ := fmt.Sscanf(text, "wait %s %d", &fence, &n); k == 2 {
				(*list)[i] = fmt.Sprintf("wait %s %d", fence, max(0, n+pick(d.T, "off by", 1, -1)))
				break
			}
		}
	case 1: // a second writer
		insert(fmt.Sprintf("update %s %d", pick(d.T, "fence", queueFence(q), taskFence(c)), between(d.T, "value", 1, 3)))
	case 2: // an update that is missing
		if i := slices.IndexFunc(*list, func(s string) bool { return strings.HasPrefix(s, "update") }); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	case 3: // two commands in the wrong order
		if n := len(*list); n > 1 {
			i := between(d.T, "swapped", 0, n-2)
			(*list)[i], (*list)[i+1] = (*list)[i+1], (*list)[i]
		}
	case 4: // a fence that is let go, or freed
		insert(pick(d.T, "end", "release ", "free ") + pick(d.T, "fence", queueFence(q), taskFence(c)))
	case 5: // a value that falls
		insert("reset " + pick(d.T, "fence", queueFence(q), taskFence(c)) + " 0")
	}
}

// main spells the main thread out: tasks and buffers are handed over in any order, now and
// then it throttles, waits or ends early.
func (d *drawing) main(f *model.ScheduleFile) {
	left := map[string]int{}
	var names []string
	for _, st := range f.Streams {
		left[st.Name] = len(st.Tasks)
		names = append(names, st.Name)
	}
	for _, q := range f.Queues {
		left[q.Name] = len(q.Buffers)
		names = append(names, q.Name)
	}
	open := func(name string) bool { return left[name] > 0 }
	f.Main = []string{}
	for slices.ContainsFunc(names, open) {
		name := rapid.SampledFrom(names).Filter(open).Draw(d.T, "next")
		if name == streamName(0) || name == streamName(1) {
			n := between(d.T, "tasks", 1, left[name])
			left[name] -= n
			f.Main = append(f.Main, fmt.Sprintf("enqueue %s %d", name, n))
		} else {
			left[name]--
			f.Main = append(f.Main, "commit "+name)
		}
		if one(d.T, "in between", 5) {
			f.Main = append(f.Main, pick(d.T, "step", "throttle 0", "throttle 1", "synchronize "+names[0], "idle"))
		}
	}
	switch n := len(f.Main); {
	case n > 0 && one(d.T, "forgets the last", 8):
		f.Main = f.Main[:n-1]
	case one(d.T, "exits", 6):
		f.Main = append(f.Main, "exit")
	}
}

// scenario cuts the queues into buffers and declares what is read and not written.
func (d *drawing) scenario() *model.Scenario {
	f := &model.ScheduleFile{}
	longest := d.longest
	if longest == 0 {
		longest = 12
	}
	for q, commands := range d.commands {
		queue := model.QueueFile{Name: queueName(q)}
		for len(commands) > 0 {
			n := between(d.T, "length of a buffer", 1, min(len(commands), longest))
			queue.Buffers = append(queue.Buffers, model.BufferFile{Commands: slices.Clone(commands[:n])})
			commands = commands[n:]
		}
		f.Queues = append(f.Queues, queue)
	}
	for c, tasks := range d.tasks {
		f.Streams = append(f.Streams, model.TaskFile{Name: streamName(c), Tasks: tasks})
	}
	return &model.Scenario{Version: model.FormatVersion, Name: "schedule", Schedule: f}
}
