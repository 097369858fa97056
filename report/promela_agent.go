package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// promelaStep is one step of a process: executable when all of guard hold, doing all of do.
func promelaStep(guard, do []string) string {
	switch {
	case len(guard)+len(do) == 0:
		return "skip"
	case len(do) == 0:
		return "(" + strings.Join(guard, " && ") + ")"
	case len(guard) == 0 && len(do) == 1:
		return do[0]
	case len(guard) == 0:
		return "d_step { " + strings.Join(do, "; ") + " }"
	}
	return "d_step { (" + strings.Join(guard, " && ") + ") -> " + strings.Join(do, "; ") + " }"
}

// rendezvous is a step that meets another agent, if all of guard hold.
func (m *promelaMove) rendezvous(guard []string) string {
	id, nowhere := m.channel+"[0]", 1
	if m.message[0] == '?' {
		nowhere = 2
	}
	if len(guard) > 0 {
		id = fmt.Sprintf("%s[(%s -> 0 : %d)]", m.channel, strings.Join(guard, " && "), nowhere)
	}
	if len(m.do) == 0 {
		return id + m.message
	}
	if m.message[0] == '!' {
		return id + m.message + "; " + promelaStep(nil, m.do)
	}
	return "atomic { " + id + m.message + " -> " + strings.Join(m.do, "; ") + " }"
}

func (m *promelaMove) text() string {
	if m.channel != "" {
		return m.rendezvous(m.guard)
	}
	return promelaStep(m.guard, m.do)
}

// promelaPlace is where a process stands: what it may do there and where that leads.
type promelaPlace struct {
	label   string
	comment string
	ways    []promelaWay
}

// promelaWay is one step away from a place; to is a label, "" the next place.
type promelaWay struct{ text, to string }

// writePlaces writes the body of a process. Labels that nothing aims at are left out.
func writePlaces(b *bytes.Buffer, places []promelaPlace) {
	aimed := map[string]bool{}
	for _, pl := range places {
		for _, w := range pl.ways {
			aimed[w.to] = true
		}
	}
	for i, pl := range places {
		named := pl.label != "" && aimed[pl.label]
		if named {
			fmt.Fprintf(b, "%s:\n", pl.label)
		}
		if pl.comment != "" {
			fmt.Fprintf(b, "\t%s\n", promelaComment(pl.comment))
		}
		// Spin takes a label on a d_step, or the break of a loop before it, for a jump into it.
		jumped := named || i > 0 && strings.HasPrefix(places[i-1].ways[0].text, "do")
		if w := pl.ways[0]; len(pl.ways) == 1 && w.to == "" && !(jumped && strings.HasPrefix(w.text, "d_step")) {
			fmt.Fprintf(b, "\t%s;\n", w.text)
			continue
		}
		b.WriteString("\tif\n")
		for _, w := range pl.ways {
			fmt.Fprintf(b, "\t:: %s", w.text)
			if w.to != "" {
				fmt.Fprintf(b, "; goto %s", w.to)
			}
			b.WriteByte('\n')
		}
		b.WriteString("\tfi;\n")
	}
}

// process writes one process. Its last place is the end, where it may stand.
func (p *promela) process(b *bytes.Buffer, a int32, suffix string, locals []string, places []promelaPlace) {
	p.processes++
	id := p.identifier(strings.ReplaceAll(p.agentWords(a), " ", "_")+suffix, p.y.RankOf(a))
	fmt.Fprintf(b, "\nactive proctype %s()\n{", id)
	for _, l := range locals {
		fmt.Fprintf(b, "\t%s;\n", l)
	}
	b.WriteByte('\n')
	writePlaces(b, places)
	b.WriteString("end_of_all:\n\tfalse\n}\n")
}

// promelaEnd is the label of the end of a process.
const promelaEnd = "end_of_all"

func (p *promela) agentWords(a int32) string {
	words, _ := p.bare(p.y.AgentName(a))
	return words
}

// locals are the variables that the moves of an agent need.
func (a *promelaActor) locals() []string {
	var out []string
	var all strings.Builder
	for i := range a.info[a.agent] {
		if a.src[a.agent][i] == nil {
			continue
		}
		for _, m := range a.moves(i) {
			all.WriteString(m.text())
		}
	}
	if strings.Contains(all.String(), "ord ") {
		out = append(out, "byte ord")
	}
	if strings.Contains(all.String(), "stale = 0") {
		out = append(out, "bit stale")
	}
	return out
}

// writeAgent writes the process or processes of an agent.
func (p *promela) writeAgent(b *bytes.Buffer, agent int32) {
	rk := &p.ranks[p.y.RankOf(agent)]
	a := p.actor(agent)
	switch p.y.AgentKindOf(agent) {
	case sim.MainThread:
		if !rk.handed && len(rk.steps) > 0 {
			p.process(b, agent, "", append(a.locals(), a.mainLocals()...), a.main())
		}
	case sim.CPUStream:
		if len(p.src[agent]) > 0 {
			p.process(b, agent, "", a.locals(), a.stream())
		}
	case sim.Handler:
		p.process(b, agent, "", a.locals(), a.handler())
	case sim.Queue:
		a.writeQueue(b)
	}
}

// mortal adds to the ways of a place of a CPU agent that its process may have ended.
func (a *promelaActor) mortal(pl promelaPlace) promelaPlace {
	dead := a.ranks[a.rank].dead
	if dead == "" || a.gpu() {
		return pl
	}
	pl.ways = append(pl.ways, promelaWay{"(" + dead + ")", promelaEnd})
	return pl
}

// alive is the guard of a CPU agent's steps.
func (a *promelaActor) alive() []string {
	if dead := a.ranks[a.rank].dead; dead != "" && !a.gpu() {
		return []string{"!" + dead}
	}
	return nil
}

// command gives the places of command i of a CPU agent: guard is needed for its first
// phase, after is done with its last step.
func (a *promelaActor) command(i int, guard, after []string) []promelaPlace {
	moves := a.moves(i)
	label := func(phase int) string { return fmt.Sprintf("at_%d_%d", i, phase) }
	var places []promelaPlace
	for phase := range 3 {
		pl := promelaPlace{label: label(phase)}
		if phase == 0 {
			pl.comment = a.y.CommandText(a.agent, int32(i))
		}
		for _, m := range moves {
			if m.from != phase {
				continue
			}
			m.guard = append(slices.Clip(m.guard), a.alive()...)
			if phase == 0 {
				m.guard = append(m.guard, guard...)
			}
			to := ""
			switch {
			case m.to == moveDone:
				m.do = append(slices.Clip(m.do), after...)
				to = label(moveDone)
			case m.to != phase+1:
				to = label(m.to)
			}
			pl.ways = append(pl.ways, promelaWay{m.text(), to})
		}
		if len(pl.ways) > 0 {
			places = append(places, a.mortal(pl))
		}
	}
	// The next place is behind the last phase: what ends earlier jumps there.
	last := len(places) - 1
	for k := range places {
		for w := range places[k].ways {
			if way := &places[k].ways[w]; way.to == label(moveDone) {
				way.to = ""
				if k < last {
					way.to = fmt.Sprintf("behind_%d", i)
				}
			}
		}
	}
	return places
}

// linkPlaces leads the ways that go to mark to the first place of the next list, or to after
// behind the last one.
func linkPlaces(lists [][]promelaPlace, mark, after string) []promelaPlace {
	var out []promelaPlace
	for i, l := range lists {
		for k := range l {
			for w := range l[k].ways {
				if to := l[k].ways[w].to; strings.HasPrefix(to, mark) {
					next := after
					if i+1 < len(lists) {
						next = lists[i+1][0].label
					}
					l[k].ways[w].to = next
				}
			}
		}
		out = append(out, l...)
	}
	return out
}

// stream gives the places of a CPU stream.
func (a *promelaActor) stream() []promelaPlace {
	rk := &a.ranks[a.rank]
	var lists [][]promelaPlace
	for i := range a.src[a.agent] {
		var guard, after []string
		if v := rk.enqueued[a.agent]; v != "" {
			guard = []string{fmt.Sprintf("%s > %d", v, i)}
		} else if i >= rk.given[a.agent] {
			guard = []string{"false"}
		}
		if v := a.position[a.agent]; v != "" {
			after = []string{fmt.Sprintf("%s = %d", v, i+1)}
		}
		lists = append(lists, a.command(i, guard, after))
	}
	return linkPlaces(lists, "behind_", promelaEnd)
}

// handler gives the places of a completion handler.
func (a *promelaActor) handler() []promelaPlace {
	q, buffer := a.handled()
	var lists [][]promelaPlace
	for i := range a.src[a.agent] {
		var guard []string
		if i == 0 {
			guard = []string{q.over(buffer)}
		}
		lists = append(lists, a.command(i, guard, nil))
	}
	return linkPlaces(lists, "behind_", promelaEnd)
}

// handled is the buffer that a completion handler belongs to.
func (a *promelaActor) handled() (*promelaQueue, int) {
	lo, _ := a.y.AgentsOf(a.rank)
	at := a.agent
	for at > lo && a.y.AgentKindOf(at-1) == sim.Handler {
		at--
	}
	for _, q := range a.queues[lo:at] {
		if q == nil {
			continue
		}
		for b := range q.src.Ends {
			if len(q.src.OnFinish[b]) == 0 {
				continue
			}
			if at == a.agent {
				return q, b
			}
			at++
		}
	}
	return nil, 0
}

// over is the condition that buffer b of a queue has finished.
func (q *promelaQueue) over(b int) string {
	if len(q.done) > 0 {
		return q.done[b]
	}
	return fmt.Sprintf("%s > %d", q.finished, b)
}

// mainLocals is the variable of a throttle that blocks.
func (a *promelaActor) mainLocals() []string {
	if a.ranks[a.rank].throttle {
		return []string{"short fewer"}
	}
	return nil
}

// main gives the places of a main thread.
func (a *promelaActor) main() []promelaPlace {
	rk := &a.ranks[a.rank]
	committed := map[int32]int{}
	streams := a.agent + 1
	for int(streams) < len(a.queues) && a.queues[streams] != nil {
		streams++
	}
	var lists [][]promelaPlace
	for i, st := range rk.steps {
		var guard, do []string
		switch st.Kind {
		case model.StepCommand:
			lists = append(lists, a.command(i, nil, nil))
			continue
		case model.StepThrottle:
			lists = append(lists, a.throttle(i, int(st.N)))
			continue
		case model.StepEnqueue:
			v := rk.enqueued[streams+st.Target]
			do = []string{fmt.Sprintf("%s = %s + %d", v, v, st.N)}
		case model.StepCommit:
			q := a.queues[a.agent+1+st.Target]
			if committed[st.Target] == len(q.src.Ends) {
				break
			}
			committed[st.Target]++
			do = []string{fmt.Sprintf("%s = %s + 1", q.committed, q.committed)}
			if a.m.InFlight > 0 {
				guard = []string{fmt.Sprintf("%s - %s < %d", q.committed, q.finished, a.m.InFlight)}
			}
		case model.StepSynchronize:
			if q := a.queues[a.agent+1+st.Target]; st.Queue {
				guard = []string{q.finished + " == " + q.committed}
			} else if s := streams + st.Target; rk.enqueued[s] != "" {
				guard = []string{a.position[s] + " >= " + rk.enqueued[s]}
			}
		case model.StepExit:
			do = []string{rk.dead + " = 1"}
		}
		guard = append(guard, a.alive()...)
		lists = append(lists, []promelaPlace{a.mortal(promelaPlace{label: fmt.Sprintf("at_%d_0", i),
			comment: a.y.StepText(int(a.rank), i), ways: []promelaWay{{text: promelaStep(guard, do)}}})})
	}
	return linkPlaces(lists, "behind_", promelaEnd)
}

// throttle is the test of the active tasks and, when there are too many, the block.
func (a *promelaActor) throttle(i, limit int) []promelaPlace {
	var terms []string
	lo, hi := a.y.AgentsOf(a.rank)
	for _, q := range a.queues[lo:hi] {
		if q != nil {
			terms = append(terms, fmt.Sprintf("%s - %s", q.committed, q.finished))
		}
	}
	if terms == nil {
		terms = []string{"0"}
	}
	active, most := strings.Join(terms, " + "), max(limit, 1)
	alive := a.alive()
	return []promelaPlace{
		a.mortal(promelaPlace{label: fmt.Sprintf("at_%d_0", i), comment: a.y.StepText(int(a.rank), i), ways: []promelaWay{
			{promelaStep(append(alive, fmt.Sprintf("%s > %d", active, most)), []string{"fewer = " + active}), ""},
			{promelaStep(append(alive, fmt.Sprintf("%s <= %d", active, most)), nil), fmt.Sprintf("behind_%d", i)},
		}}),
		a.mortal(promelaPlace{label: fmt.Sprintf("at_%d_1", i), ways: []promelaWay{
			{promelaStep(append(alive, active+" < fewer"), []string{"fewer = 0"}), ""}}}),
	}
}
