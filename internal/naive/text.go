package naive

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// Text is programs and machine for error messages: for explicit schedules a scenario file;
// a lowered graph is shown as commands, tasks and steps with the cuts of the size rule.
func Text(programs []*model.Schedule, m model.Machine) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, "%*s"+format+"\n", append([]any{indent, ""}, args...)...)
	}
	line(0, "fencesim: 1")
	line(0, "name: random")
	if len(programs) > 1 {
		line(0, "ranks: %d", len(programs))
	}
	machine, _ := json.Marshal(m)
	line(0, "machine: %s", machine)
	line(0, "schedule:")
	schedule(line, 2, programs[0])
	if len(programs) > 1 {
		line(0, "rank_schedules:")
		for r, p := range programs[1:] {
			line(2, "%d:", r+1)
			schedule(line, 4, p)
		}
	}
	return b.String()
}

func schedule(line func(int, string, ...any), in int, s *model.Schedule) {
	if len(s.Fences) > 0 {
		line(in, "fences:")
		for _, f := range s.Fences {
			store := ""
			if f.Store != "" {
				store = ", store: " + f.Store
			}
			line(in+2, "%s: {initial: %d%s}", s.Names.Of(f.Name), f.Initial, store)
		}
	}
	if len(s.Inputs) > 0 {
		var names []string
		for _, a := range s.Inputs {
			names = append(names, s.Names.Of(a))
		}
		line(in, "inputs: [%s]", strings.Join(names, ", "))
	}
	if len(s.Queues) > 0 {
		line(in, "queues:")
	}
	for q := range s.Queues {
		queue := &s.Queues[q]
		line(in+2, "- name: %s", queue.Name)
		if s.FromGraph {
			line(in+4, "# cuts by first command: %v", queue.Forced)
			line(in+4, "commands: [%s]", texts(s, queue.Commands))
			continue
		}
		line(in+4, "buffers:")
		for i := range queue.Ends {
			if h := queue.OnFinish[i]; len(h) > 0 {
				line(in+6, "- {commands: [%s], on_finish: [%s]}", texts(s, queue.Buffer(i)), texts(s, h))
			} else {
				line(in+6, "- [%s]", texts(s, queue.Buffer(i)))
			}
		}
	}
	if len(s.Streams) > 0 {
		line(in, "streams:")
	}
	for i := range s.Streams {
		line(in+2, "- name: %s", s.Streams[i].Name)
		line(in+4, "tasks: [%s]", texts(s, s.Streams[i].Tasks))
		if s.Streams[i].Counted != nil {
			line(in+4, "# active tasks: %v", s.Streams[i].Counted)
		}
	}
	if len(s.Main) > 0 || len(s.Streams)+len(s.Queues) > 0 {
		var steps []string
		for _, st := range s.Main {
			steps = append(steps, fmt.Sprintf("%q", stepText(s, st)))
		}
		line(in, "main: [%s]", strings.Join(steps, ", "))
	}
}

func texts(s *model.Schedule, cs []model.Command) string {
	var out []string
	for i := range cs {
		out = append(out, fmt.Sprintf("%q", cs[i].Text(&s.Names)))
	}
	return strings.Join(slices.Clip(out), ", ")
}

func stepText(s *model.Schedule, st model.Step) string {
	stream := func() string { return s.Streams[st.Target].Name }
	queue := func() string { return s.Queues[st.Target].Name }
	switch st.Kind {
	case model.StepEnqueue:
		return fmt.Sprintf("enqueue %s %d", stream(), st.N)
	case model.StepCommit:
		return "commit " + queue()
	case model.StepThrottle:
		return fmt.Sprintf("throttle %d", st.N)
	case model.StepSynchronize:
		if st.Queue {
			return "synchronize " + queue()
		}
		return "synchronize " + stream()
	case model.StepExit:
		return "exit"
	case model.StepCommand:
		return st.Command.Text(&s.Names)
	case model.StepEncode:
		return fmt.Sprintf("encode %s to %d", queue(), st.N)
	case model.StepUpdate:
		return fmt.Sprintf("encode update %s to %d", queue(), st.N)
	case model.StepTask:
		return fmt.Sprintf("tasks %s to %d", stream(), st.N)
	}
	return "flush " + queue()
}
