package check

import (
	"fmt"
	"strings"

	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/sim"
)

// A sight is what can be seen of one stuck state.
type sight struct {
	model.Counters
	main     string // "throttle d20", "synchronize gpu", "end"
	stream   string
	device   string
	fault    string
	executed uint32 // the largest value of the first GPU fence that was stored
	later    uint32 // what the GPU counter may still rise to
}

// looks reports whether s is as observed, the counters aside.
func (s *sight) looks(o *Observation) bool {
	for _, k := range Observables {
		if k.Name == "seen" || !o.has(k.Name) {
			continue
		}
		want := o.value(k.Name)
		ok := false
		for _, v := range s.values(k.Name) {
			ok = ok || v == want || k.Name == "main" && strings.HasPrefix(v, want+" ")
		}
		if !ok {
			return false
		}
	}
	return true
}

// value is an observation as a word; later values are told by whether they rise.
func (o *Observation) value(name string) string {
	switch name {
	case "stream":
		return o.Stream
	case "main":
		return o.Main
	case "device":
		return o.Device
	case "error":
		return o.Error
	case "executed":
		return o.Executed
	case "later":
		switch {
		case *o.Later > *o.GPU:
			return "rises"
		case *o.Later < *o.GPU:
			return "falls"
		}
		return "same"
	}
	return ""
}

// values are the words that s allows for an observable.
func (s *sight) values(name string) []string {
	switch name {
	case "stream":
		return []string{s.stream}
	case "main":
		return []string{s.main}
	case "device":
		return []string{s.device}
	case "error":
		return []string{s.fault}
	case "executed":
		switch {
		case s.executed <= s.GPU && s.GPU < s.Scheduled:
			return []string{"none"}
		case s.executed < s.Scheduled:
			return []string{"some"}
		}
		return []string{"all"}
	case "later":
		if s.later > s.GPU {
			return []string{"rises", "same"}
		}
		return []string{"same"}
	}
	return nil
}

// sightOf looks at rank 0 of a stuck state of the simulator.
func sightOf(y *sim.System, st sim.State, killed bool) sight {
	s := sight{Counters: y.Counters(st, 0), main: "end", stream: "done", device: "idle", fault: "no"}
	if killed {
		s.fault = "yes"
	}
	lo, _ := y.AgentsOf(0)
	for _, b := range y.Blocked(st, 0) {
		switch y.AgentKindOf(b.Index) {
		case sim.Queue:
			if !strings.HasPrefix(b.At, "start of") {
				s.device = "busy"
			}
		case sim.MainThread:
			if b.Index == lo {
				s.main = b.At
			}
		default:
			word, _, _ := strings.Cut(b.At, " ")
			switch word {
			case "wait", "park", "await":
				s.stream = "wait"
			case "collective", "send", "recv":
				if s.stream == "done" {
					s.stream = "collective"
				}
			default:
				if s.stream == "done" {
					s.stream = word
				}
			}
		}
	}
	if steps := y.Programs[0].Steps(); s.main != "end" {
		if at := len(steps) - y.Remaining(st, lo); at < len(steps) {
			s.main = mainLabel(y.Programs[0], &steps[at])
		}
	}
	s.executed, s.later = s.GPU, s.GPU
	if f := counterOf(y); f >= 0 {
		if killed { // a command of a killed buffer counts as executed; what was stored is in the GPU's view
			for _, st := range y.FenceStates(st, 0) {
				if y.FenceName(f) == st.Name || strings.HasSuffix(y.FenceName(f), " "+st.Name) {
					s.executed = max(s.executed, st.SeenByGPU)
				}
			}
		}
		unreliable := y.Machine.GPUToCPU.Mode == model.VisLag || y.Machine.GPUToCPU.Mode == model.VisUnreliable
		for _, x := range y.Stores(st, f, false) {
			if x.Executed && !x.Add && !killed {
				s.executed = max(s.executed, x.Value)
			}
			if x.OnItsWay && unreliable {
				s.later = max(s.later, x.Value)
			}
		}
	}
	return s
}

// counterOf is the fence of the GPU counter of rank 0, or -1.
func counterOf(y *sim.System) int32 {
	lo, hi := y.AgentsOf(0)
	for a := lo; a < hi; a++ {
		if y.AgentKindOf(a) != sim.Queue {
			continue
		}
		for i, c := range y.Commands(a) {
			if (c.Op == model.OpUpdate || c.Op == model.OpRelease) && !y.Remote(a, int32(i)) {
				return c.Object
			}
		}
		break // the first queue's
	}
	return -1
}

// mainLabel names a step in which the main thread blocks: by the array behind which a
// throttle stands, if it has one.
func mainLabel(p *model.Schedule, st *model.Step) string {
	switch st.Kind {
	case model.StepThrottle:
		if st.Array != model.NoSym {
			return "throttle " + p.Names.Of(st.Array)
		}
		return fmt.Sprintf("throttle %d", st.N)
	case model.StepSynchronize:
		if st.Queue {
			return "synchronize " + p.Queues[st.Target].Name
		}
		return "synchronize " + p.Streams[st.Target].Name
	case model.StepCommand:
		return st.Command.Text(&p.Names)
	}
	return "commit " + p.Queues[st.Target].Name
}
