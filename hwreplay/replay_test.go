package hwreplay

import (
	"testing"
	"time"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
)

func request(t *testing.T, name string) *Request {
	t.Helper()
	e, ok := catalog.Get(name)
	if !ok {
		t.Fatal(name)
	}
	return &Request{Scenario: string(e.Source), Config: Config{Patience: 300 * time.Millisecond}}
}

func TestCatalogOnHost(t *testing.T) {
	for _, name := range catalog.Names() {
		e, _ := catalog.Get(name)
		s, err := model.Parse(e.File, e.Source)
		if err != nil {
			t.Fatal(err)
		}
		for _, ex := range s.Expect {
			q := request(t, name)
			if ex.Machine != nil {
				q.Impose = &Machine{*ex.Machine}
			}
			if ex.Discipline != nil {
				q.Discipline = ex.Discipline.String()
			}
			q.Brief = true
			r, err := Replay(q, Host{}, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			t.Logf("%s %v %s %v: %s %v released %v usable %v model %v %s %v threads %d %.3fs", name, q.Discipline, r.Machine.Name(), ex.Verdict, r.Verdict, r.Counters, r.Released, r.Usable, r.Model, r.Reason, r.Violated, r.Threads, r.Elapsed)
		}
	}
}
