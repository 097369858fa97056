package check

import "github.com/fencesim/fencesim/model"

// An evaluatorCounters reads the three counters of a state off its positions.
type evaluatorCounters struct {
	scheduled []uint32 // per main step
	gpu, cpu  []uint32 // per command, per task: the value after so many
}

func (y *evaluatorSystem) counters() *evaluatorCounters {
	c := &evaluatorCounters{make([]uint32, len(y.main)+1), make([]uint32, len(y.cmds)+1), make([]uint32, len(y.tasks)+1)}
	gpu, cpu := counterFence(y.cmds, y.queue), counterFence(y.tasks, y.stream)
	updates := make([]uint32, len(y.cmds)+1)
	for i := range y.cmds {
		c.gpu[i+1], updates[i+1] = c.gpu[i], updates[i]
		if x := &y.cmds[i]; x.Op == model.OpUpdate && x.Name == gpu {
			c.gpu[i+1] = x.Value
			updates[i+1]++
		}
	}
	for i := range y.tasks {
		c.cpu[i+1] = c.cpu[i]
		if x := &y.tasks[i]; x.Op == model.OpUpdate && x.Name == cpu {
			c.cpu[i+1] = x.Value
		}
	}
	for m := range c.scheduled {
		c.scheduled[m] = updates[y.enc[m]]
	}
	return c
}

// counterFence is the fence that the first queue or stream updates first, if cmds are its.
func counterFence(cmds []model.Command, index int) model.Sym {
	for i := range cmds {
		if cmds[i].Op == model.OpUpdate && index == 0 {
			return cmds[i].Name
		}
	}
	return model.NoSym
}

// at is the counters of s when the CPU sees v tracked updates. If not all are tracked, GPU
// is what the CPU must have seen of them.
func (c *evaluatorCounters) at(y *evaluatorSystem, s *evaluatorState, v int32) model.Counters {
	k := model.Counters{Scheduled: c.scheduled[s.m], CPU: c.cpu[s.p]}
	switch {
	case !y.late:
		k.GPU = c.gpu[s.q]
	case v > 0:
		k.GPU = c.gpu[y.marks[v-1]+1]
	}
	return k
}
