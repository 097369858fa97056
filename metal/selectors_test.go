package metal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// facts is what testdata/selectors.txt says.
type facts struct {
	rows   map[string]signatureFact // by receiver and selector
	types  map[string]string        // a type of the headers to its base
	consts map[string]uint64
}

// A signatureFact is a row, its types spelled as in the headers.
type signatureFact struct {
	result string
	args   []string
}

func readFacts(t *testing.T) facts {
	t.Helper()
	text, err := os.ReadFile("testdata/selectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	f := facts{map[string]signatureFact{}, map[string]string{}, map[string]uint64{}}
	for n, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		name, value, assigned := strings.Cut(rest, " = ")
		switch {
		case line == "" || word == "#":
		case word == "type" && assigned:
			f.types[name] = value
		case word == "const" && assigned:
			if f.consts[name], err = strconv.ParseUint(value, 10, 64); err != nil {
				t.Fatalf("line %d: %v", n+1, err)
			}
		default:
			cells := strings.Split(line, "|")
			if len(cells) != 5 {
				t.Fatalf("line %d: %d cells", n+1, len(cells))
			}
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			fact := signatureFact{result: cells[2]}
			if cells[3] != "-" {
				fact.args = strings.Split(cells[3], ", ")
			}
			f.rows[cells[0]+" "+cells[1]] = fact
		}
	}
	return f
}

// pointerToClass is a pointer to a class of the headers, which is an object.
var pointerToClass = regexp.MustCompile(`^(const )?(NS|MTL)::[A-Z]\w*\*$`)

// kindWord follows a type of the headers down to a word of kind.String.
func (f facts) kindWord(typ string) string {
	for range 4 {
		base, ok := f.types[typ]
		if !ok || base == typ {
			break
		}
		typ = base
	}
	if pointerToClass.MatchString(typ) {
		return "object"
	}
	return typ
}

// Every row of the table is a method of Apple's headers with that result and
// those arguments, and every fact is in the table.
func TestSelectorsMatchHeaders(t *testing.T) {
	f := readFacts(t)
	for _, s := range selectors {
		key := s.receiver + " " + s.name
		fact, ok := f.rows[key]
		if !ok {
			t.Errorf("%s is not in the facts", key)
			continue
		}
		delete(f.rows, key)
		if got, want := s.result.String(), f.kindWord(fact.result); got != want {
			t.Errorf("%s: result %s, the headers have %s (%s)", key, got, want, fact.result)
		}
		if colons := strings.Count(s.name, ":"); colons != len(s.args) || colons != len(fact.args) {
			t.Errorf("%s: %d colons, %d arguments here, %d in the headers", key, colons, len(s.args), len(fact.args))
			continue
		}
		for i, k := range s.args {
			if got, want := k.String(), f.kindWord(fact.args[i]); got != want {
				t.Errorf("%s: argument %d %s, the headers have %s (%s)", key, i, got, want, fact.args[i])
			}
		}
	}
	for key := range f.rows {
		t.Errorf("%s is in the facts and not in the table", key)
	}
}

// The numbers that this package passes on or reads are those of the headers.
func TestConstantsMatchHeaders(t *testing.T) {
	f := readFacts(t)
	ours := map[string]uint64{
		"UTF8StringEncoding": utf8Encoding, "ResourceStorageModeShared": storageShared,
		"ResourceHazardTrackingModeUntracked": hazardUntracked,
		"DispatchTypeSerial":                  uint64(Serial), "DispatchTypeConcurrent": uint64(Concurrent),
		"BarrierScopeBuffers": barrierBuffers, "GPUFamilyMetal3": familyMetal3,
		"LanguageVersion2_4": uint64(Language24), "LanguageVersion3_0": uint64(Language30),
		"LanguageVersion3_1": uint64(Language31), "LanguageVersion3_2": uint64(Language32),
		"CommandBufferStatusNotEnqueued": uint64(NotEnqueued), "CommandBufferStatusEnqueued": uint64(Enqueued),
		"CommandBufferStatusCommitted": uint64(Committed), "CommandBufferStatusScheduled": uint64(Scheduled),
		"CommandBufferStatusCompleted": uint64(Completed), "CommandBufferStatusError": uint64(Failed),
	}
	for code, name := range bufferErrors {
		ours["CommandBufferError"+name] = uint64(code)
	}
	for name, got := range ours {
		if want, ok := f.consts[name]; !ok || got != want {
			t.Errorf("%s = %d here, %d in the facts (there: %v)", name, got, want, ok)
		}
		delete(f.consts, name)
	}
	for name := range f.consts {
		t.Errorf("const %s is in the facts and not used", name)
	}
}

// selectorLike is a string that could only be meant as a selector with arguments.
var selectorLike = regexp.MustCompile(`^[a-z]\w*(:\w+)*:$`)

// No file of the package, for whatever platform, names a selector outside the
// table: names are registered in one place, from the table; classes that are
// looked up are receivers in the facts; every message is sent somewhere.
func TestSourceSendsOnlyTheTable(t *testing.T) {
	names, receivers := map[string]bool{}, map[string]bool{"MTLCompileOptions": true}
	for _, s := range selectors {
		names[s.name], receivers[s.receiver] = true, true
	}
	used := map[string]int{}
	registered := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if strings.HasPrefix(n.Name, "msg") {
					used[n.Name]++
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind == token.STRING && err == nil && selectorLike.MatchString(text) && !names[text] {
					t.Errorf("%s: %q looks like a selector and is not in the table", fset.Position(n.Pos()), text)
				}
			case *ast.CallExpr:
				registered += checkCall(t, fset, n, receivers)
			}
			return true
		})
	}
	if registered != 1 {
		t.Errorf("names are registered in %d places, want 1", registered)
	}
	if len(used) != int(messages) {
		t.Errorf("%d messages are named, the table has %d", len(used), messages)
	}
	for name, n := range used {
		if n < 3 { // once declared, once in the table, and then sent
			t.Errorf("%s is never sent", name)
		}
	}
}

// registrars are the functions that turn text into something of Objective-C's.
var registrars = []string{"RegisterName", "GetClass", "GetProtocol", "RegisterClass"}

// checkCall looks at one call and returns 1 if it registers a selector.
func checkCall(t *testing.T, fset *token.FileSet, call *ast.CallExpr, receivers map[string]bool) int {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return 0
	}
	at := fset.Position(call.Pos())
	literal, isLiteral := call.Args[0].(*ast.BasicLit)
	if slices.Contains(registrars, fn.Sel.Name) && isLiteral {
		t.Errorf("%s: %s with a literal; use the table", at, fn.Sel.Name)
	}
	if fn.Sel.Name == "find" && isLiteral {
		if class, _ := strconv.Unquote(literal.Value); !receivers[class] {
			t.Errorf("%s: class %s is no receiver of the table", at, class)
		}
	}
	if fn.Sel.Name == "RegisterName" {
		return 1
	}
	return 0
}

// A message whose arguments do not fit its row never leaves Go.
func TestSendRefusesWrongArguments(t *testing.T) {
	for _, args := range [][]any{{}, {object(1)}, {object(1), 2}, {object(1), int64(2)}, {uint64(1), uint64(2)}, {object(1), uint64(2), uint64(3)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was sent", args)
				}
			}()
			send(newFake(t), 1, msgSignalEvent, args...)
		}()
	}
}
