package report

import (
	"slices"
	"strings"
	"unicode"

	"github.com/fencesim/fencesim/check"
	"github.com/fencesim/fencesim/sim"
)

// Topics are what a step must be about to be shown: fences, events and
// arrays by name.
type topics map[string]bool

// awaitedBy are the fences and events at which agents are blocked.
func awaitedBy(ranks []check.StuckRank) topics {
	t := make(topics)
	for _, r := range ranks {
		for _, b := range r.Blocked {
			t.add(b.At)
		}
	}
	return t
}

// usedBy are the fences, events and arrays that a step uses.
func usedBy(s sim.TraceStep) topics {
	t := make(topics)
	t.add(s.Transition)
	if _, reads, ok := strings.Cut(s.Transition, " reads "); ok {
		reads, _, _ = strings.Cut(reads, " writes ")
		for _, w := range strings.Fields(reads) {
			t[bareName(w)] = true
		}
	}
	return t
}

// storing are the commands whose second word is a fence or an event.
var storing = []string{"update", "add", "reset", "release", "free", "wait", "park", "notify", "signal", "await"}

// add adds the fence or event that a command in words concerns.
func (t topics) add(text string) {
	if name := object(text); name != "" {
		t[name] = true
	}
}

func object(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if slices.Contains(storing, w) && i+1 < len(words) && words[i+1] != "of" {
			return bareName(words[i+1])
		}
	}
	return ""
}

// bareName is a name without the rank or version behind it.
func bareName(word string) string {
	name, _, _ := strings.Cut(word, "@")
	return name
}

// concern reports whether a step stores to, tests, shows, makes or frees one of t, or is a
// kill or a wait that gives up.
func (t topics) concern(s sim.TraceStep) bool {
	if strings.HasPrefix(s.Transition, "kill ") || strings.HasPrefix(s.Transition, "give up ") {
		return true
	}
	if name := object(s.Transition); name != "" {
		return t[name]
	}
	if strings.Contains(s.Transition, "encode ") || strings.Contains(s.Transition, "enqueue ") {
		return false
	}
	text, _, _ := strings.Cut(s.Transition, " reads ")
	for _, w := range strings.Fields(text) {
		if t[bareName(w)] {
			return true
		}
	}
	return false
}

// How much of a long run is shown: the last steps, and of steps of one agent that differ
// in numbers only the first and the last ones.
const (
	lastSteps = 6
	lastAlike = 4
)

// relevant chooses the steps of a run to show, in order. A run of at most rows steps is
// shown whole, and any if rows is negative.
func relevant(steps []sim.TraceStep, t topics, rows int) []int {
	all := func(from int) []int {
		out := make([]int, 0, len(steps)-from)
		for i := from; i < len(steps); i++ {
			out = append(out, i)
		}
		return out
	}
	if rows < 0 || len(steps) <= rows {
		return all(0)
	}
	from := len(steps) - lastSteps
	shown := all(from)
	alike := make(map[string][]int) // latest first
	for i := from - 1; i >= 0; i-- {
		if t.concern(steps[i]) {
			key := steps[i].Agent + ": " + shape(steps[i].Transition)
			alike[key] = append(alike[key], i)
		}
	}
	chosen := lastStarts(steps[:from])
	for _, at := range alike {
		chosen = append(chosen, at[:min(len(at), lastAlike)]...)
		if len(at) > lastAlike {
			chosen = append(chosen, at[len(at)-1])
		}
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	if most := max(0, rows-lastSteps); len(chosen) > most {
		chosen = chosen[len(chosen)-most:]
	}
	shown = append(chosen, shown...)
	return bridge(shown)
}

// lastStarts are the starts of the last buffer of each queue.
func lastStarts(steps []sim.TraceStep) []int {
	var at []int
	seen := make(map[string]bool)
	for i := len(steps) - 1; i >= 0; i-- {
		if strings.HasPrefix(steps[i].Transition, "start buffer ") && !seen[steps[i].Agent] {
			seen[steps[i].Agent] = true
			at = append(at, i)
		}
	}
	return at
}

// bridge adds steps that stand alone between two shown ones: a line that says that one was
// left out is no shorter.
func bridge(shown []int) []int {
	var out []int
	next := 0
	for _, i := range shown {
		if i == next+1 {
			out = append(out, next)
		}
		out = append(out, i)
		next = i + 1
	}
	return out
}

// shape is text with every number as one #.
func shape(text string) string {
	var b strings.Builder
	digit := false
	for _, r := range text {
		d := unicode.IsDigit(r)
		if d && digit {
			continue
		}
		if digit = d; d {
			r = '#'
		}
		b.WriteRune(r)
	}
	return b.String()
}
