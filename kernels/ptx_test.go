package kernels

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// ptxEntry is one entry of a PTX text, as far as the tests read it.
type ptxEntry struct {
	name   string
	params []string // "name type"
	body   []string // a statement or "label:" each
}

var (
	ptxComment = regexp.MustCompile(`//[^\n]*`)
	ptxHead    = regexp.MustCompile(`\.visible \.entry (\w+)\(([^)]*)\)\s*\{`)
	ptxParam   = regexp.MustCompile(`^\.param \.(u32|u64) (\w+)$`)
	ptxLabel   = regexp.MustCompile(`^\w+:$`)
	ptxBranch  = regexp.MustCompile(`\bbra (\w+)$`)
)

// parsePTX reads the entries of a source in order.
func parsePTX(t *testing.T, source string) []ptxEntry {
	t.Helper()
	source = ptxComment.ReplaceAllString(source, "")
	var all []ptxEntry
	for _, at := range ptxHead.FindAllStringSubmatchIndex(source, -1) {
		e := ptxEntry{name: source[at[2]:at[3]]}
		for p := range strings.SplitSeq(source[at[4]:at[5]], ",") {
			m := ptxParam.FindStringSubmatch(strings.TrimSpace(p))
			if m == nil {
				t.Fatalf("%s: parameter %q", e.name, p)
			}
			e.params = append(e.params, m[2]+" "+m[1])
		}
		// Bodies hold braces only around vectors, so "\n}" ends them.
		body, _, ok := strings.Cut(source[at[1]:], "\n}")
		if !ok {
			t.Fatalf("%s: no end", e.name)
		}
		for line := range strings.SplitSeq(body, "\n") {
			line = strings.TrimSpace(line)
			if line == "" {
				continue
			}
			if !ptxLabel.MatchString(line) {
				s, ok := strings.CutSuffix(line, ";")
				if !ok || strings.Contains(s, ";") {
					t.Fatalf("%s: not one statement: %q", e.name, line)
				}
				line = s
			}
			e.body = append(e.body, line)
		}
		all = append(all, e)
	}
	return all
}

// ptxSources maps each source of the table to its entries.
func ptxSources(t *testing.T) map[string][]ptxEntry {
	t.Helper()
	m := map[string][]ptxEntry{}
	for _, k := range ptxKernels {
		if m[k.Source] == nil {
			m[k.Source] = parsePTX(t, k.Source)
		}
	}
	return m
}

// The table and the sources name the same entries with the same parameters.
func TestPTXTableMatchesSources(t *testing.T) {
	entries := map[string]ptxEntry{}
	for _, all := range ptxSources(t) {
		for _, e := range all {
			if _, twice := entries[e.name]; twice {
				t.Errorf("entry %s is written twice", e.name)
			}
			entries[e.name] = e
		}
	}
	types := map[Type]string{U32: "u32", U64: "u64", Addr: "u64"}
	for _, k := range ptxKernels {
		e, ok := entries[k.Entry]
		if !ok || !strings.Contains(k.Source, ".entry "+k.Entry+"(") {
			t.Errorf("%s: its source has no entry %s", k.Name, k.Entry)
			continue
		}
		delete(entries, k.Entry)
		var want []string
		for _, p := range k.Params {
			want = append(want, p.Name+" "+types[p.Type])
		}
		if !slices.Equal(e.params, want) {
			t.Errorf("%s: source has parameters %q, table %q", k.Name, e.params, want)
		}
	}
	for name := range maps.Keys(entries) {
		t.Errorf("entry %s is not in the table", name)
	}
}

// The driver's compiler refuses any other byte, in comments too.
func TestPTXIsASCII(t *testing.T) {
	for _, k := range ptxKernels {
		for i, line := range strings.Split(k.Source, "\n") {
			if strings.ContainsFunc(line, func(c rune) bool { return c > 126 || c < 32 }) {
				t.Errorf("the source of %s, line %d: %q", k.Name, i+1, line)
			}
		}
	}
}

// Whatever could keep a GPU busy is bounded. A backward branch is a loop; it
// either spins, and then reads the kill word, leaves on it, and leaves on the
// clock, or goes over words, and then counts up to a number and does nothing
// with a fence.
func TestPTXLoopsAreBounded(t *testing.T) {
	spins := 0
	for _, all := range ptxSources(t) {
		for _, e := range all {
			for _, err := range boundErrors(e, &spins) {
				t.Error(err)
			}
		}
	}
	if spins != 5 {
		t.Errorf("%d spinning loops, want 5 (gap, wait, compute, receive, hold)", spins)
	}
}

func boundErrors(e ptxEntry, spins *int) (errs []error) {
	for at, line := range e.body {
		m := ptxBranch.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		label := slices.Index(e.body, m[1]+":")
		if label < 0 {
			errs = append(errs, fmt.Errorf("%s: no label for %q", e.name, line))
			continue
		}
		if label > at {
			continue
		}
		loop := e.body[label : at+1]
		var rules map[string]string
		switch {
		case strings.HasPrefix(m[1], "spin_"):
			*spins++
			rules = map[string]string{
				"reads the kill word":       `^(@!%none )?ld\.relaxed\.sys\.global\.v2\.u32 \{%kill, %beat\}, \[%control\]$`,
				"tests the kill word":       `^setp\.ne\.u32 %killed, %kill, 0$`,
				"leaves when killed":        `^@%killed bra (record|ended)$`,
				"reads the clock":           `^mov\.u64 %now, %globaltimer$`,
				"compares time with bounds": `^setp\.ge\.u64 %over, %spent, %(budget|duration|gap)$`,
			}
		case strings.HasPrefix(m[1], "each_"):
			rules = map[string]string{
				"counts":            `^add\.u32 %i, %i, %(step|threads)$`,
				"ends":              `^setp\.lt\.u32 %more, %i, %words$`,
				"branches on count": `^@%more bra each_`,
			}
		default:
			errs = append(errs, fmt.Errorf("%s: loop at %s is neither spin_ nor each_", e.name, m[1]))
		}
		for what, rule := range rules {
			if !slices.ContainsFunc(loop, regexp.MustCompile(rule).MatchString) {
				errs = append(errs, fmt.Errorf("%s: loop %s: nothing %s", e.name, m[1], what))
			}
		}
	}
	return errs
}

// Every bound is itself cut to a constant, so that no argument makes a kernel
// stay.
func TestPTXBoundsAreCut(t *testing.T) {
	for _, all := range ptxSources(t) {
		for _, e := range all {
			for _, bound := range []string{"budget", "silence", "duration", "gap"} {
				if !slices.Contains(e.params, bound+" u64") {
					continue
				}
				if !slices.Contains(e.body, fmt.Sprintf("min.u64 %%%s, %%%s, %%most", bound, bound)) {
					t.Errorf("%s: %s is not cut", e.name, bound)
				}
			}
		}
	}
}

// The test above sees a loop that forgets the kill word.
func TestPTXLoopsAreBoundedSeesAnEndlessLoop(t *testing.T) {
	broken := strings.Replace(fencePTX, "    @%killed bra record;\n    mov.u32 %outcome, 2;\n    setp.eq.u32 %is", "    mov.u32 %outcome, 2;\n    setp.eq.u32 %is", 1)
	if broken == fencePTX {
		t.Fatal("the source no longer has the line that the test takes out")
	}
	n := 0
	var errs []error
	for _, e := range parsePTX(t, broken) {
		errs = append(errs, boundErrors(e, &n)...)
	}
	if len(errs) != 1 || errs[0].Error() != "fence_wait: loop spin_wait: nothing leaves when killed" {
		t.Errorf("got %v", errs)
	}
}

var (
	ptxReg  = regexp.MustCompile(`%[a-z]+(\.x)?`)
	ptxDecl = regexp.MustCompile(`^\.reg \.(pred|u32|u64) (.*)$`)
)

// Registers are declared, and have the width that the instruction says.
func TestPTXRegisters(t *testing.T) {
	special := map[string]string{"%globaltimer": "u64", "%tid.x": "u32", "%ntid.x": "u32", "%ctaid.x": "u32", "%nctaid.x": "u32"}
	for _, all := range ptxSources(t) {
		for _, e := range all {
			kind := maps.Clone(special)
			used := map[string]bool{}
			for _, line := range e.body {
				if m := ptxDecl.FindStringSubmatch(line); m != nil {
					for r := range strings.SplitSeq(m[2], ", ") {
						if _, twice := kind[r]; twice {
							t.Errorf("%s: %s is declared twice or is a special register", e.name, r)
						}
						kind[r] = m[1]
					}
					continue
				}
				for _, r := range ptxReg.FindAllString(line, -1) {
					used[r] = true
					if kind[r] == "" {
						t.Errorf("%s: %s is not declared: %q", e.name, r, line)
					}
				}
				if problem := widthProblem(line, kind); problem != "" {
					t.Errorf("%s: %s: %q", e.name, problem, line)
				}
			}
			for r := range kind {
				if special[r] == "" && !used[r] {
					t.Errorf("%s: %s is declared and not used", e.name, r)
				}
			}
		}
	}
}

// widthProblem compares the registers of one instruction with its type.
func widthProblem(line string, kind map[string]string) string {
	if strings.HasPrefix(line, ".") || strings.HasSuffix(line, ":") {
		return ""
	}
	if guard, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(guard, "@") {
		if kind[strings.TrimLeft(guard, "@!")] != "pred" {
			return "the guard is no predicate"
		}
		line = rest
	}
	op, operands, _ := strings.Cut(line, " ")
	want := op[strings.LastIndexByte(op, '.')+1:]
	want = strings.Replace(want, "b32", "u32", 1)
	if want != "u32" && want != "u64" || op == "mul.wide.u32" {
		return ""
	}
	for i, r := range ptxReg.FindAllString(operands, -1) {
		expect := want
		switch {
		case strings.Contains(operands, "["+r):
			expect = "u64" // an address
		case strings.HasPrefix(op, "setp") && (i == 0 || strings.Count(op, ".") == 3 && i == 3):
			expect = "pred"
		case strings.HasPrefix(op, "selp") && i == len(ptxReg.FindAllString(operands, -1))-1:
			expect = "pred"
		}
		if kind[r] != expect {
			return fmt.Sprintf("%s is %s, want %s", r, kind[r], expect)
		}
	}
	return ""
}

// The Go side lays these structs over memory that the PTX side addresses by
// number.
func TestPTXLayouts(t *testing.T) {
	var r Result
	offsets := []uintptr{unsafe.Offsetof(r.Outcome), unsafe.Offsetof(r.Value), unsafe.Offsetof(r.Begin),
		unsafe.Offsetof(r.End), unsafe.Offsetof(r.Polls), unsafe.Offsetof(r.Detail), unsafe.Sizeof(r)}
	if want := []uintptr{0, 4, 8, 16, 24, 28, ResultSize}; !slices.Equal(offsets, want) {
		t.Errorf("Result has offsets %v, want %v", offsets, want)
	}
	var c Control
	if unsafe.Offsetof(c.kill) != 0 || unsafe.Offsetof(c.beat) != 4 || unsafe.Sizeof(c) != ControlSize {
		t.Error("Control is not {kill, beat}")
	}
}

func TestOrderTextParsesBack(t *testing.T) {
	for _, o := range Orders() {
		if got, err := ParseOrder(o.String()); err != nil || got != o {
			t.Errorf("%v parses to %v, %v", o, got, err)
		}
	}
	if _, err := ParseOrder("sideways"); err == nil {
		t.Error("an unknown order parsed")
	}
	if Outcome(99).String() != "outcome 99" || Order(9).String() != "order 9" {
		t.Error("unknown numbers have no text")
	}
	for o := NotBegun; o <= Orphaned; o++ {
		if o.Ended() != (o >= Passed) {
			t.Errorf("%v: ended %v", o, o.Ended())
		}
	}
}
