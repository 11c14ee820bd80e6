package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
)

// versionInfo is what `version --json` prints.
type versionInfo struct {
	Version  string       `json:"version"`
	Go       string       `json:"go"`
	Platform string       `json:"platform"`
	JPEG     string       `json:"jpeg"`    // the decoder
	Modules  []moduleInfo `json:"modules"` // that are linked, as the Go tool recorded them
}

// moduleInfo is a module that is linked.
type moduleInfo struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

func newVersionCommand(g *global) *cobra.Command {
	var licences bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, or the licences of all that is linked",
		Long: `Print the version of this program, the Go version and platform that it was
built for, and its JPEG decoder; with --json also the versions of the modules
that it links.

--licenses lists Bivouac, Go's standard library and every module that is linked,
with version and licence, followed by the texts of the licences.

` + exitCodesHelp,
		Example: `  bivouac version --json
  bivouac version --licenses`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			if licences {
				return g.printLicences(v)
			}
			return g.show(v, func() { g.print(v.text()) })
		},
	}
	cmd.Flags().BoolVar(&licences, "licenses", false, "list the licences of all that is linked")
	return with(cmd, g.addJSON)
}

// currentVersion describes the running program.
func currentVersion() versionInfo {
	v := versionInfo{
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, JPEG: jpeg.Identity(), Modules: []moduleInfo{},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	v.Version = buildVersion(version, info)
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		v.Modules = append(v.Modules, moduleInfo{m.Path, m.Version})
	}
	return v
}

// buildVersion returns the version that the linker was given, else the version of the module that
// the Go tool recorded: the version that `go install` fetched, or a version made from the commit. A
// build without either is "devel".
func buildVersion(linker string, info *debug.BuildInfo) string {
	switch {
	case linker != "":
		return linker
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "devel"
}

// text is what `version` prints.
func (v versionInfo) text() string {
	s := fmt.Sprintf("bivouac %s (%s, %s)\nJPEG: %s\n", v.Version, v.Go, v.Platform, v.JPEG)
	if advice := jpeg.Advice(); advice != "" {
		s += "      " + advice + "\n"
	}
	return s
}

// licenceTexts holds the licences of all that this command links on any platform.
// tools/licences writes it, compresses it, and describes its form.
//
//go:embed licences.txt.gz
var licenceTexts []byte

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
func licences(v versionInfo) ([]licenceInfo, error) {
	packed, err := gzip.NewReader(bytes.NewReader(licenceTexts))
	if err != nil {
		return nil, err
	}
	texts, err := io.ReadAll(packed)
	if err != nil {
		return nil, err
	}
	var out []licenceInfo
	for _, section := range strings.Split("\n"+string(texts), "\n=== module ")[1:] {
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
	return out, nil
}

// printLicences prints a table of the modules, and then their texts.
func (g *global) printLicences(v versionInfo) error {
	all, err := licences(v)
	if err != nil {
		return err
	}
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
