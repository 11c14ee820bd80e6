package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/codec/jpeg"
)

// versionInfo is what `version --json` prints.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	JPEG     string `json:"jpeg"` // the decoder
}

func newVersionCommand(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, JPEG: jpeg.Identity()}
			if g.json {
				return g.printJSON(v)
			}
			g.printf("bivouac %s (%s, %s)\nJPEG: %s\n", v.Version, v.Go, v.Platform, v.JPEG)
			if advice := jpeg.Advice(); advice != "" {
				g.printf("      %s\n", advice)
			}
			return nil
		},
	}
	g.addJSON(cmd)
	return cmd
}
