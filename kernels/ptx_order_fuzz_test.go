package kernels

import (
	"strings"
	"testing"
)

// The name of an order is the order; every other name is refused in one line.
func FuzzParseOrder(f *testing.F) {
	for _, o := range Orders() {
		f.Add(o.String())
	}
	f.Fuzz(func(t *testing.T, name string) {
		o, err := ParseOrder(name)
		if err == nil && o.String() != name || err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q is read as %s: %v", name, o, err)
		}
	})
}
