package check_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestStories runs the scripts of testdata/stories: each tells one rule of the semantics,
// in prose, by stepping a scenario and by exploring it. The program writes what stands
// below the dashes:
//
//	go test ./check -run Stories -rewrite
//
// Read the difference before it is committed. A line that contradicts the prose above it
// is a fault of one of the two.
func TestStories(t *testing.T) {
	paths, err := filepath.Glob("../testdata/stories/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var st story
			datadriven.RunTest(t, path, st.handle)
		})
	}
}

// handle runs one command of a script. An error of the input is part of the story; an
// unknown command or argument ends the test.
func (st *story) handle(t *testing.T, d *datadriven.TestData) string {
	var args []string
	for _, a := range d.CmdArgs {
		args = append(args, a.String())
	}
	rest := strings.Join(args, " ")
	lines := func() []string {
		if rest != "" {
			return []string{rest}
		}
		return strings.Split(d.Input, "\n")
	}
	if d.Cmd != "scenario" && d.Cmd != "machine" && st.sc == nil {
		d.Fatalf(t, "%s before any scenario", d.Cmd)
	}
	switch d.Cmd {

	// Load a scenario; a first line `fencesim: 1` and the name may be left out. The
	// machine is ideal unless the scenario has one.
	//
	// scenario
	// schedule:
	//   queues: [{name: gpu, buffers: [["update G 1"]]}]
	case "scenario":
		return st.load(d.Input)

	// Change the machine, and begin anew.
	//
	// machine lag-0
	//
	// machine
	// {buffers: overlap, slots: 1}
	case "machine":
		if rest != "" {
			return st.setMachine(rest)
		}
		return st.setMachine(d.Input)

	// Change the discipline of a graph, and begin anew.
	//
	// discipline per-update
	case "discipline":
		return st.setDiscipline(rest)

	// Show the main thread's steps, the streams' tasks and the queues' commands in order.
	case "program":
		return st.program()

	// Take the first enabled transition of an agent, n times. All words of AGENT must be
	// among the agent's; with `: TEXT` the transition must contain TEXT. Several lines
	// are several steps.
	//
	// step gpu 3
	//
	// step
	// rank 1 cpu 2
	// memory: update G 2
	case "step":
		return st.step(lines())

	// Go on without any merely possible transition, as lazily as the machine allows,
	// until nothing guaranteed is left.
	case "run":
		return st.lazily()

	// Go back to the initial state.
	case "restart":
		return st.restart()

	// List the enabled transitions, guaranteed and merely possible ones.
	case "enabled":
		return st.enabled()

	// Show the fences' views and what is on its way, the buffers, and who is blocked.
	case "state":
		return st.state()

	// Decide the scenario, all stuck states, by each strategy named (auto if none).
	//
	// explore dfs random
	case "explore":
		return st.explore(t, strings.Fields(rest))

	// Say for each property but hang that some run violates where it first does.
	case "violates":
		return st.violates(t)

	// What the linear rules say.
	case "lint":
		return st.lint(t)

	// The hints that never fail.
	case "advice":
		return st.advice(t)
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}
