package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/report"
)

// outputFlags are those of every verb that prints a result.
type outputFlags struct {
	json  bool
	quiet bool
	color string
	width int
}

func (o *outputFlags) add(f *pflag.FlagSet) {
	o.color = "auto"
	f.BoolVar(&o.json, "json", false, "print the result as JSON")
	f.BoolVar(&o.quiet, "quiet", false, "print one line, and no progress")
	f.Var(newChoice(&o.color, "auto", "always", "never"), "color", "colours: auto (on a terminal, unless NO_COLOR is set), always, never")
	f.IntVar(&o.width, "width", 0, "text in `N` columns, 40 or more (default the terminal's, else 100)")
}

// options is how text goes to standard output.
func (o *outputFlags) options(w *world) (report.Options, error) {
	if o.width < 0 {
		return report.Options{}, usage("--width %d: want a number of columns", o.width)
	}
	width, terminal := w.terminal(w.stdout)
	if !terminal {
		width = 0
	}
	if o.width > 0 {
		width = o.width
	}
	no, ok := w.lookupEnv("NO_COLOR")
	color := o.color == "always" || o.color == "auto" && terminal && !(ok && no != "")
	return report.Options{Width: width, Color: color}, nil
}

// choice is the value of a flag that is one of some words.
type choice struct {
	to    *string
	words []string
}

func newChoice(to *string, words ...string) *choice { return &choice{to, words} }

func (c *choice) String() string { return *c.to }
func (c *choice) Type() string   { return "WORD" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("want %s", alternatives(slices.DeleteFunc(slices.Clone(c.words), func(w string) bool { return w == "" })))
	}
	*c.to = s
	return nil
}

// alternatives is "a, b or c".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// seed is a flag's value in decimal or, after 0x, in hex.
type seed uint64

func (s *seed) String() string { return strconv.FormatUint(uint64(*s), 10) }
func (s *seed) Type() string   { return "N" }

func (s *seed) Set(text string) error {
	digits, base := text, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		digits, base = hex, 16
	}
	v, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return fmt.Errorf("want a number from 0 to %d, in decimal or after 0x in hex", uint64(math.MaxUint64))
	}
	*s = seed(v)
	return nil
}

// byteSize is a flag's value in bytes: 2GiB, 500MB, 1048576.
type byteSize int64

var byteUnits = []struct {
	suffix string
	size   int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	for i := range slices.Backward(byteUnits[:4]) {
		if u := byteUnits[i]; int64(*b)%u.size == 0 {
			return fmt.Sprintf("%d%s", int64(*b)/u.size, u.suffix)
		}
	}
	return strconv.FormatInt(int64(*b), 10)
}

func (b *byteSize) Type() string { return "SIZE" }

func (b *byteSize) Set(text string) error {
	for _, u := range byteUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v*float64(u.size) >= 1 && v*float64(u.size) < math.MaxInt64) {
			break
		}
		*b = byteSize(v * float64(u.size))
		return nil
	}
	return fmt.Errorf("want a size such as 512MiB or 2GiB")
}
