package sim

import (
	"fmt"
	"slices"

	"github.com/fencesim/fencesim/model"
)

// Final reports whether every rank has done all it was given: the main thread at its end,
// every non-empty buffer committed, every committed buffer finished, every task and
// completion handler done. Of a process that has ended only the committed buffers count.
// Stores still on their way do not matter.
func (y *System) Final(s State) bool {
	for r := range y.ranks {
		if !y.rankFinal(s, &y.ranks[r]) {
			return false
		}
	}
	return true
}

func (y *System) rankFinal(s State, rk *rank) bool {
	dead := rk.dead.get(s) != 0
	if int(rk.at.get(s)) < len(rk.main) {
		return false
	}
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		if y.unfinished(s, q) > 0 || !dead && y.uncommitted(s, q) {
			return false
		}
	}
	if dead {
		return true
	}
	for i := rk.streams.lo; i < rk.streams.hi; i++ {
		if int(y.streams[i].pc.get(s)) < len(y.streams[i].cmds) {
			return false
		}
	}
	for i := rk.handlers.lo; i < rk.handlers.hi; i++ {
		h := &y.handlers[i]
		if int(h.pc.get(s)) < len(h.cmds) {
			return false
		}
	}
	return true
}

// uncommitted reports whether some command of q is in no committed buffer.
func (y *System) uncommitted(s State, q *queue) bool {
	if !q.fixed {
		return q.open.int(s) < int32(len(q.cmds))
	}
	end := int32(0)
	if com := q.com.int(s); com > 0 {
		end = q.ends[com-1]
	}
	return end < int32(len(q.cmds))
}

// Stuck reports whether s is a hang: it is not final and has no guaranteed transition.
func (y *System) Stuck(s State) bool {
	if y.Final(s) {
		return false
	}
	for _, t := range y.Enabled(s, nil) {
		if !t.Possible {
			return false
		}
	}
	return true
}

// Orphan reports whether in stuck state s some rank is not done though its main thread and
// CPU streams have ended: nobody is left to help its GPU.
func (y *System) Orphan(s State) bool {
	for r := range y.ranks {
		rk := &y.ranks[r]
		if int(rk.at.get(s)) < len(rk.main) || y.rankFinal(s, rk) {
			continue
		}
		ended := true
		for i := rk.streams.lo; i < rk.streams.hi && rk.dead.get(s) == 0; i++ {
			ended = ended && int(y.streams[i].pc.get(s)) == len(y.streams[i].cmds)
		}
		if ended {
			return true
		}
	}
	return false
}

// Counters gives rank r's three numbers in s.
func (y *System) Counters(s State, r int) model.Counters {
	rk := &y.ranks[r]
	var c model.Counters
	if rk.gpuFence >= 0 {
		c.GPU = uint32(y.fences[rk.gpuFence].cpu.get(s))
		c.Scheduled = y.scheduled(s, rk)
	}
	if rk.cpuFence >= 0 {
		c.CPU = uint32(y.fences[rk.cpuFence].gpu.get(s))
	}
	return c
}

func (y *System) scheduled(s State, rk *rank) uint32 {
	if rk.program.FromGraph {
		return rk.late[rk.gpuFence][rk.at.get(s)]
	}
	n := uint32(0)
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		n = max(n, y.queues[i].scheduledMax[y.queues[i].com.get(s)])
	}
	return n
}

// A FenceState is one fence in one state.
type FenceState struct {
	Name      string `json:"name"`
	Scheduled uint32 `json:"scheduled"`
	Stored    uint32 `json:"stored"`
	SeenByGPU uint32 `json:"seen_by_gpu"`
	SeenByCPU uint32 `json:"seen_by_cpu"`
}

// FenceStates gives every fence of rank r in s. Scheduled is the largest value of an
// update that has been encoded, Stored the largest that has been executed.
func (y *System) FenceStates(s State, r int) []FenceState {
	own := y.fencesOf[r]
	if len(own) == 0 {
		return nil
	}
	out := make([]FenceState, len(own))
	for i, fi := range own {
		f := &y.fences[fi]
		st := FenceState{Name: f.name, Scheduled: f.initial, SeenByGPU: uint32(f.gpu.get(s)), SeenByCPU: uint32(f.cpu.get(s))}
		st.Stored = max(st.SeenByGPU, st.SeenByCPU)
		out[i] = st
	}
	look := func(x *Command) {
		if !x.stores() || x.op == model.OpAdd || int(y.fences[x.object].rank) != r {
			return
		}
		if i, ok := slices.BinarySearch(own, x.object); ok {
			out[i].Scheduled = max(out[i].Scheduled, x.value)
		}
	}
	y.eachScheduled(s, &y.ranks[r], look)
	for _, o := range y.storers[r] {
		y.eachScheduled(s, &y.ranks[o], look)
	}
	return out
}

// eachScheduled calls f for every command of rank rk that its main thread has handed over.
func (y *System) eachScheduled(s State, rk *rank, f func(x *Command)) {
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		end := int32(0)
		if !q.fixed {
			end = q.encoded[rk.at.get(s)]
		} else if com := q.com.int(s); com > 0 {
			end = q.ends[com-1]
		}
		for j := range q.cmds[:end] {
			f(&q.cmds[j])
		}
	}
	for i := rk.streams.lo; i < rk.streams.hi; i++ {
		st := &y.streams[i]
		for j := range st.cmds[:st.enq.get(s)] {
			f(&st.cmds[j])
		}
	}
}

// A Blocked is an agent that has something to do and cannot: where it stands and what it
// needs. Waits on a fence or event name it, with the target and the value seen.
type Blocked struct {
	Agent string `json:"agent"`
	At    string `json:"at"`
	Needs string `json:"needs"`

	Rank   int    `json:"-"`
	Index  int32  `json:"-"` // the agent
	Fence  int32  `json:"-"` // wait, park: the fence; -1 otherwise
	Target uint32 `json:"-"`
	Seen   uint32 `json:"-"`
	GPU    bool   `json:"-"`
}

// Blocked lists the blocked agents of rank r in s, which should be stuck.
func (y *System) Blocked(s State, r int) []Blocked {
	rk := &y.ranks[r]
	var out []Blocked
	add := func(agent int32, at, needs string) *Blocked {
		out = append(out, Blocked{Agent: y.agents[agent].name, At: at, Needs: needs, Rank: r, Index: agent, Fence: -1})
		return &out[len(out)-1]
	}
	if at := rk.at.int(s); int(at) < len(rk.main) && rk.command(at) == nil {
		add(rk.agent, y.StepText(r, int(at)), y.mainNeeds(s, rk, &rk.main[at], at))
	} else if int(at) >= len(rk.main) && rk.dead.get(s) == 0 {
		for i := rk.queues.lo; i < rk.queues.hi; i++ {
			if y.uncommitted(s, &y.queues[i]) {
				add(rk.agent, "end", "nothing: it has ended and never committed what is left on "+y.queues[i].name)
			}
		}
		for i := rk.streams.lo; i < rk.streams.hi; i++ {
			if c := &y.streams[i]; int(c.enq.get(s)) < len(c.cmds) {
				add(rk.agent, "end", "nothing: it has ended and never handed over what is left of "+c.name)
			}
		}
	}
	for i := rk.queues.lo; i < rk.queues.hi; i++ {
		q := &y.queues[i]
		if fin := q.fin.int(s); fin < q.com.int(s) && !y.startedBuffer(s, q, fin) && !y.finished(s, q, fin) {
			needs := "the device, which another buffer keeps"
			if rk.ignored.get(s) != 0 {
				needs = "nothing that can come: after a kill no buffer starts"
			}
			add(q.agent, fmt.Sprintf("start of buffer %d", fin), needs)
		}
	}
	y.current(s, int32(r), func(agent, _ int32, x *Command, ph int32) {
		b := add(agent, y.text(x), y.commandNeeds(s, x, ph))
		b.GPU = y.agents[agent].kind == agentQueue
		if x.op == model.OpWait || x.op == model.OpPark {
			b.Fence, b.Target, b.Seen = x.object, y.target(s, x), y.view(s, x.object, b.GPU)
		}
	})
	return out
}

func (y *System) mainNeeds(s State, rk *rank, st *model.Step, at int32) string {
	switch st.Kind {
	case model.StepThrottle:
		if n := rk.blocked.int(s); n > 0 {
			return fmt.Sprintf("fewer than %d active tasks; %d are", n, y.active(s, rk))
		}
		return "room on a queue to commit what is open"
	case model.StepSynchronize:
		if st.Queue {
			return "every committed buffer of " + y.queues[rk.queues.lo+st.Target].name + " to finish"
		}
		return "every task of " + y.streams[rk.streams.lo+st.Target].name + " to run"
	}
	return fmt.Sprintf("fewer than %d unfinished buffers on the queue", y.m.inFlight)
}

func (y *System) commandNeeds(s State, x *Command, ph int32) string {
	gpu := y.agents[x.holder].kind == agentQueue
	side := "CPU"
	if gpu {
		side = "GPU"
	}
	switch x.op {
	case model.OpWait, model.OpPark:
		if gpu && y.m.slots > 0 && ph == phaseNew && x.op == model.OpWait {
			return "a free slot"
		}
		f := &y.fences[x.object]
		rel := "at least "
		if x.equal {
			rel = "exactly "
		}
		return fmt.Sprintf("%s %s%d; the %s sees %d", f.name, rel, y.target(s, x), side, y.view(s, x.object, gpu))
	case model.OpAwait:
		return fmt.Sprintf("event %s at least %d; it is %d", y.events[x.object].name, x.value, y.events[x.object].value.get(s))
	case model.OpCollective:
		if ph == phaseNew {
			return "a free slot"
		}
		return "every rank at this collective: " + y.absent(s, x)
	case model.OpSend, model.OpRecv:
		if gpu && y.m.slots > 0 && ph == phaseNew {
			return "a free slot"
		}
		if x.op == model.OpRecv {
			return fmt.Sprintf("rank %d to send", x.peer)
		}
		return fmt.Sprintf("rank %d to receive", x.peer)
	case model.OpAlloc:
		return fmt.Sprintf("%d units of memory", x.value)
	case model.OpIdle:
		return "every committed buffer to finish"
	}
	return "a free slot"
}

// absent lists the ranks that have not arrived at the collective at which x has.
func (y *System) absent(s State, x *Command) string {
	g := &y.groups[x.object]
	ord := g.arrived.get(s)
	if x.ord > 0 {
		ord = y.ordinal(x).get(s)
	}
	const most = 8
	text, n := "missing", 0
	for r, p := range g.peers {
		if p >= 0 && y.groups[p].arrived.get(s) >= ord {
			continue
		}
		if n++; n <= most {
			text += fmt.Sprintf(" rank %d", r)
		}
	}
	if n > most {
		text += fmt.Sprintf(" and %d more", n-most)
	}
	return text
}

// Buffers gives the committed and the finished-without-a-gap number of buffers of the
// queue of agent a.
func (y *System) Buffers(s State, a int32) (committed, finished int32) {
	q := &y.queues[y.agents[a].index]
	return q.com.int(s), q.fin.int(s)
}
