package report

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A promelaMove is one transition of a command, from one of its phases to another.
type promelaMove struct {
	from, to int
	guard    []string
	do       []string
	// A rendezvous: the channel, ! or ? with the message, and what the agent does in the
	// same step (recv) or in a step of its own behind it (send).
	channel, message string
}

// Where a move may lead besides the next phases.
const (
	moveDone    = -1 // behind the command
	moveAbandon = -2 // the buffer ends here
)

// promelaActor is an agent whose commands are written.
type promelaActor struct {
	*promela
	agent int32
	rank  int32
	queue *promelaQueue // nil on the CPU
	// concurrent: the phase of a command is ph[index]
	ordinal func(i int) string // variable for the ordinal of a collective
}

func (p *promela) actor(a int32) *promelaActor {
	return &promelaActor{p, a, p.y.RankOf(a), p.queues[a], func(int) string { return "ord" }}
}

func (a *promelaActor) gpu() bool { return a.queue != nil }

func (a *promelaActor) view(f int32) string {
	if a.gpu() {
		return a.fences[f].gpu
	}
	return a.fences[f].cpu
}

// satisfied is the condition under which a wait, park or await passes.
func (a *promelaActor) satisfied(c *sim.CommandInfo) string {
	if c.Op == model.OpAwait {
		return fmt.Sprintf("%s >= %d", a.events[c.Object], c.Value)
	}
	f := &a.fences[c.Object]
	op := ">="
	if c.Equal {
		op = "=="
	}
	return fmt.Sprintf("%s %s %d", a.view(c.Object), op, f.number(c.Value))
}

// moves lists the transitions of command i in the order of its phases.
func (a *promelaActor) moves(i int) []promelaMove {
	c := &a.info[a.agent][i]
	slotted := a.gpu() && a.ranks[a.rank].used != ""
	used := a.ranks[a.rank].used
	var free, take, give []string
	if slotted {
		free = []string{fmt.Sprintf("%s < %d", used, a.m.Slots)}
		take = []string{fmt.Sprintf("%s = %s + 1", used, used)}
		give = []string{fmt.Sprintf("%s = %s - 1", used, used)}
	}
	one := func(guard, do []string) []promelaMove {
		return []promelaMove{{to: moveDone, guard: guard, do: do}}
	}
	switch c.Op {
	case model.OpKernel:
		return one(free, append(a.reads(i), a.writes(i)...))
	case model.OpUpdate, model.OpRelease:
		if promelaGuarded(c, a.gpu()) {
			view, v := a.view(c.Object), a.fences[c.Object].number(c.Value)
			return []promelaMove{
				{to: 1, guard: append(free, fmt.Sprintf("%s < %d", view, v))},
				{to: 2, guard: append(free, fmt.Sprintf("%s >= %d", view, v))},
				{from: 1, to: moveDone, guard: free, do: a.store(i)},
				{from: 2, to: moveDone, guard: free},
			}
		}
		return one(free, a.store(i))
	case model.OpAdd, model.OpReset:
		return one(free, a.store(i))
	case model.OpCoherent:
		if v := a.arrays[c.Object].visible; v != "" {
			return one(free, []string{v + " = 1"})
		}
		return one(free, nil)
	case model.OpSignal:
		if e := a.events[c.Object]; e != "" {
			return one(free, []string{fmt.Sprintf("%s = (%s < %d -> %d : %s)", e, e, c.Value, c.Value, e)})
		}
		return one(free, nil)
	case model.OpAwait:
		return one([]string{a.satisfied(c)}, nil)
	case model.OpWait:
		var ms []promelaMove
		spins := 0
		if slotted {
			ms, spins = append(ms, promelaMove{to: 1, guard: free, do: take}), 1
		}
		ms = append(ms, promelaMove{from: spins, to: moveDone, guard: []string{a.satisfied(c)}, do: give})
		if a.gpu() && a.m.SpinLimit > 0 {
			ms = append(ms, promelaMove{from: spins, to: moveDone, guard: []string{"!(" + a.satisfied(c) + ")"}, do: give})
		}
		return ms
	case model.OpPark:
		sleeping := a.asleep[[2]int32{a.agent, int32(i)}]
		yes, no := a.satisfied(c), "!("+a.satisfied(c)+")"
		return []promelaMove{
			{to: moveDone, guard: []string{yes}},
			{to: 1, guard: []string{no}},
			{from: 1, to: 2, do: []string{sleeping + " = 1"}},
			{from: 2, to: moveDone, guard: []string{"!" + sleeping, yes}},
			{from: 2, to: 1, guard: []string{"!" + sleeping, no}},
		}
	case model.OpNotify:
		return one(nil, a.wake(c.Object))
	case model.OpCollective:
		return a.collective(i, free, take, give)
	case model.OpSend, model.OpRecv:
		return a.transport(i, slotted, free, take, give)
	case model.OpAlloc:
		if mem := a.ranks[a.rank].memory; mem != "" {
			return one([]string{fmt.Sprintf("%s + %d <= %d", mem, c.Value, a.m.Memory)}, []string{fmt.Sprintf("%s = %s + %d", mem, mem, c.Value)})
		}
	case model.OpDealloc:
		if mem := a.ranks[a.rank].memory; mem != "" {
			return one(nil, []string{fmt.Sprintf("%s = (%s < %d -> 0 : %s - %d)", mem, mem, c.Value, mem, c.Value)})
		}
	case model.OpIdle:
		var idle []string
		lo, hi := a.y.AgentsOf(a.rank)
		for _, q := range a.queues[lo:hi] {
			if q != nil {
				idle = append(idle, q.finished+" == "+q.committed)
			}
		}
		return one(idle, nil)
	case model.OpFail:
		if a.gpu() {
			return []promelaMove{{to: moveAbandon}}
		}
	case model.OpDie:
		return one(nil, []string{a.ranks[a.rank].dead + " = 1"})
	}
	return one(nil, nil)
}

// stale is the condition under which command i would read something stale; "" if none.
func (a *promelaActor) stale(i int) string {
	if !a.o.Stale {
		return ""
	}
	c := &a.info[a.agent][i]
	var parts []string
	for k, r := range c.Reads {
		ar := &a.arrays[r]
		parts = append(parts, fmt.Sprintf("%s < %d", ar.version, max(1, a.y.ReadVersion(a.agent, int32(i), k))))
		if ar.visible != "" && !a.gpu() {
			parts = append(parts, "!"+ar.visible)
		}
	}
	return strings.Join(parts, " || ")
}

func (a *promelaActor) reads(i int) []string {
	if s := a.stale(i); s != "" {
		return []string{"assert(!(" + s + "))"}
	}
	return nil
}

func (a *promelaActor) writes(i int) []string {
	if !a.o.Stale {
		return nil
	}
	c := &a.info[a.agent][i]
	var do []string
	for _, w := range c.Writes {
		ar := &a.arrays[w]
		if ar.most == 1 {
			do = append(do, ar.version+" = 1")
		} else {
			do = append(do, fmt.Sprintf("%s = (%s < %d -> %s + 1 : %s)", ar.version, ar.version, ar.most, ar.version, ar.version))
		}
		if ar.visible == "" {
			continue
		}
		if a.gpu() {
			do = append(do, ar.visible+" = 0", fmt.Sprintf("%s = %d", ar.writer, a.queue.writer[c.Buffer]))
		} else {
			do = append(do, ar.visible+" = 1", ar.writer+" = 0")
		}
	}
	return do
}

// applied is a store's effect on one view; nil if the view is not kept.
func (p *promela) applied(c *sim.CommandInfo, gpu bool, view string) []string {
	if view == "" {
		return nil
	}
	f := &p.fences[c.Object]
	v := f.number(c.Value)
	switch {
	case c.Op == model.OpAdd:
		return []string{fmt.Sprintf("%s = %s + %d", view, view, c.Value)}
	case gpu && c.Op != model.OpReset && c.Store == model.StoreMax:
		return []string{fmt.Sprintf("%s = (%s < %d -> %d : %s)", view, view, v, v, view)}
	}
	return []string{fmt.Sprintf("%s = %d", view, v)}
}

// store is the execution of a store: the own view now, the other now or when it arrives.
func (a *promelaActor) store(i int) []string {
	c := &a.info[a.agent][i]
	f := &a.fences[c.Object]
	own, other, way, list := f.cpu, f.gpu, f.wayGPU, f.toGPU
	delayed := a.m.CPUToGPU.Mode != model.VisImmediate
	if a.gpu() {
		own, other, way, list = f.gpu, f.cpu, f.wayCPU, f.toCPU
		delayed = a.m.GPUToCPU.Mode != model.VisImmediate
	}
	do := a.applied(c, a.gpu(), own)
	switch {
	case !delayed:
		if other != own {
			do = append(do, a.applied(c, a.gpu(), other)...)
		}
	case other != "":
		for k := range list {
			if list[k].agent != a.agent || list[k].cmd != int32(i) {
				continue
			}
			if list[k].bit != "" {
				do = append(do, list[k].bit+" = 1")
			} else {
				do = append(do, fmt.Sprintf("%s!%d", way, k+1))
			}
		}
	}
	return do
}

// wake wakes every agent that sleeps on fence f.
func (a *promelaActor) wake(f int32) []string {
	var do []string
	for agent := range a.info {
		for i := range a.info[agent] {
			if c := &a.info[agent][i]; c.Op == model.OpPark && c.Object == f {
				do = append(do, a.asleep[[2]int32{int32(agent), int32(i)}]+" = 0")
			}
		}
	}
	return do
}

// collective is arrive and leave.
func (a *promelaActor) collective(i int, free, take, give []string) []promelaMove {
	c := &a.info[a.agent][i]
	g := &a.groups[c.Object]
	arrive := promelaMove{to: 1, guard: free, do: append(a.reads(i), take...)}
	leave := promelaMove{from: 1, to: moveDone, do: append(give, a.writes(i)...)}
	if g.arrived != "" {
		nth := a.ordinal(i)
		if g.fixed {
			k := 0
			for j := range a.info[a.agent][:i] {
				if d := &a.info[a.agent][j]; d.Op == model.OpCollective && d.Object == c.Object {
					k++
				}
			}
			nth = fmt.Sprint(k)
			arrive.do = append(arrive.do, fmt.Sprintf("%s = %d", g.arrived, k+1))
		} else {
			arrive.do = append(arrive.do, fmt.Sprintf("%s = %s", nth, g.arrived), fmt.Sprintf("%s = %s + 1", g.arrived, g.arrived))
			leave.do = append(leave.do, nth+" = 0")
		}
		for _, o := range g.peers {
			switch {
			case o < 0:
				leave.guard = append(leave.guard, "false")
			case o != c.Object:
				leave.guard = append(leave.guard, fmt.Sprintf("%s > %s", a.groups[o].arrived, nth))
			}
		}
	} else if len(a.ranks) > 1 {
		leave.guard = append(leave.guard, "false")
	}
	return []promelaMove{arrive, leave}
}

// transport is send or recv.
func (a *promelaActor) transport(i int, slotted bool, free, take, give []string) []promelaMove {
	c := &a.info[a.agent][i]
	name := a.y.Programs[a.rank].Names.Of(a.src[a.agent][i].Name)
	key := [2]int32{a.rank, c.Peer}
	if c.Op == model.OpRecv {
		key = [2]int32{c.Peer, a.rank}
	}
	var ms []promelaMove
	meets := promelaMove{to: moveDone}
	if slotted {
		ms = append(ms, promelaMove{to: 1, guard: free, do: take})
		meets.from = 1
	}
	id, n := a.pairs[key], a.message(name)
	switch {
	case a.m.Transport.Buffered > 0 && c.Op == model.OpSend:
		meets.guard = []string{fmt.Sprintf("nfull(%s)", id)}
		meets.do = append(append(a.reads(i), give...), fmt.Sprintf("%s!%d", id, n))
	case a.m.Transport.Buffered > 0:
		meets.guard = []string{fmt.Sprintf("%s?[%d]", id, n)}
		meets.do = append(append([]string{fmt.Sprintf("%s?%d", id, n)}, give...), a.writes(i)...)
	case c.Op == model.OpSend:
		meets.channel, meets.message, meets.do = id, fmt.Sprintf("!%d", n), give
		if a.o.Stale {
			s := a.stale(i)
			if s == "" {
				s = "0"
			}
			meets.message += ",(" + s + ")"
		}
	default:
		meets.channel, meets.message = id, fmt.Sprintf("?%d", n)
		if a.o.Stale {
			meets.message += ",stale"
			meets.do = []string{"assert(!stale)", "stale = 0"}
		}
		meets.do = append(append(meets.do, give...), a.writes(i)...)
	}
	return append(ms, meets)
}
