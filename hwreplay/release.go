package hwreplay

import (
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// An Outcome is what one run did.
type Outcome struct {
	Finished bool // every rank did all it was given
	Hung     bool // nothing moved for the patience
	Released bool // every thread came back and every buffer finished afterwards
	Usable   bool // and the device worked
	Elapsed  time.Duration
	Threads  int // OS threads of the schedule: main threads, streams, handlers and queues
	Killed   int // buffers that the imposed watchdog killed
	Ranks    []RankCounters

	chains [][]event
}

// RankCounters is what was read of one rank at the end or at the hang.
type RankCounters struct {
	Rank     int             `json:"rank"`
	Counters model.Counters  `json:"counters"`
	Fences   []FenceCounters `json:"fences"`
}

// FenceCounters are the four numbers of a fence. Scheduled is the largest value of an
// update that was handed over, Executed the fence as the side that updates it sees it,
// Visible as the other side does, Consumed the largest target of a wait that has passed.
type FenceCounters struct {
	Name      string `json:"name"`
	Rank      int    `json:"rank"`
	Scheduled uint32 `json:"scheduled"`
	Executed  uint32 `json:"executed"`
	Visible   uint32 `json:"visible"`
	Consumed  uint32 `json:"consumed"`

	gpu, cpu uint32
}

// release ends what is left of a run: it reads the counters, then sets every kill flag
// and waits for the threads and the buffers to come back.
func (x *run) release(out *Outcome) {
	out.Hung = !out.Finished && x.fault.Load() == nil
	out.Ranks = x.counters()
	x.freeze()
	if out.Hung {
		out.chains = x.chains()
	}
	x.stop.Store(true)
	x.kill()
	x.broken = !x.back() || until("the release", x.drained) != nil
	out.Released = !x.broken
	if x.broken {
		return
	}
	if !out.Hung {
		out.chains = x.chains()
	}
	for _, rk := range x.ranks {
		out.Threads += len(rk.queues)
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				out.Killed += int(b2u(b.killed.Load()))
			}
		}
	}
	for _, a := range x.agents {
		out.Threads += int(b2u(a.state.Load() == agentDone))
	}
	// A run that has finished by itself has shown that the device works.
	out.Usable = out.Finished && out.Killed == 0 || x.usable() == nil
	x.broken = !out.Usable
}

// freeze ends the recording: a run that was stopped from outside still moves.
func (x *run) freeze() {
	x.logs.Lock()
	defer x.logs.Unlock()
	x.frozen = true
}

// kill sets the kill flag of every buffer that has not finished.
func (x *run) kill() {
	for _, rk := range x.ranks {
		rk.mu.Lock()
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				if b.submitted && !b.finished {
					x.m.control(b.batch.Control).Release()
				}
			}
		}
		rk.mu.Unlock()
	}
}

// back waits for the threads of the CPU, for five seconds at most. A thread may be in the
// middle of a commit when the run is stopped, so the flags are set again meanwhile.
func (x *run) back() bool {
	done := make(chan bool)
	go func() { x.all.Wait(); close(done) }()
	for deadline := time.Now().Add(5 * time.Second); ; {
		select {
		case <-done:
			x.kill()
			return true
		case <-time.After(10 * time.Millisecond):
			x.kill()
			if time.Now().After(deadline) {
				return false
			}
		}
	}
}

// drained reports whether every submitted buffer has left the device.
func (x *run) drained() bool {
	for _, rk := range x.ranks {
		for _, q := range rk.queues {
			for _, b := range q.buffers {
				if b.submitted && !x.m.result(b.batch.Finish).Load().Outcome.Ended() {
					return false
				}
				b.done.Store(true)
			}
		}
	}
	return true
}

// counters reads every fence.
func (x *run) counters() []RankCounters {
	out := make([]RankCounters, len(x.ranks))
	written := x.writers()
	for i, f := range x.fences {
		gpu, cpu := x.m.load(x.layout.gpu[i]), x.m.load(x.layout.cpu[i])
		c := FenceCounters{Name: x.plan.fences[i].name, Rank: x.plan.fences[i].rank, gpu: gpu, cpu: cpu,
			Scheduled: max(f.scheduled.Load(), x.plan.fences[i].initial), Consumed: f.consumed.Load()}
		switch written[i] {
		case 1: // the GPU alone
			c.Executed, c.Visible = gpu, cpu
		case 2: // the CPU alone
			c.Executed, c.Visible = cpu, gpu
		default:
			c.Executed, c.Visible = max(gpu, cpu), min(gpu, cpu)
		}
		out[c.Rank].Fences = append(out[c.Rank].Fences, c)
	}
	for r, rk := range x.ranks {
		out[r].Rank = r
		if g := rk.plan.gpuFence; g >= 0 {
			out[r].Counters.GPU = x.m.load(x.layout.cpu[g])
			out[r].Counters.Scheduled = x.scheduled(rk, g)
		}
		if c := rk.plan.cpuFence; c >= 0 {
			out[r].Counters.CPU = x.m.load(x.layout.gpu[c])
		}
	}
	return out
}

// scheduled is package sim's number: updates encoded of a graph, the largest value in
// committed buffers of an explicit schedule.
func (x *run) scheduled(rk *runRank, g int32) uint32 {
	if rk.plan.program.FromGraph {
		return rk.late[g].Load()
	}
	n := uint32(0)
	rk.mu.Lock()
	defer rk.mu.Unlock()
	for _, q := range rk.queues {
		for _, c := range q.info[:q.open] {
			if (c.Op == model.OpUpdate || c.Op == model.OpRelease) && c.Object == g {
				n = max(n, c.Value)
			}
		}
	}
	return n
}

// writers tells by fence who updates it: bit 0 the GPU, bit 1 the CPU.
func (x *run) writers() []uint8 {
	out := make([]uint8, len(x.fences))
	for i := range x.plan.agents {
		ag := &x.plan.agents[i]
		bit := uint8(2)
		if ag.kind == sim.Queue {
			bit = 1
		}
		for _, c := range ag.info {
			switch c.Op {
			case model.OpUpdate, model.OpRelease, model.OpAdd, model.OpReset:
				out[c.Object] |= bit
			}
		}
	}
	return out
}
