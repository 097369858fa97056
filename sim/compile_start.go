package sim

import "github.com/fencesim/fencesim/model"

// findCounters finds the fences of the three counters of rank r.
func (c *compiler) findCounters(r int32) {
	rk := &c.ranks[r]
	if rk.queues.lo < rk.queues.hi {
		q := &c.System.queues[rk.queues.lo]
		for i := range q.cmds {
			if q.cmds[i].updates() && c.fences[q.cmds[i].object].rank == r {
				rk.gpuFence = q.cmds[i].object
				break
			}
		}
	}
	if rk.streams.lo < rk.streams.hi {
		st := &c.System.streams[rk.streams.lo]
		for i := range st.cmds {
			if st.cmds[i].updates() && c.fences[st.cmds[i].object].rank == r {
				rk.cpuFence = st.cmds[i].object
				break
			}
		}
	}
	rk.late = map[int32][]uint32{}
	for a := rk.agent; c.usesLate && int(a) < len(c.agents) && c.agents[a].rank == r; a++ {
		for i := range c.agents[a].cmds {
			if x := &c.agents[a].cmds[i]; x.op == model.OpWait && x.late && rk.late[x.object] == nil {
				rk.late[x.object] = c.scheduledBefore(r, x.object)
			}
		}
	}
	if rk.gpuFence < 0 {
		return
	}
	if rk.program.FromGraph {
		rk.late[rk.gpuFence] = c.scheduledBefore(r, rk.gpuFence)
		return
	}
	for q := rk.queues.lo; q < rk.queues.hi; q++ {
		qu := &c.System.queues[q]
		qu.scheduledMax = make([]uint32, len(qu.ends)+1)
		j := int32(0)
		for b, e := range qu.ends {
			qu.scheduledMax[b+1] = qu.scheduledMax[b]
			for ; j < e; j++ {
				if x := &qu.cmds[j]; x.updates() && x.object == rk.gpuFence {
					qu.scheduledMax[b+1] = max(qu.scheduledMax[b+1], x.value)
				}
			}
		}
	}
}

// start builds the initial state: fences at their initial value in both views, inputs
// written and visible, nothing committed.
func (c *compiler) start() {
	s := make(State, c.words)
	for i := range c.fences {
		f := &c.fences[i]
		f.gpu.set(s, uint64(f.initial))
		f.cpu.set(s, uint64(f.initial))
	}
	for r := range c.ranks {
		for _, sym := range c.Programs[r].Inputs {
			a := &c.arrays[c.at[r].arrays[sym]-1]
			a.version.set(s, 1)
		}
	}
	for i := range c.visible {
		c.visible[i].visible.set(s, 1)
	}
	c.initial = s
}
