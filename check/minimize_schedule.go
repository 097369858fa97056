package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencesim/fencesim/model"
)

// schedule tries to shrink an explicit schedule: whole lists first, then runs of commands,
// then single ones, then what commands read.
func (m *minimizer) schedule() bool {
	any := false
	for again := true; again && m.ok(); {
		again = m.dropMain() || m.dropLists() || m.dropCommands() || m.dropReads()
		any = any || again
	}
	return any
}

// edited is the best scenario with its schedule changed by edit, which works on a copy.
func (m *minimizer) edited(edit func(s *model.ScheduleFile)) *model.Scenario {
	c := *m.best
	s := *m.best.Schedule
	s.Queues = slices.Clone(s.Queues)
	for i := range s.Queues {
		s.Queues[i].Buffers = slices.Clone(s.Queues[i].Buffers)
	}
	s.Streams = slices.Clone(s.Streams)
	edit(&s)
	c.Schedule = &s
	return &c
}

// dropMain tries the default main thread.
func (m *minimizer) dropMain() bool {
	return m.best.Schedule.Main != nil && m.try(m.edited(func(s *model.ScheduleFile) { s.Main = nil }), "the main thread's own steps")
}

// dropLists tries without each queue, buffer, stream and declared fence.
func (m *minimizer) dropLists() bool {
	any := false
	for i := len(m.best.Schedule.Queues) - 1; i >= 0; i-- {
		name := m.best.Schedule.Queues[i].Name
		any = m.try(m.edited(func(s *model.ScheduleFile) { s.Queues = slices.Delete(s.Queues, i, i+1) }), "queue "+name) || any
	}
	for i := range m.best.Schedule.Queues {
		for b := len(m.best.Schedule.Queues[i].Buffers) - 1; b >= 0; b-- {
			name := fmt.Sprintf("buffer %d of %s", b, m.best.Schedule.Queues[i].Name)
			any = m.try(m.edited(func(s *model.ScheduleFile) {
				s.Queues[i].Buffers = slices.Delete(s.Queues[i].Buffers, b, b+1)
			}), name) || any
		}
	}
	for i := len(m.best.Schedule.Streams) - 1; i >= 0; i-- {
		name := m.best.Schedule.Streams[i].Name
		any = m.try(m.edited(func(s *model.ScheduleFile) { s.Streams = slices.Delete(s.Streams, i, i+1) }), "stream "+name) || any
	}
	return any
}

// dropCommands tries without runs of commands of each buffer and stream: halves, quarters,
// and so on down to single ones (delta debugging, Zeller and Hildebrandt 2002).
func (m *minimizer) dropCommands() bool {
	any := false
	drop := func(what string, get func(s *model.ScheduleFile) *[]string) {
		for size := max(1, len(*get(m.best.Schedule))/2); size >= 1; size /= 2 {
			for at := len(*get(m.best.Schedule)) - size; at >= 0; {
				list := *get(m.best.Schedule)
				words := fmt.Sprintf("%s of %s", strings.Join(list[at:at+size], ", "), what)
				if m.try(m.edited(func(s *model.ScheduleFile) {
					p := get(s)
					*p = slices.Delete(slices.Clone(*p), at, at+size)
				}), words) {
					any = true
				}
				at = min(at, len(*get(m.best.Schedule))) - size
			}
		}
	}
	for i := range m.best.Schedule.Queues {
		for b := range m.best.Schedule.Queues[i].Buffers {
			drop(fmt.Sprintf("buffer %d of %s", b, m.best.Schedule.Queues[i].Name), func(s *model.ScheduleFile) *[]string {
				return &s.Queues[i].Buffers[b].Commands
			})
		}
	}
	for i := range m.best.Schedule.Streams {
		drop(m.best.Schedule.Streams[i].Name, func(s *model.ScheduleFile) *[]string { return &s.Streams[i].Tasks })
	}
	return any
}

// dropReads tries commands without what they read, so that the writers can go next.
func (m *minimizer) dropReads() bool {
	if m.property != "hang" {
		return false
	}
	strip := func(list []string) ([]string, bool) {
		out, changed := slices.Clone(list), false
		for i, c := range out {
			if at := strings.Index(c, " reads "); at >= 0 {
				rest := ""
				if w := strings.Index(c[at:], " writes "); w >= 0 {
					rest = c[at+w:]
				}
				out[i], changed = c[:at]+rest, true
			}
		}
		return out, changed
	}
	changed := false
	sc := m.edited(func(s *model.ScheduleFile) {
		for i := range s.Queues {
			for b := range s.Queues[i].Buffers {
				l, c := strip(s.Queues[i].Buffers[b].Commands)
				s.Queues[i].Buffers[b].Commands, changed = l, changed || c
			}
		}
		for i := range s.Streams {
			l, c := strip(s.Streams[i].Tasks)
			s.Streams[i].Tasks, changed = l, changed || c
		}
	})
	return changed && m.try(sc, "what commands read")
}
