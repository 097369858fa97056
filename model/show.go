package model

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Print writes the schedule as text for a person: fences, queues, CPU streams and the
// main thread. A graph's schedule begins with its tape; where its buffers end depends on
// the run, and only what the size rule alone would do is shown. Runs of lines that differ
// in numbers only are folded.
func (s *Schedule) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	s.printFences(b)
	if s.FromGraph {
		s.printTape(b)
	}
	for q := range s.Queues {
		s.printQueue(b, &s.Queues[q])
	}
	for t := range s.Streams {
		st := &s.Streams[t]
		fmt.Fprintf(b, "stream %s: %s\n", st.Name, quantity(len(st.Tasks), "task"))
		printFolded(b, len(st.Tasks), func(line []byte, i int) []byte {
			line = st.Tasks[i].append(appendIndex(line, i), &s.Names)
			if st.Counted != nil && st.Counted[i] > 0 {
				line = append(line, "  (counted as active)"...)
			}
			return line
		})
	}
	if !s.FromGraph {
		fmt.Fprintf(b, "main thread: %s\n", quantity(len(s.Main), "step"))
		printFolded(b, len(s.Main), func(line []byte, i int) []byte {
			return append(appendIndex(line, i), s.StepText(&s.Main[i])...)
		})
	}
	return b.Flush()
}

// ShowText is what [Schedule.Print] writes.
func (s *Schedule) ShowText() string {
	var b strings.Builder
	s.Print(&b)
	return b.String()
}

func quantity(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (s *Schedule) printFences(b io.Writer) {
	if len(s.Fences) > 0 {
		fmt.Fprintf(b, "fences: %d\n", len(s.Fences))
		printFolded(b, len(s.Fences), func(line []byte, i int) []byte {
			f := &s.Fences[i]
			line = append(append(line, "  "...), s.Names.Of(f.Name)...)
			if f.Initial != 0 {
				line = fmt.Appendf(line, " initial %d", f.Initial)
			}
			if f.Store != "" {
				line = append(append(line, " store "...), f.Store...)
			}
			return line
		})
	}
	if len(s.Inputs) > 0 {
		fmt.Fprintf(b, "inputs: %d\n", len(s.Inputs))
		printFolded(b, len(s.Inputs), func(line []byte, i int) []byte {
			return append(append(line, "  "...), s.Names.Of(s.Inputs[i])...)
		})
	}
}

// appendIndex appends a line's number as a column.
func appendIndex(b []byte, i int) []byte { return fmt.Appendf(b, "  %4d  ", i) }

// tapeLine is one line of a tape: a main step, the first of the commands or tasks that it
// hands out, and how many entries the tape had before it.
type tapeLine struct{ step, from, entries int32 }

// printTape writes one line for each step that hands out commands or tasks, with them.
func (s *Schedule) printTape(b io.Writer) {
	entries, throttle := int32(0), int32(0)
	queued, tasked := make([]int32, len(s.Queues)), make([]int32, len(s.Streams))
	lines := make([]tapeLine, 0, len(s.Main))
	for i := range s.Main {
		m := &s.Main[i]
		line := tapeLine{step: int32(i), entries: entries}
		switch m.Kind {
		case StepEncode, StepUpdate:
			line.from, queued[m.Target] = queued[m.Target], m.N
		case StepTask:
			line.from, tasked[m.Target] = tasked[m.Target], m.N
		case StepThrottle:
			entries, throttle = entries+1, m.N
			continue
		}
		lines = append(lines, line)
	}
	fmt.Fprintf(b, "tape: %d entries; after each the main thread throttles if more than %d tasks are active\n", entries, throttle)
	printFolded(b, len(lines), func(line []byte, i int) []byte { return s.appendTape(line, lines[i]) })
}

func (s *Schedule) appendTape(line []byte, at tapeLine) []byte {
	m := &s.Main[at.step]
	var cs []Command
	stream := ""
	switch m.Kind {
	case StepEncode, StepUpdate:
		cs, stream = s.Queues[m.Target].Commands[at.from:m.N], s.Queues[m.Target].Name
	case StepTask:
		cs, stream = s.Streams[m.Target].Tasks[at.from:m.N], s.Streams[m.Target].Name
	default:
		return append(append(line, "        "...), s.StepText(m)...)
	}
	makes := false
	for k := range cs {
		switch cs[k].Op {
		case OpKernel, OpCollective, OpSend, OpRecv:
			makes = true
		}
	}
	if makes {
		line = appendIndex(line, int(at.entries))
	} else {
		line = append(line, "        "...)
	}
	line = append(append(line, stream...), ": "...)
	for k := range cs {
		if k > 0 {
			line = append(line, "; "...)
		}
		line = cs[k].append(line, &s.Names)
	}
	return line
}

func (s *Schedule) printQueue(b io.Writer, q *Queue) {
	if s.FromGraph {
		fmt.Fprintf(b, "queue %s: %s\n", q.Name, quantity(len(q.Commands), "command"))
		ends := sizeRuleEnds(q)
		text := fmt.Sprint(ends[:min(len(ends), 12)])
		text = strings.Trim(text, "[]")
		switch {
		case len(ends) == 0:
			text = "nowhere"
		case len(ends) > 12:
			text = "after commands " + text + fmt.Sprintf(" … (%d in all)", len(ends))
		default:
			text = "after commands " + text
		}
		fmt.Fprintf(b, "  without throttle the size rule ends buffers %s\n", text)
		return
	}
	fmt.Fprintf(b, "queue %s: %s\n", q.Name, quantity(len(q.Ends), "buffer"))
	type bufferLine struct{ buffer, k int32 } // k: command, -1 for an empty buffer, from 1<<30 the handler
	const handler = 1 << 30
	var lines []bufferLine
	for i := range q.Ends {
		n := len(q.Buffer(i))
		if n == 0 {
			lines = append(lines, bufferLine{int32(i), -1})
		}
		for k := range n {
			lines = append(lines, bufferLine{int32(i), int32(k)})
		}
		for k := range q.OnFinish[i] {
			lines = append(lines, bufferLine{int32(i), handler + int32(k)})
		}
	}
	printFolded(b, len(lines), func(line []byte, i int) []byte {
		at := lines[i]
		switch {
		case at.k < 0:
			return fmt.Appendf(line, "  buffer %d: empty", at.buffer)
		case at.k >= handler:
			line = append(line, "           on finish: "...)
			return q.OnFinish[int(at.buffer)][at.k-handler].append(line, &s.Names)
		case at.k == 0:
			line = fmt.Appendf(line, "  buffer %d: ", at.buffer)
		default:
			line = append(line, "           "...)
		}
		return q.Buffer(int(at.buffer))[at.k].append(line, &s.Names)
	})
}

// sizeRuleEnds are the command counts at which the size rule alone ends buffers.
func sizeRuleEnds(q *Queue) []int32 {
	var ends []int32
	for at := int32(0); int(at) < len(q.Forced); {
		next := q.Forced[at]
		if next == NeverForced || next <= at {
			break
		}
		ends = append(ends, next)
		at = next
	}
	return ends
}

// StepText is a step of the main thread in words; those that stand in files read as there.
func (s *Schedule) StepText(m *Step) string {
	target := func(queue bool) string {
		if queue {
			return s.Queues[m.Target].Name
		}
		return s.Streams[m.Target].Name
	}
	switch m.Kind {
	case StepEnqueue:
		return fmt.Sprintf("enqueue %s %d", target(false), m.N)
	case StepCommit:
		return "commit " + target(true)
	case StepThrottle:
		return fmt.Sprintf("throttle %d", m.N)
	case StepSynchronize:
		return "synchronize " + target(m.Queue)
	case StepExit:
		return "exit"
	case StepCommand:
		return m.Command.Text(&s.Names)
	case StepEncode:
		return fmt.Sprintf("encode %s on %s up to command %d", s.Names.Of(m.Array), target(true), m.N)
	case StepUpdate:
		return fmt.Sprintf("encode the update of %s on %s up to command %d", s.Names.Of(m.Array), target(true), m.N)
	case StepTask:
		return fmt.Sprintf("hand tasks up to %d to %s", m.N, target(false))
	case StepFlush:
		return "commit what is open on " + target(true)
	}
	return fmt.Sprintf("step %d", m.Kind)
}
