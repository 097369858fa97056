package report

import (
	"io"
	"strconv"
)

// ITF writes the states of a run in the Informal Trace Format (Apalache's ADR 015), which
// Apalache, Quint and their viewers read. Variables: action, the step that led to the
// state; at, where each agent stands; scheduled, gpu and cpu, each fence's counters; flying,
// the values on their way; violated, the properties that the step violated.
func ITF(w io.Writer, in Input) error {
	t, err := in.timeline()
	if err != nil {
		return err
	}
	type state map[string]any
	big := func(v uint32) any { return map[string]string{"#bigint": strconv.FormatUint(uint64(v), 10)} }
	pairs := func(each func(add func(key, value any))) any {
		list := [][2]any{}
		each(func(k, v any) { list = append(list, [2]any{k, v}) })
		return map[string]any{"#map": list}
	}
	at := make([]Standing, len(t.Lanes))
	next := 0
	states := []state{}
	for time := 0; time <= t.End(); time++ {
		for ; next < len(t.At) && t.At[next].Time <= time; next++ {
			at[t.At[next].Lane] = t.At[next]
		}
		action, violated := "init", []string{}
		if time > 0 {
			s := &t.Steps[time-1]
			action = t.Lanes[s.Lane].Name + ": " + s.Full
			violated = append(violated, s.Violated...)
		}
		counters := func(of func(l *CounterLine) []Point) any {
			return pairs(func(add func(k, v any)) {
				for i := range t.Lines {
					if l := &t.Lines[i]; !l.Event {
						add(l.Name, big(Value(of(l), time)))
					}
				}
			})
		}
		s := state{
			"#meta":  map[string]any{"index": time},
			"action": action,
			"at": pairs(func(add func(k, v any)) {
				for i, l := range t.Lanes {
					if l.Kind != LaneMemory && l.Kind != LaneWatchdog {
						add(l.Name, at[i].At)
					}
				}
			}),
			"scheduled": counters(func(l *CounterLine) []Point { return l.Scheduled }),
			"gpu":       counters(func(l *CounterLine) []Point { return l.GPU }),
			"cpu":       counters(func(l *CounterLine) []Point { return l.CPU }),
			"flying": pairs(func(add func(k, v any)) {
				for i := range t.Lines {
					if t.Lines[i].Event {
						continue
					}
					values := []any{}
					for _, f := range t.Flights {
						if f.Line == i && f.From < time && (f.To < 0 || f.To >= time) {
							values = append(values, big(f.Value))
						}
					}
					add(t.Lines[i].Name, values)
				}
			}),
			"violated": map[string]any{"#set": violated},
		}
		states = append(states, s)
	}
	return JSON(w, struct {
		Meta   map[string]any `json:"#meta"`
		Vars   []string       `json:"vars"`
		States []state        `json:"states"`
	}{
		map[string]any{"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
			"description": title(in.Scenario.Name) + ": " + in.subject() + ": " + t.Verdict,
			"varTypes":    map[string]string{"action": "Str", "at": "Str -> Str", "scheduled": "Str -> Int", "gpu": "Str -> Int", "cpu": "Str -> Int", "flying": "Str -> Seq(Int)", "violated": "Set(Str)"}},
		[]string{"action", "at", "scheduled", "gpu", "cpu", "flying", "violated"}, states,
	})
}
