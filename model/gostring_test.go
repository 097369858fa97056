package model

import (
	"fmt"
	"go/ast"
	"go/parser"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// What %#v prints of a scenario is a call of Go whose literal is the scenario.
func TestGoString(t *testing.T) {
	var none *Scenario
	if got := fmt.Sprintf("%#v", none); got != "(*model.Scenario)(nil)" {
		t.Errorf("of nil: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		if s.Validate() != nil {
			t.Skip("a name that no file can have")
		}
		shown := fmt.Sprintf("%#v", s)
		e, err := parser.ParseExpr(shown)
		if err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
		text, err := strconv.Unquote(e.(*ast.CallExpr).Args[1].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("shown", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
		if diff := cmp.Diff(s, back, cmpopts.IgnoreUnexported(Scenario{})); diff != "" {
			t.Fatalf("%s\n%s", diff, shown)
		}
	})
}
