package model

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// A CommandError is a fault in the text of a command, at a byte offset in it.
type CommandError struct {
	Offset int
	Msg    string
}

func (e *CommandError) Error() string { return e.Msg }

// ParseCommand reads one command as the table [Ops] gives its form. Lists may be
// separated by spaces or commas. The error is a *CommandError.
func ParseCommand(text string, n *Names) (Command, error) {
	p := commandParser{names: n}
	return p.parse(text)
}

// parse reads the next command; the words of the last one are overwritten.
func (p *commandParser) parse(text string) (Command, error) {
	p.words, p.end, p.at, p.err = splitWords(text, p.words[:0]), len(text), 0, nil
	for _, w := range p.words {
		if i := hidden(w.text); i >= 0 {
			r, _ := utf8.DecodeRuneInString(w.text[i:])
			p.fail(w.offset+i, "character %U is not printable", r)
			break
		}
	}
	c := p.command()
	if p.err != nil {
		return Command{}, p.err
	}
	return c, nil
}

type word struct {
	text   string
	offset int
}

// splitWords appends the words of text to ws.
func splitWords(text string, ws []word) []word {
	start := -1
	for i := range len(text) {
		switch text[i] {
		case ' ', '\t', ',', '\n':
			if start >= 0 {
				ws = append(ws, word{text[start:i], start})
			}
			start = -1
		default:
			if start < 0 {
				start = i
			}
		}
	}
	if start >= 0 {
		ws = append(ws, word{text[start:], start})
	}
	return ws
}

// commandParser is a cursor over the words of one command. After the first error every
// method does nothing.
type commandParser struct {
	names *Names
	words []word
	end   int
	at    int
	err   *CommandError
}

func (p *commandParser) fail(offset int, format string, args ...any) {
	if p.err == nil {
		p.err = &CommandError{offset, fmt.Sprintf(format, args...)}
	}
}

func (p *commandParser) peek() string {
	if p.err != nil || p.at >= len(p.words) {
		return ""
	}
	return p.words[p.at].text
}

func (p *commandParser) next(what string) word {
	if p.err != nil {
		return word{}
	}
	if p.at >= len(p.words) {
		p.fail(p.end, "want %s", what)
		return word{}
	}
	p.at++
	return p.words[p.at-1]
}

func (p *commandParser) name(what string) Sym {
	w := p.next(what)
	if p.err != nil {
		return NoSym
	}
	if i := strings.IndexAny(w.text, "@="); i >= 0 {
		p.fail(w.offset+i, "%q is not %s: unexpected %q", w.text, what, w.text[i:])
		return NoSym
	}
	return p.names.Intern(w.text)
}

func (p *commandParser) number(what string) uint32 {
	w := p.next(what)
	if p.err != nil {
		return 0
	}
	v, ok := decimal(w.text)
	if !ok {
		if tooLarge(w.text) {
			p.fail(w.offset, "%s is outside 0 to %d", shorten(w.text), uint32(math.MaxUint32))
			return 0
		}
		p.fail(w.offset, "%q is not %s: want a whole number", shorten(w.text), what)
		return 0
	}
	if v < 0 || v > math.MaxUint32 {
		p.fail(w.offset, "%d is outside 0 to %d", v, uint32(math.MaxUint32))
		return 0
	}
	return uint32(v)
}

func (p *commandParser) rank(text string, offset int) RankRef {
	switch text {
	case "next":
		return NextRank
	case "prev":
		return PrevRank
	}
	r, ok := decimal(text)
	if !ok || r < 0 || r > math.MaxInt32-1 {
		p.fail(offset, "%q is not a rank: want a number, next or prev", shorten(text))
		return OwnRank
	}
	return Rank(int(r))
}

// fence reads F or F@R.
func (p *commandParser) fence() (Sym, RankRef) {
	w := p.next("a fence")
	if p.err != nil {
		return NoSym, OwnRank
	}
	name, rank, found := strings.Cut(w.text, "@")
	if name == "" || strings.ContainsAny(name, "=") {
		p.fail(w.offset, "%q is not a fence", w.text)
		return NoSym, OwnRank
	}
	r := OwnRank
	if found {
		r = p.rank(rank, w.offset+len(name)+1)
	}
	return p.names.Intern(name), r
}

func (p *commandParser) reads() []Read {
	var rs []Read
	for w := p.peek(); w != "" && w != "writes" && w != "reads" && w != "in"; w = p.peek() {
		word := p.next("an array")
		name, version, found := strings.Cut(word.text, "@")
		if name == "" || strings.Contains(name, "=") {
			p.fail(word.offset, "%q is not an array", word.text)
			return nil
		}
		r := Read{Array: p.names.Intern(name)}
		if found {
			v, ok := decimal(version)
			if !ok || v < 1 || v > math.MaxUint32 {
				p.fail(word.offset+len(name)+1, "version %q of array %s is not a whole number from 1", shorten(version), shorten(name))
				return nil
			}
			r.Version = uint32(v)
		}
		rs = append(rs, r)
	}
	if len(rs) == 0 {
		p.fail(p.offset(), "want an array after reads")
	}
	return rs
}

func (p *commandParser) writes() []Sym {
	var ws []Sym
	for w := p.peek(); w != "" && w != "writes" && w != "reads" && w != "in"; w = p.peek() {
		ws = append(ws, p.name("an array"))
	}
	if len(ws) == 0 {
		p.fail(p.offset(), "want an array after writes")
	}
	return ws
}

func (p *commandParser) offset() int {
	if p.at < len(p.words) {
		return p.words[p.at].offset
	}
	return p.end
}

func (p *commandParser) keyword(want string) {
	w := p.next(fmt.Sprintf("%q", want))
	if p.err == nil && w.text != want {
		p.fail(w.offset, "want %q, found %q", want, w.text)
	}
}

func (p *commandParser) command() Command {
	w := p.next("a command")
	if p.err != nil {
		return Command{}
	}
	info, ok := opByWord[w.text]
	if !ok {
		p.fail(w.offset, "unknown command %q", shorten(w.text))
		return Command{}
	}
	c := Command{Op: info.Op, Name: NoSym, Group: NoSym, For: NoSym}
	switch c.Op {
	case OpUpdate, OpAdd:
		c.Name, c.Rank = p.fence()
		c.Value = p.number("a fence value")
	case OpReset, OpPark:
		c.Name = p.name("a fence")
		c.Value = p.number("a fence value")
	case OpRelease:
		c.Name, c.Rank = p.fence()
		c.Value = Released
	case OpFree, OpNotify:
		c.Name = p.name("a fence")
	case OpWait:
		c.Name, c.Rank = p.fence()
		if p.peek() == "==" {
			p.next("==")
			c.Equal = true
		}
		c.Value = p.number("a fence value")
	case OpCoherent:
		c.Name = p.name("an array")
	case OpSignal, OpAwait:
		c.Name = p.name("an event")
		c.Value = p.number("an event value")
	case OpSend, OpRecv:
		c.Name = p.name("an array")
		p.keyword(map[Op]string{OpSend: "to", OpRecv: "from"}[c.Op])
		r := p.next("a rank")
		if p.err == nil {
			c.Rank = p.rank(r.text, r.offset)
		}
		if c.Op == OpSend {
			c.Reads = []Read{{Array: c.Name}}
		} else {
			c.Writes = []Sym{c.Name}
		}
	case OpAlloc, OpDealloc:
		c.Value = p.number("a size")
	case OpKernel, OpCollective:
		c.Name = p.name("a name")
		for p.err == nil && p.at < len(p.words) {
			k := p.next("a keyword")
			switch {
			case k.text == "in" && c.Op == OpCollective && c.Group == NoSym:
				c.Group = p.name("a group")
			case k.text == "reads" && c.Reads == nil:
				c.Reads = p.reads()
			case k.text == "writes" && c.Writes == nil:
				c.Writes = p.writes()
			default:
				p.fail(k.offset, "unexpected %q: the form is %q", k.text, info.Form)
			}
		}
		if c.Writes == nil {
			c.Writes = []Sym{c.Name}
		}
	}
	if p.err == nil && p.at < len(p.words) {
		p.fail(p.words[p.at].offset, "unexpected %q: the form is %q", p.words[p.at].text, info.Form)
	}
	return c
}
