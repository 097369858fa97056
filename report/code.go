package report

import (
	"fmt"
	"strconv"
	"strings"
)

// A code is a run in one word for a command line: the choices among the enabled
// transitions of each state in turn, separated by commas. c:n is n times c, and a+bxn is n
// times a and then b, where a and b are of the form c or c:n. No shell reads any of it as
// its own.

// FormatCode writes choices as a code; [ParseCode] reads it back.
func FormatCode(choices []int) string {
	var runs []string
	for i := 0; i < len(choices); {
		n := 1
		for i+n < len(choices) && choices[i+n] == choices[i] {
			n++
		}
		run := strconv.Itoa(choices[i])
		if n > 1 {
			run += ":" + strconv.Itoa(n)
		}
		runs = append(runs, run)
		i += n
	}
	var parts []string
	for i := 0; i < len(runs); {
		period, times := repeated(runs[i:])
		part := strings.Join(runs[i:i+period], "+")
		if times > 1 {
			part += "x" + strconv.Itoa(times)
		}
		parts = append(parts, part)
		i += period * times
	}
	return strings.Join(parts, ",")
}

// mostPeriod is the longest group of runs that is looked for.
const mostPeriod = 8

// repeated is the group at the start of runs that covers most by being repeated, and how
// often; a single run once if none is.
func repeated(runs []string) (period, times int) {
	period, times = 1, 1
	for p := 2; p <= mostPeriod && 2*p <= len(runs); p++ {
		n := p
		for n < len(runs) && runs[n] == runs[n-p] {
			n++
		}
		if t := n / p; t > 1 && p*(t-1) > period*(times-1) {
			period, times = p, t
		}
	}
	return period, times
}

// maxChoices bounds the length of a run that a code stands for.
const maxChoices = 1 << 24

// ParseCode reads a code. The empty one is the run of no steps.
func ParseCode(code string) ([]int, error) {
	choices := []int{}
	if code == "" {
		return choices, nil
	}
	for i, part := range strings.Split(code, ",") {
		bad := func(want string) error { return fmt.Errorf("item %d of the steps, %q: want %s", i+1, part, want) }
		body, count, grouped := strings.Cut(part, "x")
		times := 1
		if grouped {
			n, err := strconv.Atoi(count)
			if err != nil || n < 1 {
				return nil, bad("a count from 1 after x")
			}
			times = n
		}
		var group []int
		for _, run := range strings.Split(body, "+") {
			choice, count, more := strings.Cut(run, ":")
			c, err := strconv.Atoi(choice)
			if err != nil || c < 0 {
				return nil, bad("a choice, a number from 0")
			}
			n := 1
			if more {
				if n, err = strconv.Atoi(count); err != nil || n < 1 {
					return nil, bad("a count from 1 after the colon")
				}
			}
			if n > maxChoices-len(choices)-len(group) {
				return nil, bad(fmt.Sprintf("at most %d choices", maxChoices))
			}
			for range n {
				group = append(group, c)
			}
		}
		if times > (maxChoices-len(choices))/len(group) {
			return nil, bad(fmt.Sprintf("at most %d choices", maxChoices))
		}
		for range times {
			choices = append(choices, group...)
		}
	}
	return choices, nil
}
