package sim

// enabledArrivals appends what may arrive of fence f's stores.
func (y *System) enabledArrivals(s State, f int32, buf []Transition) []Transition {
	fc := &y.fences[f]
	if p := &fc.toCPU; p.active {
		switch {
		case !p.ordered:
			for ci, c := range p.members.chunks {
				for v, i := c.get(s), int32(0); v != 0; v, i = v>>1, i+1 {
					if v&1 != 0 {
						buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: int32(ci*64) + i})
					}
				}
			}
		default:
			if i := p.oldest(s); i >= 0 {
				sure := y.m.toCPU == visLag && y.arrivalSure(s, &p.stores[i])
				buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: i, Possible: !sure})
			}
		}
	}
	if p := &fc.toGPU; p.active {
		if i := p.oldest(s); i >= 0 {
			buf = append(buf, Transition{Kind: KindVisible, Agent: f, Cmd: i, CPU: true, Possible: true})
		}
	}
	return buf
}

// oldest is the store on its way that was executed first, or -1.
func (p *pending) oldest(s State) int32 {
	if p.fifo {
		return p.slots[0].int(s) - 1
	}
	return p.members.first(s)
}

// arrivalSure reports whether lag guarantees the arrival of a store now: its buffer has
// finished, and n later ones of its queue or all committed ones have.
func (y *System) arrivalSure(s State, st *storeRef) bool {
	q := &y.queues[st.queue]
	b := st.buffer
	if !q.fixed {
		b = st.issued.int(s)
	}
	fin, com := q.fin.int(s), q.com.int(s)
	if !y.m.overlap {
		return b < fin && (fin-b-1 >= y.m.lag || fin == com)
	}
	if !y.finished(s, q, b) {
		return false
	}
	later, all := max(0, fin-b-1), true
	for c := fin; c < com; c++ {
		done := q.slot(c).status.get(s) == bufferFinished
		all = all && done
		if done && c > b {
			later++
		}
	}
	return all || later >= y.m.lag
}
