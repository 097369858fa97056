package sim

import "github.com/fencesim/fencesim/model"

// A Command is one command of an agent with its names resolved: objects are indexes that
// are unique in the system. It holds no pointer, for a large system has millions of them.
type Command struct {
	op            model.Op
	equal, late   bool
	store         uint8 // the GPU's store rule for the fence
	value         uint32
	object        int32 // fence, event, array (coherent) or group; -1
	peer          int32 // send, recv: the other rank; -1
	ref           int32 // index into the fence's pending stores, -1 if none travels
	pair          int32 // buffered transport; -1
	name          int32 // collective, send, recv: what must match; -1 matches anything
	ord           int32 // collective: 1 + index of the field of its ordinal, 0 where the order is known before
	index, holder int32 // position in its agent's list; the agent
	buffer        int32 // queues: its buffer; with run-time ends the main thread's step, whose commands are in one
	reads, writes span  // in the system's tables
}

// Op is what the command does; OpNone for a main thread's step that is no command.
func (x *Command) Op() model.Op { return x.op }

// Equal and Late tell of a wait whether it needs an exact value, and a target that grows.
func (x *Command) Equal() bool { return x.equal }

// Late: see [Command.Equal].
func (x *Command) Late() bool { return x.late }

// Value is what a store stores, a wait waits for or an allocation takes.
func (x *Command) Value() uint32 { return x.value }

// Object is the fence, event, array (coherent) or group part; -1 if there is none.
func (x *Command) Object() int32 { return x.object }

// Peer is the other rank of a send or recv.
func (x *Command) Peer() int32 { return x.peer }

// Buffer tells of a queue's command its buffer, or with run-time ends the main thread's
// step, whose commands are in one.
func (x *Command) Buffer() int32 { return x.buffer }

// Max reports whether the GPU's store rule for the fence of an update takes the maximum.
func (x *Command) Max() bool { return x.updates() && x.store == storeMax }

// updates reports whether the counters of a report count x: a release is an update with
// the largest value.
func (x *Command) updates() bool { return x.op == model.OpUpdate || x.op == model.OpRelease }

// stores and usesFence are those of the command that x was made of.
func (x *Command) stores() bool { return (&model.Command{Op: x.op}).Stores() }

func (x *Command) usesFence() bool { return (&model.Command{Op: x.op}).Fence() }

// A Read is a read of an array. Version 0 asks only that it was written.
type Read struct {
	Array   int32
	Version uint32
}

// A Write is a write of an array.
type Write struct {
	Array  int32
	writer uint32 // which GPU write of the array, counting from 1; 0 for the CPU
}

// Table is the list of commands of agent a, which must not be changed. Of a main thread
// entry i belongs to step i; it is empty if no step is a command.
func (y *System) Table(a int32) []Command { return y.agents[a].cmds }

// Reads lists what x reads.
func (y *System) Reads(x *Command) []Read { return y.reads[x.reads.lo:x.reads.hi] }

// Writes lists what x writes.
func (y *System) Writes(x *Command) []Write { return y.writes[x.writes.lo:x.writes.hi] }

// ordinal is the field that holds a collective's ordinal, of no bits where the order is
// known before.
func (y *System) ordinal(x *Command) field {
	if x.ord == 0 {
		return field{}
	}
	return y.ords[x.ord-1]
}

// source is the command that x was made of.
func (y *System) source(x *Command) *model.Command {
	a := &y.agents[x.holder]
	p := y.Programs[a.rank]
	switch a.kind {
	case agentQueue:
		return &p.Queues[a.index-y.ranks[a.rank].queues.lo].Commands[x.index]
	case agentStream:
		return &p.Streams[a.index-y.ranks[a.rank].streams.lo].Tasks[x.index]
	case agentHandler:
		h := &y.handlers[a.index]
		return &p.Queues[h.queue-y.ranks[a.rank].queues.lo].OnFinish[int(h.buffer)][x.index]
	}
	return y.ranks[a.rank].main[x.index].Command
}

// command is the command that step i of a main thread is, or nil.
func (r *rank) command(i int32) *Command {
	if len(r.cmds) == 0 || r.cmds[i].op == model.OpNone {
		return nil
	}
	return &r.cmds[i]
}

// cmdAt is command i of an agent.
func (y *System) cmdAt(a, i int32) *Command { return &y.agents[a].cmds[i] }
