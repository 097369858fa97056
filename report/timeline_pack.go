package report

import (
	"math"
	"slices"
	"strings"
)

// pack gives boxes and flights of a lane rows in which they do not lie over each other.
func (t *Timeline) pack() {
	slices.SortFunc(t.Boxes, func(a, b Box) int {
		if a.Lane != b.Lane {
			return a.Lane - b.Lane
		}
		return a.Buffer - b.Buffer
	})
	rows := newRows(len(t.Lanes))
	order := make([]int, len(t.Boxes)) // by start; the rows of buffers that start later are free longer
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return t.Boxes[a].Started - t.Boxes[b].Started })
	for _, i := range order {
		if b := &t.Boxes[i]; b.Started >= 0 {
			b.Row = rows.take(b.Lane, b.Started, b.Finished)
		}
	}
	for i := range t.Flights {
		f := &t.Flights[i]
		f.Row = rows.take(f.Lane, f.From, f.To)
	}
	for i := range t.Lanes {
		t.Lanes[i].Rows = max(1, len(rows.free[i]))
	}
}

// rows hands out rows of lanes.
type rows struct{ free [][]int } // by lane and row: the time from which it is free

func newRows(lanes int) rows { return rows{make([][]int, lanes)} }

// take gives the first row that is free at from, until to (-1: for ever).
func (r rows) take(lane, from, to int) int {
	if to < 0 {
		to = math.MaxInt
	}
	for i, at := range r.free[lane] {
		if at <= from {
			r.free[lane][i] = to
			return i
		}
	}
	r.free[lane] = append(r.free[lane], to)
	return len(r.free[lane]) - 1
}

// short is a command in words without the arrays that it reads and writes.
func short(text string) string {
	text, _, _ = strings.Cut(text, " reads ")
	text, _, _ = strings.Cut(text, " writes ")
	return text
}

func isEqual(text string) bool { return strings.Contains(text, " == ") }
