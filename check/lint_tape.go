package check

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// tape applies the rules to a graph's schedule, whose buffers end where the run decides.
// apart says that ranks can be decided one by one.
func (l *Lint) tape(p *model.Schedule, apart bool) {
	l.targets(p)
	m := l.Machine
	if !apart {
		l.unproved("ranks meet in more than one sequence of collectives")
		return
	}
	order := certifyOrder(p, m)
	if order == "" || certifyUnblocked(p, m) == "" {
		return
	}
	if why := evaluatorFragment(p, m); why != "" || m.GPUToCPU.Mode != model.VisLag {
		l.unproved(order)
		return
	}
	slacks, ok, why := slackOf(p)
	if !ok {
		l.unproved("no slack certificate: " + why)
		return
	}
	slack, at := tightestSlack(slacks)
	n := m.GPUToCPU.Buffers
	if at >= 0 && slack < slackUnbounded {
		l.keepSlack(slack)
		if slack < n {
			u := &slacks[at]
			l.find("slack", fmt.Sprintf("update %s %d", p.Names.Of(u.Fence), u.Update),
				fmt.Sprintf("%d buffer ends before the wait that depends on it; the evaluator may place as few as %d", n+1, u.Ends))
			l.unproved(fmt.Sprintf("the slack is %d and the lag %d", slack, n))
			return
		}
	}
	if bad := verifySlack(p, slacks, n); bad != "" {
		l.unproved("slack certificate refused: " + bad)
	}
}

// targets compares each wait of a graph's schedule with the update of the array that it
// stands for, and with what has been encoded before it.
func (l *Lint) targets(p *model.Schedule) {
	type key struct{ fence, array model.Sym }
	updates := map[key]uint32{}
	total := map[model.Sym]uint32{}
	encoded(p, func(_ bool, c *model.Command) {
		if c.Op == model.OpUpdate || c.Op == model.OpSignal {
			updates[key{c.Name, c.For}] = c.Value
			total[c.Name] = max(total[c.Name], c.Value)
		}
	})
	scheduled := map[model.Sym]uint32{}
	awaited := map[key]bool{}
	found := map[string]int{}
	note := func(rule, where, needs string) {
		if found[rule]++; found[rule] <= mostFindings {
			l.find(rule, where, needs)
		}
	}
	encoded(p, func(gpu bool, c *model.Command) {
		switch c.Op {
		case model.OpUpdate, model.OpSignal:
			scheduled[c.Name] = max(scheduled[c.Name], c.Value)
		case model.OpWait, model.OpAwait:
			side := "a CPU stream"
			if gpu {
				side = "a queue"
			}
			where := fmt.Sprintf("%s: %s", side, c.Text(&p.Names))
			if name := p.Names.Of(c.For); name != "" {
				where += " for " + name
			}
			need, known := updates[key{c.Name, c.For}]
			awaited[key{c.Name, c.For}] = true
			switch {
			case c.Late:
				l.unproved("the target of a wait grows")
			case c.Value > total[c.Name]:
				note("never-reached", where, fmt.Sprintf("an update to %d: there are %d", c.Value, total[c.Name]))
			case c.Value > scheduled[c.Name]:
				note("encode-order", where, fmt.Sprintf("at most %d: that many updates are encoded before it", scheduled[c.Name]))
			case known && c.Value > need:
				note("over-wait", where, fmt.Sprintf("%d, the update that follows the array", need))
			}
		}
	})
	var unused []string
	more := 0
	encoded(p, func(_ bool, c *model.Command) {
		if (c.Op == model.OpUpdate || c.Op == model.OpSignal) && !awaited[key{c.Name, c.For}] {
			if len(unused) < 8 {
				unused = append(unused, c.Text(&p.Names))
			} else {
				more++
			}
		}
	})
	if len(unused) > 0 {
		list := strings.Join(unused, ", ")
		if more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		l.find("never-awaited", "the tape", "nothing: no wait is for "+list)
	}
	for rule, n := range found {
		if n > mostFindings {
			l.find(rule, "the tape", fmt.Sprintf("the same in %d further places", n-mostFindings))
		}
	}
}
