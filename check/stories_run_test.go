package check_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A story is the scenario of a script and one run of it. The zero value has none.
type story struct {
	sc *model.Scenario
	y  *sim.System
	s  sim.State
}

// load takes a scenario, with head and name filled in where they are missing.
func (st *story) load(text string) string {
	if !strings.Contains(text, "fencesim:") {
		text += "\nfencesim: 1\nname: story\n"
	}
	sc, err := model.Parse("story", []byte(text))
	if err != nil {
		return err.Error()
	}
	st.sc = sc
	return st.restart()
}

func (st *story) setMachine(text string) string {
	m, err := model.ParseMachine("machine", []byte(text))
	if err != nil {
		return err.Error()
	}
	st.sc.Machine = m
	if r := st.restart(); r != "ok" {
		return r
	}
	return check.MachineText(m)
}

func (st *story) setDiscipline(word string) string {
	d, err := model.ParseDiscipline(word)
	if err != nil {
		return err.Error()
	}
	st.sc.Discipline = &d
	return st.restart()
}

func (st *story) restart() string {
	programs, err := st.sc.Programs(st.sc.Effective())
	if err != nil {
		return err.Error()
	}
	st.y = sim.Compile(programs, st.sc.Machine.Normal(), sim.Options{})
	st.s = st.y.Initial()
	return "ok"
}

// program lists the agents' commands of rank 0.
func (st *story) program() string {
	p := st.y.Programs[0]
	var b strings.Builder
	b.WriteString("main:\n")
	for i := range p.Main {
		fmt.Fprintf(&b, "  %s\n", st.y.StepText(0, i))
	}
	for i := range p.Queues {
		fmt.Fprintf(&b, "queue %s:\n", p.Queues[i].Name)
		for j := range p.Queues[i].Commands {
			fmt.Fprintf(&b, "  %s\n", p.Queues[i].Commands[j].Text(&p.Names))
		}
	}
	for i := range p.Streams {
		fmt.Fprintf(&b, "stream %s:\n", p.Streams[i].Name)
		for j := range p.Streams[i].Tasks {
			fmt.Fprintf(&b, "  %s\n", p.Streams[i].Tasks[j].Text(&p.Names))
		}
	}
	return b.String()
}

// step takes the transitions that lines ask for.
func (st *story) step(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		who, what, _ := strings.Cut(line, ": ")
		words := strings.Fields(who)
		n := 1
		if k := len(words) - 1; k > 0 && words[k-1] != "rank" {
			if m, err := strconv.Atoi(words[k]); err == nil {
				n, words = m, words[:k]
			}
		}
		for range n {
			t, ok := st.find(words, what)
			if !ok {
				fmt.Fprintf(&b, "not enabled: %s\n", strings.TrimSuffix(strings.Join(words, " ")+": "+what, ": "))
				break
			}
			b.WriteString(st.take(t))
		}
	}
	return b.String() + st.ending()
}

// find is the first enabled transition of an agent whose name has all of words.
func (st *story) find(words []string, what string) (sim.Transition, bool) {
	for _, t := range st.y.Enabled(st.s, nil) {
		have := " " + strings.NewReplacer("[", " ", "]", " ").Replace(st.y.Agent(t)) + " "
		ok := strings.Contains(st.y.Describe(t), what)
		for _, w := range words {
			ok = ok && strings.Contains(have, " "+w+" ")
		}
		if ok {
			return t, true
		}
	}
	return sim.Transition{}, false
}

// take takes t and says what it does and violates.
func (st *story) take(t sim.Transition) string {
	line := st.text(t)
	if t.Possible {
		line += " (possible)"
	}
	if v := st.y.Apply(st.s, t); v != 0 {
		line += "  <- " + strings.Join(v.Words(), ", ")
	}
	return line + "\n"
}

func (st *story) text(t sim.Transition) string {
	return st.y.Agent(t) + ": " + st.y.Describe(t)
}

// ending says whether the run has ended, and how.
func (st *story) ending() string {
	switch {
	case st.y.Final(st.s):
		return "final\n"
	case st.y.Stuck(st.s):
		return "stuck\n"
	}
	return ""
}

func (st *story) lazily() string {
	var b strings.Builder
	for !st.y.Final(st.s) {
		en := st.y.Enabled(st.s, nil)
		i := sim.Laziest{}.Choose(st.y, st.s, en)
		if i < 0 {
			break
		}
		b.WriteString(st.take(en[i]))
	}
	return b.String() + st.ending()
}

func (st *story) enabled() string {
	sure, maybe := "", ""
	for _, t := range st.y.Enabled(st.s, nil) {
		if t.Possible {
			maybe += "possible    " + st.text(t) + "\n"
		} else {
			sure += "guaranteed  " + st.text(t) + "\n"
		}
	}
	if sure+maybe == "" {
		return "nothing\n" + st.ending()
	}
	return sure + maybe + st.ending()
}

func (st *story) state() string {
	var b strings.Builder
	y, s := st.y, st.s
	for f := range int32(y.NumFences()) {
		fmt.Fprintf(&b, "fence %s:", y.FenceName(f))
		for r := range y.Ranks() {
			for _, x := range y.FenceStates(s, r) {
				if prefixed(y, r, x.Name) == y.FenceName(f) {
					fmt.Fprintf(&b, " the GPU sees %d, the CPU sees %d", x.SeenByGPU, x.SeenByCPU)
				}
			}
		}
		b.WriteString(st.onItsWay(f, false) + st.onItsWay(f, true))
		b.WriteByte('\n')
	}
	for a := range int32(y.NumAgents()) {
		if y.AgentKindOf(a) == sim.Queue {
			committed, finished := y.Buffers(s, a)
			fmt.Fprintf(&b, "%s: %d committed, %d finished from the front\n", y.AgentName(a), committed, finished)
		}
	}
	for r := range y.Ranks() {
		for _, x := range y.Blocked(s, r) {
			if !st.moves(x) {
				fmt.Fprintf(&b, "%s stands at %s, needs %s\n", y.AgentName(x.Index), x.At, x.Needs)
			}
		}
	}
	return b.String() + st.ending()
}

// onItsWay lists the stores to fence f that one side has not seen. The one that is next, if
// their order is fixed, stands first.
func (st *story) onItsWay(f int32, gpu bool) string {
	agent, next := int32(-1), int32(-1)
	if arrivals := st.y.EnabledArrivals(st.s, f, nil); !gpu && len(arrivals) == 1 {
		agent, next = st.y.StoreOf(arrivals[0])
	}
	first, rest := "", ""
	for _, x := range st.y.Stores(st.s, f, gpu) {
		if !x.OnItsWay {
			continue
		}
		text := "; on its way: " + st.y.CommandText(x.Agent, x.Cmd)
		if x.Agent == agent && x.Cmd == next {
			first = text
		} else {
			rest += text
		}
	}
	return first + rest
}

// moves reports whether the command that is listed as blocked can go on: the list is meant
// for stuck states.
func (st *story) moves(x sim.Blocked) bool {
	at := strings.TrimPrefix(x.At, "start of ")
	for _, t := range st.y.EnabledOf(st.s, x.Index, nil) {
		if strings.Contains(st.y.Describe(t)+" ", at+" ") {
			return true
		}
	}
	return false
}

func prefixed(y *sim.System, r int, name string) string {
	if y.Ranks() == 1 {
		return name
	}
	return fmt.Sprintf("rank %d %s", r, name)
}
