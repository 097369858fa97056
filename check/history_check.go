package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Linearizable is what is known of a history. The zero value is unknown: the question is
// hard in general, and a time limit is no answer.
type Linearizable uint8

// The answers.
const (
	LinearUnknown Linearizable = iota
	Linear                     // some order explains every operation
	NotLinear                  // none does
)

// String is "unknown", "linearizable" or "not linearizable".
func (l Linearizable) String() string {
	return [...]string{"unknown", "linearizable", "not linearizable"}[l]
}

// longHistory is how many operations of one object go to porcupine, whose time can grow
// exponentially; more go to the special checker where it applies.
const longHistory = 200

// Check decides whether h is linearizable, object by object, and names the objects that
// are not. Counters with updates and reads only are decided in O(n log n) where there are
// many operations; the others by porcupine within limit (0: no limit).
func (h *History) Check(limit time.Duration) (Linearizable, []string) {
	verdict := Linear
	var bad []string
	byObject := h.byObject()
	for o, ops := range byObject {
		v := LinearUnknown
		if len(ops) > longHistory && counterOnly(ops) {
			v = h.checkCounter(o, ops)
		} else {
			v = h.checkGeneral(ops, limit)
		}
		switch v {
		case NotLinear:
			bad = append(bad, h.Objects[o].Name)
			verdict = NotLinear
		case LinearUnknown:
			if verdict == Linear {
				verdict = LinearUnknown
			}
		}
	}
	return verdict, bad
}

func (h *History) byObject() [][]HistoryOp {
	out := make([][]HistoryOp, len(h.Objects))
	for _, op := range h.Ops {
		out[op.Object] = append(out[op.Object], op)
	}
	return out
}

// counterOnly reports whether the special checker decides ops.
func counterOnly(ops []HistoryOp) bool {
	return !slices.ContainsFunc(ops, func(o HistoryOp) bool { return o.Kind != HistoryUpdate && o.Kind != HistoryRead })
}

// checkGeneral asks porcupine.
func (h *History) checkGeneral(ops []HistoryOp, limit time.Duration) Linearizable {
	switch porcupine.CheckOperationsTimeout(h.model(), porcupineOps(ops), limit) {
	case porcupine.Ok:
		return Linear
	case porcupine.Illegal:
		return NotLinear
	}
	return LinearUnknown
}

// checkCounter decides a history of updates and reads of one monotone counter in
// O(n log n).
//
// The counter is the maximum of the updates so far, so an order is given by the time T(y)
// at which it reaches y or more, for each value y that occurs; T does not decrease with y.
//
//   - A read of x lies in [T(x), T(x+)), where x+ is the next value: so T(y) is no later
//     than the return of a read of y or more, and no earlier than the call of a read of
//     less.
//   - An update with v >= y lies at T(y) or later, so T(y) is no later than its return.
//   - T(y) is the time of an update. Where y is read, the counter is exactly y for a while,
//     and it is an update to y itself. Where it is not, the counter may jump beyond y, but
//     not beyond the next value that is read.
//
// These bounds suffice: with the earliest T that keeps the lower ones every operation has
// a place, so the history is linearizable exactly when that T keeps the upper ones.
func (h *History) checkCounter(object int, ops []HistoryOp) Linearizable {
	initial := h.Objects[object].Initial
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(a, b HistoryOp) int { return cmp.Compare(a.Value, b.Value) })
	levels := counterLevels(sorted)
	// A value up to the initial one is there from the beginning.
	reached := int64(math.MinInt64)
	latestRead := int64(math.MinInt64) // call of a read of less than the level
	for _, l := range levels {
		if l.value < initial {
			if l.read {
				return NotLinear
			}
			continue
		}
		if l.value > initial {
			reached = max(reached, latestRead, l.update)
			if reached > l.deadline || l.update == math.MaxInt64 {
				return NotLinear
			}
		}
		latestRead = max(latestRead, l.readCall)
	}
	return Linear
}

// counterLevel is one value that occurs in a history.
type counterLevel struct {
	value    uint64
	read     bool
	readCall int64 // latest call of a read of it
	update   int64 // earliest call of an update that may reach it
	deadline int64 // earliest return of a read or update of it or more
}

// counterLevels makes a level for each value of ops, which are sorted by it.
func counterLevels(ops []HistoryOp) []counterLevel {
	var levels []counterLevel
	for i := 0; i < len(ops); {
		l := counterLevel{value: ops[i].Value, readCall: math.MinInt64, update: math.MaxInt64, deadline: math.MaxInt64}
		for ; i < len(ops) && ops[i].Value == l.value; i++ {
			op := &ops[i]
			l.deadline = min(l.deadline, op.Return)
			if op.Kind == HistoryRead {
				l.read = true
				l.readCall = max(l.readCall, op.Call)
			} else {
				l.update = min(l.update, op.Call)
			}
		}
		levels = append(levels, l)
	}
	for i := len(levels) - 2; i >= 0; i-- {
		l, next := &levels[i], &levels[i+1]
		l.deadline = min(l.deadline, next.deadline)
		if !l.read {
			l.update = min(l.update, next.update)
		}
	}
	return levels
}

// porcupineOps turns operations into porcupine's. The return of one that is pending is a
// time after all others.
func porcupineOps(ops []HistoryOp) []porcupine.Operation {
	last := int64(0)
	for _, op := range ops {
		last = max(last, op.Call)
		if op.Return != Pending {
			last = max(last, op.Return)
		}
	}
	out := make([]porcupine.Operation, len(ops))
	for i, op := range ops {
		ret := op.Return
		if ret == Pending {
			ret = last + 1
		}
		out[i] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Output: op.Value, Return: ret}
	}
	return out
}

// counterState is the state of one object: a counter's value, or how many ranks have
// contributed to a round and the sum of what they did. Begun tells a state from the start.
type counterState struct {
	value, sum uint64
	met        int
	begun      bool
}

// model is the specification of all objects, for porcupine.
func (h *History) model() porcupine.Model {
	return porcupine.Model{
		Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
			out := make([][]porcupine.Operation, len(h.Objects))
			for _, op := range ops {
				o := op.Input.(HistoryOp).Object
				out[o] = append(out[o], op)
			}
			return slices.DeleteFunc(out, func(l []porcupine.Operation) bool { return len(l) == 0 })
		},
		Init: func() any { return counterState{} },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(HistoryOp)
			return h.Objects[op.Object].step(state.(counterState), op)
		},
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(input, _ any) string {
			op := input.(HistoryOp)
			return fmt.Sprintf("%s: %s", h.Objects[op.Object].Name, op)
		},
		DescribeState: func(state any) string {
			s := state.(counterState)
			if s.met > 0 {
				return fmt.Sprintf("%d contributed, sum %d", s.met, s.sum)
			}
			return fmt.Sprint(s.value)
		},
	}
}

// step is the sequential specification of an object.
func (o *HistoryObject) step(s counterState, op HistoryOp) (bool, counterState) {
	if !s.begun {
		s = counterState{value: o.Initial, begun: true}
	}
	switch op.Kind {
	case HistoryUpdate:
		s.value = max(s.value, op.Value)
	case HistoryAdd:
		s.value += op.Value
	case HistoryReset:
		s.value = op.Value
	case HistoryRead:
		return s.value == op.Value, s
	case HistoryContribute:
		s.met++
		s.sum += op.Value
	case HistoryResult:
		return s.met == o.Meets && s.sum == op.Value, s
	}
	return true, s
}
