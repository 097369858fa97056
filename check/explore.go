package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// Explore decides a scenario. The error is of input (a scenario that does not lower, an
// unknown strategy); a search that ends early is no error but an inconclusive result.
// Equal inputs give equal results except Elapsed, unless a bound on time was hit.
func Explore(ctx context.Context, sc *model.Scenario, cfg Config) (*Result, error) {
	started := time.Now()
	if cfg.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cfg.Time)
		defer cancel()
	}
	e, err := newExploration(ctx, sc, &cfg)
	if err != nil {
		return nil, err
	}
	if err := e.decide(); err != nil {
		return nil, err
	}
	res := e.result()
	res.Expect = "none"
	if ctx.Err() == nil {
		res.Expect = expectation(ctx, sc, cfg, res)
	} else if len(sc.Expect) > 0 && res.Bound == "" {
		res.Bound = boundOf(ctx) // what the scenario expects was not looked at
	}
	if !cfg.NoAdvice && e.advised() < maxAdvised && ctx.Err() == nil {
		res.Advice = advice(sc, e.programs)
	}
	if !cfg.NoShrink && (res.Verdict == Hang || res.Verdict == Violation) && ctx.Err() == nil {
		e.programs, e.units = nil, nil // large ones go before smaller ones come
		res.Shrunk = Minimize(ctx, sc, res, cfg)
	}
	res.Elapsed = time.Since(started).Seconds()
	return res, nil
}

// maxAdvised bounds the commands that are also looked at for advice.
const maxAdvised = 100_000

// advised counts the commands and tasks that advice looks at: of every rank, or of each
// schedule once where that does.
func (e *exploration) advised() int {
	n := 0
	var done []*model.Schedule
	for _, p := range e.programs {
		if e.apart == "" || p.FromGraph {
			if slices.Contains(done, p) {
				continue
			}
			done = append(done, p)
		}
		for i := range p.Queues {
			n += len(p.Queues[i].Commands)
		}
		for i := range p.Streams {
			n += len(p.Streams[i].Tasks)
		}
	}
	return n
}

// operations counts the commands of queues over the distinct schedules.
func (e *exploration) operations() int {
	n := 0
	for i, p := range e.programs {
		if i > 0 && p == e.programs[0] {
			continue
		}
		for q := range p.Queues {
			n += len(p.Queues[q].Commands)
		}
	}
	return n
}

// exploration is one call of [Explore]: the units that are decided and what was found.
type exploration struct {
	ctx      context.Context
	sc       *model.Scenario
	cfg      *Config
	source   json.RawMessage
	machine  model.Machine
	programs []*model.Schedule
	units    []*unit
	apart    string // why ranks are not decided one by one
}

// unit is a system decided by itself: all ranks, or one that stands for the ranks of its
// schedule.
type unit struct {
	rank       int // -1: all ranks together
	programs   []*model.Schedule
	widened    uint // how often the window was doubled
	overflowed bool // a run lacked room
	apart      bool // of all ranks: each was decided alone
	sys        *sim.System
	frag       *fragment
	found      *found
	proofs     map[string]Proof
	status     map[string]Status
	certified  map[string]Status // what certificates proved before a search
	reason     string
	slack      *int
	reduced    []string
	cover      *covering // while sampling
	covered    *Coverage
	miss       string
}

func newExploration(ctx context.Context, sc *model.Scenario, cfg *Config) (*exploration, error) {
	switch cfg.Strategy {
	case "", "auto", "dfs", "random", "pct", "pos", "uniform":
	default:
		return nil, fmt.Errorf("unknown strategy %q: want one of auto, dfs, random, pct, pos, uniform", cfg.Strategy)
	}
	for _, r := range cfg.Reductions {
		if !slices.ContainsFunc(Reductions, func(x struct{ Name, Doc string }) bool { return x.Name == r }) {
			return nil, fmt.Errorf("unknown reduction %q", r)
		}
	}
	programs, err := sc.Programs(sc.Effective())
	if err != nil {
		return nil, err
	}
	e := &exploration{ctx: ctx, sc: sc, cfg: cfg, machine: sc.Machine.Normal(), programs: programs}
	if e.source, err = json.Marshal(source(sc)); err != nil {
		return nil, err
	}
	e.split()
	return e, nil
}

// split makes the units: all ranks together, or one for each schedule.
func (e *exploration) split() {
	programs, cfg := e.programs, e.cfg
	e.apart = decompose(programs)
	switch {
	case len(programs) == 1:
		e.units = []*unit{{rank: 0, programs: programs}}
	case e.apart == "" && cfg.reduces("ranks"):
		for r, p := range programs {
			if !slices.ContainsFunc(e.units, func(u *unit) bool { return u.programs[0] == p }) {
				e.units = append(e.units, &unit{rank: r, programs: programs[r : r+1], reduced: []string{"ranks"}})
			}
		}
	default:
		e.units = []*unit{{rank: -1, programs: programs}}
	}
}

// source is sc without what has no part in a run, and with the machine in full.
func source(sc *model.Scenario) *model.Scenario {
	c := *sc
	c.Machine = sc.Machine.Normal()
	c.Expect = nil
	return &c
}

// decide decides every unit.
func (e *exploration) decide() error {
	for _, u := range e.units {
		if err := e.decideRoomy(u); err != nil {
			return err
		}
	}
	return nil
}

// decideRoomy decides a unit, again with more room while a run lacks it.
func (e *exploration) decideRoomy(u *unit) error {
	for {
		if err := e.decideUnit(u); err != nil {
			return err
		}
		if u.found.bound != overflowBound {
			return nil
		}
		*u = unit{rank: u.rank, programs: u.programs, widened: u.widened + 4}
		if u.rank >= 0 && len(e.programs) > 1 {
			u.reduced = []string{"ranks"}
		}
	}
}

func (e *exploration) decideUnit(u *unit) error {
	u.status, u.proofs = map[string]Status{}, map[string]Proof{}
	switch e.cfg.Strategy {
	case "", "auto":
		return e.auto(u)
	case "dfs":
		e.compile(u)
		e.exhaust(u)
	default:
		e.compile(u)
		e.sample(u)
	}
	return nil
}

// windowBuffers is how many unfinished buffers of a queue a state has room for at first;
// with room for all there can be, a state of a large schedule is large.
const windowBuffers = 256

// manyOperations is a schedule whose tables take hundreds of megabytes.
const manyOperations = 1 << 19

// build compiles a unit's system; compile examines it too, for a search.
func (e *exploration) build(u *unit) {
	if u.sys == nil {
		if e.operations() > manyOperations {
			runtime.GC() // what lowering left is as large as what compiling needs
		}
		u.sys = sim.Compile(u.programs, e.machine, sim.Options{Window: windowBuffers << u.widened})
	}
}

func (e *exploration) compile(u *unit) {
	e.build(u)
	if u.frag == nil {
		u.frag = analyse(u.sys)
	}
}

// auto decides a unit by the cheapest method that is exact for it.
func (e *exploration) auto(u *unit) error {
	if u.programs[0].FromGraph {
		return e.autoGraph(u)
	}
	e.compile(u)
	if why := u.frag.oneRun(); why != "" {
		u.reason = "not one-run: " + why
		if held, err := e.eachAlone(u); err != nil || held {
			return err
		}
		e.exhaust(u)
		e.sampleOn(u)
		return nil
	}
	e.lazy(u)
	return nil
}

// lazy decides a unit of the persistent fragment by one run, and searches only for what
// that run does not decide.
func (e *exploration) lazy(u *unit) {
	y := u.sys
	r := runLazily(e.ctx, y)
	u.found = newFound()
	u.found.runs, u.found.transitions = 1, int64(len(r.moves))
	u.found.states = u.found.transitions + 1
	if !r.done {
		u.found.bound = boundOf(e.ctx)
		return
	}
	hang := !y.Final(r.State())
	if hang && e.cfg.All && u.frag.delays() {
		u.reason = "all stuck states are asked for and stores may arrive early"
		e.exhaust(u)
		return
	}
	var steps []sim.Transition // the run, if there is something to show
	if hang || r.violated != 0 {
		steps = r.steps(y, len(r.moves))
	}
	u.reason = "every fence has one writer with non-decreasing values or takes the maximum, nothing is limited or killed: all runs end alike"
	for _, p := range Properties {
		u.know(p, Holds, OneRun)
	}
	if hang {
		u.know("hang", Violated, OneRun)
		u.found.stuckStates = 1
		u.found.stuck[stuckCounters(y, r.State())] = path{steps: steps}
		u.know("orphan", Holds, OneRun)
		if y.Orphan(r.State()) {
			u.know("orphan", Violated, OneRun)
		} else if u.frag.delays() {
			u.know("orphan", Unknown, NoProof)
		}
		if u.frag.delays() && len(u.programs) > 1 && e.apart != "" {
			u.know("order-mismatch", Unknown, NoProof) // a run that goes further may show one
		}
	} else {
		u.found.canFinish = true
	}
	for _, w := range r.violated.Words() {
		u.know(w, Violated, OneRun)
	}
	for b, n := range r.first {
		u.found.violated[b.Words()[0]] = path{steps: steps[:n]}
	}
	if u.frag.reads == "" {
		return
	}
	// Which write a read sees depends on the run: search for that alone.
	u.reason += "; " + u.frag.reads
	lazy := u.found
	e.exhaust(u)
	if !u.found.complete && u.status["hang"] == Unknown {
		if hang {
			u.know("hang", Violated, OneRun)
			maps.Copy(u.found.stuck, lazy.stuck)
			u.found.stuckStates = max(1, u.found.stuckStates)
		} else {
			u.know("hang", Holds, OneRun)
			u.know("orphan", Holds, OneRun)
		}
	}
}

// sampleOn looks at some runs where a bound on states or memory ended a search that found
// no hang: what they find is a fact, and what they do not find stays unknown.
func (e *exploration) sampleOn(u *unit) {
	f := u.found
	if f.complete || len(f.stuck) > 0 || e.ctx.Err() != nil || f.bound == overflowBound {
		return
	}
	runs := e.cfg.Runs
	if runs == 0 {
		runs = 1000
	}
	for i := range runs {
		if len(f.stuck) > 0 && !e.cfg.All || e.ctx.Err() != nil {
			break
		}
		e.sampleRun(u, &walk{rand.New(rand.NewPCG(e.cfg.Seed, uint64(i)))})
		f.runs++
	}
	u.read(Sampled)
	u.reason = join(u.reason, fmt.Sprintf("the search reached a bound; %d runs at random followed", f.runs))
}

// delays reports whether a store can be executed and not be seen.
func (f *fragment) delays() bool {
	return f.m.GPUToCPU.Mode != model.VisImmediate || f.m.CPUToGPU.Mode != model.VisImmediate
}

func (u *unit) know(property string, s Status, p Proof) {
	u.status[property], u.proofs[property] = s, p
	if s == Unknown {
		delete(u.proofs, property)
	}
}

// exhaust searches a unit's states.
func (e *exploration) exhaust(u *unit) {
	u.found = searchSystem(e.ctx, u.frag, e.cfg, e.cfg.All)
	for _, r := range []string{"merge", "persistent", "symmetry"} {
		if e.cfg.reduces(r) && (r != "symmetry" || u.frag.symmetric()) {
			u.reduced = append(u.reduced, r)
		}
	}
	if u.found.slept {
		u.reduced = append(u.reduced, "sleep")
	}
	u.read(Exhaustive)
}

// read takes what a search found over into the unit's properties.
func (u *unit) read(proof Proof) {
	f := u.found
	for _, p := range Properties {
		u.know(p, Unknown, NoProof)
		if f.complete {
			u.know(p, Holds, proof)
		}
	}
	if len(f.stuck) > 0 {
		u.know("hang", Violated, proof)
	}
	if f.orphans != nil {
		u.know("orphan", Violated, proof)
	}
	for p := range f.violated {
		u.know(p, Violated, proof)
	}
}
