package hwreplay

import (
	"encoding/json"
	"testing"
	"time"
)

func TestRecordHost(t *testing.T) {
	r, err := Record(&RecordRequest{Repeat: 2, Ranks: 2, Only: "scenarios", Config: Config{Patience: 300 * time.Millisecond}}, Host{}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Runs {
		b, _ := json.Marshal(row.Histogram)
		t.Logf("%s %s: %d of %d; %v %s %s %s threads %d", row.Name, row.Expect, row.AsExpected, row.Runs, row.Model, row.Reason, row.Refused, b, row.Threads)
	}
	t.Logf("%v %q %.1f", r.Passed, r.Unproven, r.Elapsed)
}
