package fencetest_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/fencetest"
	"github.com/fencesim/fencesim/model"
)

// t stands for the *testing.T of a test: it prints what that would log.
var t printer

type printer struct{}

func (printer) Helper()                         {}
func (printer) Name() string                    { return "TestMine" }
func (printer) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (printer) Errorf(format string, args ...any) {
	fmt.Println(firstLine(fmt.Sprintf(format, args...)))
}
func (printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// A GPU queue that waits for a CPU stream in the buffer of the update that the stream
// waits for: fine where stores are seen at once, a hang where only a finished buffer's are.
const shared = `
fencesim: 1
name: shared-buffer
schedule:
  queues:
    - name: gpu
      buffers:
        - ["kernel x", "update G 1", "wait C 1", "kernel y reads r"]
  streams:
    - name: cpu
      tasks: ["wait G 1", "collective r reads x", "update C 1"]
`

func ExampleCheck() {
	sc := fencetest.Parse(t, shared)
	for _, res := range fencetest.Check(t, sc, "ideal") {
		fmt.Println(res.Verdict, "by", res.Proof)
	}
	// Output: ok by one-run
}

func ExampleAssertHang() {
	sc := fencetest.Parse(t, shared)
	for _, res := range fencetest.AssertHang(t, sc, "lag-0") {
		fmt.Println(res.Stuck[0].Counters)
	}
	// Output: (scheduled 1, gpu 0, cpu 0)
}

// Only some properties, and no files.
func ExampleConfig() {
	c := fencetest.Config{Properties: []string{"hang"}, Dir: "-"}
	c.Check(t, fencetest.Parse(t, shared), "ideal", "lag-0")
	// Output: shared-buffer can hang on lag-0 (proof: exhaustive)
}

// A generator of one's own: `fencetest.Property(t, layers, "lag-0")` in a test checks it.
// Here two of its draws are checked by hand.
func ExampleProperty() {
	layers := rapid.Custom(func(t *rapid.T) *model.Scenario {
		return &model.Scenario{
			Version:  1,
			Name:     "layers",
			Generate: &model.Generate{Kind: "independent-reductions", Reductions: rapid.IntRange(3, 9).Draw(t, "layers"), Rounds: 8, Elems: 1 << 24},
		}
	})
	for seed := range 2 {
		sc := layers.Example(seed + 1)
		fix := model.PerUpdate
		sc.Discipline = &fix
		fencetest.Check(t, sc, "lag-0")
	}
	fmt.Println("per-update waits hold at lag 0 with three reductions and more")
	// Output: per-update waits hold at lag 0 with three reductions and more
}
