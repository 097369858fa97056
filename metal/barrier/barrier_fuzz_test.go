package barrier

import (
	"strings"
	"testing"
)

// The name of a kind is the kind; every other name is refused in one line.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"none", "dmb-ish", "dsb-st", "dsb-sy", "DSB SY", ""} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := Parse(name)
		if err == nil && k.String() != name || err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q is read as %s: %v", name, k, err)
		}
	})
}
