package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

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
