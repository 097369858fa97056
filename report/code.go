package report

import (
	"fmt"
	"strconv"
	"strings"
)

// A code is a run in one word for a command line: the choices among the enabled
// transitions of each state in turn, separated by commas, where c:n is n times c.

// FormatCode writes choices as a code; [ParseCode] reads it back.
func FormatCode(choices []int) string {
	var b strings.Builder
	for i := 0; i < len(choices); {
		n := 1
		for i+n < len(choices) && choices[i+n] == choices[i] {
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(choices[i]))
		if n > 1 {
			fmt.Fprintf(&b, ":%d", n)
		}
		i += n
	}
	return b.String()
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
		choice, times, repeated := strings.Cut(part, ":")
		c, err := strconv.Atoi(choice)
		if err != nil || c < 0 {
			return nil, fmt.Errorf("item %d of the steps, %q: want a choice, a number from 0", i+1, part)
		}
		n := 1
		if repeated {
			if n, err = strconv.Atoi(times); err != nil || n < 1 {
				return nil, fmt.Errorf("item %d of the steps, %q: want a count from 1 after the colon", i+1, part)
			}
		}
		if n > maxChoices-len(choices) {
			return nil, fmt.Errorf("item %d of the steps: more than %d choices", i+1, maxChoices)
		}
		for range n {
			choices = append(choices, c)
		}
	}
	return choices, nil
}
