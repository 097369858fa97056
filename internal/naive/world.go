package naive

import (
	"github.com/fencesim/fencesim/model"
)

// place is a name in the memory of one rank: a fence, an array or an event.
type place struct {
	rank int
	name string
}

// fenceInfo is what does not change about a fence.
type fenceInfo struct {
	place
	initial uint32
	store   string
}

// world is what does not change during a run: the machine, the programs and the numbering
// of everything that has a name.
type world struct {
	m        model.Machine
	ranks    []*program
	fences   []fenceInfo
	fenceOf  map[place]int
	arrays   []place
	arrayOf  map[place]int
	events   []place
	eventOf  map[place]int
	groups   []string
	groupOf  map[string]int
	sections map[[4]int][]int // by rank, queue, first and last command of a buffer
}

// program is one rank's schedule.
type program struct {
	*model.Schedule
	main     []model.Step
	gpuFence int // fence of the first queue's first update, -1 for none
	cpuFence int // fence of the first CPU stream's first update, -1 for none
}

func newWorld(programs []*model.Schedule, m model.Machine) *world {
	w := &world{m: m.Normal(), fenceOf: map[place]int{}, arrayOf: map[place]int{}, eventOf: map[place]int{},
		groupOf: map[string]int{}, sections: map[[4]int][]int{}}
	for _, s := range programs {
		w.ranks = append(w.ranks, &program{Schedule: s, main: s.Main, gpuFence: -1, cpuFence: -1})
	}
	for r, p := range w.ranks {
		for _, f := range p.Fences {
			i := w.addFence(place{r, p.Names.Of(f.Name)})
			w.fences[i].initial, w.fences[i].store = f.Initial, f.Store
		}
	}
	for r, p := range w.ranks {
		for _, a := range p.Inputs {
			w.addArray(place{r, p.Names.Of(a)})
		}
		for q := range p.Queues {
			w.addCommands(r, p.Queues[q].Name, p.Queues[q].Commands)
			for _, cs := range p.Queues[q].OnFinish {
				w.addCommands(r, p.Queues[q].Name, cs)
			}
		}
		for i := range p.Streams {
			w.addCommands(r, p.Streams[i].Name, p.Streams[i].Tasks)
		}
		for _, st := range p.main {
			if st.Kind == model.StepCommand {
				w.addCommands(r, mainGroup, []model.Command{*st.Command})
			}
		}
		if len(p.Queues) > 0 {
			p.gpuFence = w.firstUpdated(r, p.Queues[0].Commands)
		}
		if len(p.Streams) > 0 {
			p.cpuFence = w.firstUpdated(r, p.Streams[0].Tasks)
		}
	}
	return w
}

// mainGroup is the group of a collective on the main thread that names none.
const mainGroup = "main"

func (w *world) addFence(at place) int {
	if i, ok := w.fenceOf[at]; ok {
		return i
	}
	w.fenceOf[at] = len(w.fences)
	w.fences = append(w.fences, fenceInfo{place: at})
	return len(w.fences) - 1
}

func (w *world) addArray(at place) {
	if _, ok := w.arrayOf[at]; !ok {
		w.arrayOf[at] = len(w.arrays)
		w.arrays = append(w.arrays, at)
	}
}

func (w *world) addCommands(rank int, owner string, cs []model.Command) {
	names := &w.ranks[rank].Names
	for i := range cs {
		c := &cs[i]
		at := place{rank, names.Of(c.Name)}
		switch c.Op {
		case model.OpSignal, model.OpAwait:
			if _, ok := w.eventOf[at]; !ok {
				w.eventOf[at] = len(w.events)
				w.events = append(w.events, at)
			}
		case model.OpCoherent:
			w.addArray(at)
		case model.OpCollective:
			g := w.groupName(rank, owner, c)
			if _, ok := w.groupOf[g]; !ok {
				w.groupOf[g] = len(w.groups)
				w.groups = append(w.groups, g)
			}
		}
		if c.Fence() {
			w.addFence(place{c.Rank.Resolve(rank, len(w.ranks)), at.name})
		}
		for _, r := range c.Reads {
			w.addArray(place{rank, names.Of(r.Array)})
		}
		for _, a := range c.Writes {
			w.addArray(place{rank, names.Of(a)})
		}
	}
}

func (w *world) groupName(rank int, owner string, c *model.Command) string {
	if c.Group != model.NoSym {
		return w.ranks[rank].Names.Of(c.Group)
	}
	return owner
}

// fence is the fence that a command of a rank names.
func (w *world) fence(rank int, c *model.Command) int {
	return w.fenceOf[place{c.Rank.Resolve(rank, len(w.ranks)), w.ranks[rank].Names.Of(c.Name)}]
}

func (w *world) array(rank int, s model.Sym) int {
	return w.arrayOf[place{rank, w.ranks[rank].Names.Of(s)}]
}

func (w *world) event(rank int, c *model.Command) int {
	return w.eventOf[place{rank, w.ranks[rank].Names.Of(c.Name)}]
}

// rule is the GPU's store rule for a fence.
func (w *world) rule(f int) string {
	if s := w.fences[f].store; s != "" {
		return s
	}
	return w.m.Store
}

// isUpdate reports whether c counts as an update: release is one.
func isUpdate(c *model.Command) bool { return c.Op == model.OpUpdate || c.Op == model.OpRelease }

// firstUpdated is the rank's own fence that cs update first, or -1.
func (w *world) firstUpdated(rank int, cs []model.Command) int {
	for i := range cs {
		if isUpdate(&cs[i]) && w.fences[w.fence(rank, &cs[i])].rank == rank {
			return w.fence(rank, &cs[i])
		}
	}
	return -1
}

// commands is what buffer b of a queue holds.
func (w *world) commands(rank, queue int, b *buffer) []model.Command {
	return w.ranks[rank].Queues[queue].Commands[b.from:b.to]
}

// sectionsOf numbers the sections of a buffer under concurrent dispatch: commands with one
// number may run beside each other, a greater number begins when all smaller have ended. A
// barrier or encoder is a section of its own. A lowered graph has further cuts, before a
// command that reads or overwrites what the section wrote, overwrites what it read, or
// uses the array of a wait.
func (w *world) sectionsOf(rank, queue int, b *buffer) []int {
	key := [4]int{rank, queue, b.from, b.to}
	if s, ok := w.sections[key]; ok {
		return s
	}
	cs := w.commands(rank, queue, b)
	out := make([]int, len(cs))
	section := 0
	read, written := map[model.Sym]bool{}, map[model.Sym]bool{}
	cut := func() {
		section++
		clear(read)
		clear(written)
	}
	for i := range cs {
		c := &cs[i]
		if c.Op == model.OpBarrier || c.Op == model.OpEncoder {
			cut()
			out[i] = section
			cut()
			continue
		}
		if w.ranks[rank].FromGraph {
			reads, writes := touches(c)
			hazard := false
			for _, a := range reads {
				hazard = hazard || written[a]
			}
			for _, a := range writes {
				hazard = hazard || written[a] || read[a]
			}
			waits := (c.Op == model.OpWait || c.Op == model.OpAwait) && c.For != model.NoSym
			hazard = hazard || waits && read[c.For]
			if hazard {
				cut()
			}
			for _, a := range reads {
				read[a] = true
			}
			for _, a := range writes {
				written[a] = true
			}
			if waits {
				written[c.For] = true
			}
		}
		out[i] = section
	}
	w.sections[key] = out
	return out
}

// touches is the arrays that a command reads and writes; coherent rewrites its array in place.
func touches(c *model.Command) (reads, writes []model.Sym) {
	for _, r := range c.Reads {
		reads = append(reads, r.Array)
	}
	writes = append(writes, c.Writes...)
	if c.Op == model.OpCoherent {
		return []model.Sym{c.Name}, []model.Sym{c.Name}
	}
	return reads, writes
}
