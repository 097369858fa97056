package main

import (
	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

func newList(w *world) *cobra.Command {
	var output outputFlags
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "list the built-in scenarios, the machines and the disciplines",
		Long: `list names the built-in scenarios by group, the machines with what each assumes and the
disciplines. fencesim show NAME prints one of them in full.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if w.atOnce != nil {
				w.atOnce()
			}
			o, err := output.options(w)
			if err != nil {
				return err
			}
			l, err := listing()
			if err != nil {
				return err
			}
			switch {
			case output.json:
				return report.JSON(w.stdout, l)
			case output.quiet:
				return l.Names(w.stdout)
			}
			return l.Text(w.stdout, o)
		},
	}
	output.add(c.Flags())
	c.Flags().Lookup("quiet").Usage = "print the names of the scenarios only"
	return c
}

// listing is the catalog with its scenarios parsed.
func listing() (*report.Listing, error) {
	l := report.NewListing()
	about := make(map[string]string)
	for _, g := range catalog.Groups {
		about[g.Prefix] = g.About
	}
	for _, name := range catalog.Names() {
		e, _ := catalog.Get(name)
		sc, err := model.Parse(e.File, e.Source)
		if err != nil {
			return nil, &exitError{statusBackend, err}
		}
		if n := len(l.Groups); n == 0 || l.Groups[n-1].Name != e.Group {
			l.Groups = append(l.Groups, report.ListedGroup{Name: e.Group, About: about[e.Group]})
		}
		g := &l.Groups[len(l.Groups)-1]
		g.Scenarios = append(g.Scenarios, report.NewListedScenario(name, sc))
	}
	return l, nil
}

// completeScenario offers the built-in names beside files.
func completeScenario(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return catalog.Names(), cobra.ShellCompDirectiveDefault
}
