package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// The certificates here are linear in the schedule of one rank of a graph and cover all of
// its runs. Each returns why it does not apply, "" if it does.

// simpler is a machine on which p has the same hangs and violations as on m, without
// assumptions that cannot matter. A single queue in order with serial dispatch has one
// command at a time: it never lacks a slot, and never has two started buffers. A queue
// without fence waits never gives up, and nobody sees the GPU's view of the CPU's stores.
func simpler(p *model.Schedule, m model.Machine) model.Machine {
	if len(p.Queues) == 1 && m.Buffers == model.InOrder && m.Dispatch == model.Serial {
		m.Slots, m.Device = 0, model.Shared
	}
	waits := false
	encoded(p, func(gpu bool, c *model.Command) { waits = waits || gpu && c.Op == model.OpWait })
	if p.FromGraph && !waits {
		m.SpinLimit, m.Slots = 0, 0
		m.CPUToGPU = model.Visibility{Mode: model.VisImmediate}
	}
	if p.FromGraph && !hasFences(p) {
		m.GPUToCPU, m.Store = model.Visibility{Mode: model.VisImmediate}, model.StorePlain
	}
	return m
}

// plainMachine says which assumption leaves the simple machine: buffers in order, one
// command at a time, nothing limited, given up or killed.
func plainMachine(m model.Machine) string {
	switch {
	case m.Buffers != model.InOrder:
		return "buffers overlap"
	case m.Dispatch != model.Serial:
		return "concurrent dispatch"
	case m.Device != model.Shared:
		return "an exclusive device"
	case m.Slots > 0:
		return "a limited number of slots"
	case m.InFlight > 0:
		return "a limit of buffers in flight"
	case m.SpinLimit > 0:
		return "a spin limit"
	case m.Watchdog != model.WatchdogOff:
		return "a watchdog"
	}
	return ""
}

// hasFences reports whether some command of a graph's schedule stores to a fence.
func hasFences(p *model.Schedule) bool {
	has := false
	encoded(p, func(_ bool, c *model.Command) { has = has || c.Stores() })
	return has
}

// prompt reports whether every GPU store that was executed is sure to be seen, whatever
// else happens, and what is seen only grows.
func prompt(m model.Machine) bool {
	return m.GPUToCPU.Mode == model.VisImmediate || m.GPUToCPU.Mode == model.VisUnordered && m.Store == model.StoreMax
}

// steady says which assumption leaves the machine on which the least unfinished command is
// enabled once it is committed: nothing that it needs is limited, its stores are in order.
func steady(p *model.Schedule, m model.Machine) string {
	fences := hasFences(p)
	switch {
	case m.Dispatch != model.Serial:
		return "concurrent dispatch"
	case m.Buffers != model.InOrder && fences && m.Tracking != model.TrackAll && m.Store != model.StoreMax:
		return "buffers overlap, so that stores may overtake each other"
	case m.Device != model.Shared:
		return "an exclusive device"
	case m.Slots > 0:
		return "a limited number of slots"
	case m.InFlight > 0 && len(p.Queues) > 1:
		return "a limit of buffers in flight on several queues"
	case m.Memory > 0:
		return "a limited memory"
	case m.SpinLimit > 0:
		return "a spin limit"
	case m.Watchdog == model.WatchdogAny, m.Watchdog != model.WatchdogOff && m.AfterKill == model.Ignore:
		return "a watchdog"
	case m.CPUToGPU.Mode != model.VisImmediate:
		return "nothing guarantees that CPU stores are seen"
	case fences && !prompt(m):
		return "stores of the GPU are seen late"
	case !p.FromGraph:
		return "an explicit schedule"
	}
	if m.Watchdog != model.WatchdogOff {
		if m.Buffers != model.InOrder {
			return "a watchdog"
		}
		if why := certifyKills(p); why != "" {
			return why
		}
	}
	return ""
}

// certifyOrder is the encode-order certificate (semantics section 9). Give every command
// the position at which the main thread encodes it. Queues and streams run in that order or
// tracking keeps to it, every wait refers to updates encoded before it, and a store is sure
// to be seen; so the least unfinished command can always run once it is committed: what its
// buffer waits for is encoded before it and done. The main thread commits what is open
// before it blocks in the throttle. If it blocks because too many buffers of its only queue
// are unfinished, the least unfinished command is in one of them or a task. A kill that can
// drop no update only ends a wait.
func certifyOrder(p *model.Schedule, m model.Machine) string {
	if why := steady(p, m); why != "" {
		return why
	}
	scheduled := map[model.Sym]uint32{}
	why := ""
	encoded(p, func(gpu bool, c *model.Command) {
		switch c.Op {
		case model.OpUpdate, model.OpSignal:
			scheduled[c.Name] = max(scheduled[c.Name], c.Value)
		case model.OpWait, model.OpAwait:
			if c.Late {
				why = "the target of a wait grows"
			} else if c.Value > scheduled[c.Name] && why == "" {
				why = fmt.Sprintf("%s refers to updates encoded after it", c.Text(&p.Names))
			}
		case model.OpSend, model.OpRecv:
			why = "send and recv"
		}
	})
	return why
}

// certifyLate extends the encode-order certificate to targets that grow, on one queue in
// order and one CPU stream. In a stuck state every target is what the main thread has
// scheduled by then. The queue stands at a wait, and all updates before it have run, for a
// kill drops none. While that wait is unfinished no buffer behind it finishes, so that no more counted buffers can be committed behind it than the throttle lets pass:
// its limit, one more, and one for each counted task that may still run. If the size rule
// forces more than that, and one for each time the throttle can cut, between every such
// wait and the next update of the queue behind it, then the main thread never reaches that
// update: all updates scheduled are encoded before the wait, and have run. So the tasks
// run, and then the wait is satisfied.
func certifyLate(p *model.Schedule, m model.Machine) string {
	switch {
	case len(p.Queues) != 1 || len(p.Streams) > 1:
		return "several queues or CPU streams"
	case m.Buffers != model.InOrder:
		return "buffers overlap"
	}
	if why := steady(p, m); why != "" {
		return why
	}
	why, tasks, limit := "", int32(0), int32(0)
	scheduled := map[model.Sym]uint32{}
	encoded(p, func(_ bool, c *model.Command) {
		switch c.Op {
		case model.OpUpdate, model.OpSignal:
			scheduled[c.Name] = max(scheduled[c.Name], c.Value)
		case model.OpWait, model.OpAwait:
			if !c.Late && c.Value > scheduled[c.Name] {
				why = "a wait refers to an update encoded after it"
			}
		case model.OpSend, model.OpRecv:
			why = "send and recv"
		}
	})
	for i := range p.Streams {
		for _, c := range p.Streams[i].Counted {
			tasks += int32(c)
		}
	}
	for _, st := range p.Main {
		switch st.Kind {
		case model.StepThrottle:
			limit = max(limit, st.N)
		case model.StepSynchronize:
			why = "several evals"
		}
	}
	if why != "" {
		return why
	}
	q := &p.Queues[0]
	needed := (limit + 1 + tasks) + (tasks + 1) // counted buffers, and cuts of the throttle
	next := -1
	for i := len(q.Commands) - 1; i >= 0; i-- {
		switch c := &q.Commands[i]; c.Op {
		case model.OpUpdate, model.OpSignal:
			next = i
		case model.OpWait, model.OpAwait:
			if next >= 0 && !forcedBetween(q, i, next, needed) {
				return fmt.Sprintf("the main thread may come to an update behind %s while that lasts", c.Text(&p.Names))
			}
		}
	}
	return ""
}

// forcedBetween reports whether the size rule ends more than n buffers between commands
// from and to even if a buffer starts at from.
func forcedBetween(q *model.Queue, from, to int, n int32) bool {
	for at := from; n >= 0; n-- {
		end := q.Forced[at]
		if int(end) > to {
			return false
		}
		at = int(end)
	}
	return true
}

// encoded calls f for every command and task of a graph's schedule in encode order.
func encoded(p *model.Schedule, f func(gpu bool, c *model.Command)) {
	queues, streams := make([]int, len(p.Queues)), make([]int, len(p.Streams))
	for i := range p.Main {
		switch st := &p.Main[i]; st.Kind {
		case model.StepEncode, model.StepUpdate:
			for ; queues[st.Target] < int(st.N); queues[st.Target]++ {
				f(true, &p.Queues[st.Target].Commands[queues[st.Target]])
			}
		case model.StepTask:
			for ; streams[st.Target] < int(st.N); streams[st.Target]++ {
				f(false, &p.Streams[st.Target].Tasks[streams[st.Target]])
			}
		}
	}
}

// certifyMonotone reports whether no view of a graph's fences can fall: the updates of a
// stream have growing values and run in order, and arrive in order or take the maximum.
func certifyMonotone(p *model.Schedule, m model.Machine) bool {
	if m.Store == model.StoreMax || !hasFences(p) {
		return true
	}
	inOrder := m.Buffers == model.InOrder || m.Tracking == model.TrackAll
	return inOrder && m.Dispatch == model.Serial && m.GPUToCPU.Mode != model.VisUnordered
}

// certifyUnblocked shows that nothing hangs when unsatisfied waits of queues end by
// themselves, because they give up or their buffer is killed, as long as no kill can drop
// an update that the CPU waits for: the queues always run on, every update of a queue runs
// and is seen, so that every task runs, whatever the targets.
func certifyUnblocked(p *model.Schedule, m model.Machine) string {
	ends := m.SpinLimit > 0 && m.Watchdog == model.WatchdogOff || m.Watchdog == model.WatchdogMust && m.AfterKill == model.GoOn && m.SpinLimit == 0
	switch {
	case !ends:
		return "waits of queues may last"
	case m.Device != model.Shared || m.InFlight > 0 || m.Slots > 0 || !p.FromGraph:
		return "something is limited"
	case m.Buffers != model.InOrder || m.Dispatch != model.Serial:
		return "commands of a queue may run beside each other"
	case m.GPUToCPU.Mode == model.VisUnreliable || m.GPUToCPU.Mode == model.VisUnordered && m.Store != model.StoreMax:
		return "an update may not be seen"
	}
	total, awaited := map[model.Sym]uint32{}, map[model.Sym]uint32{}
	why, ahead := "", false // ahead: a task waits for an update that is encoded after it
	encoded(p, func(gpu bool, c *model.Command) {
		switch c.Op {
		case model.OpUpdate, model.OpSignal:
			total[c.Name] = max(total[c.Name], c.Value)
		case model.OpAwait, model.OpWait:
			if gpu && c.Op == model.OpAwait && m.SpinLimit > 0 {
				why = "a wait for an event does not give up"
			}
			if !gpu {
				ahead = ahead || c.Late || c.Value > total[c.Name]
				awaited[c.Name] = max(awaited[c.Name], c.Value)
			}
		case model.OpSend, model.OpRecv:
			why = "send and recv"
		}
	})
	for f, v := range awaited {
		if v > total[f] && why == "" {
			why = "a task waits for more updates than there are"
		}
	}
	if why == "" && ahead && throttledByTasks(p) {
		why = "tasks that wait for updates not yet encoded may keep the main thread in the throttle"
	}
	if why != "" || m.Watchdog == model.WatchdogOff {
		return why
	}
	return certifyKills(p)
}

// throttledByTasks reports whether CPU tasks alone can be more active tasks than the
// throttle lets pass.
func throttledByTasks(p *model.Schedule) bool {
	n := int32(0)
	for i := range p.Streams {
		for _, c := range p.Streams[i].Counted {
			n += int32(c)
		}
	}
	for _, st := range p.Main {
		if st.Kind == model.StepThrottle && n > st.N {
			return true
		}
	}
	return false
}

// certifyKills shows that no update shares a buffer with a wait before it: a buffer that
// starts with the wait is cut, by the size rule, before the update.
func certifyKills(p *model.Schedule) string {
	for i := range p.Queues {
		q := &p.Queues[i]
		wait := -1
		for j := range q.Commands {
			switch c := &q.Commands[j]; c.Op {
			case model.OpWait, model.OpAwait:
				wait = j
			case model.OpUpdate, model.OpSignal:
				if wait >= 0 && int(q.Forced[wait]) > j {
					return fmt.Sprintf("%s may share a buffer with a wait before it, and be dropped with it", c.Text(&p.Names))
				}
			}
		}
	}
	return ""
}

// certifyData shows that every read of a graph's schedule comes after the one write of its
// array, in whatever way the run goes: on the same queue or stream before it, or behind a
// wait for an update that follows the write. Each agent carries a clock of how far the
// others have certainly come; an update hands its writer's clock on. Where buffers overlap
// and are tracked, what a queue read or wrote itself is in order by that, its updates are
// too, and the write of an array stands right before the array's update; but what a wait
// shows holds only within its buffer, so for the commands of one step.
func certifyData(p *model.Schedule, m model.Machine) string {
	if !p.FromGraph {
		return "an explicit schedule"
	}
	overlap := m.Buffers != model.InOrder
	switch {
	case m.Dispatch != model.Serial:
		return "commands of a buffer may run beside each other"
	case overlap && m.Tracking != model.TrackAll:
		return "buffers may overtake each other"
	case m.SpinLimit > 0:
		return "a wait may give up"
	case m.Watchdog != model.WatchdogOff:
		return "a buffer may be killed"
	}
	n := len(p.Queues) + len(p.Streams)
	type place struct{ agent, at int32 }
	clocks := make([][]int32, n)
	for i := range clocks {
		clocks[i] = make([]int32, n)
	}
	written := make([]place, p.Names.Len())
	coherent := make([]place, p.Names.Len()) // the place from which the CPU sees a GPU write
	for i := range written {
		written[i], coherent[i] = place{-1, 0}, place{-1, 0}
	}
	for _, s := range p.Inputs {
		written[s] = place{0, 0}
		coherent[s] = place{0, 0}
	}
	updates := map[model.Sym][]int32{} // by fence: the clocks behind its updates, n entries each
	why := ""
	visit := func(agent int32, gpu bool, c *model.Command) {
		clock := clocks[agent]
		clock[agent]++
		switch c.Op {
		case model.OpWait, model.OpAwait:
			us := updates[c.Name]
			k := min(int(c.Value), len(us)/n) // no more are encoded yet
			if c.Late {
				k = len(us) / n
			}
			if k > 0 {
				for i, v := range us[(k-1)*n : k*n] {
					clock[i] = max(clock[i], v)
				}
			}
		case model.OpUpdate, model.OpSignal:
			updates[c.Name] = append(updates[c.Name], clock...)
		case model.OpCoherent:
			coherent[c.Name] = place{agent, clock[agent]}
		}
		if overlap && gpu && c.Op == model.OpSignal && why == "" {
			why = "signals are not tracked"
		}
		for _, r := range c.Reads {
			w := written[r.Array]
			if !gpu && m.Payload == model.PayloadCoherent {
				w = coherent[r.Array]
			}
			if (w.agent < 0 || clock[w.agent] < w.at) && why == "" {
				why = fmt.Sprintf("%s is read without a wait behind its write", p.Names.Of(r.Array))
			}
		}
		if c.Op == model.OpWait {
			return
		}
		for _, w := range c.Writes {
			written[w] = place{agent, clock[agent]}
			coherent[w] = place{-1, 0}
			if !gpu {
				coherent[w] = written[w]
			}
		}
	}
	queues, streams := make([]int, len(p.Queues)), make([]int, len(p.Streams))
	for i := range p.Main {
		switch st := &p.Main[i]; st.Kind {
		case model.StepEncode, model.StepUpdate:
			for i := range clocks[st.Target] {
				if overlap && i != int(st.Target) {
					clocks[st.Target][i] = 0
				}
			}
			for ; queues[st.Target] < int(st.N); queues[st.Target]++ {
				visit(st.Target, true, &p.Queues[st.Target].Commands[queues[st.Target]])
			}
		case model.StepTask:
			for ; streams[st.Target] < int(st.N); streams[st.Target]++ {
				visit(int32(len(p.Queues))+st.Target, false, &p.Streams[st.Target].Tasks[streams[st.Target]])
			}
		}
	}
	return why
}
