package naive

import "github.com/fencesim/fencesim/model"

// changed is a view after a store reached it.
func changed(view uint32, kind storeKind, value uint32) uint32 {
	switch kind {
	case maximum:
		return max(view, value)
	case increment:
		return view + value
	}
	return value
}

// reach lets a store reach one view.
func (s *state) reach(view *uint32, x store) {
	before := *view
	*view = changed(before, x.kind, x.value)
	if *view < before && x.kind != resetting {
		s.violate("backwards")
	}
}

// storeGPU executes a store of the GPU: its own view changes at once, the CPU's now or later.
func (w *world) storeGPU(s *state, f int, x store) {
	fence := &s.fences[f]
	if fence.freed {
		s.violate("use-after-free")
	}
	s.reach(&fence.gpu, x)
	switch w.m.GPUToCPU.Mode {
	case model.VisImmediate:
		s.reach(&fence.cpu, x)
		return
	case model.VisUnordered, model.VisUnreliable:
		x.rank, x.queue, x.buffer = 0, 0, 0
	}
	fence.toCPU = append(fence.toCPU, x)
}

// storeCPU executes a store of the CPU: it overwrites in both views.
func (w *world) storeCPU(s *state, f int, x store) {
	fence := &s.fences[f]
	if fence.freed {
		s.violate("use-after-free")
	}
	s.reach(&fence.cpu, x)
	if w.m.CPUToGPU.Mode == model.VisImmediate {
		s.reach(&fence.gpu, x)
		return
	}
	fence.toGPU = append(fence.toGPU, store{kind: x.kind, value: x.value})
}

// arrivals lists the stores that may arrive next.
func (w *world) arrivals(s *state) []transition {
	var ts []transition
	arrive := func(f, i int, toCPU, guaranteed bool) {
		ts = append(ts, transition{
			label:      label("memory: store ", i, " of fence ", w.fences[f].name, "@", w.fences[f].rank, " arrives, to the CPU: ", toCPU),
			guaranteed: guaranteed,
			do: func(s *state) {
				fence := &s.fences[f]
				on, view := &fence.toGPU, &fence.gpu
				if toCPU {
					on, view = &fence.toCPU, &fence.cpu
				}
				x := (*on)[i]
				*on = append((*on)[:i:i], (*on)[i+1:]...)
				if fence.freed {
					s.violate("use-after-free")
				}
				s.reach(view, x)
			},
		})
	}
	for f := range s.fences {
		to := s.fences[f].toCPU
		switch {
		case len(to) == 0:
		case w.m.GPUToCPU.Mode == model.VisUnordered:
			for i := range to {
				arrive(f, i, true, true)
			}
		case w.m.GPUToCPU.Mode == model.VisLag:
			arrive(f, 0, true, w.sureToArrive(s, to[0]))
		default:
			arrive(f, 0, true, false)
		}
		if len(s.fences[f].toGPU) > 0 {
			arrive(f, 0, false, false)
		}
	}
	return ts
}

// sureToArrive is the rule of lag: the issuing buffer has finished, and so have n later
// ones of its queue or all committed ones.
func (w *world) sureToArrive(s *state, x store) bool {
	bufs := s.ranks[x.rank].queues[x.queue].buffers
	if !bufs[x.buffer].finished {
		return false
	}
	later, all := 0, true
	for i := range bufs {
		if i > x.buffer && bufs[i].finished {
			later++
		}
		all = all && bufs[i].finished
	}
	return all || later >= w.m.GPUToCPU.Buffers
}

// checkReads is what reading arrays violates, on the side of agent a.
func (w *world) checkReads(s *state, a agent) {
	for _, r := range a.command.Reads {
		x := &s.arrays[w.array(a.rank, r.Array)]
		if x.version == 0 || x.version < int(r.Version) || x.hidden && !a.gpu() {
			s.violate("stale-read")
		}
		if r.Version > 0 && x.version > int(r.Version) {
			s.violate("overwritten")
		}
	}
}

// write writes the arrays of a's command.
func (w *world) write(s *state, a agent) {
	for _, name := range a.command.Writes {
		x := &s.arrays[w.array(a.rank, name)]
		*x = array{version: x.version + 1}
		if a.gpu() && w.m.Payload == model.PayloadCoherent {
			x.hidden, x.rank, x.queue, x.buffer = true, a.rank, a.owner, a.buffer
		}
	}
}

// unhide makes an array visible to the CPU.
func (x *array) unhide() { *x = array{version: x.version} }

// endBuffer is what finishing a buffer does, by itself or by a kill.
func (w *world) endBuffer(s *state, r, q, b int) {
	buf := &s.ranks[r].queues[q].buffers[b]
	buf.finished, buf.counted, buf.commands = true, false, nil
	if w.ranks[r].FromGraph {
		buf.from, buf.to = 0, 0
	}
	for i := range s.arrays {
		if x := &s.arrays[i]; x.hidden && x.rank == r && x.queue == q && x.buffer == b {
			x.unhide()
		}
	}
}

// updates counts the updates of fence f that rank r has encoded so far.
func (w *world) updates(s *state, r, f int) uint32 {
	n := uint32(0)
	count := func(cs []model.Command) {
		for i := range cs {
			if cs[i].Op == model.OpUpdate && w.fence(r, &cs[i]) == f {
				n++
			}
		}
	}
	p := w.ranks[r]
	for q := range p.Queues {
		encoded := s.ranks[r].queues[q].encoded
		if !p.FromGraph {
			encoded = 0
			if bufs := s.ranks[r].queues[q].buffers; len(bufs) > 0 {
				encoded = bufs[len(bufs)-1].to
			}
		}
		count(p.Queues[q].Commands[:encoded])
	}
	for i := range p.Streams {
		count(p.Streams[i].Tasks[:s.ranks[r].streams[i].given])
	}
	return n
}
