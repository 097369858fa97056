package check

import (
	"encoding/binary"

	"github.com/fencesim/fencesim/model"
)

// An evaluatorState is what a closed state has to hold; all else is a function of it. The
// open buffer holds commands start to enc[m]; updates up to q have executed.
type evaluatorState struct {
	m       int32   // main step
	blocked int32   // throttle: M goes on when fewer are active; 0 not blocked
	start   int32   // of the open buffer: commands before it are committed
	q       int32   // commands executed
	p       int32   // tasks run
	v       int32   // tracked updates seen by the CPU
	flying  []int32 // ends of buffers in flight: position * 2, + 1 if counted
	behind  []int32 // finished ends behind the oldest unseen update: tracked updates before each
}

func (s *evaluatorState) copy(o *evaluatorState) {
	f, b := append(s.flying[:0], o.flying...), append(s.behind[:0], o.behind...)
	*s = *o
	s.flying, s.behind = f, b
}

// appendTo appends the state in a compact form.
func (s *evaluatorState) appendTo(b []byte) []byte {
	for _, x := range []int32{s.m, s.blocked, s.start, s.start - s.q, s.p, s.v, int32(len(s.behind))} {
		b = binary.AppendUvarint(b, uint64(x))
	}
	for _, k := range s.behind {
		b = binary.AppendUvarint(b, uint64(k-s.v))
	}
	at := 2 * s.q
	for _, f := range s.flying {
		b = binary.AppendUvarint(b, uint64((f&^1-at)|f&1))
		at = f &^ 1
	}
	return b
}

// read is the inverse of appendTo.
func (s *evaluatorState) read(b []byte) {
	next := func() int32 {
		x, n := binary.Uvarint(b)
		b = b[n:]
		return int32(x)
	}
	s.m, s.blocked, s.start = next(), next(), next()
	s.q, s.p, s.v = s.start-next(), next(), next()
	s.flying, s.behind = s.flying[:0], s.behind[:0]
	for n := next(); n > 0; n-- {
		s.behind = append(s.behind, s.v+next())
	}
	for at := 2 * s.q; len(b) > 0; {
		f := next()
		s.flying = append(s.flying, at+f)
		at += f &^ 1
	}
}

// active is the number of active tasks.
func (y *evaluatorSystem) active(s *evaluatorState) int32 {
	n := int32(y.counted[y.enq[s.m]] - y.counted[s.p])
	for _, f := range s.flying {
		n += f & 1
	}
	return n
}

// contested reports whether M is at a throttle test that finds too many active.
func (y *evaluatorSystem) contested(s *evaluatorState) bool {
	return int(s.m) < len(y.main) && y.main[s.m].Kind == model.StepThrottle && s.blocked == 0 && y.active(s) > y.main[s.m].N
}

// idle reports whether every committed buffer has finished. That no end is in flight does
// not say so: that of a last buffer with commands may have been dropped.
func (y *evaluatorSystem) idle(s *evaluatorState) bool {
	return len(s.flying) == 0 && (s.q == s.start || y.plant == plantLastEnd)
}

// stepMain takes M's step unless it is contested or blocks.
func (y *evaluatorSystem) stepMain(s *evaluatorState) bool {
	if int(s.m) == len(y.main) {
		return false
	}
	st := &y.main[s.m]
	switch st.Kind {
	case model.StepEncode:
		if y.forced[s.start] <= st.N {
			s.flying = append(s.flying, 2*st.N+1)
			s.start = st.N
		}
	case model.StepThrottle:
		if s.blocked > 0 {
			if y.active(s) >= s.blocked {
				return false
			}
			s.blocked = 0
		} else if y.active(s) > st.N {
			if y.plant == plantTest {
				y.test(s)
				return true
			}
			return false
		}
	case model.StepFlush:
		s.start = y.enc[s.m]
		s.flying = append(s.flying, 2*s.start)
	case model.StepSynchronize:
		if st.Queue && int(st.Target) == y.queue && !y.idle(s) || !st.Queue && int(st.Target) == y.stream && s.p < y.enq[s.m] {
			return false
		}
	}
	s.m++
	return true
}

// test is T: M takes a contested test, commits what is open and blocks.
func (y *evaluatorSystem) test(s *evaluatorState) {
	if y.firstUse <= s.m {
		s.start = y.enc[s.m]
		s.flying = append(s.flying, 2*s.start)
	}
	if s.blocked = y.active(s); s.blocked <= 1 {
		s.blocked = 0
		s.m++
	}
}

// endable reports whether Q is at an end, and whether it is that of a counted buffer.
func (s *evaluatorState) endable() (end, counted bool) {
	if len(s.flying) == 0 || s.flying[0]>>1 != s.q {
		return false, false
	}
	return true, s.flying[0]&1 != 0
}

// finish ends the buffer whose end Q is at.
func (y *evaluatorSystem) finish(s *evaluatorState) {
	if k := y.before[s.q]; k > s.v && y.sure {
		s.behind = append(s.behind, k)
	}
	s.flying = append(s.flying[:0], s.flying[1:]...)
}

// stepQueue takes Q's step unless it waits or ends a counted buffer.
func (y *evaluatorSystem) stepQueue(s *evaluatorState) bool {
	if end, counted := s.endable(); end {
		if counted && !y.endsFreely(s.m) && y.plant != plantEnd {
			return false
		}
		y.finish(s)
		return true
	}
	if s.q == s.start || y.need[s.q] > s.p {
		return false
	}
	s.q++
	return true
}

// passable reports whether P's task is handed over and not a wait that waits.
func (y *evaluatorSystem) passable(s *evaluatorState) bool {
	return s.p < y.enq[s.m] && s.q >= y.reach[s.p] && !(y.open[s.p] && s.v < y.target[s.p])
}

// stepStream takes P's step unless it waits or is a counted task.
func (y *evaluatorSystem) stepStream(s *evaluatorState) bool {
	if !y.passable(s) || y.counted[s.p+1] > y.counted[s.p] && !y.runsFreely(s.m) && y.plant != plantTask {
		return false
	}
	y.run(s)
	return true
}

// run is P's task, which must be passable.
func (y *evaluatorSystem) run(s *evaluatorState) {
	if v := y.target[s.p]; v > s.v && y.awaits[s.p] > 0 {
		y.see(s, v)
	}
	s.p++
}

// see raises what the CPU sees.
func (y *evaluatorSystem) see(s *evaluatorState, v int32) {
	s.v = v
	i := 0
	for i < len(s.behind) && s.behind[i] <= v {
		i++
	}
	s.behind = append(s.behind[:0], s.behind[i:]...)
}

// deliver lets a store arrive whose guarantee is stable.
func (y *evaluatorSystem) deliver(s *evaluatorState) bool {
	early := y.plant == plantIdleClaim && y.sure && y.idle(s) && s.v < y.before[s.q]
	if len(s.behind) <= int(y.lag) && !early {
		return false
	}
	y.see(s, s.v+1)
	return true
}

// close takes all that can be taken at once, and drops ends that do not matter.
func (y *evaluatorSystem) close(s *evaluatorState) {
	for again := true; again; {
		again = false
		for y.stepMain(s) {
			again = true
		}
		for y.stepQueue(s) {
			again = true
		}
		for y.deliver(s) {
			again = true
		}
		for y.stepStream(s) {
			again = true
		}
	}
	if y.watch != nil {
		y.watch(s)
	}
	kept := s.flying[:0]
	for _, f := range s.flying {
		if f&1 != 0 || y.matters(f>>1, s.v) {
			kept = append(kept, f)
		}
	}
	s.flying = kept
}
