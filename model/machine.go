package model

import (
	"encoding/json"
	"fmt"
)

// A Machine is the assumptions about hardware, driver and runtime under which a schedule
// runs. Each field is one parameter of the table [Parameters]; the zero value of a field
// means the parameter's default, so the zero Machine is the preset ideal.
type Machine struct {
	Buffers   string `json:"buffers,omitempty"`
	Tracking  string `json:"tracking,omitempty"`
	LookAhead int    `json:"look_ahead,omitempty"`
	Dispatch  string `json:"dispatch,omitempty"`
	Device    string `json:"device,omitempty"`
	Slots     int    `json:"slots,omitempty"`
	InFlight  int    `json:"in_flight,omitempty"`
	Memory    int    `json:"memory,omitempty"`
	Store     string `json:"store,omitempty"`
	SpinLimit int    `json:"spin_limit,omitempty"`
	Watchdog  string `json:"watchdog,omitempty"`
	AfterKill string `json:"after_kill,omitempty"`
	Payload   string `json:"payload,omitempty"`

	Transport Transport  `json:"transport,omitzero"`
	GPUToCPU  Visibility `json:"gpu_to_cpu,omitzero"`
	CPUToGPU  Visibility `json:"cpu_to_gpu,omitzero"`
}

// The values of the parameters, as they stand in files.
const (
	InOrder, Overlap                                    = "in-order", "overlap"
	TrackAll, TrackArrays, TrackNone                    = "all", "arrays", "none"
	Serial, Concurrent                                  = "serial", "concurrent"
	Shared, Exclusive                                   = "shared", "exclusive"
	StorePlain, StoreGuarded, StoreMax                  = "plain", "guarded", "max"
	WatchdogOff, WatchdogMay, WatchdogMust, WatchdogAny = "off", "may", "must", "any"
	GoOn, Ignore                                        = "go-on", "ignore"
	PayloadIgnored, PayloadCoherent                     = "ignored", "coherent"
	VisImmediate, VisLag, VisUnordered, VisUnreliable   = "immediate", "lag", "unordered", "unreliable"
	TransportRendezvous                                 = "rendezvous"
)

// Visibility says when a store of one side reaches the view of the other. Buffers is the
// n of lag and 0 otherwise. The zero value is immediate.
type Visibility struct {
	Mode    string `json:"mode"`
	Buffers int    `json:"buffers,omitempty"`
}

// String is the mode, "lag-3" for a lag of three buffers.
func (v Visibility) String() string {
	switch v.Mode {
	case "":
		return VisImmediate
	case VisLag:
		return fmt.Sprintf("lag-%d", v.Buffers)
	}
	return v.Mode
}

// MarshalJSON writes the form of scenario files: a mode, or a map for lag.
func (v Visibility) MarshalJSON() ([]byte, error) {
	if v.Mode != VisLag {
		return json.Marshal(v.String())
	}
	type plain struct {
		Mode    string `json:"mode"`
		Buffers int    `json:"buffers"`
	}
	return json.Marshal(plain(v))
}

// Transport is how send meets recv: in one joint transition (Buffered 0, rendezvous), or
// through a first-in first-out buffer of Buffered arrays per pair of sender and receiver.
type Transport struct {
	Buffered int `json:"buffered"`
}

// String is "rendezvous" or "buffered-n".
func (t Transport) String() string {
	if t.Buffered == 0 {
		return TransportRendezvous
	}
	return fmt.Sprintf("buffered-%d", t.Buffered)
}

// MarshalJSON writes the form of scenario files.
func (t Transport) MarshalJSON() ([]byte, error) {
	if t.Buffered == 0 {
		return json.Marshal(TransportRendezvous)
	}
	type plain Transport
	return json.Marshal(plain(t))
}

// A Parameter is one row of the table of machine parameters. Exactly one of its accessors
// is set: text for a choice among Values, number for a count (0 stands for "no limit").
type Parameter struct {
	Name   string
	Values []string // the default first; nil for counts
	Doc    string
	Source string // where the claim about real machines comes from

	text       func(*Machine) *string
	number     func(*Machine) *int
	visibility func(*Machine) *Visibility
	transport  func(*Machine) *Transport
}

// Parameters is the table of all machine parameters, in the order in which they are
// shown. The parser, the schema, `show`, the documentation and the tests walk it.
var Parameters = []Parameter{
	{Name: "buffers", Values: []string{InOrder, Overlap}, Doc: "in-order: a buffer starts when its predecessor on the queue has finished; overlap: it may start at once, subject to tracking and look_ahead",
		Source: "untracked Metal resources promise no order (mlx#1509, mlx#3144)", text: func(m *Machine) *string { return &m.Buffers }},
	{Name: "tracking", Values: []string{TrackAll, TrackArrays, TrackNone}, Doc: "with overlap, which earlier unfinished buffers of its queue a buffer waits for before it starts: those that write an array that it reads or writes or touch one of its fences; only the former; none",
		Source: "arrays only before mlx#3144, fences too since", text: func(m *Machine) *string { return &m.Tracking }},
	{Name: "look_ahead", Doc: "with overlap, a buffer may start only while fewer than n earlier buffers of its queue are unfinished; 0 = no limit",
		Source: "guess that fits the reported 12/8/0", number: func(m *Machine) *int { return &m.LookAhead }},
	{Name: "dispatch", Values: []string{Serial, Concurrent}, Doc: "concurrent: commands between barriers run beside each other; the next section begins when all have ended",
		Source: "MLX uses concurrent encoders with explicit barriers", text: func(m *Machine) *string { return &m.Dispatch }},
	{Name: "device", Values: []string{Shared, Exclusive}, Doc: "exclusive: one started buffer on the whole device at a time, which keeps the device until it has finished",
		Source: "two queues that do not overlap (mlx#3142, September 2026)", text: func(m *Machine) *string { return &m.Device }},
	{Name: "slots", Doc: "n slots per device over all queues; a spinning wait holds one, a kernel, update, release, coherent or signal needs a free one; 0 = no limit",
		Source: "co-residency is not guaranteed (NCCL#195, Sorensen et al. 2021)", number: func(m *Machine) *int { return &m.Slots }},
	{Name: "in_flight", Doc: "a commit blocks the main thread while n committed buffers of that queue are unfinished; 0 = no limit",
		Source: "12 in MLX before #1969, 64 is Metal's default", number: func(m *Machine) *int { return &m.InFlight }},
	{Name: "memory", Doc: "units of memory that alloc shares out; alloc blocks while too few are free; 0 = no limit",
		Source: "allocation that waits inside encode (mlx#1976)", number: func(m *Machine) *int { return &m.Memory }},
	{Name: "store", Values: []string{StorePlain, StoreGuarded, StoreMax}, Doc: "of the GPU: plain overwrites; guarded reads, then stores if the value read was smaller (two transitions); max is one",
		Source: "plain in every MLX release, guarded in the unmerged mlx#1926", text: func(m *Machine) *string { return &m.Store }},
	{Name: "spin_limit", Doc: "n > 0: an unsatisfied GPU wait gives up (guaranteed as soon as it spins) and the run goes on; 0 = it spins for ever",
		Source: "bounded spin of a fork of MLX", number: func(m *Machine) *int { return &m.SpinLimit }},
	{Name: "watchdog", Values: []string{WatchdogOff, WatchdogMay, WatchdogMust, WatchdogAny}, Doc: "may: a started buffer at an unsatisfied wait or await may be killed; must: it will be; any: any started buffer may be",
		Source: "about 5 s on macOS (mlx#3830, exo#1620)", text: func(m *Machine) *string { return &m.Watchdog }},
	{Name: "after_kill", Values: []string{GoOn, Ignore}, Doc: "ignore: after a kill no later buffer of the process starts",
		Source: "submissions ignored after GPU errors (omlx#3706)", text: func(m *Machine) *string { return &m.AfterKill }},
	{Name: "payload", Values: []string{PayloadIgnored, PayloadCoherent}, Doc: "ignored: an array that is written is visible; coherent: a GPU write is visible to the CPU once `coherent` has run on it or its buffer has finished",
		Source: "input_coherent in MLX's fence (mlx#2153)", text: func(m *Machine) *string { return &m.Payload }},
	{Name: "transport", Values: []string{TransportRendezvous, "{buffered: n}"}, Doc: "send and recv are one joint transition, or meet through a buffer of n arrays per sender and receiver",
		Source: "eager against rendezvous sends (ompi#11168)", transport: func(m *Machine) *Transport { return &m.Transport }},
	{Name: "gpu_to_cpu", Values: []string{VisImmediate, "{mode: lag, buffers: n}", VisUnordered, VisUnreliable}, Doc: "when a GPU store reaches the CPU's view: at once; possibly at any time and certainly once its buffer and n later ones have finished (or all committed ones); each store by itself in any order; possibly never",
		Source: "Metal documents buffer completion (n = 0); no coherence is promised (mlx#3456)", visibility: func(m *Machine) *Visibility { return &m.GPUToCPU }},
	{Name: "cpu_to_gpu", Values: []string{VisImmediate, VisUnreliable}, Doc: "when a CPU store reaches the GPU's view: at once, or possibly never",
		Source: "disputed (mlx#3141, mlx#3456); CUDA: mlx#2231", visibility: func(m *Machine) *Visibility { return &m.CPUToGPU }},
}

// ParameterNamed returns the row of [Parameters] with that name, or nil.
func ParameterNamed(name string) *Parameter {
	for i := range Parameters {
		if Parameters[i].Name == name {
			return &Parameters[i]
		}
	}
	return nil
}

// Value is the parameter's value in m as text.
func (p *Parameter) Value(m *Machine) string {
	switch {
	case p.text != nil:
		if v := *p.text(m); v != "" {
			return v
		}
		return p.Values[0]
	case p.number != nil:
		return fmt.Sprint(*p.number(m))
	case p.visibility != nil:
		return p.visibility(m).String()
	}
	return p.transport(m).String()
}

// Normal returns m with every default filled in, so that equal assumptions are equal
// values.
func (m Machine) Normal() Machine {
	for i := range Parameters {
		p := &Parameters[i]
		switch {
		case p.text != nil:
			if v := p.text(&m); *v == "" {
				*v = p.Values[0]
			}
		case p.visibility != nil:
			v := p.visibility(&m)
			if v.Mode == "" {
				v.Mode = VisImmediate
			}
			if v.Mode != VisLag {
				v.Buffers = 0
			}
		}
	}
	return m
}

// MarshalJSON writes every parameter, defaults filled in, in the order of the table.
func (m Machine) MarshalJSON() ([]byte, error) {
	m = m.Normal()
	b := []byte{'{'}
	for i := range Parameters {
		p := &Parameters[i]
		var v any
		switch {
		case p.text != nil:
			v = *p.text(&m)
		case p.number != nil:
			v = *p.number(&m)
		case p.visibility != nil:
			v = *p.visibility(&m)
		default:
			v = *p.transport(&m)
		}
		j, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", p.Name, j)
	}
	return append(b, '}'), nil
}

// A Preset is a machine with a name and the assumption that it states.
type Preset struct {
	Name    string
	About   string
	Machine Machine
}

// Presets is the list of named machines. From ideal to unreliable-read with lag-0 to
// lag-5 between they are ordered by strength; the others are not ordered.
var Presets = presets()

func presets() []Preset {
	ps := []Preset{{"ideal", "every default: buffers in order, stores visible at once", Machine{}}}
	for n := range 6 {
		about := fmt.Sprintf("a GPU store is sure to be seen by the CPU only when its buffer and %d later ones have finished, or all committed ones", n)
		if n == 0 {
			about = "a GPU store is sure to be seen by the CPU only when its buffer has finished (what Metal documents)"
		}
		ps = append(ps, Preset{fmt.Sprintf("lag-%d", n), about, Machine{GPUToCPU: Visibility{VisLag, n}}})
	}
	unordered := Visibility{Mode: VisUnordered}
	overlap := func(tracking string) Machine { return Machine{Buffers: Overlap, Tracking: tracking} }
	return append(ps,
		Preset{"unordered", "GPU stores reach the CPU in any order and overwrite", Machine{GPUToCPU: unordered}},
		Preset{"unordered-guarded", "the same with a guarded store", Machine{GPUToCPU: unordered, Store: StoreGuarded}},
		Preset{"unordered-max", "the same with an atomic maximum", Machine{GPUToCPU: unordered, Store: StoreMax}},
		Preset{"unreliable-read", "nothing guarantees that the CPU sees a GPU store", Machine{GPUToCPU: Visibility{Mode: VisUnreliable}}},
		Preset{"unreliable-write", "nothing guarantees that the GPU sees a CPU store", Machine{CPUToGPU: Visibility{Mode: VisUnreliable}}},
		Preset{"overlap-untracked", "buffers of a queue overlap, nothing is tracked", overlap(TrackNone)},
		Preset{"overlap-arrays", "buffers of a queue overlap unless they share a written array (MLX before #3144)", overlap(TrackArrays)},
		Preset{"overlap-tracked", "buffers of a queue overlap unless they share a written array or a fence (MLX since #3144)", overlap(TrackAll)},
		Preset{"overtake", "overlap with arrays tracked, look-ahead 5 and one slot: a spinning buffer can overtake updates and hold the GPU", Machine{Buffers: Overlap, Tracking: TrackArrays, LookAhead: 5, Slots: 1}},
		Preset{"exclusive-device", "one started buffer on the device at a time", Machine{Device: Exclusive}},
		Preset{"one-slot", "one slot on the device: a spinning wait stops everything else", Machine{Slots: 1}},
		Preset{"queue-limit-12", "twelve unfinished buffers per queue, then commit blocks (MLX before #1969)", Machine{InFlight: 12}},
		Preset{"spin-limit", "a GPU wait gives up after a while", Machine{SpinLimit: 1}},
		Preset{"watchdog-may", "a buffer may be killed while it waits", Machine{Watchdog: WatchdogMay}},
		Preset{"watchdog-must", "a buffer is killed while it waits", Machine{Watchdog: WatchdogMust}},
		Preset{"kill-any", "any started buffer may be killed", Machine{Watchdog: WatchdogAny}},
	)
}

// PresetNamed returns the preset with that name.
func PresetNamed(name string) (Preset, bool) {
	for _, p := range Presets {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// Name is the name of the preset that equals m, or "" when none does.
func (m Machine) Name() string {
	m = m.Normal()
	for _, p := range Presets {
		if p.Machine.Normal() == m {
			return p.Name
		}
	}
	return ""
}

// Reset is m with the parameter at its default.
func (p *Parameter) Reset(m Machine) Machine {
	switch {
	case p.text != nil:
		*p.text(&m) = p.Values[0]
	case p.number != nil:
		*p.number(&m) = 0
	case p.visibility != nil:
		*p.visibility(&m) = Visibility{Mode: VisImmediate}
	default:
		*p.transport(&m) = Transport{}
	}
	return m
}
