package catalog

import "testing"

// The word of a grade of evidence is the grade; every other word is refused.
func FuzzParseEvidence(f *testing.F) {
	for _, w := range evidenceWords {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if e, ok := ParseEvidence(word); ok != (e.String() == word) {
			t.Fatalf("%q is read as %s, %v", word, e, ok)
		}
	})
}
