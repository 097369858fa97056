package check

import (
	"fmt"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// meetings gives every collective of a rank's agents a node for its departure.
func (x *lintOrder) meetings(lo, hi int32) {
	for a := lo; a < hi; a++ {
		for i := range x.info[a] {
			if x.info[a][i].Op == model.OpCollective {
				n := x.node(a, int32(i))
				x.out[n] = x.add(-1, a)
				x.edge(n, x.out[n])
			}
		}
	}
}

// joins puts the departures from each collective behind the arrivals of all ranks.
func (x *lintOrder) joins() {
	groups := map[string][][]int32{}
	order := []string{}
	owners, unknown := map[string]int32{}, false
	alone := func(key string, a int32) {
		if o, ok := owners[key]; ok && o != a {
			x.doubt("collectives of several agents in one group")
			unknown = true
		}
		owners[key] = a
		if x.y.AgentKindOf(a) == sim.Queue && (x.m.Buffers == model.Overlap || x.m.Dispatch == model.Concurrent) {
			x.doubt("collectives of buffers that may run beside each other")
			unknown = true
		}
	}
	ranks := x.y.Ranks()
	for a := range x.info {
		rank := x.y.RankOf(int32(a))
		for i := range x.info[a] {
			c, n := &x.info[a][i], x.node(int32(a), int32(i))
			switch c.Op {
			case model.OpCollective:
				g := x.y.GroupText(c.Object)
				if groups[g] == nil {
					groups[g] = make([][]int32, ranks)
					order = append(order, g)
				}
				alone(fmt.Sprintf("%d group %s", rank, g), int32(a))
				groups[g][rank] = append(groups[g][rank], n)
			case model.OpSend, model.OpRecv:
				// Names and arrival decide which send meets which recv: no edge is sure.
				x.doubt("send and recv")
			}
		}
	}
	if unknown {
		return // which meets which is not known
	}
	for _, g := range order {
		x.joinGroup(g, groups[g])
	}
}

// joinGroup joins the k-th collectives of all ranks.
func (x *lintOrder) joinGroup(g string, ranks [][]int32) {
	least, most := len(ranks[0]), len(ranks[0])
	for _, l := range ranks {
		least, most = min(least, len(l)), max(most, len(l))
	}
	for k := range least {
		join := x.add(-1, x.agentOf[ranks[0][k]])
		for _, l := range ranks {
			x.edge(l[k], join)
			x.edge(join, x.out[l[k]])
		}
	}
	for _, l := range ranks {
		if len(l) > least {
			x.l.find("unmet", x.text(l[least]), fmt.Sprintf("a %d. collective of group %s on every rank", least+1, g))
			return
		}
	}
}
