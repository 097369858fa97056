package sim

import "github.com/fencesim/fencesim/model"

// storeView stores into one view and reports whether that lowered it.
func storeView(s State, f field, value uint64, exempt bool) Violations {
	var v Violations
	if !exempt && value < f.get(s) {
		v = Backwards
	}
	f.set(s, value)
	return v
}

// applyStore applies a store of x to one view.
func applyStore(s State, view field, x *Command) Violations {
	switch {
	case x.op == model.OpAdd:
		return storeView(s, view, uint64(uint32(view.get(s))+x.value), false)
	case x.store == storeMax:
		return storeView(s, view, max(view.get(s), uint64(x.value)), false)
	}
	return storeView(s, view, uint64(x.value), x.op == model.OpReset)
}

// store executes a store: the writer's own view changes at once, the other when the store
// arrives. CPU stores overwrite.
func (y *System) store(s State, x *Command, gpu bool, t Transition) Violations {
	f := &y.fences[x.object]

	if gpu {
		v := applyStore(s, f.gpu, x)
		if x.ref < 0 {
			if f.cpu != f.gpu {
				v |= applyStore(s, f.cpu, x)
			}
			return v
		}
		f.toCPU.depart(s, x.ref)
		if st := &f.toCPU.stores[x.ref]; !st.issued.none() {
			st.issued.set(s, uint64(t.Buffer))
		}
		return v
	}
	v := overwrite(s, f.cpu, x)
	if x.ref < 0 {
		if f.cpu != f.gpu {
			v |= overwrite(s, f.gpu, x)
		}
		return v
	}
	f.toGPU.depart(s, x.ref)
	return v
}

func overwrite(s State, view field, x *Command) Violations {
	if x.op == model.OpAdd {
		return applyStore(s, view, x)
	}
	return storeView(s, view, uint64(x.value), x.op == model.OpReset)
}

// depart puts store i on its way.
func (p *pending) depart(s State, i int32) {
	if !p.fifo {
		p.members.put(s, i)
		return
	}
	for _, f := range p.slots {
		if f.get(s) == 0 {
			f.set(s, uint64(i+1))
			return
		}
	}
}

// arriveStore takes store i off its way.
func (p *pending) arriveStore(s State, i int32) {
	p.stores[i].issued.set(s, 0)
	if !p.fifo {
		p.members.remove(s, i)
		return
	}
	for j := range p.slots {
		next := uint64(0)
		if j+1 < len(p.slots) {
			next = p.slots[j+1].get(s)
		}
		p.slots[j].set(s, next)
		if next == 0 {
			break
		}
	}
}

// applyVisible lets a store arrive at the other side's view.
func (y *System) applyVisible(s State, t Transition) Violations {
	f := &y.fences[t.Agent]
	var v Violations
	if f.freed.get(s) != 0 {
		v = UseAfterFree
	}
	if t.CPU {
		f.toGPU.arriveStore(s, t.Cmd)
		return v | overwrite(s, f.gpu, y.storing(&f.toGPU.stores[t.Cmd]))
	}
	f.toCPU.arriveStore(s, t.Cmd)
	return v | applyStore(s, f.cpu, y.storing(&f.toCPU.stores[t.Cmd]))
}

// storing is the command that issues a store.
func (y *System) storing(st *storeRef) *Command { return &y.agents[st.agent].cmds[st.index] }
