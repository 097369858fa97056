package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// A meet is one command that meets other ranks.
type meet struct {
	op   model.Op
	with string // collective: the group
	peer int    // send, recv: the other rank
	name string // what must match; "" matches anything
}

// meetingOf is command c of a stream of rank's schedule as a meeting, if it is one.
func meetingOf(p *model.Schedule, s *model.Stream, c *model.Command, rank, ranks int) (m meet, meets bool) {
	switch c.Op {
	case model.OpCollective:
		m = meet{op: c.Op, with: s.Name, name: p.Names.Of(c.Name)}
		if c.Group != model.NoSym {
			m.with = p.Names.Of(c.Group)
		}
		return m, true
	case model.OpSend, model.OpRecv:
		m = meet{op: c.Op, peer: c.Rank.Resolve(rank, ranks)}
		if !p.FromGraph { // graphs send and receive under names that match anything
			m.name = p.Names.Of(c.Name)
		}
		return m, true
	}
	return m, false
}

// meeters are ranks that each go through their meetings one after the other.
type meeters struct {
	lists    [][]meet
	at       []int
	buffered int
	onWay    map[[2]int][]string // names sent and not received, by sender and receiver
	waiting  map[string][]int    // by group: the ranks that stand at its next collective
	stands   []bool              // in one of those
	work     []int               // ranks that may go on
}

// meetInOrder lets every rank pass what meets others in the order of its list, as soon as it
// can, and says where that ends early; "" if all come to their end. It does not matter who
// goes first: nobody takes anything that another one needs.
func meetInOrder(lists [][]meet, buffered int) string {
	n := len(lists)
	x := &meeters{lists: lists, at: make([]int, n), buffered: buffered, onWay: map[[2]int][]string{}, waiting: map[string][]int{}, stands: make([]bool, n)}
	for r := range lists {
		x.work = append(x.work, r)
	}
	for len(x.work) > 0 {
		r := x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		for x.at[r] < len(x.lists[r]) {
			passed, why := x.pass(r, &x.lists[r][x.at[r]])
			if why != "" {
				return why
			}
			if !passed {
				break
			}
		}
	}
	for r := range lists {
		if x.at[r] < len(x.lists[r]) {
			m := &x.lists[r][x.at[r]]
			if m.op == model.OpCollective {
				return fmt.Sprintf("rank %d would wait at a collective of %s", r, m.with)
			}
			return fmt.Sprintf("rank %d would wait at a %s with rank %d", r, m.op, m.peer)
		}
	}
	return ""
}

// pass takes rank r past meeting m, at which it stands, if that is possible now.
func (x *meeters) pass(r int, m *meet) (passed bool, why string) {
	switch {
	case m.op == model.OpCollective:
		return x.collect(r, m)
	case x.buffered > 0:
		pair, send := [2]int{r, m.peer}, m.op == model.OpSend
		if !send {
			pair = [2]int{m.peer, r}
		}
		sent := x.onWay[pair]
		if send && len(sent) == x.buffered || !send && (len(sent) == 0 || sent[0] != m.name) {
			return false, ""
		}
		if send {
			x.onWay[pair] = append(sent, m.name)
		} else {
			x.onWay[pair] = sent[1:]
		}
	default:
		other := model.OpSend
		if m.op == model.OpSend {
			other = model.OpRecv
		}
		l, i := x.lists[m.peer], x.at[m.peer]
		if m.peer == r || i == len(l) || l[i].op != other || l[i].peer != r || l[i].name != m.name {
			return false, ""
		}
		x.at[m.peer]++
	}
	x.at[r]++
	x.work = append(x.work, m.peer)
	return true, ""
}

// collect lets rank r stand at a collective, and all ranks leave once all do.
func (x *meeters) collect(r int, m *meet) (passed bool, why string) {
	if !x.stands[r] {
		x.stands[r] = true
		x.waiting[m.with] = append(x.waiting[m.with], r)
	}
	here := x.waiting[m.with]
	if len(here) < len(x.lists) {
		return false, ""
	}
	for _, o := range here {
		if l := &x.lists[o][x.at[o]]; l.name != m.name {
			return false, fmt.Sprintf("collectives %s and %s meet", l.name, m.name)
		}
		x.at[o]++
		x.stands[o] = false
	}
	x.work = append(x.work, here...)
	x.waiting[m.with] = nil
	return true, ""
}
