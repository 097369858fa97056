package naive

import (
	"slices"

	"github.com/fencesim/fencesim/model"
)

// commandSteps are the transitions of an agent at its command; those that join two agents
// are in handovers.
func (w *world) commandSteps(s *state, a agent) []transition {
	c, now, gpu := a.command, a.at(s), a.gpu()
	text := w.name(a)
	one := func(what string, do func(*state)) []transition { return []transition{{text + what, true, do}} }
	finish := func(do func(*state)) []transition {
		return one("", func(s *state) {
			do(s)
			a.complete(s)
		})
	}
	nothing := func(*state) {}
	slotless := gpu && !w.slotFree(s, a.rank)

	switch c.Op {
	case model.OpBarrier, model.OpEncoder:
		if gpu && !w.earlierDone(s, a) {
			return nil
		}
		return finish(nothing)
	case model.OpKernel:
		if slotless {
			return nil
		}
		return finish(func(s *state) {
			w.checkReads(s, a)
			w.write(s, a)
		})
	case model.OpCoherent:
		if slotless {
			return nil
		}
		return finish(func(s *state) { s.arrays[w.array(a.rank, c.Name)].unhide() })
	case model.OpUpdate, model.OpRelease, model.OpAdd, model.OpReset:
		if slotless {
			return nil
		}
		return w.storeSteps(s, a, one)
	case model.OpFree:
		return finish(func(s *state) { s.fences[w.fence(a.rank, c)].freed = true })
	case model.OpWait:
		return w.waitSteps(s, a, one)
	case model.OpPark:
		return w.parkSteps(s, a, one)
	case model.OpNotify:
		return finish(func(s *state) {
			for _, b := range w.agents(s) {
				if b.command.Op == model.OpPark && w.fence(b.rank, b.command) == w.fence(a.rank, c) && b.at(s).phase == asleep {
					b.at(s).phase = 0
				}
			}
		})
	case model.OpSignal:
		if slotless || gpu && !w.earlierDone(s, a) {
			return nil
		}
		return finish(func(s *state) {
			e := &s.events[w.event(a.rank, c)]
			*e = max(*e, c.Value)
		})
	case model.OpAwait:
		if !w.satisfied(s, a) {
			return nil
		}
		return finish(nothing)
	case model.OpCollective:
		return w.collectiveSteps(s, a, one)
	case model.OpSend, model.OpRecv:
		if gpu && w.m.Slots > 0 && !now.slot && !slotless {
			return one(" takes a slot", func(s *state) { a.at(s).slot = true })
		}
		return nil
	case model.OpAlloc:
		if w.m.Memory > 0 && s.ranks[a.rank].memory+int(c.Value) > w.m.Memory {
			return nil
		}
		return finish(func(s *state) {
			if w.m.Memory > 0 {
				s.ranks[a.rank].memory += int(c.Value)
			}
		})
	case model.OpDealloc:
		return finish(func(s *state) { s.ranks[a.rank].memory = max(0, s.ranks[a.rank].memory-int(c.Value)) })
	case model.OpIdle:
		for q := range s.ranks[a.rank].queues {
			if !allFinished(s.ranks[a.rank].queues[q].buffers) {
				return nil
			}
		}
		return finish(nothing)
	case model.OpFail:
		if !gpu {
			return finish(nothing)
		}
		return one("", func(s *state) {
			cs := s.ranks[a.rank].queues[a.owner].buffers[a.buffer].commands
			for i := range cs {
				cs[i] = progress{done: true}
			}
		})
	case model.OpDie:
		return one("", func(s *state) { s.ranks[a.rank].end() })
	}
	return nil
}

// earlierDone reports whether all earlier commands of a's buffer are done.
func (w *world) earlierDone(s *state, a agent) bool {
	cs := s.ranks[a.rank].queues[a.owner].buffers[a.buffer].commands
	return !slices.ContainsFunc(cs[:a.index], func(p progress) bool { return !p.done })
}

// halfway is the phase of a guarded update that has read.
const halfway = 1

// storeSteps are the transitions of a command that stores to a fence.
func (w *world) storeSteps(s *state, a agent, one func(string, func(*state)) []transition) []transition {
	c := a.command
	f := w.fence(a.rank, c)
	x := store{value: c.Value, rank: a.rank, queue: a.owner, buffer: a.buffer}
	switch c.Op {
	case model.OpAdd:
		x.kind = increment
	case model.OpReset:
		x.kind = resetting
	}
	if !a.gpu() {
		return one("", func(s *state) {
			w.storeCPU(s, f, x)
			a.complete(s)
		})
	}
	rule := model.StorePlain
	if isUpdate(c) {
		rule = w.rule(f)
	}
	if rule == model.StoreMax {
		x.kind = maximum
	}
	if rule != model.StoreGuarded {
		return one("", func(s *state) {
			w.storeGPU(s, f, x)
			a.complete(s)
		})
	}
	if a.at(s).phase != halfway {
		return one(" reads", func(s *state) {
			if s.fences[f].freed {
				s.violate("use-after-free")
			}
			a.at(s).phase, a.at(s).read = halfway, s.fences[f].gpu
		})
	}
	return one(" stores if smaller", func(s *state) {
		if a.at(s).read < c.Value {
			if s.fences[f].gpu > c.Value {
				s.violate("lost-update")
			}
			w.storeGPU(s, f, x)
		}
		a.complete(s)
	})
}

// waitSteps: take a slot, pass, give up.
func (w *world) waitSteps(s *state, a agent, one func(string, func(*state)) []transition) []transition {
	if a.gpu() && w.m.Slots > 0 && !a.at(s).slot {
		if !w.slotFree(s, a.rank) {
			return nil
		}
		return one(" takes a slot", func(s *state) { a.at(s).slot = true })
	}
	leave := func(s *state) {
		if s.fences[w.fence(a.rank, a.command)].freed {
			s.violate("use-after-free")
		}
		a.complete(s)
	}
	switch {
	case w.satisfied(s, a):
		return one(" passes", leave)
	case a.gpu() && w.m.SpinLimit > 0:
		return one(" gives up", leave)
	}
	return nil
}

// The phases of park. It begins with a test.
const (
	drowsy = 1 // tested in vain, not yet asleep
	asleep = 2
)

func (w *world) parkSteps(s *state, a agent, one func(string, func(*state)) []transition) []transition {
	switch a.at(s).phase {
	case drowsy:
		return one(" falls asleep", func(s *state) { a.at(s).phase = asleep })
	case asleep:
		return nil
	}
	return one(" tests", func(s *state) {
		if s.fences[w.fence(a.rank, a.command)].freed {
			s.violate("use-after-free")
		}
		if w.satisfied(s, a) {
			a.complete(s)
			return
		}
		a.at(s).phase = drowsy
	})
}

// arrived is the phase of a collective between its two transitions.
const arrived = 1

func (w *world) collectiveSteps(s *state, a agent, one func(string, func(*state)) []transition) []transition {
	g := w.groupOf[w.groupName(a.rank, w.ownerName(a), a.command)]
	if a.at(s).phase != arrived {
		if a.gpu() && !w.slotFree(s, a.rank) {
			return nil
		}
		return one(" arrives", func(s *state) {
			w.checkReads(s, a)
			here := &s.arrived[g][a.rank]
			*here = append(*here, w.ranks[a.rank].Names.Of(a.command.Name))
			nth := len(*here) - 1
			for _, there := range s.arrived[g] {
				if nth < len(there) && there[nth] != (*here)[nth] {
					s.violate("order-mismatch")
				}
			}
			*a.at(s) = progress{phase: arrived, nth: nth, slot: a.gpu() && w.m.Slots > 0}
		})
	}
	for _, there := range s.arrived[g] {
		if len(there) <= a.at(s).nth {
			return nil
		}
	}
	return one(" leaves", func(s *state) {
		w.write(s, a)
		a.complete(s)
	})
}

// handovers are the transitions of send and recv that may happen now.
func (w *world) handovers(s *state, agents []agent) []transition {
	var ts []transition
	n := len(w.ranks)
	ready := func(a agent, op model.Op) bool {
		return a.command.Op == op && (!a.gpu() || w.m.Slots == 0 || a.at(s).slot)
	}
	peer := func(a agent) int { return a.command.Rank.Resolve(a.rank, n) }
	name := func(a agent) string {
		if w.ranks[a.rank].FromGraph {
			return "" // the two nodes have names of their own
		}
		return w.ranks[a.rank].Names.Of(a.command.Name)
	}
	add := func(text string, does ...agent) {
		ts = append(ts, transition{text, true, func(s *state) {
			for _, a := range does {
				w.checkReads(s, a)
			}
			for _, a := range does {
				w.write(s, a)
				on := &s.channels[a.rank*n+peer(a)]
				switch {
				case w.m.Transport.Buffered == 0:
				case a.command.Op == model.OpSend:
					*on = append(*on, name(a))
				default:
					on = &s.channels[peer(a)*n+a.rank]
					*on = (*on)[1:]
				}
				a.complete(s)
			}
		}})
	}
	for _, a := range agents {
		switch {
		case w.m.Transport.Buffered > 0 && ready(a, model.OpSend):
			if len(s.channels[a.rank*n+peer(a)]) < w.m.Transport.Buffered {
				add(w.name(a), a)
			}
		case w.m.Transport.Buffered > 0 && ready(a, model.OpRecv):
			if on := s.channels[peer(a)*n+a.rank]; len(on) > 0 && on[0] == name(a) {
				add(w.name(a), a)
			}
		case ready(a, model.OpSend):
			for _, b := range agents {
				if ready(b, model.OpRecv) && peer(a) == b.rank && peer(b) == a.rank && name(a) == name(b) {
					add(w.name(a)+" meets "+w.name(b), a, b)
				}
			}
		}
	}
	return ts
}
