package model

import (
	"fmt"
	"strconv"
	"strings"
)

// GoString is a Go expression that reads the scenario again, its file as a literal: what %#v
// prints, and with it whoever shows the values that a test has drawn.
func (s *Scenario) GoString() string {
	if s == nil {
		return "(*model.Scenario)(nil)"
	}
	text, err := s.Format()
	if err != nil { // names that no file can have
		type plain Scenario
		return fmt.Sprintf("%#v", (*plain)(s))
	}
	literal := "`\n" + string(text) + "`"
	if strings.ContainsAny(string(text), "`\r") {
		literal = strconv.Quote(string(text))
	}
	return "fencetest.Parse(t, " + literal + ")"
}
