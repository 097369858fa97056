package model

import (
	"fmt"
	"io"
)

// Folding: a run of at least foldRepeats repetitions of the same up to foldPeriod lines,
// numbers aside, is written as its first repetition, a count and its last.
const (
	foldPeriod  = 24
	foldRepeats = 4
)

// printFolded writes n lines, of which line appends the i-th to b. Lines are made anew when
// they are written: a million of them need not be kept.
func printFolded(w io.Writer, n int, line func(b []byte, i int) []byte) {
	shape := shapes(n, line)
	var scratch []byte
	write := func(from, to int) {
		for i := from; i < to; i++ {
			scratch = append(line(scratch[:0], i), '\n')
			w.Write(scratch)
		}
	}
	for i := 0; i < n; {
		period, repeats := longestRun(shape[i:])
		if repeats < foldRepeats {
			write(i, i+1)
			i++
			continue
		}
		write(i, i+period)
		switch period {
		case 1:
			fmt.Fprintf(w, "     …  %d more like it, then\n", repeats-2)
		default:
			fmt.Fprintf(w, "     …  %d more like these %d, then\n", repeats-2, period)
		}
		i += period * repeats
		write(i-period, i)
	}
}

// shapes numbers the lines so that those that differ only in numbers are equal.
func shapes(n int, line func(b []byte, i int) []byte) []int32 {
	index := make(map[string]int32)
	out := make([]int32, n)
	var text, key []byte
	for i := range out {
		text = line(text[:0], i)
		key = appendShape(key[:0], text)
		k, ok := index[string(key)]
		if !ok {
			k = int32(len(index))
			index[string(key)] = k
		}
		out[i] = k
	}
	return out
}

// appendShape appends line to b with # for each number and one space for several.
func appendShape(b, line []byte) []byte {
	last := byte(0)
	for _, c := range line {
		if c >= '0' && c <= '9' {
			c = '#'
		}
		if c == last && (c == '#' || c == ' ') {
			continue
		}
		b = append(b, c)
		last = c
	}
	return b
}

// longestRun is the period that folds most lines at the start of shape, and how often it
// repeats there.
func longestRun(shape []int32) (period, repeats int) {
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
