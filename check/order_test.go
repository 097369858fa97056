package check

import (
	"math/rand/v2"
	"testing"

	"github.com/fencesim/fencesim/internal/naive"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// The three questions of order.data, asked of every pair and triple.

func plainRaces(o *order, us []access) bool {
	for _, w := range us {
		for _, u := range us {
			if w.write && u.node != w.node && !o.before(w.node, u.node) && !o.before(u.node, w.node) {
				return true
			}
		}
	}
	return false
}

func plainHidden(o *order, us []access, coherent []int32) bool {
	for _, w := range us {
		for _, r := range us {
			if !w.write || !w.gpu || r.write || r.gpu || !o.before(w.node, r.node) || o.dead[w.node] || o.dead[r.node] {
				continue
			}
			seen := false
			for _, c := range coherent {
				seen = seen || !o.dead[c] && o.before(w.node, c) && o.before(c, r.node)
			}
			if !seen {
				return true
			}
		}
	}
	return false
}

func plainUnread(o *order, us []access, input bool) bool {
	for _, r := range us {
		n := uint32(b2i(input))
		for _, w := range us {
			n += uint32(b2i(w.write && w.node != r.node && !o.dead[w.node] && o.before(w.node, r.node)))
		}
		if !r.write && !o.dead[r.node] && (n == 0 || r.version > 0 && n != r.version) {
			return true
		}
	}
	return false
}

// TestOrderHolds: in random runs of random programs no command runs after one that it must
// happen before, and none that never runs.
func TestOrderHolds(t *testing.T) {
	first, pairs := env("FENCESIM_SEED", 0), 0
	for i := first; i < first+env("FENCESIM_RUNS", seeds(8000, 1000)); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 23))
		programs, m := drawn(rng, []drawing{drawPair, drawGraph, drawData, drawData, drawData, drawPlain, drawRare, drawRare}[i%8])
		y := sim.Compile(programs, m, sim.Options{})
		o := newOrder(analyse(y), 0, int32(y.NumAgents()))
		if o.clock == nil {
			continue
		}
		for run := range uint64(10) {
			r := sim.RunWith(y, sim.UntilStuck{Strategy: sim.NewRandom(run)}, 0)
			at := make([]int, len(o.chain)) // by node: the last transition that it made, from 1
			s := y.Initial()
			for n, c := range r.Choices {
				tr := y.Enabled(s, nil)[c]
				switch tr.Kind {
				case sim.KindJoin:
					at[o.node(tr.Peer, tr.PeerCmd)] = n + 1
					fallthrough
				case sim.KindRun, sim.KindLeave, sim.KindStep:
					at[o.node(tr.Agent, tr.Cmd)] = n + 1
				}
				y.Apply(s, tr)
			}
			for a := range at {
				for b := range at {
					if a == b || at[a] == 0 || at[b] == 0 || !o.before(int32(a), int32(b)) {
						continue
					}
					pairs++
					if at[a] > at[b] || o.dead[a] || o.dead[b] {
						t.Fatalf("FENCESIM_SEED=%d FENCESIM_RUNS=1 go test ./check -run %s: seed %d: node %d is before %d (dead %v, %v), and ran at %d and %d\n%s", i, t.Name(),
							run, a, b, o.dead[a], o.dead[b], at[a], at[b], naive.Text(programs, m))
					}
				}
			}
		}
	}
	t.Logf("%d pairs", pairs)
}

// TestOrderPlain: what the order says of arrays by chains is what it says pair by pair, and
// a rank's own order is part of the order of all.
func TestOrderPlain(t *testing.T) {
	said := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", 4000); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		programs, m := naive.Random(rng, naive.Config{})
		if i%2 == 0 {
			m.Payload = model.PayloadCoherent
		}
		y := sim.Compile(programs, m, sim.Options{})
		f := analyse(y)
		all := newOrder(f, 0, int32(y.NumAgents()))
		for r := range int32(y.Ranks()) {
			lo, hi := y.AgentsOf(r)
			o := newOrder(f, lo, hi)
			for a := range int32(len(o.chain)) {
				for b := range int32(len(o.chain)) {
					if at := all.base[lo]; o.before(a, b) && !all.before(at+a, at+b) {
						t.Fatalf("seed %d: rank %d alone has command %d before %d\n%s", i, r, a, b, naive.Text(programs, m))
					}
				}
			}
		}
		lo, at, us, coherent := all.uses()
		for k := range at[1:] {
			a, us := lo+int32(k), us[at[k]:at[k+1]]
			live := all.live(us)
			if got, want := all.races(live) != "", plainRaces(all, us); got != want {
				t.Fatalf("seed %d: array %s races: %v, plainly %v\n%s", i, y.ArrayName(a), got, want, naive.Text(programs, m))
			} else if got {
				said["races"]++
				continue
			}
			if got, want := all.hidden(live, all.chained(coherent[a])) != "", plainHidden(all, us, coherent[a]); got != want {
				t.Fatalf("seed %d: array %s is hidden: %v, plainly %v\n%s", i, y.ArrayName(a), got, want, naive.Text(programs, m))
			} else if got {
				said["hidden"]++
			}
			if got, want := all.unread(live, y.Input(a)) != "", plainUnread(all, us, y.Input(a)); got != want {
				t.Fatalf("seed %d: array %s is read early: %v, plainly %v\n%s", i, y.ArrayName(a), got, want, naive.Text(programs, m))
			} else if got {
				said["read early"]++
			} else {
				said["in order"]++
			}
		}
	}
	t.Log(said)
}

// TestLazyRunPlain: the run that looks again only at who may be concerned ends as the one
// that looks at everything, and its moves spell out to a run of the system.
func TestLazyRunPlain(t *testing.T) {
	ends := map[string]int{}
	first := env("FENCESIM_SEED", 0)
	for i := first; i < first+env("FENCESIM_RUNS", 4000); i++ {
		programs, m := naive.Random(rand.New(rand.NewPCG(uint64(i), 4)), naive.Config{Plain: i%2 == 0})
		y := sim.Compile(programs, m, sim.Options{})
		r := runLazily(t.Context(), y)
		s := y.Initial()
		for n, tr := range r.steps(y, len(r.moves)) {
			enabled := false
			for _, u := range y.Enabled(s, nil) {
				enabled = enabled || u == tr && !u.Possible
			}
			if !enabled {
				t.Fatalf("seed %d: step %d, %s, is not guaranteed\n%s", i, n, y.Describe(tr), naive.Text(programs, m))
			}
			y.Apply(s, tr)
		}
		if y.Digest(s) != y.Digest(r.State()) {
			t.Fatalf("seed %d: the steps do not lead to the run's end\n%s", i, naive.Text(programs, m))
		}
		for _, u := range y.Enabled(s, nil) {
			if !u.Possible && u.Kind != sim.KindKill {
				t.Fatalf("seed %d: it ends where %s is guaranteed\n%s", i, y.Describe(u), naive.Text(programs, m))
			}
		}
		if analyse(y).oneRun() != "" {
			ends["not decided by one run"]++
			continue
		}
		plain := sim.RunWith(y, sim.Laziest{}, 0)
		if y.Final(s) != plain.Final {
			t.Fatalf("seed %d: final %v, plainly %v\n%s", i, y.Final(s), plain.Final, naive.Text(programs, m))
		}
		ends[map[bool]string{true: "final", false: "stuck"}[plain.Final]]++
	}
	t.Log(ends)
}
