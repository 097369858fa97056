// Package catalog holds the built-in scenarios: files of the directory scenarios, embedded.
//
// A name is the file's name without its extension and the scenario's own name. Its first
// part, up to the first hyphen, is its group: a row of [Groups].
package catalog

import (
	"embed"
	"path"
	"strings"
)

//go:embed scenarios/*.yaml
var files embed.FS

// An Entry is one built-in scenario as text; model.Parse reads it.
type Entry struct {
	Name   string // what the command line calls it
	File   string // its file, for messages
	Group  string // the Prefix of its row of Groups
	Source []byte
}

// A Group is a family of entries, with what they have in common.
type Group struct {
	Prefix string // first part of the names
	About  string
}

// Groups is the table of groups in the order in which they are listed.
var Groups = []Group{
	{"mlx", "reported for MLX on Metal"},
	{"exo", "reported for exo"},
	{"dist", "collectives, point to point and transports"},
	{"cuda", "reported for CUDA backends"},
	{"other", "the same shapes in other projects"},
	{"exo", "reported for exo"},
	{"cuda", "CUDA and the runtimes on it"},
	{"dist", "collectives and messages between ranks"},
	{"other", "other runtimes, drivers and papers"},
	{"example", "a few commands each, to read and to copy"},
}

// Names lists the entries, group by group in the order of [Groups], by name within one.
// Entries whose group has no row come last.
func Names() []string {
	list, err := files.ReadDir("scenarios") // sorted by name
	if err != nil {
		return nil // the directory is embedded
	}
	var names []string
	add := func(in func(group string) bool) {
		for _, f := range list {
			name := strings.TrimSuffix(f.Name(), ".yaml")
			if in(groupOf(name)) {
				names = append(names, name)
			}
		}
	}
	known := make(map[string]bool)
	for _, g := range Groups {
		known[g.Prefix] = true
		add(func(group string) bool { return group == g.Prefix })
	}
	add(func(group string) bool { return !known[group] })
	return names
}

// Get returns the entry with that name. Its bytes are a copy.
func Get(name string) (Entry, bool) {
	if strings.ContainsAny(name, `/\`) {
		return Entry{}, false
	}
	file := name + ".yaml"
	src, err := files.ReadFile(path.Join("scenarios", file))
	if err != nil {
		return Entry{}, false
	}
	return Entry{name, file, groupOf(name), src}, true
}

func groupOf(name string) string {
	group, _, _ := strings.Cut(name, "-")
	return group
}
