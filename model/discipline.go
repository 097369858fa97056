package model

import (
	"fmt"
	"strings"
)

// A Discipline is the rule that gives a wait on an array its target: a value of the fence
// of the stream that makes the array. The zero value is count.
type Discipline uint8

// The disciplines.
const (
	Count      Discipline = iota // how many updates had been scheduled when the wait was encoded
	Late                         // how many have been scheduled at each test
	Whole                        // how many the whole tape has
	PerUpdate                    // the update that follows the array itself
	EventCount                   // count's targets on shared events
	Event                        // per-update's targets on shared events
)

// A DisciplineInfo is one row of the table [Disciplines].
type DisciplineInfo struct {
	Discipline Discipline
	Word       string
	Doc        string
}

// Disciplines is the table of all disciplines in the order in which they are shown.
var Disciplines = []DisciplineInfo{
	{Count, "count", "a wait's target is how many updates of the producer had been scheduled when the wait was encoded (MLX fast synch up to the fix)"},
	{Late, "late", "the target is how many have been scheduled at each test while waiting: a captured reference instead of a value"},
	{Whole, "tape", "the target is how many updates the whole tape has"},
	{PerUpdate, "per-update", "the target is the update that follows the array itself (the fix)"},
	{EventCount, "event-count", "count's targets on shared events between encoders (MLX's default mode)"},
	{Event, "event", "per-update's targets on shared events between encoders"},
}

// String is the discipline's word in files and flags.
func (d Discipline) String() string { return Disciplines[d].Word }

// Events reports whether d waits on shared events instead of fences.
func (d Discipline) Events() bool { return d == EventCount || d == Event }

// ParseDiscipline reads the word of a discipline.
func ParseDiscipline(word string) (Discipline, error) {
	var words []string
	for _, i := range Disciplines {
		if i.Word == word {
			return i.Discipline, nil
		}
		words = append(words, i.Word)
	}
	return 0, fmt.Errorf("unknown discipline %q: want one of %s", word, strings.Join(words, ", "))
}

// UnmarshalText is [ParseDiscipline].
func (d *Discipline) UnmarshalText(b []byte) error {
	v, err := ParseDiscipline(string(b))
	*d = v
	return err
}

// MarshalText is String as bytes.
func (d Discipline) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
