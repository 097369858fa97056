package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
)

// scenarioFlags choose a scenario and what replaces parts of it.
type scenarioFlags struct {
	discipline string
	machine    string
	ranks      int

	kind      string
	generated model.Generate
	set       *pflag.FlagSet
}

func (s *scenarioFlags) add(f *pflag.FlagSet) {
	s.set = f
	f.StringVar(&s.discipline, "discipline", "", "replace the file's discipline by `WORD`: "+alternatives(disciplineWords()))
	f.StringVar(&s.machine, "machine", "", "replace the file's machine: `NAME|FILE`, a preset (fencesim list) or a file")
	f.IntVar(&s.ranks, "ranks", 0, "replace the file's number of ranks by `N`")
	f.StringVar(&s.kind, "generate", "", "instead of SCENARIO a graph of `KIND`: "+alternatives(kindWords()))
	f.IntVar(&s.generated.Reductions, "reductions", 0, "for --generate: `N` reductions (pipeline: micro-batches)")
	f.IntVar(&s.generated.Rounds, "rounds", 0, "for --generate: `N` matmuls in a row")
	f.Int64Var(&s.generated.Elems, "elems", 0, "for --generate: `N` elements in each array")
	f.IntVar(&s.generated.Size, "size", 0, "for --generate random: `N` operations, drawn with --seed")
}

func disciplineWords() []string {
	var words []string
	for _, d := range model.Disciplines {
		words = append(words, d.Word)
	}
	return words
}

func kindWords() []string {
	var words []string
	for _, k := range model.Kinds {
		words = append(words, k.Name)
	}
	return words
}

// arguments wants one SCENARIO, or none beside --generate. It runs before the environment
// is read, so that open, which runs later, looks again.
func (s *scenarioFlags) arguments(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s: one scenario, not %d: unexpected %q", c.Name(), len(args), args[1])
	}
	return nil
}

// open reads the scenario of a command line and applies the flags to it.
func (s *scenarioFlags) open(w *world, verb string, args []string, drawn seed) (*model.Scenario, error) {
	sc, err := s.read(w, verb, args, drawn)
	if err != nil {
		return nil, err
	}
	return sc, s.apply(sc)
}

func (s *scenarioFlags) read(w *world, verb string, args []string, drawn seed) (*model.Scenario, error) {
	switch {
	case s.kind != "" && len(args) > 0:
		return nil, usage("%s: both a scenario and --generate", verb)
	case s.kind != "":
		return s.generate(verb, drawn)
	case len(args) == 0:
		return nil, usage("%s: no scenario: want a file, - or a built-in name (fencesim list)", verb)
	}
	for _, name := range []string{"reductions", "rounds", "elems", "size"} {
		if s.set.Changed(name) {
			return nil, usage("%s: --%s goes with --generate only", verb, name)
		}
	}
	file, src, err := w.read(args[0], model.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	if err := mistaken(file, src, "a scenario"); err != nil {
		return nil, err
	}
	return parseScenario(file, src)
}

func parseScenario(file string, src []byte) (*model.Scenario, error) {
	sc, err := model.Parse(file, src)
	if err != nil {
		return nil, &exitError{statusUsage, err}
	}
	return sc, nil
}

// parseInner parses the scenario in a trace or result. Positions are those in the file.
func parseInner(file string, src, scenario []byte) (*model.Scenario, error) {
	sc, err := model.Parse(file, scenario)
	var e *model.Error
	if at := bytes.Index(src, scenario); errors.As(err, &e) && at >= 0 {
		line, col := model.Position(src, at)
		if e.Line == 1 {
			e.Col += col - 1
		}
		e.Line += line - 1
	}
	if err != nil {
		return nil, &exitError{statusUsage, err}
	}
	return sc, nil
}

func (s *scenarioFlags) generate(verb string, drawn seed) (*model.Scenario, error) {
	k, ok := model.KindNamed(s.kind)
	if !ok {
		return nil, usage("%s: unknown kind %q: want %s", verb, s.kind, alternatives(kindWords()))
	}
	g := s.generated
	g.Kind = s.kind
	for _, need := range k.Needs {
		if need == "seed" {
			g.Seed = uint64(drawn)
		} else if !s.set.Changed(need) {
			return nil, usage("%s: --generate %s needs --%s", verb, s.kind, need)
		}
	}
	sc := &model.Scenario{Version: model.FormatVersion, Name: s.kind, Generate: &g}
	if err := sc.Validate(); err != nil {
		return nil, usage("%s: %w", verb, err)
	}
	return sc, nil
}

// apply replaces discipline, machine and ranks of a scenario by those of the flags.
func (s *scenarioFlags) apply(sc *model.Scenario) error {
	if s.set.Changed("discipline") {
		d, err := model.ParseDiscipline(s.discipline)
		if err != nil {
			return usage("--discipline: %w", err)
		}
		if sc.Explicit() {
			return usage("--discipline %s: an explicit schedule has none: its waits name their targets", d)
		}
		sc.Discipline = &d
	}
	if s.set.Changed("machine") {
		m, err := openMachine(s.machine)
		if err != nil {
			return err
		}
		sc.Machine = m
	}
	if s.set.Changed("ranks") {
		switch {
		case len(sc.RankSchedules) > 0:
			return usage("--ranks %d: the scenario has rank_schedules", s.ranks)
		case s.ranks < 1 || s.ranks > model.MaxRanks:
			return usage("--ranks %d: want 1 to %d", s.ranks, model.MaxRanks)
		}
		sc.Ranks = s.ranks
	}
	if !s.set.Changed("discipline") && !s.set.Changed("machine") && !s.set.Changed("ranks") {
		return nil // it is as it was parsed
	}
	if err := sc.Validate(); err != nil {
		return &exitError{statusUsage, err}
	}
	return nil
}

// again are the arguments that choose the same scenario on another command line.
func (s *scenarioFlags) again(args []string, drawn seed) []string {
	out := slices.Clone(args)
	for _, name := range []string{"generate", "reductions", "rounds", "elems", "size", "discipline", "machine", "ranks"} {
		if f := s.set.Lookup(name); f.Changed {
			out = append(out, "--"+name, f.Value.String())
		}
		if k, _ := model.KindNamed(s.kind); name == "size" && k.Name == "random" {
			out = append(out, "--seed", drawn.String())
		}
	}
	return out
}

// openMachine is a preset or what a file says.
func openMachine(name string) (model.Machine, error) {
	if p, ok := model.PresetNamed(name); ok {
		return p.Machine, nil
	}
	src, err := readFile(name, model.MaxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		var names []string
		for _, p := range model.Presets {
			names = append(names, p.Name)
		}
		return model.Machine{}, unknown("machine", name, names)
	}
	if err != nil {
		return model.Machine{}, usage("%w", err)
	}
	m, err := model.ParseMachine(name, src)
	if err != nil {
		return model.Machine{}, &exitError{statusUsage, err}
	}
	return m, nil
}

// unknown says that name is neither built in nor a file, and what is near.
func unknown(what, name string, names []string) error {
	text := "no " + what + " and no file is called " + quote(name)
	if near := nearest(name, names); near != "" {
		return usage("%s; did you mean %s?", text, near)
	}
	return usage("%s (fencesim list)", text)
}

// read gives the bytes that a SCENARIO or TRACE argument stands for, at most most of them
// and one, and their name in messages.
func (w *world) read(arg string, most int64) (file string, src []byte, err error) {
	if arg == "-" {
		src, err = readUpTo(w.stdin, most)
		if err != nil {
			return "", nil, usage("standard input: %w", err)
		}
		return "stdin", plainText(src), nil
	}
	if e, ok := catalog.Get(arg); ok {
		return e.File, e.Source, nil
	}
	src, err = readFile(arg, most)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, `/\`):
		return "", nil, unknown("built-in scenario", arg, catalog.Names())
	case err != nil:
		return "", nil, usage("%w", err)
	}
	return arg, plainText(src), nil
}

// plainText is src without the mark that some editors put before UTF-8.
func plainText(src []byte) []byte { return bytes.TrimPrefix(src, []byte("\ufeff")) }

func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readUpTo(f, most)
}

// readUpTo reads at most most bytes and one. What does not begin as a trace or a result
// does is a scenario, of which no more is read than a scenario may have.
func readUpTo(r io.Reader, most int64) ([]byte, error) {
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(r, min(most, model.MaxFileBytes)+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) <= model.MaxFileBytes || !bytes.HasPrefix(bytes.TrimLeft(plainText(b.Bytes()), " \t\r\n"), []byte("{")) {
		return b.Bytes(), nil
	}
	_, err := io.Copy(&b, io.LimitReader(r, most-int64(b.Len())+1))
	return b.Bytes(), err
}
