package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/report"
)

type exportFlags struct {
	format  string
	of      string
	output  string
	promela report.PromelaOptions
}

func newExport(w *world) *cobra.Command {
	v := &exportFlags{output: "-"}
	c := &cobra.Command{
		Use:   "export [SCENARIO|RESULT|TRACE] [flags]",
		Short: "write a scenario, a result or a run for other tools",
		Long: `export writes what other tools read:

` + formatHelp() + `
A scenario is explored first, unless the format needs the schedule only. The same input
gives the same bytes.`,
		Example: `  fencesim export out/result.json --format perfetto -o hang.json
  fencesim export mlx-independent-reductions --format svg --of waits -o waits.svg
  fencesim export case.yaml --format sarif -o fencesim.sarif
  fencesim export case.yaml --format promela --stale -o model.pml`,
		Args: oneOf("scenario, result or trace"),
		RunE: func(c *cobra.Command, args []string) error { return v.run(c, w, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&v.format, "format", "", "one of "+strings.Join(formatNames(), ", "))
	f.StringVar(&v.of, "of", "", "svg and dot: run, waits or schedule (default run, and waits for dot)")
	f.BoolVar(&v.promela.Stale, "stale", false, "promela: assert at every read that it is not stale")
	f.BoolVar(&v.promela.Merge, "merge", false, "promela: take at once what nothing observes, as the reduction merge does")
	f.StringVarP(&v.output, "output", "o", v.output, "the file to write; - is standard output")
	c.ValidArgsFunction = completeScenario
	_ = c.RegisterFlagCompletionFunc("format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return formatNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func formatNames() []string {
	var names []string
	for _, f := range report.Formats {
		names = append(names, f.Name)
	}
	return names
}

func formatHelp() string {
	var b strings.Builder
	for _, f := range report.Formats {
		fmt.Fprintf(&b, "  %-9s %s\n", f.Name, f.Doc)
	}
	return b.String()
}

func (v *exportFlags) run(c *cobra.Command, w *world, arg string) error {
	f, ok := report.FormatNamed(v.format)
	switch {
	case v.format == "":
		return usage("export: no --format: want %s", alternatives(formatNames()))
	case !ok:
		if near := nearest(v.format, formatNames()); near != "" {
			return usage("export: unknown format %q; did you mean %s?", v.format, near)
		}
		return usage("export: unknown format %q: want %s", v.format, alternatives(formatNames()))
	}
	if v.of != "" && f.Name != "svg" && f.Name != "dot" {
		return usage("export: --of goes with --format svg and dot")
	}
	for _, name := range []string{"stale", "merge"} {
		if c.Flags().Changed(name) && f.Name != "promela" {
			return usage("export: --%s goes with --format promela", name)
		}
	}
	static := f.Static || v.of == "schedule"
	in, err := w.openInput(c.Context(), "export", arg, !static)
	if err != nil {
		return err
	}
	in.Of, in.Promela = v.of, v.promela
	var b bytes.Buffer
	if err := f.Write(&b, in); err != nil {
		return usage("export: %s: %s", f.Name, strings.TrimPrefix(err.Error(), f.Name+": "))
	}
	return w.save("export", v.output, b.Bytes())
}
