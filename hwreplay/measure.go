package hwreplay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A MeasureRequest asks what a handoff and an over-wait cost on a device.
type MeasureRequest struct {
	Rounds     int           `json:"rounds,omitempty"`     // handoffs; 0: 200
	Reductions int           `json:"reductions,omitempty"` // of the scaled workload; 0: 32
	Ranks      int           `json:"ranks,omitempty"`      // 0: 1
	Repeat     int           `json:"repeat,omitempty"`     // of each discipline; 0: 5
	Kernel     time.Duration `json:"kernel,omitempty"`     // 0: 100 µs
	Collective time.Duration `json:"collective,omitempty"` // 0: 1 ms
	Config     Config        `json:"config"`
}

// A Measurement is what a handoff and an over-wait cost. Times are in microseconds.
type Measurement struct {
	Version int `json:"fencesim"`
	Info
	Handoff  Distribution `json:"handoff_us"` // update on the GPU, answer of the CPU, seen by the GPU
	Kernel   float64      `json:"kernel_us"`  // of the workload
	Reduce   float64      `json:"collective_us"`
	Makespan []Makespan   `json:"makespan"`
	Ratio    float64      `json:"ratio"` // median makespan of count over that of per-update
}

// A Distribution is some times in order.
type Distribution struct {
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Worst  float64 `json:"worst"`
	Count  int     `json:"count"`
}

// A Makespan is how long the scaled workload takes under one discipline. Overlap is the
// part of the collectives' time in which a kernel computed.
type Makespan struct {
	Discipline string       `json:"discipline"`
	Time       Distribution `json:"time_us"`
	Overlap    float64      `json:"overlap"`
	Runs       int          `json:"runs"`
}

func distribution(list []float64) Distribution {
	if len(list) == 0 {
		return Distribution{}
	}
	slices.Sort(list)
	at := func(p int) float64 { return list[(len(list)-1)*p/100] }
	return Distribution{at(50), at(90), at(99), at(100), len(list)}
}

// Measure measures the cost of a handoff, and the workload of the report, scaled, under
// count and per-update by turns. When ctx is done the error is ErrStopped.
func Measure(ctx context.Context, q *MeasureRequest, d Device, note func(string)) (*Measurement, error) {
	fill := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	w := *q
	fill(&w.Rounds, 200)
	fill(&w.Reductions, 32)
	fill(&w.Ranks, 1)
	fill(&w.Repeat, 5)
	if w.Kernel == 0 {
		w.Kernel = 100 * time.Microsecond
	}
	if w.Collective == 0 {
		w.Collective = time.Millisecond
	}
	m := &Measurement{Version: model.FormatVersion, Info: d.Info(), Kernel: micros(w.Kernel), Reduce: micros(w.Collective)}
	note("handoff")
	var err error
	if m.Handoff, err = handoff(ctx, &w, d); err != nil {
		return nil, err
	}
	if err := m.makespans(ctx, &w, d, note); err != nil {
		return nil, err
	}
	return m, nil
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// handoff times rounds of update on the GPU, reply of the CPU, wait on the GPU, all in
// one buffer.
func handoff(ctx context.Context, q *MeasureRequest, d Device) (Distribution, error) {
	s := &model.ScheduleFile{Queues: []model.QueueFile{{Name: "gpu", Buffers: []model.BufferFile{{}}}}, Streams: []model.TaskFile{{Name: "cpu"}}}
	for i := 1; i <= q.Rounds; i++ {
		b, t := &s.Queues[0].Buffers[0].Commands, &s.Streams[0].Tasks
		*b = append(*b, fmt.Sprintf("update G %d", i), fmt.Sprintf("wait C %d", i))
		*t = append(*t, fmt.Sprintf("wait G %d", i), fmt.Sprintf("update C %d", i))
	}
	sc := &model.Scenario{Version: model.FormatVersion, Schedule: s}
	programs, err := sc.Programs(model.Count)
	if err != nil {
		return Distribution{}, err
	}
	p := NewPlan(programs, model.Machine{})
	r, err := NewRunner(ctx, p, d)
	if err != nil {
		return Distribution{}, err
	}
	defer r.Close()
	c := q.Config
	c.Spin = true
	out, err := r.Run(c)
	if err != nil {
		return Distribution{}, err
	}
	if !out.Finished {
		return Distribution{}, fmt.Errorf("the handoffs hung")
	}
	var trips []float64
	last := int64(-1)
	for _, l := range out.chains {
		for _, e := range l {
			if e.t.Kind != sim.KindRun || p.agents[e.t.Agent].kind != sim.CPUStream || p.agents[e.t.Agent].info[e.t.Cmd].Op != model.OpUpdate {
				continue
			}
			if last >= 0 {
				trips = append(trips, float64(e.ns-last)/1000)
			}
			last = e.ns
		}
	}
	return distribution(trips), nil
}

// makespans runs the scaled workload under both disciplines by turns.
func (m *Measurement) makespans(ctx context.Context, q *MeasureRequest, d Device, note func(string)) error {
	words := []model.Discipline{model.Count, model.PerUpdate}
	times, overlaps := make([][]float64, 2), make([]float64, 2)
	var runners []*Runner
	for _, w := range words {
		sc := &model.Scenario{Version: model.FormatVersion, Ranks: q.Ranks,
			Generate: &model.Generate{Kind: "independent-reductions", Reductions: q.Reductions, Rounds: 8, Elems: 4096 * 4096}}
		programs, err := sc.Programs(w)
		if err != nil {
			return err
		}
		r, err := NewRunner(ctx, NewPlan(programs, model.Machine{}), d)
		if err != nil {
			return err
		}
		defer r.Close()
		runners = append(runners, r)
	}
	c := q.Config
	c.Kernel, c.Rounds = q.Kernel, q.Collective
	for i := range q.Repeat {
		for k, r := range runners {
			note(fmt.Sprintf("%s, run %d", words[k], i+1))
			out, err := r.Run(c)
			if err != nil {
				return err
			}
			if !out.Finished {
				return fmt.Errorf("%s hung on the device as it is", words[k])
			}
			span, overlap := r.plan.span(out)
			times[k] = append(times[k], span/1000)
			overlaps[k] += overlap / float64(q.Repeat)
		}
	}
	for k, w := range words {
		m.Makespan = append(m.Makespan, Makespan{w.String(), distribution(times[k]), overlaps[k], q.Repeat})
	}
	m.Ratio = m.Makespan[0].Time.Median / m.Makespan[1].Time.Median
	return nil
}

// span is the time of a run from its first transition to its last, in nanoseconds, and
// the part of rank 0's collectives in which a kernel of rank 0 computed.
func (p *Plan) span(out *Outcome) (whole, overlap float64) {
	first, last := int64(1<<62), int64(0)
	var busy, meet [][2]int64
	for _, l := range out.chains {
		began := int64(0)
		for _, e := range l {
			first, last = min(first, e.ns), max(last, e.ns)
			if e.t.Kind == sim.KindVisible || p.agents[e.t.Agent].rank != 0 {
				continue
			}
			switch {
			case e.t.Kind == sim.KindArrive:
				began = e.ns
			case e.t.Kind == sim.KindLeave:
				meet = append(meet, [2]int64{began, e.ns})
			case e.t.Kind == sim.KindRun && p.agents[e.t.Agent].kind == sim.Queue && p.agents[e.t.Agent].info[e.t.Cmd].Op == model.OpKernel:
				busy = append(busy, [2]int64{e.ns - e.took, e.ns})
			}
		}
	}
	total, both := int64(0), int64(0)
	for _, m := range meet {
		total += m[1] - m[0]
		for _, b := range busy {
			both += max(0, min(m[1], b[1])-max(m[0], b[0]))
		}
	}
	return float64(last - first), float64(both) / float64(max(total, 1))
}
