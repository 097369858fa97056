package hwreplay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
)

// The self-test of threads: every hang of it hangs with its counters, every cure
// finishes, all inside the model.
func TestRecordHost(t *testing.T) {
	r, err := Record(t.Context(), &RecordRequest{Date: "2026-01-01", Repeat: 1, Ranks: 4, Only: "scenarios", Config: Config{Patience: brisk}}, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Passed || len(r.Unproven) > 0 {
		t.Errorf("%q", r.Unproven)
	}
}

// The records in testdata say what the documentation says of them, and name no host.
func TestRecordsOnFile(t *testing.T) {
	files, _ := filepath.Glob("testdata/records/*.json")
	if len(files) == 0 {
		t.Fatal("no records")
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f, ".replay.json") {
			var r Result
			if err := json.Unmarshal(b, &r); err != nil || r.Model != Allowed || !r.Released || !r.Usable ||
				r.Ranks != 4 || r.Runs != 20 || r.Count(VerdictHung, model.Counters{Scheduled: 12, GPU: 8}) != 20 {
				t.Errorf("%s: %v, %s", f, err, r.sentence())
			}
			continue
		}
		var r RecordOfRuns
		if err := json.Unmarshal(b, &r); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if !r.Passed || r.Date == "" || r.Driver == "" || r.Name == "" {
			t.Errorf("%s: passed %v, %q, %s", f, r.Passed, r.Date, r.Info)
		}
		hangs := map[string]model.Counters{
			"workload-count-lag-3": {Scheduled: 12, GPU: 8}, "tape-groups-of-4": {Scheduled: 12, GPU: 4}, "tape-groups-of-1": {Scheduled: 12, GPU: 1},
			"first-group-count-lag-0": {Scheduled: 12, GPU: 11}, "first-group-count-lag-3": {Scheduled: 12, GPU: 8}, "first-group-count-lag-4": {Scheduled: 12, GPU: 7},
		}
		for _, row := range r.Runs {
			if row.Refused == "" && (row.AsExpected != row.Runs || !row.Released || !row.Usable || row.Model != Allowed) {
				t.Errorf("%s: %s: %d of %d, released %v, usable %v, %s", f, row.Name, row.AsExpected, row.Runs, row.Released, row.Usable, row.Model)
			}
			if want, ok := hangs[row.Name]; ok {
				if len(row.Histogram) != 1 || row.Histogram[0].Counters != want || row.Histogram[0].Verdict != VerdictHung || row.Runs < 20 {
					t.Errorf("%s: %s: %+v", f, row.Name, row.Histogram)
				}
				delete(hangs, row.Name)
			}
		}
		if len(hangs) > 0 {
			t.Errorf("%s: no runs of %v", f, hangs)
		}
		if r.Conform == nil || r.Conform.Outside != 0 || r.Measure == nil {
			t.Errorf("%s: conform or measure is missing, or observations are outside", f)
		}
	}
}
