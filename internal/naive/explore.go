package naive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// Result is what all runs of a set of programs have in common.
type Result struct {
	States, Transitions int
	StuckStates         int
	// Stuck holds the counters of each hang state: "scheduled,gpu,cpu" per rank, joined by ";".
	Stuck     map[string]bool
	CanFinish bool            // a final state is reachable
	Violated  map[string]bool // properties that some run violates
}

// Explore visits every reachable state of programs, one per rank, on machine m. It returns
// false when it gave up at limit states; the result then holds what was found so far.
func Explore(programs []*model.Schedule, m model.Machine, limit int) (Result, bool) {
	r, _, done := explore(programs, m, limit, "")
	return r, done
}

// Witness is a shortest run, as labels of transitions, that violates the property named
// what, ends stuck with the counters what, or finishes ("final"); nil when there is none
// within limit states. Transitions that are only possible are marked.
func Witness(programs []*model.Schedule, m model.Machine, limit int, what string) []string {
	_, run, _ := explore(programs, m, limit, what)
	return run
}

// visit is a state on the breadth-first frontier with the way to it.
type visit struct {
	state *state
	from  *visit
	label string
}

func (v *visit) run() []string {
	run := []string{}
	for ; v.from != nil; v = v.from {
		run = append(run, v.label)
	}
	slices.Reverse(run)
	return run
}

func explore(programs []*model.Schedule, m model.Machine, limit int, what string) (Result, []string, bool) {
	w := newWorld(programs, m)
	res := Result{Stuck: map[string]bool{}, Violated: map[string]bool{}}
	unordered := w.m.GPUToCPU.Mode == model.VisUnordered
	first := w.initial()
	seen := map[string]bool{first.key(unordered): true}
	todo := []*visit{{state: first}}
	var witness []string
	found := func(v *visit, property string) {
		if property == what && witness == nil {
			witness = v.run()
		}
	}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		res.States++
		s := v.state
		v.state = nil // only the way is needed from here on
		stuck := true
		for _, t := range w.enabled(s) {
			stuck = stuck && !t.guaranteed
			n := w.apply(s, t)
			res.Transitions++
			text := t.label
			if !t.guaranteed {
				text += " (possible)"
			}
			next := &visit{n, v, text}
			for p := range n.violated {
				res.Violated[p] = true
				found(next, p)
			}
			if key := n.key(unordered); !seen[key] {
				if len(seen) >= limit {
					return res, witness, false
				}
				seen[key] = true
				todo = append(todo, next)
			}
		}
		switch {
		case w.final(s):
			res.CanFinish = true
			found(v, "final")
		case stuck:
			res.StuckStates++
			res.Stuck[w.counters(s)] = true
			found(v, w.counters(s))
			res.Violated["hang"] = true
			found(v, "hang")
			if w.orphaned(s) {
				res.Violated["orphan"] = true
				found(v, "orphan")
			}
		}
		if what != "" && witness != nil {
			return res, witness, true
		}
	}
	return res, witness, true
}

// final reports whether every rank is at its end.
func (w *world) final(s *state) bool {
	for r := range s.ranks {
		if !w.rankFinal(s, r) {
			return false
		}
	}
	return true
}

// rankFinal: the main thread at its end, every buffer finished, every task and completion
// handler done. Of a process that has ended only the committed buffers count.
func (w *world) rankFinal(s *state, r int) bool {
	p, rk := w.ranks[r], &s.ranks[r]
	for q := range rk.queues {
		if !allFinished(rk.queues[q].buffers) {
			return false
		}
	}
	if rk.dead {
		return true
	}
	if rk.pc < len(p.main) || !w.streamsEnded(s, r) {
		return false
	}
	for q := range rk.queues {
		x := &rk.queues[q]
		for b := range x.buffers {
			if x.buffers[b].handler < len(p.Queues[q].OnFinish[b]) {
				return false
			}
		}
		behind := x.open
		if !p.FromGraph && len(x.buffers) > 0 {
			behind = p.Queues[q].Ends[len(x.buffers)-1]
		}
		if behind < len(p.Queues[q].Commands) {
			return false
		}
	}
	return true
}

func (w *world) streamsEnded(s *state, r int) bool {
	for i, st := range s.ranks[r].streams {
		if st.at < len(w.ranks[r].Streams[i].Tasks) {
			return false
		}
	}
	return true
}

// orphaned reports whether in a stuck state some unfinished rank's main thread and CPU
// streams have ended.
func (w *world) orphaned(s *state) bool {
	for r := range s.ranks {
		rk := &s.ranks[r]
		ended := rk.dead || rk.pc >= len(w.ranks[r].main) && w.streamsEnded(s, r)
		if ended && !w.rankFinal(s, r) {
			return true
		}
	}
	return false
}

// counters is the three numbers of every rank.
func (w *world) counters(s *state) string {
	var out []string
	for r, p := range w.ranks {
		var scheduled, gpu, cpu uint32
		if f := p.gpuFence; f >= 0 {
			gpu = s.fences[f].cpu
			scheduled = w.scheduled(s, r, f)
		}
		if f := p.cpuFence; f >= 0 {
			cpu = s.fences[f].gpu
		}
		out = append(out, fmt.Sprintf("%d,%d,%d", scheduled, gpu, cpu))
	}
	return strings.Join(out, ";")
}

// scheduled is the number of updates of f encoded so far, or with fixed buffer ends the
// largest value among those in committed buffers.
func (w *world) scheduled(s *state, r, f int) uint32 {
	p := w.ranks[r]
	if p.FromGraph {
		return w.updates(s, r, f)
	}
	var largest uint32
	for q := range p.Queues {
		for _, b := range s.ranks[r].queues[q].buffers {
			for _, c := range w.commands(r, q, &b) {
				if isUpdate(&c) && w.fence(r, &c) == f {
					largest = max(largest, c.Value)
				}
			}
		}
	}
	return largest
}
