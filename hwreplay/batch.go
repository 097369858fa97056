package hwreplay

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fencesim/fencesim/kernels"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// called reports whether command c of queue agent a is made by the CPU on behalf of the
// GPU: the GPU asks, and spins until the CPU has answered.
func (p *Plan) called(a int32, c int) bool {
	info := &p.agents[a].info[c]
	switch info.Op {
	case model.OpCollective, model.OpSend, model.OpRecv, model.OpPark, model.OpNotify, model.OpAlloc, model.OpDealloc:
		return true
	case model.OpWait:
		return info.Late
	}
	return false
}

// silent reports whether a command of a queue is nothing to the device.
func silent(op model.Op) bool {
	switch op {
	case model.OpBarrier, model.OpEncoder, model.OpFree, model.OpFail:
		return true
	}
	return false
}

// ops is command c of queue agent a for the device; none if it is silent.
func (r *Runner) ops(a int32, c int) []Op {
	info := &r.plan.agents[a].info[c]
	q := r.layout.queues[a]
	o := Op{Result: q.results[c], Order: kernels.BarrierAfter}
	if at := q.calls[c]; at >= 0 {
		o.Kind, o.At, o.Value, o.Answer = OpCall, at, 1, at+line
		o.Free = info.Op != model.OpCollective && info.Op != model.OpWait
		if info.Op == model.OpWait && r.plan.Machine.SpinLimit > 0 {
			o.Duration = r.config.GiveUp
		}
		return []Op{o}
	}
	switch info.Op {
	case model.OpKernel:
		o.Kind, o.Duration = OpCompute, r.config.kernel(r.plan.agents[a].cmds[c])
	case model.OpCoherent:
		o.Kind = OpCoherent
	case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
		o.Kind, o.Store, o.At, o.Value = OpStore, info.Store, r.layout.gpu[info.Object], info.Value
		switch {
		case info.Op == model.OpAdd:
			o.Store = StoreAdd
		case info.Op == model.OpReset:
			o.Store = model.StorePlain
		case o.Store == model.StoreGuarded:
			o.Duration = r.config.Gap
		}
	case model.OpWait:
		o.Kind, o.At, o.Value, o.Exact, o.Order = OpWait, r.layout.gpu[info.Object], info.Value, info.Equal, kernels.BarrierBefore
		if r.plan.Machine.SpinLimit > 0 {
			o.Duration = r.config.GiveUp
		}
	case model.OpSignal:
		o.Kind, o.Store, o.At, o.Value = OpStore, model.StoreMax, r.layout.events[info.Object], info.Value
	case model.OpAwait:
		o.Kind, o.At, o.Value, o.Order, o.Free = OpWait, r.layout.events[info.Object], info.Value, kernels.BarrierBefore, true
	default:
		return nil
	}
	return []Op{o}
}

// sectionEnd is the end of the section of commands that starts at pc in a buffer that
// ends at hi, as package sim divides it; every command is a section of its own under
// serial dispatch.
func (p *Plan) sectionEnd(q *model.Queue, info []sim.CommandInfo, pc, hi int) int {
	if p.Machine.Dispatch != model.Concurrent || divides(info[pc].Op) {
		return pc + 1
	}
	end := hi
	if q.Section != nil && q.Section[pc] != math.MaxInt32 {
		end = min(end, int(q.Section[pc]))
	}
	for i := pc + 1; i < end; i++ {
		if divides(info[i].Op) {
			return i
		}
	}
	return end
}

func divides(op model.Op) bool { return op == model.OpBarrier || op == model.OpEncoder }

// eachSection tells f of the longest section that can begin at each command of each queue
// under concurrent dispatch, until f returns an error.
func (p *Plan) eachSection(f func(section []sim.CommandInfo) error) error {
	for r := range p.ranks {
		for i, a := range p.ranks[r].queues {
			q, info := &p.ranks[r].program.Queues[i], p.agents[a].info
			end := len(info)
			for pc := len(info) - 1; pc >= 0; pc-- {
				if _, last := slices.BinarySearch(q.Ends, pc+1); last {
					end = pc + 1
				}
				if divides(info[pc].Op) {
					end = pc
					continue
				}
				to := end
				if q.Section != nil {
					to = min(to, int(q.Section[pc]))
				}
				if err := f(info[pc:to]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// batch builds the device's form of commands lo to hi of a queue, its buffer b. What
// stands behind a command that fails never runs.
func (x *run) batch(a int32, b, lo, hi int) *Batch {
	r := x.Runner
	ag := &r.plan.agents[a]
	q := r.layout.queues[a]
	out := &Batch{Control: q.controlOf(b), Start: q.startOf(b), Finish: q.finishOf(b)}
	if most := r.config.Stagger; most > 0 {
		rng := rand.New(rand.NewPCG(r.config.Seed, uint64(a)<<32|uint64(b)))
		wait := Op{Kind: OpCompute, Duration: time.Duration(rng.Int64N(int64(most)))}
		out.Sections = append(out.Sections, []Chain{{Ops: []Op{wait}}})
	}
	queue := &r.plan.ranks[ag.rank].program.Queues[ag.index]
	for pc := lo; pc < hi; {
		end := r.plan.sectionEnd(queue, ag.info, pc, hi)
		var section []Chain
		for c := pc; c < end; c++ {
			if ag.info[c].Op == model.OpFail {
				return out
			}
			if ops := r.ops(a, c); len(ops) > 0 {
				section = append(section, Chain{ops, ag.info[c].Op == model.OpSignal})
			}
		}
		if len(section) > 0 {
			out.Sections = append(out.Sections, section)
		}
		pc = end
	}
	return out
}
