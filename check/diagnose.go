package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/fencesim/fencesim/model"
)

// An Observation is what somebody saw on a machine that hangs. Absent is nil, "" or empty.
type Observation struct {
	Scheduled *uint32  `json:"scheduled,omitempty"` // counters, as in model.Counters
	GPU       *uint32  `json:"gpu,omitempty"`
	CPU       *uint32  `json:"cpu,omitempty"`
	Main      string   `json:"main,omitempty"`     // where the main thread stands: throttle, synchronize, end, or one with its array or target
	Stream    string   `json:"stream,omitempty"`   // where the CPU stream stands: wait, collective, done
	Device    string   `json:"device,omitempty"`   // busy (a kernel runs or spins) or idle
	Error     string   `json:"error,omitempty"`    // yes if some command buffer ended with an error, or no
	Later     *uint32  `json:"later,omitempty"`    // the GPU counter after waiting
	Executed  string   `json:"executed,omitempty"` // which of the updates behind the counter have run: none, some, all
	Seen      []uint32 `json:"seen,omitempty"`     // GPU counters of several hangs that agree in the other two
}

// A Reach is how a hypothesis reaches what was observed. The zero value is unknown.
type Reach uint8

// The reaches.
const (
	ReachUnknown Reach = iota
	No                 // proved unreachable
	Luck               // only with merely possible transitions
	Forced             // by guaranteed transitions alone
)

var reachWords = [...]string{"unknown", "no", "luck", "forced"}

// String is the reach's word in results.
func (r Reach) String() string { return reachWords[r] }

// MarshalText is String as bytes.
func (r Reach) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word back.
func (r *Reach) UnmarshalText(b []byte) error {
	*r = ReachUnknown
	for i, w := range reachWords {
		if w == string(b) {
			*r = Reach(i)
		}
	}
	return nil
}

// A Diagnosis says which hypotheses explain an observation; its JSON form is formats
// section 5.
type Diagnosis struct {
	Version      int           `json:"fencesim"`
	Scenario     string        `json:"scenario"`
	Discipline   string        `json:"discipline,omitempty"`
	Observed     Observation   `json:"observed"`
	Explanations []Explanation `json:"explanations"`
	Next         []NextLook    `json:"next"`                  // the best first
	Interrupted  bool          `json:"interrupted,omitempty"` // or the time was over: what was not decided by then is unknown
}

// An Explanation is one hypothesis on one machine. Predicts gives for what can be observed
// the values that agree with what was; if Complete, no others can be seen there.
type Explanation struct {
	Hypothesis string              `json:"hypothesis"`
	Machine    string              `json:"machine"`
	About      string              `json:"about"`
	Reaches    Reach               `json:"reaches"`
	Why        string              `json:"why"`
	Complete   bool                `json:"complete"`
	Predicts   map[string][]string `json:"predicts"`
}

// Name is the hypothesis with its machine.
func (e *Explanation) Name() string { return e.Hypothesis + " " + e.Machine }

// A NextLook is an observation not yet made, with what would be left for each outcome.
type NextLook struct {
	Observe string              `json:"observe"`
	Splits  map[string][]string `json:"splits"`
	Worst   int                 `json:"worst"` // most explanations that an outcome leaves
}

// Survivors lists the explanations that are not excluded.
func (d *Diagnosis) Survivors() []string {
	var out []string
	for i := range d.Explanations {
		if d.Explanations[i].Reaches != No {
			out = append(out, d.Explanations[i].Name())
		}
	}
	return out
}

// Observables lists what can be observed beside the counters, the cheapest first, with how
// it is seen on a machine.
var Observables = []struct{ Name, Doc string }{
	{"stream", "stack of the CPU stream's thread: in a fence wait, inside a collective, or done"},
	{"main", "stack of the main thread: which step it blocks in"},
	{"later", "read the GPU counter again after a while"},
	{"device", "GPU residency: busy (something spins) or idle"},
	{"error", "whether a command buffer ended with an error"},
	{"seen", "the GPU counter in several hangs"},
	{"executed", "whether the updates that are not seen have run: count stores in a second counter, or read the status of each buffer"},
}

// Diagnose runs sc, whose machine is not read, under every hypothesis of [Hypotheses] and
// keeps those under which a stuck state looks as observed. Of several ranks the lowest is
// looked at; they must be decided one by one. The bounds of cfg are for each hypothesis: one
// that reaches them is unknown.
func Diagnose(ctx context.Context, sc *model.Scenario, o Observation, cfg Config) (*Diagnosis, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d := &Diagnosis{Version: model.FormatVersion, Scenario: sc.Name, Observed: o, Next: []NextLook{}}
	if !sc.Explicit() {
		d.Discipline = sc.Effective().String()
	}
	for i := range Hypotheses {
		h := &Hypotheses[i]
		for k := range h.Rows {
			x := &examination{ctx: ctx, sc: sc, cfg: &cfg, h: h, row: &h.Rows[k], o: &o}
			e, err := x.explain()
			if err != nil {
				return nil, err
			}
			d.Explanations = append(d.Explanations, e)
		}
	}
	d.next()
	d.Interrupted = ctx.Err() != nil
	return d, nil
}

func (o *Observation) check() error {
	for _, c := range []struct {
		name, value string
		words       []string
	}{{"stream", o.Stream, []string{"wait", "collective", "done"}}, {"device", o.Device, []string{"busy", "idle"}},
		{"error", o.Error, []string{"yes", "no"}}, {"executed", o.Executed, []string{"none", "some", "all"}}} {
		if c.value != "" && !slices.Contains(c.words, c.value) {
			return fmt.Errorf("%s %q: want one of %v", c.name, c.value, c.words)
		}
	}
	if o.Later != nil && o.GPU == nil {
		return fmt.Errorf("a later value of the GPU counter goes with its first value")
	}
	return nil
}

// tally collects what the stuck states of one hypothesis look like.
type tally struct {
	o       *Observation
	matched bool
	luck    int // least number of possible transitions of a match that is known to be reached; -1 none
	goal    map[model.Counters]bool
	sets    map[string]map[string]bool
	seen    map[uint32]bool // GPU counters that go with the observed other two
}

func newTally(o *Observation) *tally {
	t := &tally{o: o, luck: -1, goal: map[model.Counters]bool{}, sets: map[string]map[string]bool{}, seen: map[uint32]bool{}}
	for _, k := range Observables {
		t.sets[k.Name] = map[string]bool{}
	}
	return t
}

// asSeen reports whether a counter is as observed, if it was.
func asSeen(o *uint32, v uint32) bool { return o == nil || *o == v }

// wants reports whether stuck states with this many updates scheduled are of interest.
func (t *tally) wants(scheduled uint32) bool { return asSeen(t.o.Scheduled, scheduled) }

// add takes one stuck state up. luck is how many possible transitions reach it, -1 if it is
// not known to be reached.
func (t *tally) add(s sight, luck int) {
	o := t.o
	if !asSeen(o.Scheduled, s.Scheduled) || !asSeen(o.CPU, s.CPU) {
		return
	}
	t.seen[s.GPU] = true
	if !asSeen(o.GPU, s.GPU) || !s.looks(o) {
		return
	}
	t.matched = true
	if luck >= 0 && (t.luck < 0 || luck < t.luck) {
		t.luck = luck
	}
	if len(t.goal) < 64 {
		t.goal[s.Counters] = true
	}
	for name := range t.sets {
		for _, v := range s.values(name) {
			t.sets[name][v] = true
		}
	}
}

// spread reports whether every counter of several hangs can be seen.
func (t *tally) spread() bool {
	for _, v := range t.o.Seen {
		if !t.seen[v] {
			return false
		}
	}
	return true
}

// predictions are the values of each observable, in order.
func (t *tally) predictions() map[string][]string {
	out := map[string][]string{}
	for _, k := range Observables {
		if k.Name == "seen" {
			var vs []string
			for _, v := range slices.Sorted(maps.Keys(t.seen)) {
				vs = append(vs, strconv.FormatUint(uint64(v), 10))
			}
			out[k.Name] = vs
			continue
		}
		out[k.Name] = slices.Sorted(maps.Keys(t.sets[k.Name]))
	}
	return out
}

// next finds the observations that split the survivors, the best first: the one whose worst
// outcome leaves the fewest, of equal ones the cheapest.
func (d *Diagnosis) next() {
	var left []*Explanation
	for i := range d.Explanations {
		if d.Explanations[i].Reaches != No {
			left = append(left, &d.Explanations[i])
		}
	}
	for _, k := range Observables {
		if len(left) < 2 || d.Observed.has(k.Name) {
			continue
		}
		values := map[string][]string{}
		for _, e := range left {
			vs := e.Predicts[k.Name]
			if !e.Complete { // what it does not predict may still be seen
				vs = nil
				for _, o := range left {
					vs = append(vs, o.Predicts[k.Name]...)
				}
				slices.Sort(vs)
				vs = slices.Compact(vs)
			}
			for _, v := range vs {
				values[v] = append(values[v], e.Name())
			}
		}
		look := NextLook{Observe: k.Name, Splits: map[string][]string{}}
		splits := false
		for v, es := range values {
			look.Splits[v] = es
			look.Worst = max(look.Worst, len(es))
			splits = splits || len(es) < len(left)
		}
		if splits {
			d.Next = append(d.Next, look)
		}
	}
	slices.SortStableFunc(d.Next, func(a, b NextLook) int { return cmp.Compare(a.Worst, b.Worst) })
}

func (o *Observation) has(name string) bool {
	switch name {
	case "stream":
		return o.Stream != ""
	case "main":
		return o.Main != ""
	case "later":
		return o.Later != nil
	case "device":
		return o.Device != ""
	case "error":
		return o.Error != ""
	case "seen":
		return len(o.Seen) > 0
	}
	return o.Executed != ""
}
