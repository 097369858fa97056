package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// writeQueue writes the process of a queue, or with overlap those of its buffers.
func (a *promelaActor) writeQueue(b *bytes.Buffer) {
	q := a.queue
	if a.m.Buffers != model.Overlap {
		var lists [][]promelaPlace
		for i := range q.src.Ends {
			if places := a.buffer(i); len(places) > 0 {
				lists = append(lists, places)
			}
		}
		if len(lists) > 0 {
			a.process(b, a.agent, "", a.bufferLocals(), linkPlaces(lists, promelaLeave, promelaEnd))
		}
		return
	}
	for i := range q.src.Ends {
		if places := a.buffer(i); len(places) > 0 {
			a.process(b, a.agent, fmt.Sprintf("_%d", i), a.bufferLocals(), linkPlaces([][]promelaPlace{places}, promelaLeave, promelaEnd))
		}
	}
}

// promelaLeave leads out of a buffer.
const promelaLeave = "leave_the_buffer"

func (a *promelaActor) concurrent() bool { return a.m.Dispatch == model.Concurrent }

// bufferLocals are the variables of a queue's or buffer's process.
func (a *promelaActor) bufferLocals() []string {
	if !a.concurrent() {
		return a.locals()
	}
	most := 1
	for i := range a.queue.src.Ends {
		for _, s := range a.sections(i) {
			most = max(most, len(s))
		}
	}
	out := []string{"byte section", fmt.Sprintf("byte ph[%d]", most), fmt.Sprintf("byte ord[%d]", most)}
	if a.o.Stale && a.m.Transport.Buffered == 0 {
		out = append(out, "bit stale")
	}
	return out
}

// span is the range of commands of buffer i.
func (q *promelaQueue) span(i int) (lo, hi int) {
	if i > 0 {
		lo = q.src.Ends[i-1]
	}
	return lo, q.src.Ends[i]
}

// buffer gives the places of buffer i: start, commands, finish. One that main never commits
// is no place if empty, and otherwise one that is never left.
func (a *promelaActor) buffer(i int) []promelaPlace {
	q, rk := a.queue, &a.ranks[a.rank]
	lo, hi := q.span(i)
	start := promelaPlace{label: fmt.Sprintf("buffer_%d", i), comment: fmt.Sprintf("buffer %d", i)}
	uncommitted := fmt.Sprintf("%s <= %d", q.committed, i)
	if rk.dead != "" { // what was not committed when the process ended does not count
		start.ways = append(start.ways, promelaWay{fmt.Sprintf("(%s && %s)", rk.dead, uncommitted), promelaEnd})
	}
	if i >= q.total {
		if i > q.total && a.m.Buffers != model.Overlap {
			return nil // the place of the first is never left
		}
		if last := q.src.Ends[len(q.src.Ends)-1]; a.m.Buffers != model.Overlap && last > lo || hi > lo {
			start.ways = append(start.ways, promelaWay{"(false)", ""})
			return []promelaPlace{start}
		}
		return nil
	}
	guard, do := a.startGuard(i)
	var places []promelaPlace
	if q.starts || hi == lo || i == 0 && len(guard) > 0 || a.concurrent() {
		start.ways = append(start.ways, promelaWay{promelaStep(guard, do), ""})
		places = append(places, start)
	}
	if a.concurrent() {
		return append(places, promelaPlace{label: fmt.Sprintf("commands_of_%d", i), ways: []promelaWay{{a.loop(i), ""}}})
	}
	return append(places, a.commands(i)...)
}

// startGuard is when buffer i may start and what that does.
func (a *promelaActor) startGuard(i int) (guard, do []string) {
	q, rk := a.queue, &a.ranks[a.rank]
	if !rk.handed {
		guard = append(guard, fmt.Sprintf("%s > %d", q.committed, i))
	}
	if rk.ignored != "" {
		guard = append(guard, "!"+rk.ignored)
	}
	if rk.busy != "" {
		guard = append(guard, "!"+rk.busy)
		do = append(do, rk.busy+" = 1")
	}
	if a.m.Buffers != model.Overlap {
		return guard, do
	}
	if n := a.m.LookAhead; n > 0 && i >= n {
		guard = append(guard, fmt.Sprintf("%s > %d", strings.Join(q.done[:i], " + "), i-n))
	}
	for e := range i {
		if a.m.Tracking != model.TrackNone && a.tracked(e, i) {
			guard = append(guard, q.done[e])
		}
	}
	return guard, do
}

// tracked reports whether buffer b waits for the earlier buffer e of its queue.
func (a *promelaActor) tracked(e, b int) bool {
	written, fences := map[int32]bool{}, map[int32]bool{}
	lo, hi := a.queue.span(e)
	for i := lo; i < hi; i++ {
		c := &a.info[a.agent][i]
		for _, w := range c.Writes {
			written[w] = true
		}
		if a.src[a.agent][i].Fence() {
			fences[c.Object] = true
		}
	}
	lo, hi = a.queue.span(b)
	for i := lo; i < hi; i++ {
		c := &a.info[a.agent][i]
		uses := append(slices.Clone(c.Reads), c.Writes...)
		if c.Op == model.OpCoherent {
			uses = append(uses, c.Object)
		}
		if slices.ContainsFunc(uses, func(x int32) bool { return written[x] }) {
			return true
		}
		if a.m.Tracking == model.TrackAll && a.src[a.agent][i].Fence() && fences[c.Object] {
			return true
		}
	}
	return false
}

// finished is what the end of buffer i does, also by a kill.
func (a *promelaActor) finished(i int) []string {
	q, rk := a.queue, &a.ranks[a.rank]
	var do []string
	if q.finished != "" {
		do = append(do, fmt.Sprintf("%s = %s + 1", q.finished, q.finished))
	}
	if len(q.done) > 0 {
		do = append(do, q.done[i]+" = 1")
	}
	if rk.busy != "" {
		do = append(do, rk.busy+" = 0")
	}
	if !a.o.Stale || a.m.Payload != model.PayloadCoherent {
		return do
	}
	var seen []int32
	lo, hi := q.span(i)
	for j := lo; j < hi; j++ {
		for _, w := range a.info[a.agent][j].Writes {
			if !slices.Contains(seen, w) {
				seen = append(seen, w)
				ar := &a.arrays[w]
				do = append(do, fmt.Sprintf("%s = (%s == %d -> 1 : %s)", ar.visible, ar.writer, q.writer[i], ar.visible))
			}
		}
	}
	return do
}

// unsatisfied is the condition under which the watchdog looks at command i; "" if it is
// neither wait nor await.
func (a *promelaActor) unsatisfied(i int) string {
	if c := &a.info[a.agent][i]; c.Op == model.OpWait || c.Op == model.OpAwait {
		return "!(" + a.satisfied(c) + ")"
	}
	return ""
}

// killGuard is when a started buffer is killed at a place with that condition; nil never.
func (a *promelaActor) killGuard(unsatisfied string) []string {
	switch {
	case a.m.Watchdog == model.WatchdogAny:
		return []string{"kind"}
	case unsatisfied == "" || a.m.Watchdog == model.WatchdogOff:
		return nil
	case a.m.Watchdog == model.WatchdogMay:
		return []string{"kind", unsatisfied}
	}
	return []string{unsatisfied}
}

// killed is what a kill does besides the end of the buffer.
func (a *promelaActor) killed() []string {
	if v := a.ranks[a.rank].ignored; v != "" {
		return []string{v + " = 1"}
	}
	return nil
}

func promelaHolds(op model.Op) bool {
	return op == model.OpWait || op == model.OpCollective || op == model.OpSend || op == model.OpRecv
}

// commands gives the places of a buffer that runs one command after the other, and of its
// finish unless that is a part of the last step.
func (a *promelaActor) commands(i int) []promelaPlace {
	q := a.queue
	lo, hi := q.span(i)
	end := a.finished(i)
	var lists [][]promelaPlace
	for j := lo; j < hi; j++ {
		var after []string
		if j == hi-1 && !q.finishes {
			after = end
		}
		l := a.command(j, nil, after)
		for k := range l {
			a.endings(j, &l[k], end)
		}
		lists = append(lists, l)
	}
	if q.finishes || lo == hi {
		finish := promelaPlace{label: fmt.Sprintf("finish_%d", i), ways: []promelaWay{{promelaStep(nil, end), ""}}}
		if g := a.killGuard(""); g != nil {
			finish.ways = append(finish.ways, promelaWay{promelaStep(g, append(a.killed(), end...)), promelaLeave})
		}
		lists = append(lists, []promelaPlace{finish})
	}
	return linkPlaces(lists, "behind_", promelaLeave)
}

// endings adds to a place of command j the ways in which its buffer ends there.
func (a *promelaActor) endings(j int, pl *promelaPlace, end []string) {
	phase := 0
	fmt.Sscanf(pl.label[strings.LastIndexByte(pl.label, '_')+1:], "%d", &phase)
	var release []string
	if c := &a.info[a.agent][j]; a.ranks[a.rank].used != "" && phase == 1 && promelaHolds(c.Op) {
		used := a.ranks[a.rank].used
		release = []string{fmt.Sprintf("%s = %s - 1", used, used)}
	}
	if c := &a.info[a.agent][j]; c.Op == model.OpCollective && phase == 1 && a.groups[c.Object].arrived != "" && !a.groups[c.Object].fixed {
		release = append(release, a.ordinal(j)+" = 0")
	}
	for w := range pl.ways {
		if strings.HasSuffix(pl.ways[w].to, fmt.Sprintf("_%d", moveAbandon)) {
			pl.ways[w] = promelaWay{promelaStep(nil, end), promelaLeave}
		}
	}
	if g := a.killGuard(a.unsatisfied(j)); g != nil {
		pl.ways = append(pl.ways, promelaWay{promelaStep(g, slices.Concat(release, a.killed(), end)), promelaLeave})
	}
}

// sections lists the commands of a buffer by section: a barrier or encoder is one alone.
func (a *promelaActor) sections(i int) [][]int {
	var out [][]int
	lo, hi := a.queue.span(i)
	open := false
	for j := lo; j < hi; j++ {
		op := a.info[a.agent][j].Op
		divides := op == model.OpBarrier || op == model.OpEncoder
		if !open || divides {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], j)
		open = !divides
	}
	return out
}

// promelaEnded is the phase of a command of a section that has ended.
const promelaEnded = 3

// loop is a buffer under concurrent dispatch: any command of the open section may move, the
// last one that ends opens the next section.
func (a *promelaActor) loop(i int) string {
	sections := a.sections(i)
	var options []string
	var held, reset []string
	most := 0
	for s, list := range sections {
		most = max(most, len(list))
		var dog []string
		for k, j := range list {
			a.ordinal = func(int) string { return fmt.Sprintf("ord[%d]", k) }
			if promelaHolds(a.info[a.agent][j].Op) {
				held = append(held, fmt.Sprintf("(section == %d && ph[%d] == 1)", s, k))
			}
			if u := a.unsatisfied(j); u != "" {
				dog = append(dog, fmt.Sprintf("ph[%d] != %d && %s", k, promelaEnded, u))
			}
			options = append(options, a.sectionMoves(s, k, list)...)
		}
		for k, j := range list {
			for l, j2 := range list {
				if o := a.selfMeeting(s, k, j, l, j2, list); o != "" {
					options = append(options, o)
				}
			}
		}
		if len(dog) > 0 && a.m.Watchdog != model.WatchdogAny {
			g := a.killGuard("(" + strings.Join(dog, " || ") + ")")
			if g != nil {
				options = append(options, a.ending(append([]string{fmt.Sprintf("section == %d", s)}, g...), "KILL"))
			}
		}
	}
	for k := range most {
		reset = append(reset, fmt.Sprintf("ph[%d] = 0", k), fmt.Sprintf("ord[%d] = 0", k))
	}
	end := a.finished(i)
	var drop []string
	if used := a.ranks[a.rank].used; used != "" && len(held) > 0 {
		drop = []string{fmt.Sprintf("%s = %s - (%s)", used, used, strings.Join(held, " + "))}
	}
	drop = append(append(drop, reset...), "section = 0")
	for o := range options {
		options[o] = strings.Replace(options[o], "KILL", strings.Join(slices.Concat(drop, a.killed(), end), "; "), 1)
		options[o] = strings.Replace(options[o], "ABANDON", strings.Join(slices.Concat(drop, end), "; "), 1)
	}
	if a.m.Watchdog == model.WatchdogAny {
		options = append(options, promelaStep([]string{"kind"}, slices.Concat(drop, a.killed(), end))+" -> break")
	}
	options = append(options, promelaStep([]string{fmt.Sprintf("section == %d", len(sections))}, append([]string{"section = 0"}, end...))+" -> break")
	return "do\n\t:: " + strings.Join(options, "\n\t:: ") + "\n\tod"
}

// ending is an option of the loop that leaves it, with a word for what it does.
func (a *promelaActor) ending(guard []string, word string) string {
	return promelaStep(guard, []string{word}) + " -> break"
}

// sectionMoves lists the moves of command list[k] of section s as options of the loop.
func (a *promelaActor) sectionMoves(s, k int, list []int) []string {
	j := list[k]
	var out []string
	for _, m := range a.moves(j) {
		m.guard = append([]string{fmt.Sprintf("section == %d", s), fmt.Sprintf("ph[%d] == %d", k, m.from)}, m.guard...)
		if a.info[a.agent][j].Op == model.OpSignal {
			for e := range k {
				m.guard = append(m.guard, fmt.Sprintf("ph[%d] == %d", e, promelaEnded))
			}
		}
		switch m.to {
		case moveAbandon:
			out = append(out, a.ending(m.guard, "ABANDON"))
			continue
		case moveDone:
			m.do = append(slices.Clip(m.do), promelaSection(s, []int{k}, len(list))...)
		default:
			m.do = append(slices.Clip(m.do), fmt.Sprintf("ph[%d] = %d", k, m.to))
		}
		out = append(out, m.text())
	}
	return out
}

// promelaSection marks commands of a section as ended; the last one opens the next section.
func promelaSection(s int, ks []int, n int) []string {
	var do, all, reset []string
	for k := range n {
		reset = append(reset, fmt.Sprintf("ph[%d] = 0", k))
		if slices.Contains(ks, k) {
			do = append(do, fmt.Sprintf("ph[%d] = %d", k, promelaEnded))
		} else {
			all = append(all, fmt.Sprintf("ph[%d] == %d", k, promelaEnded))
		}
	}
	reset = append(reset, fmt.Sprintf("section = %d", s+1))
	if len(all) == 0 {
		return reset
	}
	return append(do, "if :: ("+strings.Join(all, " && ")+") -> "+strings.Join(reset, "; ")+" :: else -> skip fi")
}

// selfMeeting is the joint transition of a send and a recv of one section, which one
// process cannot do by a rendezvous; "" if they do not meet.
func (a *promelaActor) selfMeeting(s, k, j, l, j2 int, list []int) string {
	c, d := &a.info[a.agent][j], &a.info[a.agent][j2]
	names := &a.y.Programs[a.rank].Names
	if a.m.Transport.Buffered > 0 || c.Op != model.OpSend || d.Op != model.OpRecv || c.Peer != a.rank || d.Peer != a.rank ||
		names.Of(a.src[a.agent][j].Name) != names.Of(a.src[a.agent][j2].Name) {
		return ""
	}
	phase := 0
	do := append(a.reads(j), a.writes(j2)...)
	if used := a.ranks[a.rank].used; used != "" {
		phase = 1
		do = append(do, fmt.Sprintf("%s = %s - 2", used, used))
	}
	return promelaStep([]string{fmt.Sprintf("section == %d", s), fmt.Sprintf("ph[%d] == %d", k, phase), fmt.Sprintf("ph[%d] == %d", l, phase)},
		append(do, promelaSection(s, []int{k, l}, len(list))...))
}

// writeMemory writes the process of stores on their way, and of the end of kindness.
func (p *promela) writeMemory(b *bytes.Buffer) {
	var options []string
	if p.kind {
		options = append(options, "d_step { (kind) -> kind = 0 }")
	}
	for i := range p.fences {
		f := &p.fences[i]
		for k, s := range f.toCPU {
			c := &p.info[s.agent][s.cmd]
			do := p.applied(c, true, f.cpu)
			if s.bit != "" {
				options = append(options, promelaStep([]string{s.bit}, append([]string{s.bit + " = 0"}, do...)))
				continue
			}
			sure := "kind"
			if p.m.GPUToCPU.Mode == model.VisLag {
				sure = "(kind || " + p.sure(p.queues[s.agent], int(c.Buffer)) + ")"
			}
			options = append(options, promelaStep([]string{fmt.Sprintf("%s?[%d]", f.wayCPU, k+1), sure}, append([]string{fmt.Sprintf("%s?%d", f.wayCPU, k+1)}, do...)))
		}
		for k, s := range f.toGPU {
			c := &p.info[s.agent][s.cmd]
			options = append(options, promelaStep([]string{fmt.Sprintf("%s?[%d]", f.wayGPU, k+1), "kind"},
				append([]string{fmt.Sprintf("%s?%d", f.wayGPU, k+1)}, p.applied(c, false, f.gpu)...)))
		}
	}
	if len(options) == 0 {
		return
	}
	p.processes++
	fmt.Fprintf(b, "\nactive proctype %s()\n{\nend_of_all:\n\tdo\n\t:: %s\n\tod\n}\n", p.identifier("memory", 0), strings.Join(options, "\n\t:: "))
}

// sure is the condition under which lag guarantees the arrival of a store of buffer b.
func (p *promela) sure(q *promelaQueue, b int) string {
	n := p.m.GPUToCPU.Buffers
	if len(q.done) == 0 {
		if n == 0 {
			return fmt.Sprintf("%s > %d", q.finished, b)
		}
		return fmt.Sprintf("%s > %d && (%s > %d || %s == %s)", q.finished, b, q.finished, b+n, q.finished, q.committed)
	}
	if n == 0 {
		return q.done[b]
	}
	later := "0"
	if b+1 < len(q.done) {
		later = strings.Join(q.done[b+1:], " + ")
	}
	return fmt.Sprintf("%s && (%s >= %d || %s == %s)", q.done[b], later, n, q.finished, q.committed)
}
