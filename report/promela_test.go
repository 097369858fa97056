package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

func promelaOf(t *testing.T, text string, o report.PromelaOptions) (string, error) {
	t.Helper()
	sc, err := model.Parse("case.yaml", []byte("fencesim: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = report.Promela(&b, programs, sc.Machine, o)
	return b.String(), err
}

// TestPromelaRefuses: what is not covered is an error that names it, and nothing is written.
func TestPromelaRefuses(t *testing.T) {
	many := "schedule: {streams: ["
	for i := range 300 {
		many += "{name: c" + strings.Repeat("x", i) + ", tasks: [signal E 1]},"
	}
	for _, c := range []struct{ text, want string }{
		{"generate: {kind: chained-reductions, reductions: 2, rounds: 1, elems: 8}", "runs a graph"},
		{"schedule: {queues: [{name: gpu, buffers: [[add G 4294967295, wait G 1]]}]}", "fence G: adds may reach 4294967295"},
		{"schedule: {streams: [{name: c, tasks: [signal E 3000000000, await E 3000000000]}]}", "event E"},
		{many + "]}", "301 processes"},
	} {
		got, err := promelaOf(t, c.text, report.PromelaOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "promela: ") || !strings.Contains(err.Error(), c.want) || got != "" {
			t.Errorf("%.60s: %v, want %q; %d bytes written", c.text, err, c.want, len(got))
		}
	}
}

// TestPromelaModel: what is written is a function of the schedule, and leaves out what no
// wait can see.
func TestPromelaModel(t *testing.T) {
	const hang = "machine: lag-0\nschedule: {queues: [{name: gpu, buffers: [[kernel x, update G 1, release F, wait C 1]]}], streams: [{name: cpu, tasks: [wait G 1, kernel y reads x, wait F 4294967295, update C 1]}]}"
	first, err := promelaOf(t, hang, report.PromelaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := promelaOf(t, hang, report.PromelaOptions{}); again != first {
		t.Error("two exports of one schedule differ")
	}
	for _, part := range []string{"bit kind = 1", "active proctype main_0", "active proctype queue_gpu_0", "active proctype stream_cpu_0", "active proctype memory_0",
		"G_cpu_0 = 1", "/* wait C 1 */", "(kind || gpu_finished_0 > 0)", "(F_cpu_0 >= 1"} {
		if !strings.Contains(first, part) {
			t.Errorf("the model has no %q:\n%s", part, first)
		}
	}
	for _, part := range []string{"G_gpu", "assert", "4294967295 ->"} {
		if strings.Contains(first, part) {
			t.Errorf("the model has %q:\n%s", part, first)
		}
	}
	merged, err := promelaOf(t, hang, report.PromelaOptions{Stale: true, Merge: true})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(merged, "main_0") || !strings.Contains(merged, "assert(!(x_version_0 < 1))") {
		t.Errorf("merged and with stale reads asserted:\n%s", merged)
	}
}
