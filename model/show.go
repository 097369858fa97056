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
		var lines []string
		for i := range st.Tasks {
			line := fmt.Sprintf("  %4d  %s", i, st.Tasks[i].Text(&s.Names))
			if st.Counted != nil && st.Counted[i] > 0 {
				line += "  (counted as active)"
			}
			lines = append(lines, line)
		}
		printFolded(b, lines)
	}
	if !s.FromGraph {
		fmt.Fprintf(b, "main thread: %s\n", quantity(len(s.Main), "step"))
		var lines []string
		for i := range s.Main {
			lines = append(lines, fmt.Sprintf("  %4d  %s", i, s.StepText(&s.Main[i])))
		}
		printFolded(b, lines)
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
		var lines []string
		for _, f := range s.Fences {
			line := "  " + s.Names.Of(f.Name)
			if f.Initial != 0 {
				line += fmt.Sprintf(" initial %d", f.Initial)
			}
			if f.Store != "" {
				line += " store " + f.Store
			}
			lines = append(lines, line)
		}
		printFolded(b, lines)
	}
	if len(s.Inputs) > 0 {
		fmt.Fprintf(b, "inputs: %d\n", len(s.Inputs))
		var lines []string
		for _, in := range s.Inputs {
			lines = append(lines, "  "+s.Names.Of(in))
		}
		printFolded(b, lines)
	}
}

// printTape writes one line for each step that hands out commands or tasks, with them.
func (s *Schedule) printTape(b io.Writer) {
	entries, throttle := 0, int32(0)
	queued, tasked := make([]int32, len(s.Queues)), make([]int32, len(s.Streams))
	var lines []string
	for i := range s.Main {
		m := &s.Main[i]
		var cs []Command
		stream := ""
		switch m.Kind {
		case StepEncode, StepUpdate:
			q := &s.Queues[m.Target]
			cs, stream = q.Commands[queued[m.Target]:m.N], q.Name
			queued[m.Target] = m.N
		case StepTask:
			t := &s.Streams[m.Target]
			cs, stream = t.Tasks[tasked[m.Target]:m.N], t.Name
			tasked[m.Target] = m.N
		case StepThrottle:
			entries, throttle = entries+1, m.N
			continue
		default:
			lines = append(lines, "        "+s.StepText(m))
			continue
		}
		var texts []string
		makes := false
		for k := range cs {
			texts = append(texts, cs[k].Text(&s.Names))
			switch cs[k].Op {
			case OpKernel, OpCollective, OpSend, OpRecv:
				makes = true
			}
		}
		number := "    "
		if makes {
			number = fmt.Sprintf("%4d", entries)
		}
		lines = append(lines, fmt.Sprintf("  %s  %s: %s", number, stream, strings.Join(texts, "; ")))
	}
	fmt.Fprintf(b, "tape: %d entries; after each the main thread throttles if more than %d tasks are active\n", entries, throttle)
	printFolded(b, lines)
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
	var lines []string
	for i := range q.Ends {
		cs := q.Buffer(i)
		if len(cs) == 0 {
			lines = append(lines, fmt.Sprintf("  buffer %d: empty", i))
		}
		for k := range cs {
			head := "          "
			if k == 0 {
				head = fmt.Sprintf("  buffer %d:", i)
			}
			lines = append(lines, head+" "+cs[k].Text(&s.Names))
		}
		for k := range q.OnFinish[i] {
			lines = append(lines, "           on finish: "+q.OnFinish[i][k].Text(&s.Names))
		}
	}
	printFolded(b, lines)
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
