package model

import (
	"bytes"
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// mostFuzzed is the length of what the fuzz targets of this package look at, so that a run
// takes milliseconds.
const mostFuzzed = 1 << 14

// faulty holds an error of the parser to its form: a position, one printable line, short.
func faulty(t *testing.T, err error) {
	t.Helper()
	e, ok := err.(*Error)
	if !ok || e.Line < 1 || e.Col < 1 {
		t.Fatalf("no position: %v", err)
	}
	if len(e.Msg) == 0 || len(e.Msg) > 1000 || e.Msg != Printable(e.Msg) || strings.Contains(e.Msg, "\n") {
		t.Fatalf("the message is not one short line: %q", e.Msg)
	}
}

// bounded is Parse of a short file, which may take little time and memory.
func bounded(t *testing.T, src []byte) (*Scenario, error) {
	t.Helper()
	const mostTime, mostMemory = 10 * time.Second, 256 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	s, err := Parse("f.yaml", src)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; took > mostTime || used > mostMemory {
		t.Fatalf("%d bytes take %v and %d MiB", len(src), took, used>>20)
	}
	return s, err
}

// small reports whether the programs of s are cheap to make.
func small(s *Scenario) bool {
	if s.Generate != nil {
		k, _ := KindNamed(s.Generate.Kind)
		return k.Count(s.Generate) < 1000
	}
	return true
}

// A scenario file is refused with a position, or valid: it has programs, and what is written
// of it, as JSON and as YAML, reads back to the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{headline, explicit} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > mostFuzzed {
			return
		}
		s, err := bounded(t, src)
		if err != nil {
			faulty(t, err)
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("parsed but not valid: %v", err)
		}
		if !small(s) {
			return
		}
		ps, err := s.Programs(s.Effective())
		if err != nil {
			t.Fatal(err)
		}
		_ = ps[0].ShowText()
		readsBack(t, s)
	})
}

// readsBack holds the two texts of a scenario to be the scenario.
func readsBack(t *testing.T, s *Scenario) {
	t.Helper()
	want, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	y, err := s.Format()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{want, y} {
		back, err := Parse("g.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if have, _ := json.Marshal(back); !bytes.Equal(want, have) {
			t.Fatalf("read back from\n%s\nit is\n%s\nwas\n%s", text, have, want)
		}
		if again, err := back.Format(); err != nil || !bytes.Equal(again, y) {
			t.Fatalf("%v: written again it is\n%s\nwas\n%s", err, again, y)
		}
	}
}

// written is a scenario as JSON.
func written(t *testing.T, s *Scenario) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// longKey finds a key that is longer than YAML allows on a line.
var longKey = regexp.MustCompile(`"(?:\\.|[^"\\]){1000,}"\s*:`)

// halfPair finds an escape of one half of a surrogate pair, alone or not.
var halfPair = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// Whatever is JSON is read as such, and the same on one line: its faults are those of a
// scenario, never of syntax. The exceptions are a key of more than 1000 bytes, which YAML does
// not allow, and half a surrogate pair, which is no character.
func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{headline, explicit} {
		s, err := Parse("f.yaml", []byte(text))
		if err != nil {
			f.Fatal(err)
		}
		j, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(j)
		var wide bytes.Buffer
		if err := json.Indent(&wide, j, "\t", "\t"); err != nil {
			f.Fatal(err)
		}
		f.Add(wide.Bytes())
		f.Add(bytes.ReplaceAll(wide.Bytes(), []byte(":"), []byte("\n:")))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var line bytes.Buffer
		if len(src) > mostFuzzed || json.Compact(&line, src) != nil || !bytes.HasPrefix(line.Bytes(), []byte("{")) || longKey.Match(src) {
			return
		}
		s, err := Parse("f.json", src)
		if one, oneErr := Parse("f.json", line.Bytes()); (err == nil) != (oneErr == nil) || err == nil && !bytes.Equal(written(t, s), written(t, one)) {
			t.Fatalf("%v; on one line %v", err, oneErr)
		}
		var direct Scenario
		switch e := json.Unmarshal(src, &direct); {
		case err == nil && e != nil:
			t.Fatalf("a scenario, and as a value %v", e)
		case err == nil:
			a, b := written(t, s), written(t, &direct)
			if !bytes.Equal(a, b) {
				t.Fatalf("as a file\n%s\nas a value\n%s", a, b)
			}
		default:
			faulty(t, err)
			if strings.Contains(err.Error(), "not YAML") && !halfPair.Match(src) {
				t.Fatalf("valid JSON is refused: %v", err)
			}
		}
	})
}

// A machine file is refused with a position, or a machine whose text is the same machine.
func FuzzParseMachine(f *testing.F) {
	for _, p := range Presets {
		f.Add([]byte(p.Name))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > mostFuzzed {
			return
		}
		m, err := ParseMachine("m.yaml", src)
		if err != nil {
			faulty(t, err)
			return
		}
		j, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseMachine("m.json", j)
		if err != nil || back != m {
			t.Fatalf("%v: read back it is %+v\nwas %+v\n%s", err, back, m, j)
		}
		if m.sparse() != m {
			t.Fatalf("a default is not zero: %+v", m)
		}
	})
}

// A command is refused at an offset in its text, or its text is the same command.
func FuzzParseCommand(f *testing.F) {
	n := new(Names)
	for _, info := range Ops {
		first := true
		commandsOf(info.Op, n, func(c Command) {
			if first && info.Op != OpAlloc && info.Op != OpDealloc {
				f.Add(c.Text(n))
			}
			first = false
		})
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := new(Names)
		c, err := ParseCommand(text, n)
		if err != nil {
			e, ok := err.(*CommandError)
			if !ok || e.Offset < 0 || e.Offset > len(text) || e.Msg == "" {
				t.Fatalf("%q: no place in the text: %#v", text, err)
			}
			return
		}
		roundTrip(t, c, n)
	})
}

// A discipline's word is the discipline; every other word is refused.
func FuzzParseDiscipline(f *testing.F) {
	for _, d := range Disciplines {
		f.Add(d.Word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		d, err := ParseDiscipline(word)
		if err == nil && d.String() != word {
			t.Fatalf("%q is read as %s", word, d)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("more than one line: %v", err)
		}
	})
}
