package sim

import "github.com/fencesim/fencesim/model"

// objects is where the objects that a rank names are in the system's tables.
type objects struct {
	fences, events map[model.Sym]int32
	groups         map[string]int32
	arrays         []int32 // by name: array+1, 0 none

	ownArrays, ownEvents, ownGroups span // of the rank: they lie together
}

// remoteName is a fence that only other ranks name.
type remoteName struct {
	rank int32
	name string
}

// reserve makes room for what commands read and write: tables that grow by copying take
// twice their size.
func (c *compiler) reserve() {
	type size struct{ reads, writes, arrays int }
	of := map[*model.Schedule]size{}
	var all size
	for _, p := range c.Programs {
		n, counted := of[p]
		if !counted {
			each(p, func(_ string, cmd *model.Command) {
				n.reads += len(cmd.Reads)
				n.writes += len(cmd.Writes)
			})
			n.arrays = min(p.Names.Len(), n.reads+n.writes+len(p.Inputs))
			of[p] = n
		}
		all = size{all.reads + n.reads, all.writes + n.writes, all.arrays + n.arrays}
	}
	c.System.reads, c.System.writes = make([]Read, 0, all.reads), make([]Write, 0, all.writes)
	c.arrays = make([]array, 0, all.arrays)
	c.versions, c.pinned, c.writers = make([]uint32, 0, all.arrays), make([]bool, 0, all.arrays), make([]uint32, 0, all.arrays)
}

func storeRule(word string) uint8 {
	return indexOf([]string{model.StorePlain, model.StoreGuarded, model.StoreMax}, word)
}

func (c *compiler) fence(r int32, s model.Sym) int32 {
	if i, ok := c.at[r].fences[s]; ok {
		return i
	}
	i := c.newFence(r, c.Programs[r].Names.Of(s))
	c.at[r].fences[s] = i
	return i
}

func (c *compiler) newFence(r int32, name string) int32 {
	i := int32(len(c.fences))
	c.fences = append(c.fences, fence{rank: r, name: name})
	c.values, c.freed = append(c.values, 0), append(c.freed, false)
	c.stored, c.added = append(c.stored, 0), append(c.added, 0)
	c.toCPU, c.toGPU = append(c.toCPU, nil), append(c.toGPU, nil)
	c.rules = append(c.rules, storeRule(c.Machine.Store))
	return i
}

// remoteFence is fence s of rank r's names, at the rank that ref names.
func (c *compiler) remoteFence(r int32, s model.Sym, ref model.RankRef) int32 {
	to := int32(ref.Resolve(int(r), len(c.ranks)))
	if to == r {
		return c.fence(r, s)
	}
	if c.Programs[to] == c.Programs[r] {
		return c.fence(to, s)
	}
	name := c.Programs[r].Names.Of(s)
	if t := c.Programs[to].Names.Lookup(name); t != model.NoSym {
		return c.fence(to, t)
	}
	// Nobody at that rank names the fence: it exists all the same.
	key := remoteName{to, name}
	if i, ok := c.remote[key]; ok {
		return i
	}
	i := c.newFence(to, name)
	c.remote[key] = i
	return i
}

func (c *compiler) array(r int32, s model.Sym) int32 {
	at := &c.at[r].arrays[s]
	if *at > 0 {
		return *at - 1
	}
	i := int32(len(c.arrays))
	*at = i + 1
	c.arrays = append(c.arrays, array{rank: r, name: s})
	c.versions, c.pinned, c.writers = append(c.versions, 0), append(c.pinned, false), append(c.writers, 0)
	return i
}

func (c *compiler) event(r int32, s model.Sym) int32 {
	if i, ok := c.at[r].events[s]; ok {
		return i
	}
	i := int32(len(c.events))
	c.at[r].events[s] = i
	c.events = append(c.events, event{rank: r, name: c.Programs[r].Names.Of(s)})
	c.eventMax = append(c.eventMax, 0)
	return i
}
