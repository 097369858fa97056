package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// traceEvent is one event of the Chrome trace format, which the Perfetto UI opens.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  *int           `json:"ts,omitempty"` // a step is a microsecond
	Dur   *int           `json:"dur,omitempty"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// Perfetto writes a run in the Chrome trace format: a process for each rank, a thread for
// each agent, command buffers and waits as slices with the steps inside, stores on their
// way as asynchronous slices, fences as counters, and a flow from each update to the wait
// that it let through. A step lasts a microsecond: times are an order, not durations.
// Buffers that overlap are on threads of their own, for slices of a thread must nest.
func Perfetto(w io.Writer, in Input) error {
	t, err := in.timeline()
	if err != nil {
		return err
	}
	p := &perfetto{b: bufio.NewWriter(w), t: t, serial: in.System.Machine.Dispatch != "concurrent"}
	fmt.Fprintf(p.b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"fencesim\",\"scenario\":%s,\"verdict\":%s},\"traceEvents\":[", jsonText(in.Scenario.Name), jsonText(t.Verdict))
	p.names()
	p.boxes()
	p.waits()
	p.steps()
	p.flights()
	p.counters()
	p.flows()
	if p.err != nil {
		return p.err
	}
	p.b.WriteString("\n]}\n")
	return p.b.Flush()
}

type perfetto struct {
	b      *bufio.Writer
	t      *Timeline
	serial bool
	n      int
	err    error
	taken  map[int]bool // steps that a wait's slice shows
}

func (p *perfetto) event(e traceEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		p.err = err
		return
	}
	if p.n > 0 {
		p.b.WriteByte(',')
	}
	p.n++
	p.b.WriteByte('\n')
	p.b.Write(b)
}

func jsonText(s string) []byte {
	b, _ := json.Marshal(s) // a string has a JSON form
	return b
}

func (p *perfetto) pid(lane int) int { return p.t.Lanes[lane].Rank + 1 }

// tid is the thread of a row of a lane.
func (p *perfetto) tid(lane, row int) int {
	tid := 1
	for i := range lane {
		tid += p.t.Lanes[i].Rows
	}
	return tid + row
}

func (p *perfetto) row(s *LaneStep) int {
	if p.t.Lanes[s.Lane].Rows == 1 || s.Buffer < 0 {
		return 0
	}
	for i := range p.t.Boxes {
		if b := &p.t.Boxes[i]; b.Lane == s.Lane && b.Buffer == s.Buffer {
			return b.Row
		}
	}
	return 0
}

func (p *perfetto) names() {
	seen := map[int]bool{}
	for i, l := range p.t.Lanes {
		if pid := p.pid(i); !seen[pid] {
			seen[pid] = true
			p.event(traceEvent{Name: "process_name", Phase: "M", PID: pid, Args: map[string]any{"name": fmt.Sprintf("rank %d", l.Rank)}})
		}
		rows := l.Rows
		if l.Kind != LaneQueue {
			rows = 1
		}
		for row := range rows {
			name := l.Name
			if row > 0 {
				name = fmt.Sprintf("%s (%d)", l.Name, row+1)
			}
			p.event(traceEvent{Name: "thread_name", Phase: "M", PID: p.pid(i), TID: p.tid(i, row), Args: map[string]any{"name": name}})
			p.event(traceEvent{Name: "thread_sort_index", Phase: "M", PID: p.pid(i), TID: p.tid(i, row), Args: map[string]any{"sort_index": p.tid(i, row)}})
		}
	}
}

func (p *perfetto) slice(name, cat string, lane, row, from, to int, args map[string]any) {
	dur := to - from
	p.event(traceEvent{Name: name, Cat: cat, Phase: "X", Time: &from, Dur: &dur, PID: p.pid(lane), TID: p.tid(lane, row), Args: args})
}

func (p *perfetto) boxes() {
	for _, b := range p.t.Boxes {
		if b.Started < 0 {
			continue
		}
		end := p.t.End()
		if b.Finished >= 0 {
			end = b.Finished + 1
		}
		p.slice(fmt.Sprintf("buffer %d", b.Buffer), "buffer", b.Lane, b.Row, b.Started, end,
			map[string]any{"committed": b.Committed, "finished": b.Finished >= 0, "killed": b.Killed})
	}
}

// waits draws waits as slices where a lane does one thing at a time, so that they nest.
func (p *perfetto) waits() {
	p.taken = map[int]bool{}
	if !p.serial {
		return
	}
	for _, x := range p.t.Waits {
		if p.t.Lanes[x.Lane].Rows > 1 || x.From == x.To {
			continue
		}
		p.slice("blocked at "+x.Text, "wait", x.Lane, 0, x.From, x.To, map[string]any{"needs": x.Target, "to the end": x.Open})
	}
}

func (p *perfetto) steps() {
	for k := range p.t.Steps {
		s := &p.t.Steps[k]
		p.slice(s.Text, s.Kind.String(), s.Lane, p.row(s), k, k+1, map[string]any{"step": k + 1, "transition": s.Full, "guaranteed": !s.Possible, "choice": s.Choice})
	}
}

func (p *perfetto) flights() {
	for i, f := range p.t.Flights {
		from, to := f.From, f.To
		if to < 0 {
			to = p.t.End()
		}
		id := fmt.Sprintf("0x%x", i+1)
		name := p.t.Lines[f.Line].Name + " on its way"
		p.event(traceEvent{Name: name, Cat: "flight", Phase: "b", Time: &from, PID: p.pid(f.Lane), TID: p.tid(f.Lane, 0), ID: id, Args: map[string]any{"store": f.Text, "arrives": f.To >= 0}})
		p.event(traceEvent{Name: name, Cat: "flight", Phase: "e", Time: &to, PID: p.pid(f.Lane), TID: p.tid(f.Lane, 0), ID: id})
	}
}

func (p *perfetto) counters() {
	for _, l := range p.t.Lines {
		series := map[string][]Point{"scheduled": l.Scheduled, "GPU sees": l.GPU, "CPU sees": l.CPU}
		words := []string{"scheduled", "GPU sees", "CPU sees"}
		if l.Event {
			words = []string{"GPU sees"}
		}
		for _, word := range words {
			for _, pt := range series[word] {
				time := pt.Time
				name := l.Name + " " + word
				if l.Event {
					name = l.Name
				}
				p.event(traceEvent{Name: name, Phase: "C", Time: &time, PID: l.Rank + 1, Args: map[string]any{"value": drawn(pt.Value)}})
			}
		}
	}
}

// flows leads from the slice of an update to the slice of the wait that it let through.
func (p *perfetto) flows() {
	for i, a := range p.t.Arrows {
		if a.Missing {
			continue
		}
		id := fmt.Sprintf("0x%x", i+1)
		from, to := a.From, a.To
		s, e := &p.t.Steps[from], &p.t.Steps[to]
		p.event(traceEvent{Name: "lets through", Cat: "flow", Phase: "s", Time: &from, PID: p.pid(s.Lane), TID: p.tid(s.Lane, p.row(s)), ID: id})
		if a.Via >= 0 {
			via := a.Via
			v := &p.t.Steps[via]
			p.event(traceEvent{Name: "lets through", Cat: "flow", Phase: "t", Time: &via, PID: p.pid(v.Lane), TID: p.tid(v.Lane, 0), ID: id})
		}
		p.event(traceEvent{Name: "lets through", Cat: "flow", Phase: "f", Bind: "e", Time: &to, PID: p.pid(e.Lane), TID: p.tid(e.Lane, p.row(e)), ID: id})
	}
}
