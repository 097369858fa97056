package sim

import "github.com/fencesim/fencesim/model"

// listeners says whose enabled transitions a change may concern.
type listeners struct {
	waiting   [][]int32 // by fence: agents that wait for it or park on it
	awaiting  [][]int32 // by event
	meeting   [][]int32 // by the first part of a group: agents of all ranks with a collective of it
	sending   [][]int32 // by rank: agents that send to it
	receiving [][]int32 // by rank: agents that receive from it
	idling    [][]int32 // by rank: its agents that wait for an idle device
	late      [][]int32 // by rank: its agents with a target that grows
	receives  []bool    // by agent: it receives by joint transitions
	issues    [][]int32 // by agent: fences whose stores it sends on their way
	handler   map[place]int32
}

// place is a buffer of a queue's agent.
type place struct{ agent, buffer int32 }

// join appends a to a list in ascending order that may end in it.
func join(l []int32, a int32) []int32 {
	if len(l) > 0 && l[len(l)-1] == a {
		return l
	}
	return append(l, a)
}

func newListeners(y *System) *listeners {
	n := len(y.ranks)
	l := &listeners{waiting: make([][]int32, len(y.fences)), awaiting: make([][]int32, len(y.events)), meeting: make([][]int32, len(y.groups)),
		sending: make([][]int32, n), receiving: make([][]int32, n), idling: make([][]int32, n), late: make([][]int32, n),
		receives: make([]bool, len(y.agents)), issues: make([][]int32, len(y.agents)), handler: map[place]int32{}}
	for i := range y.agents {
		a, r := int32(i), y.agents[i].rank
		for j := range y.agents[i].cmds {
			switch x := &y.agents[i].cmds[j]; x.op {
			case model.OpWait, model.OpPark:
				l.waiting[x.object] = join(l.waiting[x.object], a)
				if x.late {
					l.late[r] = join(l.late[r], a)
				}
			case model.OpAwait:
				l.awaiting[x.object] = join(l.awaiting[x.object], a)
			case model.OpCollective:
				first := y.groups[x.object].first
				l.meeting[first] = join(l.meeting[first], a)
			case model.OpSend:
				l.sending[x.peer] = join(l.sending[x.peer], a)
			case model.OpRecv:
				l.receiving[x.peer] = join(l.receiving[x.peer], a)
				l.receives[i] = l.receives[i] || y.m.buffered == 0
			case model.OpIdle:
				l.idling[r] = join(l.idling[r], a)
			}
		}
	}
	for f := range y.fences {
		for j := range y.fences[f].toCPU.stores {
			a := y.fences[f].toCPU.stores[j].agent
			l.issues[a] = join(l.issues[a], int32(f))
		}
	}
	for i := range y.handlers {
		h := &y.handlers[i]
		l.handler[place{y.queues[h.queue].agent, h.buffer}] = h.agent
	}
	return l
}
