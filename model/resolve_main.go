package model

import "math"

// main resolves the steps of the main thread, or makes the default ones of [Schedule.Steps].
func (r *scheduleResolver) main() {
	if r.file.Main == nil {
		r.s.Main = r.s.Steps()
		return
	}
	m := mainResolver{r: r, queue: make(map[string]int), stream: make(map[string]int)}
	for q := range r.s.Queues {
		m.queue[r.s.Queues[q].Name] = q
	}
	for t := range r.s.Streams {
		m.stream[r.s.Streams[t].Name] = t
	}
	m.committed, m.enqueued = make([]int, len(r.s.Queues)), make([]int, len(r.s.Streams))
	r.s.Main = []Step{} // an empty list is a main thread that does nothing
	for i, text := range r.file.Main {
		if r.c.full() {
			return
		}
		r.s.Main = append(r.s.Main, m.step(i, text))
	}
}

// mainResolver reads the main steps of a file and counts what they hand out.
type mainResolver struct {
	r                   *scheduleResolver
	queue, stream       map[string]int
	committed, enqueued []int
}

// mainForms are the steps that are no commands.
var mainForms = map[string]struct {
	kind  StepKind
	words int
	form  string
}{
	"enqueue":     {StepEnqueue, 3, "enqueue STREAM n"},
	"commit":      {StepCommit, 2, "commit QUEUE"},
	"throttle":    {StepThrottle, 2, "throttle n"},
	"synchronize": {StepSynchronize, 2, "synchronize NAME"},
	"exit":        {StepExit, 1, "exit"},
}

func (m *mainResolver) step(i int, text string) Step {
	words := splitWords(text, nil)
	if len(words) == 0 {
		m.r.fail("want a step or a command", []any{"main", i})
		return Step{}
	}
	form, ok := mainForms[words[0].text]
	if !ok {
		c := m.r.command(text, onMain, "main", i)
		m.r.made(&c, "main", i)
		return Step{Kind: StepCommand, Array: NoSym, Command: &c}
	}
	fail := func(w int, format string, args ...any) Step {
		offset := len(text)
		if w < len(words) {
			offset = words[w].offset
		}
		m.r.c.failIn(join(m.r.path, "main", i), offset, format, args...)
		return Step{}
	}
	if len(words) != form.words {
		return fail(min(len(words), form.words), "want %q", form.form)
	}
	step := Step{Kind: form.kind, Array: NoSym}
	number := func(w int) bool {
		n, ok := decimal(words[w].text)
		step.N = int32(n)
		return ok && n >= 0 && n <= math.MaxInt32
	}
	switch form.kind {
	case StepEnqueue:
		t, ok := m.stream[words[1].text]
		if !ok {
			return fail(1, "no stream is named %q", shorten(words[1].text))
		}
		if !number(2) {
			return fail(2, "%q is not a number of tasks", shorten(words[2].text))
		}
		step.Target = int32(t)
		if m.enqueued[t] += int(step.N); m.enqueued[t] > len(m.r.s.Streams[t].Tasks) {
			return fail(2, "%d tasks enqueued: stream %s has %d", m.enqueued[t], words[1].text, len(m.r.s.Streams[t].Tasks))
		}
	case StepCommit:
		q, ok := m.queue[words[1].text]
		if !ok {
			return fail(1, "no queue is named %q", shorten(words[1].text))
		}
		step.Queue, step.Target = true, int32(q)
		if m.committed[q]++; m.committed[q] > len(m.r.s.Queues[q].Ends) {
			return fail(1, "%d buffers committed: queue %s has %d", m.committed[q], words[1].text, len(m.r.s.Queues[q].Ends))
		}
	case StepThrottle:
		if !number(1) {
			return fail(1, "%q is not a number of active tasks", shorten(words[1].text))
		}
	case StepSynchronize:
		if q, ok := m.queue[words[1].text]; ok {
			step.Queue, step.Target = true, int32(q)
		} else if t, ok := m.stream[words[1].text]; ok {
			step.Target = int32(t)
		} else {
			return fail(1, "no queue or stream is named %q", shorten(words[1].text))
		}
	}
	return step
}
