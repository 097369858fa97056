package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
)

// verifySlack checks that slacks prove schedule p, which is of the evaluator's fragment,
// free of hangs under lag n (n = -1: stores visible at once): it gives "" or the first flaw.
// It shares no code with [slackOf]: it does not search for waits and counts no ends, but
// walks n + 1 forced ends from each update and asks that no command in that window waits
// for a task behind the CPU's first wait for the update. Windows of later updates begin and
// end no earlier, so one pass with a queue of falling maxima does.
func verifySlack(p *model.Schedule, slacks []updateSlack, n int) string {
	var cmds, tasks []model.Command
	var forced []int32
	for i := range p.Queues {
		if len(p.Queues[i].Commands) > 0 {
			cmds, forced = p.Queues[i].Commands, p.Queues[i].Forced
		}
	}
	for i := range p.Streams {
		if len(p.Streams[i].Tasks) > 0 {
			tasks = p.Streams[i].Tasks
		}
	}
	// Read the tape in encode order; what is stored so far is what a wait may name. The k-th
	// store of a fence or event stores k.
	at := [2]map[model.Sym][]int{{}, {}}                          // GPU stores, CPU stores: positions
	first, need := make([]int, len(cmds)), make([]int, len(cmds)) // start of each command's step; the task it needs + 1
	waiter := make([]int, len(cmds))                              // the first task that waits for each update + 1
	done := [2]int{}
	for i, st := range p.Main {
		side, list := 0, cmds
		switch st.Kind {
		case model.StepTask:
			side, list = 1, tasks
		case model.StepEncode, model.StepUpdate:
		default:
			continue
		}
		for start, k := done[side], done[side]; k < int(st.N); k++ {
			c := &list[k]
			if side == 0 {
				first[k] = start
			}
			switch c.Op {
			case model.OpUpdate, model.OpSignal:
				if at[side][c.Name] = append(at[side][c.Name], k); int(c.Value) != len(at[side][c.Name]) {
					return fmt.Sprintf("step %d: %s %d is out of turn", i, c.Op, c.Value)
				}
			case model.OpWait, model.OpAwait:
				stored := at[1-side][c.Name]
				if int(c.Value) > len(stored) {
					return fmt.Sprintf("step %d: the store that %s %d is for is not encoded before", i, c.Op, c.Value)
				}
				if c.Value == 0 {
					continue
				}
				if other := stored[c.Value-1]; side == 0 {
					need[k] = other + 1
				} else if c.Op == model.OpWait && waiter[other] == 0 {
					waiter[other] = k + 1
				}
			}
		}
		done[side] = int(st.N)
	}
	var falling []int // commands of the window, needs falling
	end, claim := 0, 0
	for a := range cmds {
		if waiter[a] == 0 {
			continue
		}
		if claim == len(slacks) || int(slacks[claim].At) != a || slacks[claim].Slack() < n {
			return fmt.Sprintf("update %d: no claim that covers lag %d", cmds[a].Value, n)
		}
		claim++
		stop := first[a]
		for range n + 1 {
			stop = min(int(forced[min(stop, len(cmds))]), len(cmds)+1)
		}
		for ; end < min(stop, len(cmds)); end++ {
			for len(falling) > 0 && need[falling[len(falling)-1]] <= need[end] {
				falling = falling[:len(falling)-1]
			}
			falling = append(falling, end)
		}
		for len(falling) > 0 && falling[0] < a {
			falling = falling[1:]
		}
		if len(falling) > 0 && need[falling[0]] >= waiter[a] {
			return fmt.Sprintf("update %d: command %d may block with at most %d ends between", cmds[a].Value, falling[0], n)
		}
	}
	if claim < len(slacks) {
		return "a claim about no awaited update"
	}
	return ""
}
