package naive

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// agentKind is where an agent's commands stand.
type agentKind int

const (
	mainThread agentKind = iota
	cpuStream
	inBuffer
	handler
)

// agent is something that is at a command: the main thread, a CPU stream, a buffer (one
// agent per command of a section under concurrent dispatch) or a completion handler.
type agent struct {
	kind    agentKind
	rank    int
	owner   int // queue or stream
	buffer  int
	index   int // of the command in its buffer
	command *model.Command
}

func (a agent) gpu() bool { return a.kind == inBuffer }

// at is the agent's progress in a state.
func (a agent) at(s *state) *progress {
	r := &s.ranks[a.rank]
	switch a.kind {
	case mainThread:
		return &r.step
	case cpuStream:
		return &r.streams[a.owner].step
	case inBuffer:
		return &r.queues[a.owner].buffers[a.buffer].commands[a.index]
	}
	return &r.queues[a.owner].buffers[a.buffer].step
}

// complete moves the agent behind its command.
func (a agent) complete(s *state) {
	r := &s.ranks[a.rank]
	*a.at(s) = progress{}
	switch a.kind {
	case mainThread:
		r.pc++
	case cpuStream:
		r.streams[a.owner].at++
	case inBuffer:
		a.at(s).done = true
	case handler:
		r.queues[a.owner].buffers[a.buffer].handler++
	}
}

func (w *world) name(a agent) string {
	p := w.ranks[a.rank]
	text := a.command.Text(&p.Names)
	switch a.kind {
	case mainThread:
		return fmt.Sprintf("rank %d main: %s", a.rank, text)
	case cpuStream:
		return fmt.Sprintf("rank %d stream %s: %s", a.rank, p.Streams[a.owner].Name, text)
	case inBuffer:
		return fmt.Sprintf("rank %d queue %s buffer %d: %s", a.rank, p.Queues[a.owner].Name, a.buffer, text)
	}
	return fmt.Sprintf("rank %d queue %s handler of buffer %d: %s", a.rank, p.Queues[a.owner].Name, a.buffer, text)
}

// ownerName is the default group of a's collectives.
func (w *world) ownerName(a agent) string {
	switch a.kind {
	case mainThread:
		return mainGroup
	case cpuStream:
		return w.ranks[a.rank].Streams[a.owner].Name
	}
	return w.ranks[a.rank].Queues[a.owner].Name
}

// agents lists who is at a command now.
func (w *world) agents(s *state) []agent {
	var as []agent
	for r := range s.ranks {
		rk, p := &s.ranks[r], w.ranks[r]
		if !rk.dead {
			if rk.pc < len(p.main) && p.main[rk.pc].Kind == model.StepCommand {
				as = append(as, agent{kind: mainThread, rank: r, command: p.main[rk.pc].Command})
			}
			for i := range rk.streams {
				if st := &rk.streams[i]; st.at < st.given {
					as = append(as, agent{kind: cpuStream, rank: r, owner: i, command: &p.Streams[i].Tasks[st.at]})
				}
			}
		}
		for q := range rk.queues {
			for b := range rk.queues[q].buffers {
				buf := &rk.queues[q].buffers[b]
				if hs := p.Queues[q].OnFinish[b]; buf.finished && buf.handler < len(hs) && !rk.dead {
					as = append(as, agent{kind: handler, rank: r, owner: q, buffer: b, command: &hs[buf.handler]})
				}
				if !buf.started || buf.finished {
					continue
				}
				for _, i := range w.current(r, q, buf) {
					as = append(as, agent{kind: inBuffer, rank: r, owner: q, buffer: b, index: i, command: &w.commands(r, q, buf)[i]})
				}
			}
		}
	}
	return as
}

// current is the indexes of a started buffer's current commands: the first that is not
// done, or under concurrent dispatch all that are not done in the first open section.
func (w *world) current(r, q int, buf *buffer) []int {
	var out []int
	var sections []int
	if w.m.Dispatch == model.Concurrent {
		sections = w.sectionsOf(r, q, buf)
	}
	for i := range buf.commands {
		if buf.commands[i].done {
			continue
		}
		if len(out) > 0 && (sections == nil || sections[i] != sections[out[0]]) {
			break
		}
		out = append(out, i)
	}
	return out
}

// view is the fence's value as a's side sees it.
func (w *world) view(s *state, a agent) uint32 {
	f := &s.fences[w.fence(a.rank, a.command)]
	if a.gpu() {
		return f.gpu
	}
	return f.cpu
}

// satisfied reports whether a's wait, park or await would pass now.
func (w *world) satisfied(s *state, a agent) bool {
	c := a.command
	switch {
	case c.Op == model.OpAwait:
		return s.events[w.event(a.rank, c)] >= c.Value
	case c.Late:
		return w.view(s, a) >= w.updates(s, a.rank, w.fence(a.rank, c))
	case c.Equal:
		return w.view(s, a) == c.Value
	}
	return w.view(s, a) >= c.Value
}

// spins reports whether a is spinning in a wait: with slots, a GPU wait spins once it has one.
func (w *world) spins(s *state, a agent) bool {
	return a.command.Op == model.OpWait && (!a.gpu() || w.m.Slots == 0 || a.at(s).slot)
}

// slotFree reports whether the device of a rank has a free slot.
func (w *world) slotFree(s *state, r int) bool {
	if w.m.Slots == 0 {
		return true
	}
	used := 0
	for q := range s.ranks[r].queues {
		for _, b := range s.ranks[r].queues[q].buffers {
			for _, c := range b.commands {
				if c.slot {
					used++
				}
			}
		}
	}
	return used < w.m.Slots
}
