package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// evaluatorFragment reports why [decideEvaluator] and [slackOf] do not apply to one rank's
// schedule p on machine m: the condition that fails, by name, or "".
//
// The fragment: buffer ends chosen at run time, one in-order queue and one CPU stream with
// serial dispatch; stores of the GPU's fence arriving in order, or each guaranteed by itself
// and combined by maximum; CPU stores visible at once; early-bound targets; nothing that
// takes a resource or ends what has begun. Then no transition of one agent disables one of
// another, and only the main thread raises the number of active tasks.
func evaluatorFragment(p *model.Schedule, m model.Machine) string {
	if !p.FromGraph {
		return "buffer ends are fixed"
	}
	m = m.Normal()
	for _, c := range []struct {
		fails bool
		name  string
	}{
		{m.Buffers != model.InOrder, "buffers " + m.Buffers},
		{m.Dispatch != model.Serial, "dispatch " + m.Dispatch},
		{m.Device != model.Shared, "device " + m.Device},
		{m.Slots > 0, "slots"},
		{m.InFlight > 0, "in_flight"},
		{m.Memory > 0, "memory"},
		{m.SpinLimit > 0, "spin_limit"},
		{m.Watchdog != model.WatchdogOff, "watchdog " + m.Watchdog},
		{m.CPUToGPU.Mode != model.VisImmediate, "cpu_to_gpu " + m.CPUToGPU.Mode},
	} {
		if c.fails {
			return c.name
		}
	}
	queues, streams := 0, 0
	for i := range p.Queues {
		queues += min(1, len(p.Queues[i].Commands))
		if len(p.Queues[i].OnFinish) > 0 {
			return "completion handlers"
		}
	}
	for i := range p.Streams {
		streams += min(1, len(p.Streams[i].Tasks))
	}
	if queues > 1 {
		return fmt.Sprintf("%d GPU queues: the guarantee of an arrival and the order of waits are those of a single queue", queues)
	}
	if streams > 1 {
		return fmt.Sprintf("%d CPU streams: who waits for whom is read off a single order of tasks", streams)
	}
	for _, st := range p.Main {
		switch st.Kind {
		case model.StepEncode, model.StepUpdate, model.StepTask, model.StepThrottle, model.StepFlush, model.StepSynchronize:
		default:
			return "a main thread with steps of its own"
		}
	}
	return evaluatorCommands(p, m)
}

// evaluatorCommands is the part of [evaluatorFragment] that reads commands.
func evaluatorCommands(p *model.Schedule, m model.Machine) string {
	for i := range p.Fences {
		if p.Fences[i].Initial != 0 {
			return "a fence that does not start at 0"
		}
	}
	last := [2]map[model.Sym]uint32{{}, {}} // largest store so far of each side
	fences := 0                             // that the GPU updates
	each := func(side int, cmds []model.Command) string {
		for i := range cmds {
			c := &cmds[i]
			switch {
			case c.Late:
				return "discipline late"
			case c.Equal:
				return "a wait for equality"
			case c.Op == model.OpSend || c.Op == model.OpRecv:
				return "send or recv"
			case c.Rank != model.OwnRank:
				return "a fence of another rank"
			}
			switch c.Op {
			case model.OpUpdate, model.OpSignal:
				v, old := last[side][c.Name]
				if c.Value <= v {
					return fmt.Sprintf("fence %s: values that do not rise", p.Names.Of(c.Name))
				}
				if !old && side == 0 && c.Op == model.OpUpdate {
					fences++
				}
				last[side][c.Name] = c.Value
			case model.OpKernel, model.OpWait, model.OpAwait, model.OpCoherent, model.OpBarrier, model.OpEncoder, model.OpCollective:
			default:
				return "command " + c.Op.String()
			}
		}
		return ""
	}
	for i := range p.Queues {
		if why := each(0, p.Queues[i].Commands); why != "" {
			return why
		}
	}
	for i := range p.Streams {
		if why := each(1, p.Streams[i].Tasks); why != "" {
			return why
		}
	}
	for name := range last[0] {
		if _, ok := last[1][name]; ok {
			return "a fence that both sides update"
		}
	}
	switch m.GPUToCPU.Mode {
	case model.VisLag, model.VisUnreliable:
		if fences > 1 {
			return "several GPU fences (evals) whose stores arrive late"
		}
	case model.VisUnordered:
		for i := range p.Fences {
			if _, gpu := last[0][p.Fences[i].Name]; gpu && p.Fences[i].Store != "" && p.Fences[i].Store != model.StoreMax {
				return "stores that overtake and are not max"
			}
		}
		if fences > 0 && m.Store != model.StoreMax {
			return "stores that overtake and are not max"
		}
	}
	return ""
}
