package fencetest

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// settings are what flags and environment say; zero fields leave the choice to the test.
type settings struct {
	seed    uint64
	runs    int
	machine string
	add     string // seeds: the file to add
}

var given settings

// The flags exist in test binaries only, and only where nobody else has their names: a
// program that links this package for its generators keeps its own command line.
func init() {
	if !testing.Testing() {
		return
	}
	register(flag.CommandLine, &given, os.Getenv)
}

func register(set *flag.FlagSet, to *settings, env func(string) string) {
	number := func(p *uint64) func(string) error {
		return func(text string) (err error) {
			*p, err = strconv.ParseUint(text, 0, 64)
			return err
		}
	}
	var runs uint64
	list := []struct {
		name, env, usage string
		set              func(string) error
	}{
		{"fencesim.seed", "FENCESIM_SEED", "fencesim: seed of what is drawn, decimal or 0x hex (0: another one each time)", number(&to.seed)},
		{"fencesim.runs", "FENCESIM_RUNS", "fencesim: how many cases a property draws", func(text string) error {
			err := number(&runs)(text)
			to.runs = int(min(runs, 1<<30))
			return err
		}},
		{"fencesim.machine", "FENCESIM_MACHINE", "fencesim: machines to check, instead of those of the test: presets or files, separated by commas", func(text string) error {
			to.machine = text
			return nil
		}},
		{"fencesim.add", "", "fencesim: a scenario file to add to the seeds (see Seeds)", func(text string) error {
			to.add = text
			return nil
		}},
	}
	for _, f := range list {
		if set.Lookup(f.name) != nil {
			continue
		}
		set.Func(f.name, f.usage, f.set)
		if f.env == "" || env(f.env) == "" {
			continue
		}
		if err := f.set(env(f.env)); err != nil {
			fmt.Fprintf(set.Output(), "fencesim: %s=%s: %v\n", f.env, env(f.env), err)
		}
	}
}

// machines is what -fencesim.machine says, or names.
func (s settings) machines(names []string) []string {
	if s.machine == "" {
		return names
	}
	return strings.Split(s.machine, ",")
}
