package catalog

import (
	"testing"

	"github.com/fencesim/fencesim/model"
)

// Every entry is valid, is called what its file is called, belongs to a group of the table
// and says what must come out.
func TestEntries(t *testing.T) {
	groups := make(map[string]bool)
	for _, g := range Groups {
		groups[g.Prefix] = true
	}
	names := Names()
	if len(names) == 0 {
		t.Fatal("no entries")
	}
	for _, name := range names {
		e, ok := Get(name)
		if !ok {
			t.Errorf("%s: listed, not found", name)
			continue
		}
		s, err := model.Parse(e.File, e.Source)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.Name != name {
			t.Errorf("%s: the scenario calls itself %q", e.File, s.Name)
		}
		if !groups[e.Group] {
			t.Errorf("%s: group %q has no row", e.File, e.Group)
		}
		if s.About == "" || len(s.Expect) == 0 {
			t.Errorf("%s: no about or no expectation", e.File)
		}
	}
}

func TestGetUnknown(t *testing.T) {
	for _, name := range []string{"", "nothing", "../catalog", "scenarios/example-one-slot"} {
		if _, ok := Get(name); ok {
			t.Errorf("Get(%q) found something", name)
		}
	}
}
