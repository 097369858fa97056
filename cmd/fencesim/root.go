package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verbs makes the verbs, in the order of the help.
var verbs = []func(*world) *cobra.Command{
	newExplore, newReplay, newConform, newList, newShow, newReport, newView, newExport, newVersion,
}

func newRoot(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:   "fencesim VERB [SCENARIO] [flags]",
		Short: "Can this schedule of fence waits and updates hang?",
		Long: `fencesim decides whether a schedule of fence waits and updates between CPU and GPU can
hang, read stale data or lock the GPU, on which assumptions about the machine.

SCENARIO is a file (YAML or JSON), - for standard input, or a built-in name (fencesim list).

` + statusHelp + twinHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage("no verb: want one of %s", strings.Join(verbNames(root), ", "))
		}
		if near := nearest(args[0], verbNames(root)); near != "" {
			return usage("unknown verb %q; did you mean %s?", args[0], near)
		}
		return usage("unknown verb %q: want one of %s", args[0], strings.Join(verbNames(root), ", "))
	}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return w.twins(c) }
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s: %s", c.Name(), strings.TrimPrefix(err.Error(), "flag: "))
	})
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	cobra.EnableCommandSorting = false
	for _, make := range verbs {
		v := make(w)
		v.DisableFlagsInUseLine = true
		v.Flags().SortFlags = false
		v.Long += twinHelp
		root.AddCommand(v)
	}
	return root
}

func verbNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

const twinHelp = `

Every flag has a twin in the environment: --max-states 5 is FENCESIM_MAX_STATES=5. The
command line wins.`

// twinName is the environment variable that stands for a flag.
func twinName(flag string) string {
	return "FENCESIM_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// twins sets the flags of c that were not given from the environment.
func (w *world) twins(c *cobra.Command) error {
	var first error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || first != nil {
			return
		}
		v, ok := w.lookupEnv(twinName(f.Name))
		if !ok || v == "" {
			return
		}
		if err := c.Flags().Set(f.Name, v); err != nil {
			first = usage("%s: %s=%s: %s", c.Name(), twinName(f.Name), v, reason(err))
		}
	})
	return first
}

// reason is the last part of pflag's message, which says what is wrong with the value.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "flag: "); i >= 0 {
		return text[i+len("flag: "):]
	}
	return text
}

func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument: unexpected %q", c.Name(), args[0])
	}
	return nil
}

// nearest is the candidate that differs least from word, if little enough: at most a third
// of its letters, or word is a part of it.
func nearest(word string, candidates []string) string {
	best, least := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(word, c); d < least {
			best, least = c, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, c := range candidates {
		if strings.Contains(c, word) {
			return c
		}
	}
	return ""
}

// distance is the number of letters to add, drop or change (Levenshtein) to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// quote writes an argument as a shell reads it.
func quote(arg string) string {
	plain := arg != ""
	for _, r := range arg {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@+%", r) {
			plain = false
		}
	}
	if plain {
		return arg
	}
	return fmt.Sprintf("'%s'", strings.ReplaceAll(arg, "'", `'\''`))
}
