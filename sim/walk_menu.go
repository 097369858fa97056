package sim

// A Menu is a [Walk] with all that is enabled at hand, numbered as [System.Enabled] does:
// agents, then fences, then kills by queue. A step changes few of these lists.
type Menu struct {
	*Walk
	lists [][]Transition // by agent, by fence, by queue
	sums  []int32        // a Fenwick tree (1994) of their lengths
	queue []int32        // by agent: its queue, or -1
}

// NewMenu starts a run of y.
func NewMenu(y *System) *Menu {
	m := &Menu{Walk: NewWalk(y), queue: make([]int32, len(y.agents))}
	m.lists = make([][]Transition, len(y.agents)+len(y.fences)+len(y.queues))
	m.sums = make([]int32, len(m.lists)+1)
	for a := range y.agents {
		m.queue[a] = -1
		if y.agents[a].kind == agentQueue {
			m.queue[a] = y.agents[a].index
		}
	}
	return m
}

// refresh looks again at what is dirty.
func (m *Menu) refresh() {
	y, s := m.y, m.s
	for {
		a, dirty := m.Agent()
		if !dirty {
			break
		}
		m.set(int(a), y.EnabledOf(s, a, m.lists[a][:0]))
		if q := m.queue[a]; q >= 0 && y.m.watchdog != dogOff {
			i := len(y.agents) + len(y.fences) + int(q)
			m.set(i, y.enabledKills(s, q, m.lists[i][:0]))
		}
	}
	for {
		f, dirty := m.Fence()
		if !dirty {
			return
		}
		i := len(y.agents) + int(f)
		m.set(i, y.enabledArrivals(s, f, m.lists[i][:0]))
	}
}

// set changes list i.
func (m *Menu) set(i int, ts []Transition) {
	d := int32(len(ts) - len(m.lists[i]))
	m.lists[i] = ts
	if d == 0 {
		return
	}
	for j := i + 1; j < len(m.sums); j += j & -j {
		m.sums[j] += d
	}
}

// before is how many transitions stand in the lists before list i.
func (m *Menu) before(i int) int {
	n := int32(0)
	for ; i > 0; i -= i & -i {
		n += m.sums[i]
	}
	return int(n)
}

// Len is the number of enabled transitions.
func (m *Menu) Len() int {
	m.refresh()
	return m.before(len(m.lists))
}

// At is transition i of those enabled, 0 <= i < Len.
func (m *Menu) At(i int) Transition {
	m.refresh()
	step := 1
	for 2*step < len(m.sums) {
		step *= 2
	}
	at := 0
	for ; step > 0; step /= 2 {
		if at+step < len(m.sums) && int(m.sums[at+step]) <= i {
			at += step
			i -= int(m.sums[at])
		}
	}
	return m.lists[at][i]
}

// Index is the place of t among those enabled, whatever its guarantee; -1 if it is not.
func (m *Menu) Index(t Transition) int {
	m.refresh()
	i := int(t.Agent)
	switch t.Kind {
	case KindVisible:
		i += len(m.y.agents)
	case KindKill:
		i = len(m.y.agents) + len(m.y.fences) + int(m.queue[t.Agent])
	}
	for k, u := range m.lists[i] {
		u.Possible = t.Possible
		if u == t {
			return m.before(i) + k
		}
	}
	return -1
}
