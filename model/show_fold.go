package model

import (
	"fmt"
	"io"
	"strings"
)

// Folding: a run of at least foldRepeats repetitions of the same up to foldPeriod lines,
// numbers aside, is written as its first repetition, a count and its last.
const (
	foldPeriod  = 24
	foldRepeats = 4
)

func printFolded(w io.Writer, lines []string) {
	shape := shapes(lines)
	for i := 0; i < len(lines); {
		period, repeats := longestRun(shape[i:])
		if repeats < foldRepeats {
			fmt.Fprintln(w, lines[i])
			i++
			continue
		}
		for _, line := range lines[i : i+period] {
			fmt.Fprintln(w, line)
		}
		switch period {
		case 1:
			fmt.Fprintf(w, "     …  %d more like it, then\n", repeats-2)
		default:
			fmt.Fprintf(w, "     …  %d more like these %d, then\n", repeats-2, period)
		}
		i += period * repeats
		for _, line := range lines[i-period : i] {
			fmt.Fprintln(w, line)
		}
	}
}

// shapes numbers the lines so that those that differ only in numbers are equal.
func shapes(lines []string) []int {
	index := make(map[string]int)
	out := make([]int, len(lines))
	for i, line := range lines {
		key := shapeOfLine(line)
		n, ok := index[key]
		if !ok {
			n = len(index)
			index[key] = n
		}
		out[i] = n
	}
	return out
}

// shapeOfLine writes # for each number and one space for several.
func shapeOfLine(line string) string {
	var b strings.Builder
	last := byte(0)
	for i := range len(line) {
		c := line[i]
		if c >= '0' && c <= '9' {
			c = '#'
		}
		if c == last && (c == '#' || c == ' ') {
			continue
		}
		b.WriteByte(c)
		last = c
	}
	return b.String()
}

// longestRun is the period that folds most lines at the start of shape, and how often it
// repeats there.
func longestRun(shape []int) (period, repeats int) {
	best := 0
	for p := 1; p <= foldPeriod && p*foldRepeats <= len(shape); p++ {
		n := p
		for n < len(shape) && shape[n] == shape[n-p] {
			n++
		}
		if r := n / p; r >= foldRepeats && (r-2)*p > best {
			best, period, repeats = (r-2)*p, p, r
		}
	}
	return period, repeats
}
