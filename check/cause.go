package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// explain says why a stuck state is stuck: one sentence, and the waits that hold each
// other, in words. It follows what each blocked agent needs, starting from rank r.
func explain(y *sim.System, s sim.State, r int) (cause string, cycle []string, kind string) {
	x := &explainer{y: y, s: s, blocked: map[int32]sim.Blocked{}}
	var all []sim.Blocked
	for _, rank := range order0(r, y.Ranks()) {
		for _, b := range y.Blocked(s, rank) {
			if _, ok := x.blocked[b.Index]; !ok {
				x.blocked[b.Index] = b
				all = append(all, b)
			}
		}
	}
	if len(all) == 0 {
		return "nothing is left that is sure to happen, and the schedule is not done", nil, "nothing"
	}
	// Follow the first need of each agent until one repeats: that is the cycle. Without
	// one the chain ends at something that nobody will do.
	start := all[0]
	for _, b := range all {
		if b.Fence >= 0 && !b.GPU {
			start = b
			break
		}
	}
	var chain []link
	at := map[int32]int{}
	for b := start; ; {
		if i, ok := at[b.Index]; ok {
			chain = chain[i:]
			break
		}
		at[b.Index] = len(chain)
		l := x.need(b)
		chain = append(chain, l)
		next, ok := x.blocked[l.on]
		if l.on < 0 || !ok {
			break
		}
		b = next
	}
	kinds := map[string]bool{}
	for _, l := range chain {
		cycle = append(cycle, l.text)
		kinds[l.kind] = true
	}
	kind = strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
	var parts []string
	seen := map[string]bool{}
	for _, l := range chain {
		if l.why != "" && !seen[l.why] {
			seen[l.why] = true
			parts = append(parts, l.why)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, chain[len(chain)-1].text)
	}
	return strings.Join(parts, ", while "), cycle, kind
}

// order0 is 0 to n-1 with first in front.
func order0(first, n int) []int {
	out := []int{first}
	for i := range n {
		if i != first {
			out = append(out, i)
		}
	}
	return out
}

// link is what one blocked agent waits for: a sentence, the short form for the cause, the
// agent that holds it up (-1: nobody can help), and what kind of wait it is.
type link struct {
	text, why string
	on        int32
	kind      string
}

type explainer struct {
	y       *sim.System
	s       sim.State
	blocked map[int32]sim.Blocked
}

// need finds what b waits for and who holds it up.
func (x *explainer) need(b sim.Blocked) link {
	y := x.y
	who := y.AgentName(b.Index)
	if b.Fence >= 0 && !strings.HasPrefix(b.Needs, "a free slot") {
		return x.needFence(who, b)
	}
	lo, hi := y.AgentsOf(int32(b.Rank))
	text := fmt.Sprintf("%s stands at %s and needs %s", who, b.At, b.Needs)
	if strings.HasPrefix(b.Needs, "a free slot") {
		for _, a := range y.Held(x.s, b.Rank) {
			return link{text + ", which " + y.AgentName(a) + " holds", "a waiting command of " + y.AgentName(a) + " holds the slot that " + who + " needs", a, "slot"}
		}
	}
	if strings.HasPrefix(b.Needs, "every rank") {
		for r := range y.Ranks() {
			rlo, rhi := y.AgentsOf(int32(r))
			if r == b.Rank || !strings.Contains(b.Needs+" ", fmt.Sprintf(" %d ", r)) {
				continue
			}
			for a := rlo; a < rhi; a++ {
				if o, ok := x.blocked[a]; ok && o.Fence >= 0 && !o.GPU {
					return link{text, "", a, "other agent"}
				}
			}
			for a := rlo; a < rhi; a++ {
				if _, ok := x.blocked[a]; ok {
					return link{text, "", a, "other agent"}
				}
			}
		}
		return link{text, who + " waits in a collective that some rank never reaches", -1, "collective"}
	}
	// Main thread, start of a buffer, memory: some other agent of the rank must go on.
	for a := lo; a < hi; a++ {
		if o, ok := x.blocked[a]; ok && a != b.Index && o.Fence >= 0 {
			return link{text, "", a, "other agent"}
		}
	}
	for a := lo; a < hi; a++ {
		if _, ok := x.blocked[a]; ok && a != b.Index {
			return link{text, "", a, "other agent"}
		}
	}
	if did, ok := strings.CutPrefix(b.Needs, "nothing: it "); ok {
		return link{who + " " + did, who + " " + did, -1, "nobody"}
	}
	if rest, ok := strings.CutPrefix(b.Needs, "nothing"); ok {
		return link{text, fmt.Sprintf("%s stands at %s and needs nothing%s", who, b.At, rest), -1, "nobody"}
	}
	return link{text, fmt.Sprintf("%s stands at %s and nothing will ever give it %s", who, b.At, b.Needs), -1, "nobody"}
}

// needFence explains a wait for a fence.
func (x *explainer) needFence(who string, b sim.Blocked) link {
	y := x.y
	name := y.FenceName(b.Fence)
	stores := y.Stores(x.s, b.Fence, b.GPU)
	text := fmt.Sprintf("%s stands at %s and sees %d", who, b.At, b.Seen)
	side := "CPU"
	if b.GPU {
		side = "GPU"
	}
	reaches := func(st sim.Store) bool { return st.Add || st.Value >= b.Target }
	// A store on its way comes first: it has run and is not seen.
	var oldest *sim.Store
	enough := false
	for i := range stores {
		if stores[i].OnItsWay {
			if oldest == nil || stores[i].Order < oldest.Order {
				oldest = &stores[i]
			}
			enough = enough || reaches(stores[i])
		}
	}
	if enough {
		return x.onItsWay(who, name, side, text, b, *oldest, stores)
	}
	for i := range stores {
		if st := stores[i]; !st.Executed && reaches(st) {
			update := y.CommandText(st.Agent, st.Cmd)
			l := link{on: st.Agent, kind: "not run"}
			holder := y.AgentName(st.Agent)
			switch {
			case st.Handed && st.Agent == b.Index:
				l.text = fmt.Sprintf("%s; %s stands behind it on the same %s", text, update, holder)
				l.why = fmt.Sprintf("%s waits for %s, which stands behind the wait on the same agent", who, update)
				l.on = st.Agent
			case y.Ended(x.s, y.RankOf(st.Agent)) && y.AgentKindOf(st.Agent) != sim.Queue:
				l.text = fmt.Sprintf("%s; %s of %s never runs: its process has ended", text, update, holder)
				l.why = fmt.Sprintf("%s waits for %s of %s, whose process has ended", who, update, holder)
				l.on, l.kind = -1, "ended"
			case st.Handed:
				l.text = fmt.Sprintf("%s; %s of %s has not run", text, update, holder)
			default:
				lo, _ := y.AgentsOf(y.RankOf(st.Agent))
				l.on = lo
				l.text = fmt.Sprintf("%s; %s of %s has not been handed over", text, update, holder)
				l.why = fmt.Sprintf("%s waits for %s, which the main thread has not handed over", who, update)
				if lo == b.Index {
					l.on = -1
				}
			}
			return l
		}
	}
	if b.Seen >= b.Target && strings.HasPrefix(b.At, "park ") {
		return link{text + "; it sleeps, and no notification came after it fell asleep",
			fmt.Sprintf("%s sleeps in %s though %s has the value: no notification came after it fell asleep", who, b.At, name), -1, "asleep"}
	}
	executed := false
	for _, st := range stores {
		executed = executed || st.Executed && reaches(st)
	}
	if gpu, cpu := y.Views(x.s, b.Fence); executed && max(gpu, cpu) < b.Target && x.drops() {
		return link{fmt.Sprintf("%s; the update that reaches %d was dropped with its buffer, which was killed or failed", text, b.Target),
			fmt.Sprintf("%s waits for %s to reach %d; the update was dropped with its buffer, which was killed or failed", who, name, b.Target), -1, "dropped"}
	}
	if gpu, cpu := y.Views(x.s, b.Fence); executed && slices.ContainsFunc(stores, func(st sim.Store) bool { return st.Add }) {
		return link{fmt.Sprintf("%s; its updates and adds have run, in an order that ends at %d", text, max(gpu, cpu)),
			fmt.Sprintf("%s waits for %s to reach %d; its updates and adds have run, in an order that ends at %d", who, name, b.Target, max(gpu, cpu)), -1, "overwritten"}
	}
	if executed {
		return link{fmt.Sprintf("%s; every store that reached %d has run, and the value was overwritten with a smaller one or lost", text, b.Target),
			fmt.Sprintf("%s waits for %s to reach %d, which was stored and then overwritten by a smaller value", who, name, b.Target), -1, "overwritten"}
	}
	return link{fmt.Sprintf("%s; no store will ever give %s the value that it needs", text, name),
		fmt.Sprintf("%s waits for %s to reach %d, which no store gives", who, name, b.Target), -1, "no store"}
}

// drops reports whether buffers can end before their commands have run.
func (x *explainer) drops() bool {
	if x.y.Machine.Watchdog != model.WatchdogOff {
		return true
	}
	for _, p := range x.y.Programs {
		for q := range p.Queues {
			for i := range p.Queues[q].Commands {
				if p.Queues[q].Commands[i].Op == model.OpFail {
					return true
				}
			}
		}
	}
	return false
}

// onItsWay explains a wait whose stores have run and are not seen.
func (x *explainer) onItsWay(who, name, side, text string, b sim.Blocked, oldest sim.Store, stores []sim.Store) link {
	y := x.y
	first, last := uint32(0), uint32(0)
	for _, st := range stores {
		if st.OnItsWay {
			if first == 0 {
				first = st.Value
			}
			last = max(last, st.Value)
		}
	}
	span, they := fmt.Sprintf("update %d has", last), "it is"
	if first < last {
		span, they = fmt.Sprintf("updates %d to %d have", first, last), "they are"
	}
	m := y.Machine
	if side == "GPU" || m.GPUToCPU.Mode == model.VisUnreliable {
		return link{fmt.Sprintf("%s; %s run and nothing forces them to be seen", text, span),
			fmt.Sprintf("%s waits for %s to reach %d; %s run, but nothing forces the %s to see it", who, name, b.Target, span, side), -1, "never seen"}
	}
	buffer := y.IssuedIn(x.s, b.Fence, oldest)
	until := fmt.Sprintf("buffer %d of its queue has finished", buffer)
	if n := m.GPUToCPU.Buffers; n > 0 {
		until = fmt.Sprintf("buffer %d of its queue and %d later ones have finished", buffer, n)
		if n == 1 {
			until = fmt.Sprintf("buffer %d of its queue and the next one have finished", buffer)
		}
	}
	_, finished := y.Buffers(x.s, oldest.Agent)
	l := link{text: fmt.Sprintf("%s; %s run, and %s sure to be seen only when %s", text, span, they, until), on: oldest.Agent, kind: "in flight"}
	l.why = fmt.Sprintf("%s waits for %s to reach %d; %s run, but %s sure to be seen only when %s", who, name, b.Target, span, they, until)
	holder, ok := x.blocked[oldest.Agent]
	if !ok {
		return l
	}
	if buffer == finished {
		l.text += fmt.Sprintf("; the update and %s share that command buffer", holder.At)
		l.why += fmt.Sprintf("; the update shares its command buffer with %s", holder.At)
	} else {
		l.why += fmt.Sprintf(", and the queue stands at %s", holder.At)
	}
	return l
}
