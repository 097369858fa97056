package fencesim

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allowed lists for each package which packages of the project it may import. A package that
// is not in the table is an error: whoever adds one says here which way it points.
var allowed = map[string][]string{
	"model":         nil,
	"sim":           {"model"},
	"check":         {"model", "sim"},
	"catalog":       {"model", "sim", "check"},
	"report":        {"model", "sim", "check", "catalog"},
	"kernels":       nil,
	"metal":         {"metal/barrier"},
	"metal/barrier": nil,
	"cuda":          nil,
	"hwreplay":      {"model", "sim", "check", "kernels", "metal", "cuda"},
	"fencetest":     {"model", "sim", "check", "hwreplay"},
	"cmd/fencesim":  {"model", "sim", "check", "catalog", "report", "hwreplay", "fencetest", "internal/spin"},

	"internal/spin": {"model", "report"}, // runs Spin, for bench and tests

	// For tests only.
	"internal/naive": {"model"},
	"docs":           nil,
	".":              nil,
}

// TestImports holds the direction of imports: check never needs a GPU, bindings know
// nothing of the project, and nothing points backwards.
func TestImports(t *testing.T) {
	const module = "github.com/fencesim/fencesim/"
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && path != "." || e.Name() == "testdata") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		may, known := allowed[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the table of imports", path, pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if to, ours := strings.CutPrefix(name, module); ours && !slices.Contains(may, to) {
				t.Errorf("%s: package %s may not import %s", path, pkg, to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
