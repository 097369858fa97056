package naive

import (
	"fmt"
	"math/rand/v2"

	"github.com/fencesim/fencesim/model"
)

// RandomData draws a small explicit schedule of one rank, and a machine, whose point is who
// reads and writes what: kernels and collectives of queues and streams use three arrays in
// any order, now and then a certain version, with barriers, fences and events between them by
// chance.
func RandomData(rng *rand.Rand) ([]*model.Schedule, model.Machine) {
	d := &drawing{Rand: rng, ranks: 1, queues: 1, streams: 1, handlers: map[[2]int][]string{}}
	m := d.machine()
	if d.one(2) {
		m.Dispatch = model.Concurrent
	}
	if d.one(2) {
		m.Payload = model.PayloadCoherent
	}
	if d.one(2) { // else little is decided but by the faults of the machine
		m.Watchdog, m.SpinLimit, m.Slots, m.AfterKill = "", 0, 0, ""
	}
	if d.one(3) {
		d.queues = 2
	}
	array := func() string { return d.pick("a", "a", "b", "c") }
	work := func() string {
		s := d.pick("kernel", "kernel", "collective") + " " + d.pick("k", "l")
		if d.one(2) {
			s += " reads " + array()
			if d.one(4) {
				s += "@" + d.pick("1", "2")
			}
		}
		return s + " writes " + array()
	}
	waits := d.one(2) // else nothing hangs, and all depends on the order of use
	d.items, d.tasks = make([][]string, d.queues), make([][]string, d.streams)
	stored := map[string]int{}
	store := func(fence string) string {
		stored[fence]++
		return fmt.Sprintf("update %s %d", fence, stored[fence])
	}
	for q := range d.items {
		for range 2 + d.IntN(5-d.queues) {
			c := work()
			switch k := d.IntN(10); {
			case k < 2:
				c = store(d.fence("G", q))
			case k == 2:
				c = "coherent " + array()
			case k == 3:
				c = d.pick("barrier", "barrier", "encoder")
			case k == 4:
				c = "signal E 1"
			case k == 5 && waits:
				c = d.pick(fmt.Sprintf("wait C0 %d", 1+d.IntN(2)), "await F 1")
			}
			d.items[q] = append(d.items[q], c)
		}
	}
	for range 1 + d.IntN(4) {
		c := work()
		switch k := d.IntN(6); {
		case k < 2 && waits:
			c = fmt.Sprintf("wait %s %d", d.fence("G", d.IntN(d.queues)), 1+d.IntN(2))
		case k == 2:
			c = store("C0")
		case k == 3:
			c = "signal F 1"
		case k == 4 && waits:
			c = "await E 1"
		}
		d.tasks[0] = append(d.tasks[0], c)
	}
	d.cut()
	p := d.schedule()
	declare([]*model.Schedule{p}, nil, nil)
	return []*model.Schedule{p}, m
}
