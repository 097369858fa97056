package check

import "github.com/fencesim/fencesim/model"

// writers sums up the commands that store to a fence, in the order of agents and commands.
type writers struct {
	agent, last    int32 // of the first; the last command of that agent
	gpu, cpu       int
	several        bool // agents
	allMax, allAdd bool
	falls          bool   // a value is smaller than the one before
	beside         bool   // two may run at the same time
	value, sum     uint64 // the last; all together
}

func (w *writers) start(initial uint64) {
	*w = writers{agent: -1, allMax: true, allAdd: true, value: initial, sum: initial}
}

// writes adds command i of an agent to the writers of its fence.
func (f *fragment) writes(w *writers, agent, i int32, gpu bool) {
	c := &f.commands[agent][i]
	if w.agent == -1 {
		w.agent = agent
	} else if w.agent != agent {
		w.several = true
	} else if gpu && !w.beside {
		w.beside = f.beside(agent, w.last, i)
	}
	w.last = i
	if gpu {
		w.gpu++
	} else {
		w.cpu++
	}
	w.allMax = w.allMax && gpu && c.Max()
	w.allAdd = w.allAdd && c.Op() == model.OpAdd
	w.sum += uint64(c.Value())
	next := uint64(c.Value())
	if c.Op() == model.OpAdd {
		next += w.value
	}
	w.falls = w.falls || next < w.value || next > model.Released
	w.value = next
}

// tame says why stores of a fence may not commute or one of its views may fall: "" when it
// has one writer with non-decreasing values whose stores arrive in order, or all its
// stores take the maximum, or all add.
func (f *fragment) tame(w *writers, view bool) string {
	if w.agent == -1 {
		return ""
	}
	delayed := f.m.GPUToCPU.Mode == model.VisLag || f.m.GPUToCPU.Mode == model.VisUnreliable
	alone := !w.several && !w.beside
	switch {
	case w.allMax && (!delayed || alone):
		return ""
	case w.allAdd && w.sum <= model.Released && (alone || !delayed && f.m.CPUToGPU.Mode == model.VisImmediate):
		return ""
	case w.several && w.allMax:
		return "has several writers whose maxima arrive in the order in which they ran"
	case w.several:
		return "has several writers with plain stores"
	case w.beside:
		return "is updated by commands that may run beside each other"
	case w.falls:
		return "is updated with a smaller value"
	case f.m.GPUToCPU.Mode == model.VisUnordered && w.gpu > 1 && !view:
		return "has plain stores that may arrive out of order"
	}
	return ""
}

// beside reports whether commands i and j of a queue, one behind the other, may run at the
// same time.
func (f *fragment) beside(agent, i, j int32) bool {
	cs := f.commands[agent]
	graph, apart := f.y.Programs[0].FromGraph, cs[i].Buffer() != cs[j].Buffer()
	if f.m.Buffers == model.Overlap && f.m.Tracking != model.TrackAll && (graph || apart) {
		return true
	}
	if f.m.Dispatch != model.Concurrent || apart && !graph {
		return false
	}
	for k := i; k < j; k++ {
		if op := cs[k].Op(); op == model.OpBarrier || op == model.OpEncoder {
			return false
		}
	}
	return true
}
