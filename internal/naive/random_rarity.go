package naive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// rarity throws one uncommon command, or a fault, into what was drawn so far.
func (d *drawing) rarity(m *model.Machine) {
	q, c := d.IntN(d.queues), d.IntN(d.streams)
	g, f := d.fence("G", q), d.fence("C", c)
	switch d.IntN(24) {
	case 0: // a wait for one value exactly
		d.replace("wait ", func(s string) string {
			w := strings.Fields(s)
			return fmt.Sprintf("wait %s == %s", w[1], w[len(w)-1])
		})
	case 1, 2:
		d.replace("update ", func(s string) string { return "add " + strings.Fields(s)[1] + " 1" })
	case 3:
		d.item(q, "release "+g)
	case 4:
		d.task(c, "release "+f)
	case 5, 6: // a second writer
		if d.one(2) {
			d.task(c, fmt.Sprintf("update %s %d", g, 1+d.IntN(d.n)))
		} else {
			d.item(d.IntN(d.queues), fmt.Sprintf("update %s %d", d.pick(g, f), 1+d.IntN(d.n)))
		}
	case 7:
		if d.one(2) {
			d.task(c, "free "+d.pick(g, f))
		} else {
			d.item(q, "free "+d.pick(g, f))
		}
	case 8, 9: // from rank to rank; alone, to itself
		if d.one(3) {
			d.item(q, "kernel s", "send s to "+d.pick("next", "0"))
			d.task(c, "recv s from "+d.pick("prev", "prev", "0"))
		} else {
			d.task(c, "kernel s", "send s to next")
			d.task(d.IntN(d.streams), d.pick("recv s from prev", "recv s from prev", "recv t from prev"))
		}
	case 10, 11: // an event in place of a fence
		d.item(q, fmt.Sprintf("signal E %d", 1+d.IntN(2)))
		d.task(c, fmt.Sprintf("await E %d", 1+d.IntN(2)))
	case 12:
		d.task(c, "signal E 1")
		d.item(q, "await E 1")
	case 13, 14: // versions
		i := d.IntN(d.n)
		d.item(q, fmt.Sprintf("kernel v reads x%d@%d", i, 1+d.IntN(2)))
		if d.one(2) {
			d.item(q, fmt.Sprintf("kernel w writes x%d", i))
		} else {
			d.task(c, fmt.Sprintf("kernel w writes x%d", i))
		}
	case 15: // a collective on the GPU beside one on the CPU
		d.item(q, "collective k in a")
		if d.one(2) {
			d.task(c, "collective k in a")
		}
	case 16: // park
		d.task(c, fmt.Sprintf("park %s 1", g))
		d.item(q, "notify "+g)
	case 17:
		m.Memory = 1 + d.IntN(2)
		d.task(c, "alloc 1", "dealloc 1")
		d.item(q, "alloc 1")
		d.task(c, "dealloc 1")
	case 18:
		d.task(c, "idle")
	case 19:
		d.item(q, "fail")
	case 20:
		d.task(c, d.pick("fail", "die"))
	case 21:
		if d.one(2) {
			d.task(c, fmt.Sprintf("reset %s 0", d.pick(g, f)))
		} else {
			d.item(q, fmt.Sprintf("reset %s 0", d.pick(g, f)))
		}
	case 22: // another rank's fence; alone, its own
		d.replace(d.pick("wait ", "update "), func(s string) string {
			w := strings.Fields(s)
			if len(w) != 3 {
				return s
			}
			name, _, _ := strings.Cut(w[1], "@")
			return fmt.Sprintf("%s %s@%s %s", w[0], name, d.pick("next", "prev", "0"), w[len(w)-1])
		})
	case 23:
		d.handlers[[2]int{q, 0}] = []string{d.pick(fmt.Sprintf("update %s 1", f), "signal E 1", "kernel z", "notify "+g, "wait "+g+" 1")}
	}
}

// item inserts commands one behind the other somewhere in a queue.
func (d *drawing) item(q int, commands ...string) {
	d.items[q] = slices.Insert(d.items[q], d.IntN(len(d.items[q])+1), commands...)
}

// task inserts tasks one behind the other somewhere in a stream.
func (d *drawing) task(c int, tasks ...string) {
	d.tasks[c] = slices.Insert(d.tasks[c], d.IntN(len(d.tasks[c])+1), tasks...)
}

// replace changes one command that starts with a word, if there is one.
func (d *drawing) replace(word string, change func(string) string) {
	var at []*string
	for _, list := range append(slices.Clone(d.items), d.tasks...) {
		for i := range list {
			if strings.HasPrefix(list[i], word) {
				at = append(at, &list[i])
			}
		}
	}
	if len(at) > 0 {
		p := at[d.IntN(len(at))]
		*p = change(*p)
	}
}
