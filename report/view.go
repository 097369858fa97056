package report

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A Viewer serves the page of a scenario's runs. The address of a page is the run:
//
//	/run/DISCIPLINE/MACHINE/RANK/CODE
//
// where RANK is "all" or the rank that runs alone and CODE lists the choices among the
// enabled transitions of each state in turn ([ParseCode]). So every state can be linked,
// and back is undo. Nothing that a request does changes what another one sees, except
// that what was explored is remembered. Explicit schedules have the discipline "-".
type Viewer struct {
	scenario *model.Scenario
	filed    model.Machine
	start    string

	mu      sync.Mutex
	systems map[string]*viewed
	results map[string]*check.Result // by discipline and machine
}

// viewed is a scenario as an address names it, compiled.
type viewed struct {
	sc   *model.Scenario
	in   Input
	d, m string
	rank int
}

// NewViewer makes a viewer that starts with the run of in, or with the initial state if in
// has none.
func NewViewer(in Input) *Viewer {
	v := &Viewer{scenario: in.Scenario, filed: in.Scenario.Machine, systems: map[string]*viewed{}, results: map[string]*check.Result{}}
	rank := -1
	if in.Trace != nil {
		rank = in.Trace.Rank
	}
	d, m := "-", v.machineWord(in.Scenario.Machine)
	if !in.Scenario.Explicit() {
		d = in.Scenario.Effective().String()
	}
	if in.Result != nil {
		v.results[d+"/"+m] = in.Result
	}
	v.start = address(d, m, rank, in.Choices)
	return v
}

// fileMachine is the word for the file's machine where no preset equals it.
const fileMachine = "file"

func (v *Viewer) machineWord(m model.Machine) string {
	if name := m.Name(); name != "" {
		return name
	}
	return fileMachine
}

func address(d, m string, rank int, choices []int) string {
	r := "all"
	if rank >= 0 {
		r = strconv.Itoa(rank)
	}
	return "/run/" + d + "/" + m + "/" + r + "/" + FormatCode(choices)
}

// exploreTime bounds an exploration that a page asks for.
const exploreTime = 30 * time.Second

// Handler serves the pages to hosts, each "name:port" as a browser writes it; requests for
// other hosts and from other origins are refused.
func (v *Viewer) Handler(hosts []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, v.start, http.StatusSeeOther)
	})
	mux.HandleFunc("GET /run/{d}/{m}/{rank}/{code...}", v.run)
	mux.HandleFunc("GET /choose", v.choose)
	return guard(hosts, mux)
}

// guard refuses what a page of another site could ask for: a name that was bound to this
// address later (by Host), a request from another origin (by Origin and Sec-Fetch-Site).
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", livePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, strings.ToLower(r.Host)) {
			http.Error(w, "this viewer answers to "+strings.Join(hosts, ", ")+" only", http.StatusMisdirectedRequest)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+strings.ToLower(r.Host) {
			http.Error(w, "requests from other origins are refused", http.StatusForbidden)
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			http.Error(w, "requests from other origins are refused", http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// open compiles what an address names.
func (v *Viewer) open(d, m string, rank int) (*viewed, error) {
	key := address(d, m, rank, nil)
	v.mu.Lock()
	defer v.mu.Unlock()
	if x, ok := v.systems[key]; ok {
		return x, nil
	}
	sc := *v.scenario
	sc.Expect = nil
	switch {
	case sc.Explicit() && d != "-":
		return nil, fmt.Errorf("an explicit schedule has no discipline: want - for %q", d)
	case !sc.Explicit():
		p, err := model.ParseDiscipline(d)
		if err != nil {
			return nil, err
		}
		sc.Discipline = &p
	}
	if m == fileMachine {
		sc.Machine = v.filed
	} else {
		p, ok := model.PresetNamed(m)
		if !ok {
			return nil, fmt.Errorf("no machine is called %q", m)
		}
		sc.Machine = p.Machine
	}
	in, err := NewInput(&sc, nil, nil)
	if err != nil {
		return nil, err
	}
	if in.System, err = compile(in.Programs, sc.Machine, rank); err != nil {
		return nil, err
	}
	const most = 32
	if len(v.systems) >= most {
		clear(v.systems)
	}
	x := &viewed{&sc, in, d, m, rank}
	v.systems[key] = x
	return x, nil
}

func (v *Viewer) result(d, m string) *check.Result {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.results[d+"/"+m]
}

func parseRank(s string) (int, error) {
	if s == "all" {
		return -1, nil
	}
	r, err := strconv.Atoi(s)
	if err != nil || r < 0 {
		return 0, fmt.Errorf("rank %q: want all or a number", s)
	}
	return r, nil
}

// run serves the page of one run.
func (v *Viewer) run(w http.ResponseWriter, r *http.Request) {
	rank, err := parseRank(r.PathValue("rank"))
	var x *viewed
	if err == nil {
		x, err = v.open(r.PathValue("d"), r.PathValue("m"), rank)
	}
	var choices []int
	if err == nil {
		choices, err = ParseCode(strings.TrimSuffix(r.PathValue("code"), "/"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	var b bytes.Buffer
	if err := v.page(r.Context(), &b, x, choices); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // a reader that has gone is no error
}

func (v *Viewer) page(ctx context.Context, b *bytes.Buffer, x *viewed, choices []int) error {
	if n := follows(x.in.System, choices); n < len(choices) {
		return fmt.Errorf("step %d: no such choice: the run ends there", n+1)
	}
	in := x.in
	in.Choices = choices
	res := v.result(x.d, x.m)
	known := res != nil && isRunOf(res, x.rank, choices)
	if known {
		in.Result = res
	}
	p, err := newPage(ctx, in)
	if err != nil {
		return err
	}
	if known {
		if err := p.compare(ctx, in); err != nil {
			return err
		}
	}
	p.Policy = template.HTMLAttr(`content="` + pagePolicy + `; connect-src 'self'"`)
	p.Replay = v.replay(x, choices)
	base := address(x.d, x.m, x.rank, nil)
	p.data.Base = base
	p.Live = &live{Base: base, Code: x.ranked() + "/" + FormatCode(choices), Message: v.message(x, res, known)}
	if x.d != "-" {
		for _, d := range model.Disciplines {
			p.Live.Disciplines = append(p.Live.Disciplines, option{d.Word, d.Word, d.Word == x.d})
		}
	}
	if v.machineWord(v.filed) == fileMachine {
		p.Live.Machines = append(p.Live.Machines, option{fileMachine, "of the file", x.m == fileMachine})
	}
	for _, m := range model.Presets {
		p.Live.Machines = append(p.Live.Machines, option{m.Name, m.Name, m.Name == x.m})
	}
	if n := len(x.in.Programs); n > 1 {
		p.Live.Ranks = []option{{"all", "all together", x.rank < 0}}
		for r := range min(n, mostRanks) {
			p.Live.Ranks = append(p.Live.Ranks, option{strconv.Itoa(r), fmt.Sprintf("rank %d alone", r), r == x.rank})
		}
	}
	p.Live.Runs = []option{{"explore", "explore: look for a hang", true}, {"start", "from the initial state", false},
		{"same", "these steps, as far as they lead", false}, {"laziest", "nothing that is not forced", false}, {"random", "at random", false}}
	return p.write(b)
}

func (x *viewed) ranked() string {
	if x.rank < 0 {
		return "all"
	}
	return strconv.Itoa(x.rank)
}

// follows is how many of the choices lead on.
func follows(y *sim.System, choices []int) int {
	s := y.Initial()
	var buf []sim.Transition
	for i, c := range choices {
		if buf = y.Enabled(s, buf[:0]); c >= len(buf) {
			return i
		}
		y.Apply(s, buf[c])
	}
	return len(choices)
}

// isRunOf reports whether choices are the run that a result found.
func isRunOf(r *check.Result, rank int, choices []int) bool {
	t := r.FirstTrace()
	if t == nil || t.Rank != rank || len(t.Steps) != len(choices) {
		return false
	}
	for i := range choices {
		if t.Steps[i].Choice != choices[i] {
			return false
		}
	}
	return true
}

func (v *Viewer) message(x *viewed, r *check.Result, known bool) string {
	if r == nil || known {
		return ""
	}
	return fmt.Sprintf("explored under %s on %s: %s: %s", x.d, x.m, r.Verdict, cause(r))
}

// replay is the command that replays a run of a scenario with a name.
func (v *Viewer) replay(x *viewed, choices []int) string {
	words := []string{"fencesim", "replay", x.sc.Name}
	if x.d != "-" {
		words = append(words, "--discipline", x.d)
	}
	if x.m != fileMachine {
		words = append(words, "--machine", x.m)
	}
	if x.rank >= 0 && len(x.in.Programs) > 1 {
		words = append(words, "--rank", strconv.Itoa(x.rank))
	}
	return strings.Join(append(words, "--steps", FormatCode(choices)), " ")
}

// choose sends the browser to the run that the form asks for.
func (v *Viewer) choose(w http.ResponseWriter, r *http.Request) {
	to, err := v.chosen(r.Context(), r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (v *Viewer) chosen(ctx context.Context, q url.Values) (string, error) {
	d, m := q.Get("discipline"), q.Get("machine")
	if v.scenario.Explicit() {
		d = "-"
	}
	ranked, code, _ := strings.Cut(q.Get("code"), "/")
	if r := q.Get("rank"); r != "" {
		ranked = r
	}
	rank, err := parseRank(ranked)
	if err != nil {
		return "", err
	}
	x, err := v.open(d, m, rank)
	if err != nil {
		return "", err
	}
	seed, err := strconv.ParseUint(q.Get("seed"), 0, 64)
	if err != nil {
		return "", fmt.Errorf("seed %q: want a number", q.Get("seed"))
	}
	var choices []int
	switch q.Get("run") {
	case "start":
	case "same":
		if choices, err = ParseCode(code); err != nil {
			return "", err
		}
		choices = choices[:follows(x.in.System, choices)]
	case "laziest":
		choices = sim.RunWith(x.in.System, sim.Laziest{}, maxSteps).Choices
	case "random":
		choices = sim.RunWith(x.in.System, sim.UntilStuck{Strategy: sim.NewRandom(seed)}, maxSteps).Choices
	case "explore":
		return v.explore(ctx, x, seed)
	default:
		return "", fmt.Errorf("run %q: want explore, start, same, laziest or random", q.Get("run"))
	}
	return address(d, m, rank, choices), nil
}

// explore decides a scenario and gives the address of the run that was found or, without
// one, of a run that takes nothing that is not forced.
func (v *Viewer) explore(ctx context.Context, x *viewed, seed uint64) (string, error) {
	res, err := check.Explore(ctx, x.sc, check.Config{Seed: seed, Time: exploreTime, NoShrink: true})
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	v.results[x.d+"/"+x.m] = res
	v.mu.Unlock()
	if t := res.FirstTrace(); t != nil {
		var choices []int
		for i := range t.Steps {
			choices = append(choices, t.Steps[i].Choice)
		}
		return address(x.d, x.m, t.Rank, choices), nil
	}
	return address(x.d, x.m, x.rank, sim.RunWith(x.in.System, sim.Laziest{}, maxSteps).Choices), nil
}
