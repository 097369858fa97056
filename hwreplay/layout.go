package hwreplay

import (
	"sync/atomic"
	"unsafe"

	"github.com/fencesim/fencesim/kernels"
)

// line is the distance between words that must not share a cache line.
const line = 64

// region is the shared memory of a session.
type region struct {
	base  unsafe.Pointer
	bytes int
}

func (m *region) word(at int) *uint32 { return (*uint32)(unsafe.Add(m.base, at)) }

func (m *region) load(at int) uint32 { return atomic.LoadUint32(m.word(at)) }

func (m *region) store(at int, v uint32) { atomic.StoreUint32(m.word(at), v) }

func (m *region) control(at int) *kernels.Control {
	return (*kernels.Control)(unsafe.Add(m.base, at))
}

func (m *region) result(at int) *kernels.Result { return (*kernels.Result)(unsafe.Add(m.base, at)) }

// clear zeroes it; nothing may run.
func (m *region) clear() { clear(unsafe.Slice((*uint64)(m.base), m.bytes/8)) }

// layout is where everything of a plan lies in the shared memory.
type layout struct {
	bytes  int
	probe  int   // a line for probes and the clock
	gpu    []int // by fence: the GPU's copy
	cpu    []int // by fence: the CPU's copy, the same word unless split
	events []int
	queues map[int32]*queueLayout
}

// queueLayout is one queue's part: results by command, and by buffer its control, start
// and finish. A call is a word that asks and one that answers.
type queueLayout struct {
	results []int
	calls   []int // by command that the CPU has to make for the GPU; -1 for others
	buffers int
	control int
	stamps  int
}

func (q *queueLayout) controlOf(b int) int { return q.control + b*line }

func (q *queueLayout) startOf(b int) int { return q.stamps + 2*b*kernels.ResultSize }

func (q *queueLayout) finishOf(b int) int { return q.startOf(b) + kernels.ResultSize }

func (l *layout) take(bytes int) int {
	at := l.bytes
	l.bytes += (bytes + line - 1) &^ (line - 1)
	return at
}

// newLayout lays out a plan.
func newLayout(p *Plan) *layout {
	l := &layout{queues: map[int32]*queueLayout{}}
	l.probe = l.take(4 * line)
	for range p.fences {
		at := l.take(line)
		l.gpu = append(l.gpu, at)
		if p.split() {
			at = l.take(line)
		}
		l.cpu = append(l.cpu, at)
	}
	for range p.events {
		l.events = append(l.events, l.take(line))
	}
	for r := range p.ranks {
		rk := &p.ranks[r]
		for i, a := range rk.queues {
			q := &queueLayout{buffers: len(rk.program.Queues[i].Ends)}
			if rk.program.FromGraph {
				q.buffers = len(rk.steps) + 1 // a step commits one buffer of a queue at most
			}
			for c := range p.agents[a].info {
				q.results = append(q.results, l.take(kernels.ResultSize))
				at := -1
				if p.called(a, c) {
					at = l.take(3 * line)
				}
				q.calls = append(q.calls, at)
			}
			q.control = l.take(q.buffers * line)
			q.stamps = l.take(2 * q.buffers * kernels.ResultSize)
			l.queues[a] = q
		}
	}
	return l
}
