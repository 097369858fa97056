package check

import (
	"fmt"
	"math"

	"github.com/fencesim/fencesim/model"
)

// slackUnbounded is the slack of an update that no GPU wait can keep from being seen.
const slackUnbounded = math.MaxInt32

// An updateSlack is what the slack certificate says of one GPU update that the CPU waits
// for: Wait is the first command behind the update at which the queue may stand while the
// CPU waits for it (-1: none), Ends the fewest buffer ends between the two over all
// choices of the throttle.
type updateSlack struct {
	Fence  model.Sym
	Update uint32 // the value that it stores
	At     int32  // its position among the queue's commands
	Task   int32  // the first CPU task that waits for it
	Wait   int32
	Ends   int32
}

// Slack is the greatest lag n under which the update is sure to be seen: under lag n more
// than n ends must lie between. It is negative when update and wait may share a buffer.
func (u *updateSlack) Slack() int {
	if u.Wait < 0 {
		return slackUnbounded
	}
	return int(u.Ends) - 1
}

// tightestSlack gives the least slack and the first update that has it; slackUnbounded and -1 if
// there is no update.
func tightestSlack(slacks []updateSlack) (slack, at int) {
	slack, at = slackUnbounded, -1
	for i := range slacks {
		if s := slacks[i].Slack(); at < 0 || s < slack {
			slack, at = s, i
		}
	}
	return slack, at
}

// slackOf computes the slack certificate of semantics section 9 for a schedule of the
// fragment of [evaluatorFragment]. The slacks are in the order of the updates. ok says that
// the rest of the certificate holds too, every wait naming a store that is encoded before
// it; if not, why names the first wait that does not.
//
// Let the throttle commit after any tape entry. Operations and distinct elements only grow
// as a buffer grows at either end, so a buffer that starts later is evaluatorNever forced to end
// earlier. Hence the fewest ends between an update and a wait come from the latest start, an
// end right before the update, followed by no throttle at all: a walk along Queue.Forced.
//
// If ok and the least slack is at least n there is no hang under lag n. Take a state with
// nothing guaranteed enabled. The main thread is blocked or at its end, so all that it
// encoded is committed. Either the queue is idle, and everything executed is delivered; or it
// stands at a wait w for a task that the CPU, standing at a wait for update u, has not run.
// If u lies behind w, encode order puts the task before w, w before u and u before the
// CPU's wait, so the task has run. So u lies before w, more than n ends lie between, their
// buffers have finished, and u's arrival is guaranteed. Stores visible at once, or each
// guaranteed by itself, need ok alone. The converse does not hold: the certificate is
// not complete.
//
// Ladders make it linear in memory, and in time up to a logarithm per awaited update.
func slackOf(p *model.Schedule) (slacks []updateSlack, ok bool, why string) {
	l := newEvaluatorLayout(p)
	why = l.encodeOrder()
	starts := newSlackLadder(len(l.cmds)+1, func(s int) int32 { return min(l.forced[s], int32(len(l.cmds)+1)) })

	var blocking []int32 // commands that wait for a task
	next := make([]int32, len(l.cmds)+1)
	for c := range l.cmds {
		next[c] = int32(len(blocking))
		if l.need[c] > 0 {
			blocking = append(blocking, int32(c))
		}
	}
	next[len(l.cmds)] = int32(len(blocking))
	rising := newSlackLadder(len(blocking), l.nextGreater(blocking))

	first := make([]int32, len(l.cmds)) // per command: the first task that waits for it, + 1
	for t := len(l.tasks) - 1; t >= 0; t-- {
		if r := l.reach[t]; l.awaits[t] > 0 && r != evaluatorNever {
			first[r-1] = int32(t) + 1
		}
	}
	for _, a := range l.updates {
		if first[a] == 0 {
			continue
		}
		c := &l.cmds[a]
		u := updateSlack{Fence: c.Name, Update: c.Value, At: a, Task: first[a] - 1, Wait: -1}
		k := rising.climb(next[a], func(k int32) bool {
			return int(k) == len(blocking) || l.need[blocking[k]] > u.Task
		})
		if int(k) < len(blocking) {
			u.Wait = blocking[k]
			s := l.enc[l.cmdStep[a]]
			x := starts.climb(s, func(e int32) bool { return e > u.Wait })
			u.Ends = starts.depth[s] - starts.depth[x] - 1
		}
		slacks = append(slacks, u)
	}
	return slacks, why == "", why
}

// encodeOrder names the first wait whose store is not encoded before it, or "".
func (l *evaluatorLayout) encodeOrder() string {
	for c := range l.cmds {
		if n := l.need[c]; n == evaluatorNever || n > 0 && l.taskStp[n-1] >= l.cmdStep[c] {
			return fmt.Sprintf("command %d of the queue waits for a store that is not encoded before it", c)
		}
	}
	for t := range l.tasks {
		if r := l.reach[t]; r == evaluatorNever || r > 0 && l.cmdStep[r-1] >= l.taskStp[t] {
			return fmt.Sprintf("task %d of the stream waits for a store that is not encoded before it", t)
		}
	}
	return ""
}

// nextGreater gives for each of the commands in list the next that needs more tasks.
func (l *evaluatorLayout) nextGreater(list []int32) func(i int) int32 {
	out := make([]int32, len(list))
	var stack []int32
	for i := len(list) - 1; i >= 0; i-- {
		for len(stack) > 0 && l.need[list[stack[len(stack)-1]]] <= l.need[list[i]] {
			stack = stack[:len(stack)-1]
		}
		out[i] = int32(len(list))
		if len(stack) > 0 {
			out[i] = stack[len(stack)-1]
		}
		stack = append(stack, int32(i))
	}
	return func(i int) int32 { return out[i] }
}

// A slackLadder is a forest over 0 … n in which every node points to a larger one and n is the
// root, with a jump pointer each so that climbing k steps costs O(log k) (Myers 1983).
type slackLadder struct{ up, far, depth []int32 }

func newSlackLadder(n int, parent func(i int) int32) *slackLadder {
	l := &slackLadder{make([]int32, n+1), make([]int32, n+1), make([]int32, n+1)}
	l.up[n], l.far[n] = int32(n), int32(n)
	for i := n - 1; i >= 0; i-- {
		p := parent(i)
		l.up[i], l.far[i], l.depth[i] = p, p, l.depth[p]+1
		if f := l.far[p]; l.depth[p]-l.depth[f] == l.depth[f]-l.depth[l.far[f]] {
			l.far[i] = l.far[f]
		}
	}
	return l
}

// climb gives the first node from i upward at which stop holds. Once it holds it must hold
// further up, and at the root.
func (l *slackLadder) climb(i int32, stop func(int32) bool) int32 {
	for !stop(i) {
		if f := l.far[i]; !stop(f) {
			i = f
		} else {
			i = l.up[i]
		}
	}
	return i
}
