package kernels

import "testing"

// What holds for every kernel of every backend.
func TestTable(t *testing.T) {
	seen := map[Backend]map[string]bool{PTX: {}, Metal: {}}
	for _, k := range All() {
		if seen[k.Backend] == nil {
			t.Fatalf("%s: unknown backend %q", k.Name, k.Backend)
		}
		if k.Name == "" || k.Entry == "" || k.Doc == "" || k.Source == "" {
			t.Errorf("%s %q: a field is empty", k.Backend, k.Name)
		}
		if seen[k.Backend][k.Name] {
			t.Errorf("%s %q is in the table twice", k.Backend, k.Name)
		}
		seen[k.Backend][k.Name] = true
		for _, p := range k.Params {
			if p.Name == "" || p.Doc == "" || p.Type != U32 && p.Type != U64 && p.Type != Addr {
				t.Errorf("%s %q: parameter %+v", k.Backend, k.Name, p)
			}
		}
		if got, ok := Find(k.Backend, k.Name); !ok || got.Entry != k.Entry {
			t.Errorf("%s %q is not found by its name", k.Backend, k.Name)
		}
	}
	if _, ok := Find(PTX, "nosuch"); ok {
		t.Error("found a kernel that does not exist")
	}
	if len(Of(PTX)) != len(ptxKernels) || len(Of(PTX))+len(Of(Metal)) != len(All()) {
		t.Error("Of does not split All")
	}
}
