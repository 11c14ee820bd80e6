package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/tabwriter"
)

// licenceTexts holds the licences of all that this command links on any platform.
// tools/licences writes it, and describes its form.
//
//go:embed licences.txt
var licenceTexts string

//go:generate go -C ../../tools run ./licences -root ..

// licenceInfo is a module with its terms, as `version --licenses --json` prints it.
type licenceInfo struct {
	Module  string        `json:"module"`
	Version string        `json:"version"`
	Licence string        `json:"licence"` // SPDX identifiers, joined with " AND "
	Texts   []licenceText `json:"texts"`
}

// licenceText is a file of a module.
type licenceText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// licences reads licenceTexts. Bivouac and Go's standard library get the versions of
// the running program, which the file cannot know.
func licences(v versionInfo) []licenceInfo {
	var out []licenceInfo
	for _, section := range strings.Split("\n"+licenceTexts, "\n=== module ")[1:] {
		heading, files, _ := strings.Cut(section, "\n")
		name, rest, _ := strings.Cut(heading, " ")
		version, licence, _ := strings.Cut(rest, " ")
		switch version {
		case "-":
			version = v.Version
		case "go":
			version = v.Go
		}
		m := licenceInfo{Module: name, Version: version, Licence: licence, Texts: []licenceText{}}
		for _, file := range strings.Split("\n"+files, "\n=== file ")[1:] {
			name, text, _ := strings.Cut(file, "\n")
			m.Texts = append(m.Texts, licenceText{name, text})
		}
		out = append(out, m)
	}
	return out
}

// printLicences prints a table of the modules, and then their texts.
func (g *global) printLicences(v versionInfo) error {
	all := licences(v)
	if g.json {
		return g.printJSON(all)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.Module, m.Version, m.Licence) //nolint:errcheck // a Builder takes all
	}
	w.Flush() //nolint:errcheck // a Builder takes all
	for _, m := range all {
		for _, t := range m.Texts {
			fmt.Fprintf(&b, "\n==== %s %s, %s\n\n%s", m.Module, m.Version, t.Name, t.Text)
		}
	}
	g.print(b.String())
	return nil
}
