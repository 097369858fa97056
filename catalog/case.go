package catalog

import "strings"

// Evidence is how well an assumption about machines is known. The zero value is guessed.
type Evidence uint8

// The grades of evidence.
const (
	Guessed  Evidence = iota // fits what was seen, nobody has shown it
	Argued                   // follows from source, documentation or a change that cured it
	Measured                 // somebody has numbers, stacks or a test
)

var evidenceWords = [...]string{"guessed", "argued", "measured"}

// String is the word of the grade.
func (e Evidence) String() string { return evidenceWords[e] }

// ParseEvidence reads the word of a grade.
func ParseEvidence(word string) (Evidence, bool) {
	for i, w := range evidenceWords {
		if w == word {
			return Evidence(i), true
		}
	}
	return Guessed, false
}

// A Variant is which side of a pair an entry is. The zero value is neither: an example, or
// both sides in one file.
type Variant uint8

// The variants.
const (
	NoVariant Variant = iota
	Broken            // as reported
	Fixed             // with the change that cures it
)

var variantWords = [...]string{"", "broken", "fixed"}

// String is the variant's word, "" for neither.
func (v Variant) String() string { return variantWords[v] }

// A Case is one reported system: what it assumes of machines, how well that is known, and
// what the fix changed. Its entries are NAME-broken and NAME-fixed, or NAME alone if the
// discipline is the whole difference and one file has both.
type Case struct {
	Name     string
	Evidence Evidence // of Assumes
	Changes  string   // the one part in which the entries differ: schedule, machine, discipline, evaluator
	Assumes  string   // what the machine must do for the failure
	One      bool     // one file has both sides
}

// Cases lists every case in the order of the table.
func Cases() []Case { return append([]Case(nil), cases...) }

// Broken and Fixed are the entries of a case; equal if one file has both.
func (c Case) Broken() Entry { return c.entry(Broken) }

// Fixed is the entry with the change that cures it.
func (c Case) Fixed() Entry { return c.entry(Fixed) }

func (c Case) entry(v Variant) Entry {
	name := c.Name
	if !c.One {
		name += "-" + v.String()
	}
	e, _ := Get(name)
	return e
}

// CaseOf is the case to which the entry of that name belongs, and which side of it the
// entry is; ok is false for examples.
func CaseOf(name string) (c Case, v Variant, ok bool) {
	base := name
	for _, w := range []Variant{Broken, Fixed} {
		if b, cut := strings.CutSuffix(name, "-"+w.String()); cut {
			base, v = b, w
		}
	}
	for _, c := range cases {
		if c.Name == base && c.One == (v == NoVariant) {
			return c, v, true
		}
	}
	return Case{}, NoVariant, false
}

// VariantOf is the side of its case on which an expectation of the entry stands, as a word:
// where one file has both, the ok ones are the fixed side. It is "" for examples.
func VariantOf(name string, ok bool) string {
	c, v, known := CaseOf(name)
	switch {
	case !known:
		return ""
	case !c.One:
		return v.String()
	case ok:
		return Fixed.String()
	}
	return Broken.String()
}
