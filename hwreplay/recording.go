package hwreplay

import (
	"slices"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// event is one transition of a run. Package sim has the same transition, but for Possible
// and, of an arrival, Cmd, for which the words stand.
type event struct {
	ns   int64 // when, as the recording tells
	from int64 // not before
	to   int64 // and not after
	took int64 // commands of a GPU: for how long
	t    sim.Transition
	test throttleTest
	text string // visible: sim's words
	seen []int  // throttle tests: finished buffers of each queue and tasks done of each stream
	// A main thread whose choices are imposed blocks though the device may be ahead of the
	// trace, and less be active than the model asks for. In the model it comes as early as it can.
	eager bool
	over  int64 // the end of a buffer: when it was seen; of a command of the CPU: its number, from 1; 0: neither
}

// throttleTest is what a throttle step found.
type throttleTest uint8

const (
	untested    throttleTest = iota // not a throttle's test
	contested                       // too many active tasks
	uncontested                     // not
)

// A Step is one transition of a recording: who, what, and when in nanoseconds since the
// run began. Times of a GPU are converted with the measured offset of its clock.
type Step struct {
	Agent string `json:"agent"`
	Step  string `json:"step"`
	NS    int64  `json:"ns"`
}

// ever is a time after every run.
const ever = int64(1 << 62)

// gpuTime converts a time of a rank's device.
func (x *run) gpuTime(rank int, t uint64) int64 {
	return int64(t) - x.offset[rank].offset - x.begun
}

// chains are the recorded events, in one list for each agent, buffer or command whose
// events are ordered among themselves. The recording must have ended ([run.freeze]).
func (x *run) chains() [][]event {
	var out [][]event
	add := func(list []event) {
		if len(list) > 0 {
			out = append(out, list)
		}
	}
	for _, a := range x.agents {
		if n := len(a.log); n > 0 && a.log[n-1].eager && a.log[n-1].test == contested {
			a.log[n-1].to = ever // it still blocks: what was active then is so now
		}
		add(a.log)
	}
	for _, f := range x.fences {
		add(f.log)
	}
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			var all []event
			for _, b := range q.buffers {
				list := x.bufferEvents(q, b)
				if x.plan.Machine.Buffers == model.Overlap || x.plan.Machine.Dispatch == model.Concurrent {
					for _, l := range list {
						add(l)
					}
					continue
				}
				for _, l := range list {
					all = append(all, l...)
				}
			}
			add(all)
		}
		rk.mu.Unlock()
	}
	return out
}

// bufferEvents are the events of a buffer: its start and serial commands in one list,
// the commands of concurrent sections in lists of their own, its end.
func (x *run) bufferEvents(q *runQueue, b *buffer) [][]event {
	rank := x.plan.agents[q.agent].rank
	doubt := x.offset[rank].doubt
	if !b.submitted {
		return nil
	}
	start := x.m.result(b.batch.Start).Load()
	if !start.Outcome.Ended() {
		return nil
	}
	at := func(k sim.Kind, c int) sim.Transition {
		return sim.Transition{Kind: k, Agent: q.agent, Buffer: int32(b.index), Cmd: int32(c)}
	}
	last := x.gpuTime(rank, start.Begin)
	first := []event{{ns: last, from: b.sent, to: last + doubt, t: at(sim.KindStart, 0)}}
	out := [][]event{first}
	concurrent := x.plan.Machine.Dispatch == model.Concurrent
	killed := false
	for pc := b.lo; pc < b.hi && !killed; {
		end := x.plan.sectionEnd(q.source, q.info, pc, b.hi)
		latest, whole := last, true
		for c := pc; c < end; c++ {
			list, done := x.commandEvents(q, b, c, last)
			whole = whole && done
			for i := range list {
				latest = max(latest, list[i].ns)
			}
			if q.info[c].Op == model.OpFail {
				killed = true
				if done && b.finished {
					list[len(list)-1].over = b.seen
				}
			}
			if concurrent {
				out = append(out, list)
			} else {
				out[0] = append(out[0], list...)
			}
		}
		last = latest
		if !whole {
			// Of a buffer that was killed nothing behind this has run.
			killed = true
			break
		}
		pc = end
	}
	finish := x.m.result(b.batch.Finish).Load()
	if finish.Outcome.Ended() && b.finished {
		end := x.gpuTime(rank, finish.End)
		e := event{ns: max(last, end), from: end - doubt, to: b.seen, over: b.seen, t: at(sim.KindFinish, 0)}
		switch {
		case b.killed.Load() && killed:
			e.t.Kind, e.from = sim.KindKill, b.sent
		case killed: // a command that failed has ended the buffer
			return out
		}
		if concurrent {
			out = append(out, []event{e})
		} else {
			out[0] = append(out[0], e)
		}
	}
	return out
}

// commandEvents are the events of command c of a buffer that could begin at last, and
// whether it has ended.
func (x *run) commandEvents(q *runQueue, b *buffer, c int, last int64) ([]event, bool) {
	rank := x.plan.agents[q.agent].rank
	at := func(k sim.Kind) sim.Transition {
		return sim.Transition{Kind: k, Agent: q.agent, Buffer: int32(b.index), Cmd: int32(c)}
	}
	op := q.info[c].Op
	if silent(op) {
		return []event{{ns: last, from: last - x.offset[rank].doubt, to: ever, t: at(sim.KindRun)}}, true
	}
	var out []event
	res := x.m.result(x.layout.queues[q.agent].results[c]).Load()
	begin, end := x.gpuTime(rank, res.Begin), x.gpuTime(rank, res.End)
	within := event{from: begin - x.offset[rank].doubt, to: ever}
	if res.Outcome.Ended() {
		within.to = end + x.offset[rank].doubt
	}
	when := func(ns int64, k sim.Kind) event {
		e := within
		e.ns, e.t = ns, at(k)
		return e
	}
	slots := x.plan.Machine.Slots > 0
	if x.layout.queues[q.agent].calls[c] >= 0 {
		if slots && op == model.OpWait && tookSlot(res) {
			out = append(out, when(begin, sim.KindTake))
		}
		for _, a := range b.callers {
			for _, e := range a.log {
				if int(e.t.Cmd) == c {
					out = append(out, e)
				}
			}
		}
		passed := len(out) > 0 && ends(out[len(out)-1].t.Kind)
		if !passed && res.Outcome == kernels.OutOfTime {
			return append(out, when(end, sim.KindGiveUp)), true
		}
		return out, passed || res.Outcome == kernels.Passed
	}
	if slots && op == model.OpWait && tookSlot(res) {
		out = append(out, when(begin, sim.KindTake))
	}
	switch res.Outcome {
	case kernels.Passed:
		guarded := q.info[c].Store == model.StoreGuarded && (op == model.OpUpdate || op == model.OpRelease)
		if guarded {
			out = append(out, when(begin, sim.KindRead))
		}
		run := when(end, sim.KindRun)
		run.took = end - begin
		return append(out, run), true
	case kernels.OutOfTime, kernels.GaveUp:
		return append(out, when(end, sim.KindGiveUp)), true
	}
	return out, false
}

// tookSlot reports whether a wait has got as far as to poll.
func tookSlot(r kernels.Result) bool {
	return r.Outcome != kernels.NotBegun && !(r.Outcome == kernels.Killed && r.Polls == 0)
}

// words turns chains into a recording, in the order of time.
func (p *Plan) words(chains [][]event) []Step {
	type entry struct {
		e   event
		pos int
	}
	var all []entry
	for _, c := range chains {
		for _, e := range c {
			all = append(all, entry{e, len(all)})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		switch {
		case a.e.ns < b.e.ns:
			return -1
		case a.e.ns > b.e.ns:
			return 1
		}
		return a.pos - b.pos
	})
	out := make([]Step, len(all))
	for i, n := range all {
		text := n.e.text
		if text == "" {
			text = p.System.Describe(n.e.t)
		}
		out[i] = Step{p.System.Agent(n.e.t), text, n.e.ns}
	}
	return out
}
