package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencesim/fencesim/model"
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
		if c == root {
			return usage("%s", reason(err))
		}
		return usage("%s: %s", c.Name(), reason(err))
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
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cobra.ArbitraryArgs, func(*cobra.Command, []string) error {
				return usage("completion: want bash, fish, powershell or zsh")
			}
		}
	}
	return root
}

// newHelp is the verb help, which knows no topic but the verbs.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "print the help of a verb",
		Long:  "help prints the help of a verb, as --help does, or of fencesim.",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return verbNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 || c == root && len(args) > 0 {
				return usage("help: no verb is called %q: want one of %s", strings.Join(args, " "), strings.Join(verbNames(root), ", "))
			}
			return c.Help()
		},
	}
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
			text := reason(err)
			if i := strings.LastIndex(text, "flag: "); i >= 0 { // behind what flag it is of
				text = text[i+len("flag: "):]
			}
			first = usage("%s: %s=%s: %s", c.Name(), twinName(f.Name), v, text)
		}
	})
	return first
}

// goWords are what the standard library says of a value, and what is said instead.
var goWords = []struct{ pattern, says string }{
	{`strconv\.Parse(Int|Uint): parsing "[^"]*": invalid syntax`, "want a whole number"},
	{`strconv\.Parse(Int|Uint): parsing "[^"]*": value out of range`, "the number is out of range"},
	{`strconv\.ParseBool: parsing "[^"]*": invalid syntax`, "want true or false"},
	{`time: .*`, "want a time such as 90s or 5m"},
}

// reason is pflag's message in the words of this program.
func reason(err error) string {
	text := strings.TrimPrefix(err.Error(), "flag: ")
	for _, w := range goWords {
		text = regexp.MustCompile(w.pattern).ReplaceAllString(text, w.says)
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

// quote writes an argument as a shell reads it; one that does not show whole as Bash, Zsh
// and POSIX shells since 2024 do.
func quote(arg string) string {
	if shown := model.Printable(arg); shown != arg {
		var b strings.Builder
		for i := range len(arg) {
			switch c := arg[i]; {
			case c == '\'' || c == '\\':
				b.WriteString(`\` + string(c))
			case c >= ' ' && c < 0x7f:
				b.WriteByte(c)
			default:
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		return "$'" + b.String() + "'"
	}
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
