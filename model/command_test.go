package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// roundTrip writes c and reads it back with the same names.
func roundTrip(t interface{ Fatalf(string, ...any) }, c Command, n *Names) {
	text := c.Text(n)
	back, err := ParseCommand(text, n)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if diff := cmp.Diff(c, back); diff != "" {
		t.Fatalf("%q: %s", text, diff)
	}
}

// commandsOf calls each for every command of an operation whose lists have at most two
// members and whose values are among a few.
func commandsOf(op Op, n *Names, each func(Command)) {
	a, b := n.Intern("a"), n.Intern("b")
	base := Command{Op: op, Name: a, Group: NoSym, For: NoSym}
	values := []uint32{0, 1, Released}
	fenceRanks := []RankRef{OwnRank, NextRank, PrevRank, Rank(0), Rank(7)}
	switch op {
	case OpUpdate, OpAdd, OpWait:
		for _, r := range fenceRanks {
			for _, v := range values {
				c := base
				c.Rank, c.Value = r, v
				each(c)
				if op == OpWait {
					c.Equal = true
					each(c)
				}
			}
		}
	case OpReset, OpPark, OpSignal, OpAwait:
		for _, v := range values {
			c := base
			c.Value = v
			each(c)
		}
	case OpRelease:
		for _, r := range fenceRanks {
			c := base
			c.Rank, c.Value = r, Released
			each(c)
		}
	case OpFree, OpNotify, OpCoherent:
		each(base)
	case OpSend, OpRecv:
		for _, r := range fenceRanks[1:] {
			c := base
			c.Rank = r
			if op == OpSend {
				c.Reads = []Read{{Array: a}}
			} else {
				c.Writes = []Sym{a}
			}
			each(c)
		}
	case OpAlloc, OpDealloc:
		for _, v := range values {
			each(Command{Op: op, Group: NoSym, Value: v})
		}
	case OpKernel, OpCollective:
		for _, group := range []Sym{NoSym, b} {
			if group != NoSym && op == OpKernel {
				continue
			}
			for _, reads := range [][]Read{nil, {{Array: a}}, {{Array: b, Version: 3}}, {{Array: a, Version: 1}, {Array: b}}} {
				for _, writes := range [][]Sym{{a}, {b}, {a, b}, {b, a}} {
					c := base
					c.Group, c.Reads, c.Writes = group, reads, writes
					each(c)
				}
			}
		}
	default:
		each(Command{Op: op, Name: NoSym, Group: NoSym, For: NoSym})
	}
}

func TestCommandRoundTripSmall(t *testing.T) {
	for _, info := range Ops {
		n, count := new(Names), 0
		commandsOf(info.Op, n, func(c Command) {
			if info.Op == OpAlloc || info.Op == OpDealloc {
				c.Name, c.For = NoSym, NoSym
			}
			roundTrip(t, c, n)
			count++
		})
		if count == 0 {
			t.Errorf("%s: no command", info.Word)
		}
		if info.Op.Info() != &Ops[info.Op-1] || info.Op.Info().Word != info.Op.String() {
			t.Errorf("%s is not in its place", info.Word)
		}
	}
}

func TestCommandRoundTripRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := new(Names)
		roundTrip(t, drawCommand(t, n, func(OpInfo) bool { return true }, drawName), n)
	})
}

func TestCommandWordsKeepPlace(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		msg    string
	}{
		{"", 0, "want a command"},
		{"  wait", 6, "want a fence"},
		{"kernel k reads", 14, "want an array after reads"},
		{"kernel k reads a writes", 23, "want an array after writes"},
		{"kernel k reads a reads b", 17, `unexpected "reads": the form is "kernel NAME [reads A…] [writes B…]"`},
		{"kernel k in g", 9, `unexpected "in": the form is "kernel NAME [reads A…] [writes B…]"`},
		{"kernel k reads a@0", 17, `version "0" of array a is not a whole number from 1`},
		{"collective c in g in h", 18, `unexpected "in": the form is "collective NAME [in GROUP] [reads A…] [writes B…]"`},
		{"wait F@ 1", 7, `"" is not a rank: want a number, next or prev`},
		{"wait F@-1 1", 7, `"-1" is not a rank: want a number, next or prev`},
		{"reset F@1 1", 7, `"F@1" is not a fence: unexpected "@1"`},
		{"recv a to 1", 7, `want "from", found "to"`},
		{"update F 1.5", 9, `"1.5" is not a fence value: want a whole number`},
		{"alloc 99999999999999999999", 6, "99999999999999999999 is outside 0 to 4294967295"},
		{"die now", 4, `unexpected "now": the form is "die"`},
	} {
		_, err := ParseCommand(c.text, new(Names))
		e, ok := err.(*CommandError)
		if !ok || e.Offset != c.offset || e.Msg != c.msg {
			t.Errorf("%q: %+v, want %d %s", c.text, err, c.offset, c.msg)
		}
	}
}

// drawName draws a name that commands can hold.
func drawName(t *rapid.T) string {
	return rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_.:/-]{0,6}|é[a-z]`).Filter(func(s string) bool {
		return s != "reads" && s != "writes" && s != "in"
	}).Draw(t, "name")
}

// drawCommand draws any command that may stands for, with names from name.
func drawCommand(t *rapid.T, n *Names, may func(OpInfo) bool, name func(*rapid.T) string) Command {
	var ops []Op
	for _, i := range Ops {
		if may(i) {
			ops = append(ops, i.Op)
		}
	}
	sym := func() Sym { return n.Intern(name(t)) }
	value := rapid.OneOf(rapid.Uint32(), rapid.Uint32Max(4))
	rank := rapid.SampledFrom([]RankRef{NextRank, PrevRank, Rank(0)})
	c := Command{Op: rapid.SampledFrom(ops).Draw(t, "op"), Name: NoSym, Group: NoSym, For: NoSym}
	switch c.Op {
	case OpUpdate, OpAdd, OpWait, OpRelease:
		c.Name, c.Value = sym(), value.Draw(t, "value")
		if rapid.Bool().Draw(t, "other rank") {
			c.Rank = rank.Draw(t, "rank")
		}
		c.Equal = c.Op == OpWait && rapid.Bool().Draw(t, "equal")
		if c.Op == OpRelease {
			c.Value = Released
		}
	case OpReset, OpPark, OpSignal, OpAwait:
		c.Name, c.Value = sym(), value.Draw(t, "value")
	case OpFree, OpNotify, OpCoherent:
		c.Name = sym()
	case OpSend:
		c.Name, c.Rank = sym(), rank.Draw(t, "rank")
		c.Reads = []Read{{Array: c.Name}}
	case OpRecv:
		c.Name, c.Rank = sym(), rank.Draw(t, "rank")
		c.Writes = []Sym{c.Name}
	case OpAlloc, OpDealloc:
		c.Value = value.Draw(t, "value")
	case OpKernel, OpCollective:
		c.Name = sym()
		if c.Op == OpCollective && rapid.Bool().Draw(t, "in group") {
			c.Group = sym()
		}
		for range rapid.IntRange(0, 3).Draw(t, "reads") {
			c.Reads = append(c.Reads, Read{sym(), rapid.Uint32Max(2).Draw(t, "version")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "writes") {
			c.Writes = append(c.Writes, sym())
		}
		if c.Writes == nil {
			c.Writes = []Sym{c.Name}
		}
	}
	return c
}

// A schedule of a million commands is read without an allocation for each.
func TestCommandAllocations(t *testing.T) {
	var n Names
	p := commandParser{names: &n}
	line := []byte{}
	have := testing.AllocsPerRun(100, func() {
		c, err := p.parse("wait G 12")
		if err != nil {
			t.Fatal(err)
		}
		line = c.append(line[:0], &n)
	})
	if have > 0 {
		t.Errorf("%v allocations for a command", have)
	}
}
