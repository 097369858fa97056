package catalog

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
)

const hypotheses = "../docs/hypotheses.md"

// The computed parts of docs/hypotheses.md are what the program computes.
func TestHypothesesPage(t *testing.T) {
	src, err := os.ReadFile(hypotheses)
	if err != nil {
		t.Fatal(err)
	}
	want := string(src)
	for name, text := range map[string]string{"diagnosis": diagnosis(t), "barriers": barriers(t), "meanings": meanings()} {
		from, to := "<!-- computed: "+name+" -->\n", "<!-- end -->"
		head, rest, ok := strings.Cut(want, from)
		_, tail, closed := strings.Cut(rest, to)
		if !ok || !closed {
			t.Fatalf("%s has no part %q", hypotheses, name)
		}
		want = head + from + "\n" + text + "\n" + to + tail
	}
	if *update && want != string(src) {
		if err := os.WriteFile(hypotheses, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(src) {
		t.Errorf("%s is not what is computed; go test ./catalog -run TestHypothesesPage -update writes it", hypotheses)
	}
}

func meanings() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| name | says | machines |\n| --- | --- | --- |")
	for _, h := range check.Hypotheses {
		var ms []string
		for _, r := range h.Rows {
			ms = append(ms, r.Machine)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", h.Name, h.About, strings.Join(ms, "; "))
	}
	return b.String()
}

func diagnosis(t *testing.T) string {
	t.Helper()
	e, _ := Get("mlx-independent-reductions")
	scheduled, gpu, cpu := uint32(12), uint32(8), uint32(0)
	d, err := check.Diagnose(context.Background(), parse(t, e), check.Observation{Scheduled: &scheduled, GPU: &gpu, CPU: &cpu}, check.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A suspicion is what one explanation of the fence stalls says of the machine for each
// variant of the barrier.
type suspicion struct {
	name     string
	variants [4][]model.Machine // A, B, C, D; two machines where it leaves open which
}

// barriers is a table: for each reported observation and each suspicion, what the model
// says of the 78 fence cycles with each variant.
func barriers(t *testing.T) string {
	t.Helper()
	ideal := model.Machine{}
	write := model.Machine{CPUToGPU: model.Visibility{Mode: model.VisUnreliable}}
	read := model.Machine{GPUToCPU: model.Visibility{Mode: model.VisUnreliable}}
	both := model.Machine{CPUToGPU: write.CPUToGPU, GPUToCPU: read.GPUToCPU}
	lag := model.Machine{GPUToCPU: model.Visibility{Mode: model.VisLag, Buffers: 3}}
	one := func(m model.Machine) []model.Machine { return []model.Machine{m} }
	list := []suspicion{
		{"stores need the full system domain", [4][]model.Machine{one(write), {write, ideal}, one(ideal), one(ideal)}},
		{"stores and reads need it, and no variant changes the reads", [4][]model.Machine{one(both), {both, read}, one(read), one(read)}},
		{"no barrier promises anything", [4][]model.Machine{one(both), one(both), one(both), one(both)}},
		{"stores of the GPU are seen in batches of buffers (lag-3)", [4][]model.Machine{one(lag), one(lag), one(lag), one(lag)}},
		{"no trouble with memory", [4][]model.Machine{one(ideal), one(ideal), one(ideal), one(ideal)}},
	}
	known := map[model.Machine]map[string]string{}
	for _, m := range []model.Machine{ideal, write, read, both, lag} {
		known[m] = sightsOf(t, m)
	}
	var b strings.Builder
	fmt.Fprintln(&b, "| observation | explanation | A none | B DSB ST | C DSB SY | D and fallback |\n| --- | --- | --- | --- | --- | --- |")
	for _, o := range []string{"every cycle passes", "hangs", "hangs: CPU thread spins, GPU spins", "hangs: CPU thread spins, GPU idle", "hangs: CPU idle, GPU spins"} {
		for _, s := range list {
			row := []string{o, s.name}
			for _, ms := range s.variants {
				word := known[ms[0]][o]
				if len(ms) > 1 && known[ms[1]][o] != word {
					word = "open: " + word + " or " + known[ms[1]][o]
				}
				row = append(row, word)
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	return b.String()
}

// sightsOf says which observations the machine forbids, allows or requires on the burst, and
// of hangs also on a schedule whose GPU waits for nothing.
func sightsOf(t *testing.T, m model.Machine) map[string]string {
	t.Helper()
	word := func(possible, always bool) string {
		switch {
		case !possible:
			return "forbids"
		case always:
			return "requires"
		}
		return "allows"
	}
	out := map[string]string{}
	kinds := map[string]bool{}
	for i, name := range []string{"mlx-barrier-burst-broken", "mlx-reader-gap-broken"} {
		e, _ := Get(name)
		s := parse(t, e)
		s.Machine, s.Ranks = m, 1
		r, err := check.Explore(context.Background(), s, check.Config{All: true, NoShrink: true})
		if err != nil {
			t.Fatal(err)
		}
		finishes, ok, err := check.Finishes(context.Background(), s, check.Config{})
		if err != nil || !ok {
			t.Fatal("whether a run finishes is not known", err)
		}
		if hangs := r.Verdict == check.Hang; i == 0 {
			out["every cycle passes"], out["hangs"] = word(finishes, !hangs), word(hangs, !finishes)
		}
		for _, st := range r.Stuck {
			cpu, gpu := "CPU idle", "GPU idle"
			for _, b := range st.Ranks[0].Blocked {
				switch {
				case b.Agent == "stream cpu":
					cpu = "CPU thread spins"
				case b.Agent == "queue gpu" && strings.HasPrefix(b.At, "wait"):
					gpu = "GPU spins"
				}
			}
			kinds["hangs: "+cpu+", "+gpu] = true
		}
	}
	for _, k := range []string{"hangs: CPU thread spins, GPU spins", "hangs: CPU thread spins, GPU idle", "hangs: CPU idle, GPU spins"} {
		out[k] = word(kinds[k], false)
	}
	return out
}
