package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// promelaFence is one fence: its views as variables, "" where no wait tests them, and its
// stores that travel.
type promelaFence struct {
	gpu, cpu     string // one variable where the views cannot differ
	wayGPU       string // channels of stores on their way, oldest first
	wayCPU       string
	values       []uint32 // value k stands for values[k]; nil: values stand for themselves
	toCPU, toGPU []promelaStore
}

// promelaStore is one store that travels; its number in messages is its index plus 1.
type promelaStore struct {
	agent, cmd int32
	bit        string // unordered: it is on its way
}

type promelaArray struct {
	version string
	visible string // payload coherent
	writer  string // payload coherent: id of the buffer that wrote last, 0 the CPU
	most    uint32 // the largest version that counts
}

// promelaGroup is one rank's part of a collective group.
type promelaGroup struct {
	arrived string // "" with one rank
	peers   []int32
	fixed   bool // ordinals are known before: one agent that skips nothing
}

// promelaType is the narrowest type for 0 to most.
func promelaType(most int64) string {
	switch {
	case most <= 1:
		return "bit"
	case most <= math.MaxUint8:
		return "byte"
	case most <= math.MaxInt16:
		return "short"
	}
	return "int"
}

// identifier makes a new one of words: letters, digits and underscores, at least one of
// the latter, so that it is no keyword.
func (p *promela) identifier(words string, rank int32) string {
	id := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, words)
	if id == "" || id[0] == '_' || id[0] >= '0' && id[0] <= '9' {
		id = "n" + id
	}
	if id = fmt.Sprintf("%s_%d", id, rank); p.taken[id] {
		for k := 2; ; k++ {
			if next := fmt.Sprintf("%s_v%d", id, k); !p.taken[next] {
				id = next
				break
			}
		}
	}
	p.taken[id] = true
	return id
}

// global declares a variable that starts at 0.
func (p *promela) global(typ, words string, rank int32, comment string) string {
	id := p.identifier(words, rank)
	text := typ + " " + id
	if comment != "" {
		text += " " + promelaComment(comment)
	}
	p.globals = append(p.globals, text)
	return id
}

func promelaComment(text string) string {
	return "/* " + strings.ReplaceAll(strings.ReplaceAll(text, "*/", "* /"), "/*", "/ *") + " */"
}

func cutPromelaComment(text string) (before, comment string, found bool) {
	if i := strings.Index(text, " /*"); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// bare is an object's name without its rank, and the rank.
func (p *promela) bare(name string) (string, int32) {
	if len(p.ranks) > 1 {
		var r int32
		if _, err := fmt.Sscanf(name, "rank %d ", &r); err == nil {
			return strings.TrimPrefix(name, fmt.Sprintf("rank %d ", r)), r
		}
	}
	return name, 0
}

// promelaUse is what the commands do to a fence.
type promelaUse struct {
	gpu, cpu bool // a wait of that side tests it
	adds     uint64
	most     uint32 // the largest value that is set
	values   []uint32
	stores   [2][]promelaStore // of the CPU, of the GPU
}

func (p *promela) fenceUses() ([]promelaUse, error) {
	uses := make([]promelaUse, p.y.NumFences())
	for i := range uses {
		uses[i].most = p.y.FenceInitial(int32(i))
		uses[i].values = append(uses[i].values, uses[i].most)
	}
	for a := range p.info {
		gpu := p.queues[a] != nil
		for i := range p.info[a] {
			c := &p.info[a][i]
			if c.Late {
				return nil, fmt.Errorf("promela: %s waits for a target that grows (discipline late)", p.y.AgentName(int32(a)))
			}
			switch c.Op {
			case model.OpWait, model.OpPark:
				u := &uses[c.Object]
				u.gpu, u.cpu = u.gpu || gpu, u.cpu || !gpu
				u.values = append(u.values, c.Value)
			case model.OpUpdate, model.OpRelease, model.OpReset, model.OpAdd:
				u := &uses[c.Object]
				u.stores[promelaBit(gpu)] = append(u.stores[promelaBit(gpu)], promelaStore{agent: int32(a), cmd: int32(i)})
				if c.Op == model.OpAdd {
					u.adds += uint64(c.Value)
				} else {
					u.values, u.most = append(u.values, c.Value), max(u.most, c.Value)
				}
				u.gpu = u.gpu || promelaGuarded(c, gpu)
			}
		}
	}
	return uses, nil
}

func promelaBit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// promelaGuarded reports whether a store reads before it stores.
func promelaGuarded(c *sim.CommandInfo, gpu bool) bool {
	return gpu && c.Store == model.StoreGuarded && (c.Op == model.OpUpdate || c.Op == model.OpRelease)
}

func (p *promela) declareFences() error {
	uses, err := p.fenceUses()
	if err != nil {
		return err
	}
	p.fences = make([]promelaFence, len(uses))
	for i := range uses {
		u, f := &uses[i], &p.fences[i]
		name, rank := p.bare(p.y.FenceName(int32(i)))
		most := uint64(u.most) + u.adds
		if max(most, uint64(slices.Max(u.values))) > math.MaxInt32 {
			if u.adds > 0 {
				return fmt.Errorf("promela: fence %s: adds may reach %d, waits %d: Promela's integers end at %d", p.y.FenceName(int32(i)), most, slices.Max(u.values), math.MaxInt32)
			}
			slices.Sort(u.values)
			f.values = slices.Compact(u.values) // only their order matters
			most = uint64(len(f.values) - 1)
		}
		view := func(words, comment string) string {
			id := p.global(promelaType(int64(most)), words, rank, comment)
			if v := f.number(p.y.FenceInitial(int32(i))); v != 0 {
				at := len(p.globals) - 1
				p.globals[at] = strings.Replace(p.globals[at], id, fmt.Sprintf("%s = %d", id, v), 1)
			}
			return id
		}
		travelCPU := p.m.GPUToCPU.Mode != model.VisImmediate && len(u.stores[1]) > 0
		travelGPU := p.m.CPUToGPU.Mode != model.VisImmediate && len(u.stores[0]) > 0
		if !travelCPU && !travelGPU {
			if u.gpu || u.cpu {
				f.gpu = view(name, "")
				f.cpu = f.gpu
			}
			continue
		}
		if u.gpu {
			f.gpu = view(name+"_gpu", "as the GPU sees it")
		}
		if u.cpu {
			f.cpu = view(name+"_cpu", "as the CPU sees it")
		}
		way := func(words string, n int) (string, error) {
			if n > math.MaxUint8 {
				return "", fmt.Errorf("promela: fence %s: %d stores may be on their way: the model has room for %d", p.y.FenceName(int32(i)), n, math.MaxUint8)
			}
			id := p.identifier(words, rank)
			p.globals = append(p.globals, fmt.Sprintf("chan %s = [%d] of { byte } /* stores on their way, by number */", id, n))
			p.channels++
			return id, nil
		}
		if travelCPU && u.cpu {
			f.toCPU = u.stores[1]
			if p.m.GPUToCPU.Mode != model.VisUnordered {
				f.wayCPU, err = way(name+"_way_cpu", len(f.toCPU))
			} else {
				for k := range f.toCPU {
					s := &f.toCPU[k]
					s.bit = p.global("bit", fmt.Sprintf("%s_way_%d", name, k+1), rank, "on its way: "+p.y.CommandText(s.agent, s.cmd))
				}
			}
		}
		if err == nil && travelGPU && u.gpu {
			f.toGPU = u.stores[0]
			f.wayGPU, err = way(name+"_way_gpu", len(f.toGPU))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number is a fence value in the model.
func (f *promelaFence) number(v uint32) int {
	if f.values == nil {
		return int(v)
	}
	i, _ := slices.BinarySearch(f.values, v)
	return i
}

// declareObjects makes the variables of arrays, events, groups, pairs and sleepers.
func (p *promela) declareObjects() error {
	p.arrays = make([]promelaArray, p.y.NumArrays())
	p.events = make([]string, p.y.NumEvents())
	p.groups = make([]promelaGroup, p.y.NumGroups())
	members := make([][]int32, p.y.NumGroups())
	size := make([]int, p.y.NumGroups())
	writes, pinned := make([]uint32, p.y.NumArrays()), make([]bool, p.y.NumArrays())
	eventMost := make([]uint32, p.y.NumEvents())
	sends := map[[2]int32]int{}
	for a := range p.info {
		rank := p.y.RankOf(int32(a))
		for i := range p.info[a] {
			c := &p.info[a][i]
			for k, r := range c.Reads {
				pinned[r] = pinned[r] || p.y.ReadVersion(int32(a), int32(i), k) > 0
			}
			for _, w := range c.Writes {
				writes[w]++
			}
			switch c.Op {
			case model.OpSignal, model.OpAwait:
				if eventMost[c.Object] = max(eventMost[c.Object], c.Value); eventMost[c.Object] > math.MaxInt32 {
					name := p.y.Programs[rank].Names.Of(p.src[a][i].Name)
					return fmt.Errorf("promela: event %s: a value of %d: Promela's integers end at %d", name, c.Value, math.MaxInt32)
				}
				if c.Op == model.OpAwait {
					p.events[c.Object] = "awaited"
				}
			case model.OpCollective:
				size[c.Object]++
				if l := members[c.Object]; len(l) == 0 || l[len(l)-1] != int32(a) {
					members[c.Object] = append(l, int32(a))
				}
			case model.OpSend:
				sends[[2]int32{rank, c.Peer}]++
			case model.OpRecv:
				sends[[2]int32{c.Peer, rank}] += 0
			case model.OpPark:
				p.asleep[[2]int32{int32(a), int32(i)}] = p.global("bit", "asleep", rank, p.y.CommandText(int32(a), int32(i)))
			}
		}
	}
	p.declareArrays(writes, pinned)
	for e, use := range p.events {
		if use != "" {
			p.events[e] = p.global(promelaType(int64(eventMost[e])), "event", int32(e), "")
		}
	}
	for g := range p.groups {
		p.declareGroup(int32(g), members[g], size[g])
	}
	var keys [][2]int32
	for k := range sends {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		p.declarePair(k, sends[k])
	}
	for r := range p.ranks {
		rk := &p.ranks[r]
		lo, hi := p.y.AgentsOf(int32(r))
		for a := lo; a < hi; a++ {
			if p.y.AgentKindOf(a) == sim.CPUStream && !rk.handed {
				rk.enqueued[a] = p.global(promelaType(int64(rk.given[a])), "enqueued_"+promelaAgent(p.y.AgentName(a)), int32(r), "")
			}
		}
		streams := lo + 1
		for p.queues[streams] != nil {
			streams++
			if int(streams) == len(p.queues) {
				break
			}
		}
		for _, st := range rk.steps {
			if a := streams + st.Target; st.Kind == model.StepSynchronize && !st.Queue && p.position[a] == "" {
				p.position[a] = p.global(promelaType(int64(len(p.src[a]))), "ran_"+promelaAgent(p.y.AgentName(a)), int32(r), "")
			}
		}
	}
	return nil
}

// promelaAgent is the last word of an agent's name.
func promelaAgent(name string) string { return name[strings.LastIndexByte(name, ' ')+1:] }

func (p *promela) declareArrays(writes []uint32, pinned []bool) {
	if !p.o.Stale {
		return
	}
	for i := range p.arrays {
		a := &p.arrays[i]
		name, rank := p.bare(p.y.ArrayName(int32(i)))
		start := 0
		if p.y.Input(int32(i)) {
			start = 1
		}
		if a.most = 1; pinned[i] {
			a.most = writes[i] + uint32(start)
		}
		a.version = p.identifier(name+"_version", rank)
		p.globals = append(p.globals, fmt.Sprintf("%s %s = %d", promelaType(int64(a.most)), a.version, start))
		if p.m.Payload == model.PayloadCoherent {
			a.visible = p.identifier(name+"_visible", rank)
			p.globals = append(p.globals, fmt.Sprintf("bit %s = 1", a.visible))
			a.writer = p.global("short", name+"_writer", rank, "id of the buffer that wrote it last")
		}
	}
}

func (p *promela) declareGroup(g int32, members []int32, size int) {
	gr := &p.groups[g]
	for r := range p.ranks {
		at := int32(-1)
		for o := range p.groups {
			_, rank := p.bare(p.y.GroupName(int32(o)))
			if int(rank) == r && p.y.GroupText(int32(o)) == p.y.GroupText(g) {
				at = int32(o)
			}
		}
		gr.peers = append(gr.peers, at)
	}
	if len(p.ranks) == 1 {
		return
	}
	name, rank := p.bare(p.y.GroupName(g))
	gr.arrived = p.global(promelaType(int64(size)), name+"_arrived", rank, "")
	if len(members) != 1 {
		return
	}
	q := p.queues[members[0]]
	gr.fixed = p.y.AgentKindOf(members[0]) == sim.CPUStream ||
		q != nil && p.m.Buffers == model.InOrder && p.m.Dispatch == model.Serial && p.m.Watchdog == model.WatchdogOff &&
			!slices.ContainsFunc(p.src[members[0]], func(c *model.Command) bool { return c.Op == model.OpFail })
}

// declarePair makes the channel from one rank to another. A rendezvous channel is an array:
// 0 is the channel, 1 and 2 are where a send and a recv that are not enabled look in vain.
func (p *promela) declarePair(k [2]int32, sends int) {
	id := p.identifier(fmt.Sprintf("from_%d_to", k[0]), k[1])
	p.pairs[k] = id
	if n := p.m.Transport.Buffered; n > 0 {
		p.globals = append(p.globals, fmt.Sprintf("chan %s = [%d] of { byte }", id, min(n, max(1, sends))))
		p.channels++
		return
	}
	what := "byte"
	if p.o.Stale {
		what = "byte, bit"
	}
	p.globals = append(p.globals, fmt.Sprintf("chan %s[3] = [0] of { %s }", id, what))
	p.channels += 3
}

// message is the number of a name that send and recv must agree on.
func (p *promela) message(name string) int {
	if _, ok := p.names[name]; !ok {
		p.names[name] = len(p.names) + 1
	}
	return p.names[name]
}
