package check

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// resultSeeds are a result, a matrix and a diagnosis as files.
func resultSeeds(f *testing.F) {
	sc, err := model.Parse("seed", []byte("fencesim: 1\nname: seed\nmachine: lag-1\ngenerate: {kind: independent-reductions, reductions: 2, rounds: 1, elems: 1048576}\nevaluator: {bfs_width: 2, max_mb: 1}\n"))
	if err != nil {
		f.Fatal(err)
	}
	ctx := context.Background()
	r, err := Explore(ctx, sc, Config{Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	m, err := NewMatrix(ctx, sc, []model.Discipline{model.Count}, model.Presets[:2], Config{Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	d, err := Diagnose(ctx, sc, Observation{}, Config{Workers: 1})
	if err != nil {
		f.Fatal(err)
	}
	l, err := NewLint(sc)
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range []any{r, m, d, l, CatalogMatrix{Version: 1, Entries: []MatrixRow{{Name: "a", Verdict: Hang}}}} {
		b, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// A file of a result, a matrix, a diagnosis or a lint is refused in one line, or what is
// written of it reads back to the same.
func FuzzResult(f *testing.F) {
	resultSeeds(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		for _, make := range []func() any{
			func() any { return new(Result) }, func() any { return new(Matrix) }, func() any { return new(CatalogMatrix) },
			func() any { return new(Diagnosis) }, func() any { return new(Lint) },
		} {
			v := make()
			if err := json.Unmarshal(src, v); err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Fatalf("more than one line: %v", err)
				}
				continue
			}
			if r, ok := v.(*Result); ok {
				r.FirstTrace()
			}
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%T is read and cannot be written: %v", v, err)
			}
			back := make()
			if err := json.Unmarshal(want, back); err != nil {
				t.Fatalf("%v\n%s", err, want)
			}
			if have, err := json.Marshal(back); err != nil || !bytes.Equal(have, want) {
				t.Fatalf("%v: read back it is\n%s\nwas\n%s", err, have, want)
			}
		}
	})
}

// The words of verdicts, proofs, statuses and reaches are themselves; another is the zero value.
func FuzzWords(f *testing.F) {
	for _, w := range []string{"hang", "one-run", "holds", "forced", ""} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		var v Verdict
		var p Proof
		var s Status
		var r Reach
		for _, x := range []interface {
			UnmarshalText([]byte) error
			String() string
		}{&v, &p, &s, &r} {
			zero := x.String()
			err := x.UnmarshalText([]byte(word))
			if got := x.String(); got != word && got != zero || err != nil && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%T: %q is read as %q: %v", x, word, got, err)
			}
		}
	})
}
