package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// Budgets of one minimization: they count work, not time, so that equal inputs shrink to
// equal cases.
const (
	minimizeTries  = 600
	minimizeWork   = 3_000_000 // transitions and operations over all tries
	minimizeStates = 20_000    // of one try
	minimizeLarge  = 50_000    // operations from which on a scenario is made small at once
)

// Minimize looks for a smaller scenario that fails as res does: the same property is
// violated, agents wait for the same kinds of things, and what does not hang goes on not to
// hang: the scenario on the ideal machine, and under per-update. So what is shown is the
// fault of the machine and of the discipline, not of the size. It takes away
// ranks, reductions, rounds, operations, buffers, commands and assumptions of the machine,
// and keeps what verifies by [Explore]. Nil if nothing can go.
func Minimize(ctx context.Context, sc *model.Scenario, res *Result, cfg Config) *Shrunk {
	m := &minimizer{ctx: ctx, cfg: Config{Seed: cfg.Seed, NoShrink: true, NoAdvice: true, MaxStates: minimizeStates, Workers: 1}, best: source(sc), property: "hang"}
	if res.Verdict != Hang {
		i := slices.IndexFunc(Properties, func(p string) bool { return p != "hang" && res.Properties[p] == Violated })
		if i < 0 {
			return nil
		}
		m.property = Properties[i]
	}
	if len(res.Stuck) > 0 {
		m.kind = res.Stuck[0].kind
	}
	m.coarse()
	for _, cure := range []func(*model.Scenario) bool{onIdeal, underPerUpdate} {
		c := *m.best
		if cure(&c) && m.free(&c) {
			m.cures = append(m.cures, cure)
		}
	}
	for again := true; again && m.ok(); {
		again = m.ranks() || m.shape() || m.machine()
	}
	if len(m.removed) == 0 {
		return nil
	}
	final, err := Explore(ctx, m.best, m.cfg)
	if err != nil || final.Properties[m.property] != Violated {
		return nil
	}
	m.best.About, m.best.Sources = "", nil
	out := &Shrunk{Machine: m.best.Machine, Removed: folded(m.removed)}
	if out.Scenario, err = json.Marshal(m.best); err != nil {
		return nil
	}
	out.Trace = final.FirstTrace()
	return out
}

// folded joins steps of one number: "lag 3 to 2" and "lag 2 to 1" are "lag 3 to 1".
func folded(removed []string) []string {
	var out []string
	at := map[string]int{}
	for _, r := range removed {
		name, rest, ok := strings.Cut(r, " ")
		_, to, found := strings.Cut(rest, " to ")
		if !ok || !found || strings.Contains(to, " ") {
			out = append(out, r)
			continue
		}
		if i, seen := at[name]; seen {
			from, _, _ := strings.Cut(out[i], " to ")
			out[i] = from + " to " + to
			continue
		}
		at[name] = len(out)
		out = append(out, r)
	}
	return out
}

// minimizer is one minimization: the smallest failing scenario so far and what was taken
// away on the way.
type minimizer struct {
	ctx      context.Context
	cfg      Config
	best     *model.Scenario
	property string
	kind     string                       // of the waits that hold each other
	cures    []func(*model.Scenario) bool // changes under which it does not hang
	removed  []string
	tries    int
	work     int64
}

func (m *minimizer) ok() bool {
	return m.tries < minimizeTries && m.work < minimizeWork && m.ctx.Err() == nil
}

// onIdeal puts sc on the ideal machine; it reports whether that is a change.
func onIdeal(sc *model.Scenario) bool {
	changed := sc.Machine.Normal() != model.Machine{}.Normal()
	sc.Machine = model.Machine{}
	return changed
}

// underPerUpdate gives sc the discipline per-update; it reports whether that is a change.
func underPerUpdate(sc *model.Scenario) bool {
	if sc.Explicit() || sc.Effective() == model.PerUpdate || sc.Effective() == model.Event {
		return false
	}
	d := model.PerUpdate
	sc.Discipline = &d
	return true
}

// coarse makes a generated scenario of very many operations small at once, so that what
// follows does not work on a million of them.
func (m *minimizer) coarse() {
	g := m.best.Generate
	if g == nil {
		return
	}
	for n := 64; n < g.Reductions && n*(2*g.Rounds+4) < minimizeLarge; n *= 8 {
		if g.Reductions*(2*g.Rounds+4) <= minimizeLarge {
			return
		}
		c := *m.best
		small := *g
		small.Reductions = n
		c.Generate = &small
		if m.try(&c, fmt.Sprintf("reductions %d to %d", g.Reductions, n)) {
			return
		}
	}
}

// free reports whether sc is known not to hang.
func (m *minimizer) free(sc *model.Scenario) bool {
	res, err := Explore(m.ctx, sc, m.cfg)
	if err != nil {
		return false
	}
	m.work += res.Transitions
	return res.Properties["hang"] == Holds
}

// try keeps sc if it fails in the same way.
func (m *minimizer) try(sc *model.Scenario, words string) bool {
	if !m.ok() {
		return false
	}
	m.tries++
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		return false
	}
	for i, p := range programs {
		if i == 0 || p != programs[0] {
			for q := range p.Queues {
				m.work += int64(len(p.Queues[q].Commands))
			}
		}
	}
	res, err := Explore(m.ctx, sc, m.cfg)
	if err != nil {
		return false
	}
	m.work += res.Transitions
	if res.Properties[m.property] != Violated || m.property != "hang" && res.Verdict == Hang {
		return false
	}
	if m.kind != "" && !slices.ContainsFunc(res.Stuck, func(s Stuck) bool { return s.kind == m.kind }) {
		return false
	}
	for _, cure := range m.cures {
		c := *sc
		if !cure(&c) || !m.free(&c) {
			return false
		}
	}
	m.best = sc
	if words != "" {
		m.removed = append(m.removed, words)
	}
	return true
}

// ranks tries fewer ranks, one first.
func (m *minimizer) ranks() bool {
	n := m.best.NumRanks()
	for _, r := range []int{1, 2, n / 2, n - 1} {
		if r < 1 || r >= n {
			continue
		}
		c := *m.best
		c.Ranks = r
		c.RankSchedules = nil
		for k, s := range m.best.RankSchedules {
			if k < r {
				if c.RankSchedules == nil {
					c.RankSchedules = map[int]*model.ScheduleFile{}
				}
				c.RankSchedules[k] = s
			}
		}
		if m.try(&c, fmt.Sprintf("%d of %d ranks", n-r, n)) {
			return true
		}
	}
	return false
}

// shape tries a smaller program.
func (m *minimizer) shape() bool {
	switch {
	case m.best.Generate != nil:
		return m.generated()
	case m.best.Graph != nil:
		return m.graph()
	}
	return m.schedule()
}

// generated tries smaller arguments of a generator: the smallest value that still fails,
// by halving and then one by one.
func (m *minimizer) generated() bool {
	smaller := func(name string, least int, get func(*model.Generate) *int) bool {
		any := false
		for {
			now := *get(m.best.Generate)
			shrunk := false
			for _, to := range []int{least, now / 4, now / 2, now * 3 / 4, now - 1} {
				if to < least || to >= now {
					continue
				}
				c := *m.best
				g := *m.best.Generate
				*get(&g) = to
				c.Generate = &g
				if m.try(&c, fmt.Sprintf("%s %d to %d", name, now, to)) {
					shrunk, any = true, true
					break
				}
			}
			if !shrunk {
				return any
			}
		}
	}
	a := smaller("reductions", 1, func(g *model.Generate) *int { return &g.Reductions })
	b := smaller("rounds", 1, func(g *model.Generate) *int { return &g.Rounds })
	c := smaller("size", 1, func(g *model.Generate) *int { return &g.Size })
	return a || b || c
}

// graph tries without each node; who read it reads its first input instead.
func (m *minimizer) graph() bool {
	any := false
	for i := len(m.best.Graph.Nodes) - 1; i >= 0; i-- {
		g := *m.best.Graph
		gone := g.Nodes[i]
		replace := func(list []string) []string {
			var out []string
			for _, n := range list {
				if n == gone.Name {
					if len(gone.In) == 0 {
						continue
					}
					n = gone.In[0]
				}
				if !slices.Contains(out, n) {
					out = append(out, n)
				}
			}
			return out
		}
		g.Nodes = nil
		for j, n := range m.best.Graph.Nodes {
			if j != i {
				n.In = replace(n.In)
				g.Nodes = append(g.Nodes, n)
			}
		}
		inputs := map[string]bool{}
		for _, in := range g.Inputs {
			inputs[in.Name] = true
		}
		g.Outputs = slices.DeleteFunc(replace(g.Outputs), func(n string) bool { return inputs[n] })
		c := *m.best
		c.Graph = &g
		c.Evals = nil
		for _, e := range m.best.Evals {
			e.Outputs = replace(e.Outputs)
			c.Evals = append(c.Evals, e)
		}
		if m.try(&c, "node "+gone.Name) {
			any = true
		}
	}
	return any
}

// machine tries to drop each assumption, and smaller lags.
func (m *minimizer) machine() bool {
	any := false
	for _, p := range model.Parameters {
		now := m.best.Machine.Normal()
		if p.Value(&now) == p.Value(&model.Machine{}) {
			continue
		}
		c := *m.best
		c.Machine = p.Reset(now)
		if m.try(&c, fmt.Sprintf("assumption %s: %s", p.Name, p.Value(&now))) {
			any = true
		}
	}
	for n := m.best.Machine.GPUToCPU.Buffers; m.best.Machine.GPUToCPU.Mode == model.VisLag && n > 0; n-- {
		c := *m.best
		c.Machine.GPUToCPU.Buffers = n - 1
		if !m.try(&c, fmt.Sprintf("lag %d to %d", n, n-1)) {
			break
		}
		any = true
	}
	return any
}
