package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/hwreplay"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// versionInfo is what version prints.
type versionInfo struct {
	Format   int      `json:"fencesim"` // version of scenario files, results and traces
	Version  string   `json:"version"`
	Commit   string   `json:"commit,omitempty"`
	Modified bool     `json:"modified,omitempty"` // built from a changed work tree
	Go       string   `json:"go"`
	Platform string   `json:"platform"`
	Backends []string `json:"backends"`
}

func newVersion(w *world) *cobra.Command {
	var output outputFlags
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "print version, commit and the backends found",
		Long:  "version prints the version, the commit it was built from and the backends found.",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			switch {
			case output.json:
				return report.JSON(w.stdout, v)
			case output.quiet:
				_, err := fmt.Fprintln(w.stdout, v.Version)
				return err
			}
			_, err := fmt.Fprint(w.stdout, v.text())
			return err
		},
	}
	output.add(c.Flags())
	c.Flags().Lookup("quiet").Usage = "print the version only"
	return c
}

func readVersion() versionInfo {
	v := versionInfo{
		Format: model.FormatVersion, Version: "(devel)", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Backends: []string{"sim", "host"},
	}
	for _, b := range []string{"cuda", "metal"} {
		if _, err := hwreplay.Open(b); err == nil {
			v.Backends = append(v.Backends, b)
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) text() string {
	commit := v.Commit
	switch {
	case commit == "":
		commit = "not recorded in this build"
	case v.Modified:
		commit += ", with changes"
	}
	return fmt.Sprintf("fencesim %s\ncommit    %s\nformat    %d\nbuilt     %s, %s\nbackends  %s\n",
		v.Version, commit, v.Format, v.Go, v.Platform, strings.Join(v.Backends, ", "))
}
