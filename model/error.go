package model

import (
	"fmt"
	"strings"
)

// An Error is a fault in an input file. Line and Col count from 1; Line 0 means that the
// value at fault came from no file, and Msg then begins with its path in the scenario.
type Error struct {
	File string
	Line int
	Col  int
	Msg  string
}

// newError makes an Error whose message is printable and of bounded length, whatever was
// quoted in it.
func newError(file string, line, col int, format string, args ...any) *Error {
	const limit = 600
	msg := Printable(fmt.Sprintf(format, args...))
	if len(msg) > limit {
		msg = strings.ToValidUTF8(msg[:limit], "") + "…"
	}
	return &Error{file, line, col, msg}
}

// Error is "FILE:LINE:COL: message", without what is not known.
func (e *Error) Error() string {
	switch {
	case e.Line == 0 && e.File == "":
		return e.Msg
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	case e.File == "":
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}
