package docs_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

// TestMachines: the tables of machines.md are the program's own.
func TestMachines(t *testing.T) {
	src, err := os.ReadFile("machines.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	for name, table := range map[string]string{"parameters": parameters(), "presets": presets(), "disciplines": disciplines()} {
		begin, end := "<!-- "+name+": generated -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("machines.md has no place for %s", name)
		}
		text = before + begin + "\n" + table + "\n" + end + after
	}
	current(t, "machines.md", []byte(text))
}

// cell escapes what would end a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func parameters() string {
	var b bytes.Buffer
	b.WriteString("| parameter | values, the default first | meaning | where the claim comes from |\n| --- | --- | --- | --- |\n")
	for _, p := range model.Parameters {
		values := "0, n"
		if len(p.Values) > 0 {
			values = "`" + strings.Join(p.Values, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, values, cell(p.Doc), cell(p.Source))
	}
	return b.String()
}

func presets() string {
	var b bytes.Buffer
	b.WriteString("| machine | assumption | parameters that are not the default |\n| --- | --- | --- |\n")
	var ideal model.Machine
	for _, p := range model.Presets {
		var parts []string
		for i := range model.Parameters {
			x := &model.Parameters[i]
			if v := x.Value(&p.Machine); v != x.Value(&ideal) {
				parts = append(parts, "`"+x.Name+": "+v+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, cell(p.About), strings.Join(parts, ", "))
	}
	fmt.Fprintf(&b, "\nOrdered by strength: %s. Others are not ordered.\n", strings.Join(check.Order, " < "))
	return b.String()
}

func disciplines() string {
	var b bytes.Buffer
	b.WriteString("| discipline | rule |\n| --- | --- |\n")
	for _, d := range model.Disciplines {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.Word, cell(d.Doc))
	}
	return b.String()
}
