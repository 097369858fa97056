package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Digest is a digest of what s says: equal for equal states of one schedule on one machine,
// whatever room their layouts have ([Options.Window]).
func (y *System) Digest(s State) string {
	var b []byte
	put := func(fs ...field) {
		for _, f := range fs {
			b = binary.AppendUvarint(b, f.get(s))
		}
	}
	for i := range y.ranks {
		r := &y.ranks[i]
		put(r.at, r.phase, r.blocked, r.dead, r.ignored, r.used, r.memory)
	}
	for i := range y.queues {
		q := &y.queues[i]
		put(q.com, q.fin, q.started, q.pc, q.phase, q.open, q.base)
		if len(q.slots) > 0 {
			for c, com := q.fin.int(s), q.com.int(s); c < com; c++ {
				l := q.slot(c)
				put(l.end, l.counted, l.status, l.pc, l.phase)
			}
		}
		put(q.phases...)
		for j := range q.cmds {
			if f := y.ordinal(&q.cmds[j]); !f.none() {
				put(f)
			}
		}
	}
	for i := range y.streams {
		st := &y.streams[i]
		put(st.enq, st.pc, st.phase)
		for j := range st.cmds {
			if f := y.ordinal(&st.cmds[j]); !f.none() {
				put(f)
			}
		}
	}
	for i := range y.handlers {
		put(y.handlers[i].pc, y.handlers[i].phase)
	}
	for i := range y.arrays {
		var c coherence
		if y.m.coherent {
			c = y.visible[i]
		}
		put(y.arrays[i].version, c.visible, c.writer)
	}
	for i := range y.events {
		put(y.events[i].value)
	}
	for i := range y.groups {
		put(y.groups[i].arrived)
		put(y.groups[i].names...)
	}
	for i := range y.pairs {
		put(y.pairs[i].count)
		put(y.pairs[i].slots...)
	}
	for i := range y.fences {
		f := &y.fences[i]
		put(f.gpu, f.cpu, f.freed)
		for _, p := range []*pending{&f.toCPU, &f.toGPU} {
			put(p.members.chunks...)
			put(p.slots...)
			for j := range p.stores {
				put(p.stores[j].issued)
			}
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
