//go:build bivouac_wheel

package main

import (
	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// newUICommand returns a command that says where ui is: the command of the wheel has no room for
// it.
func newUICommand(*global) *cobra.Command {
	return &cobra.Command{
		Use:                "ui PATH…",
		Short:              "Show runs as a page in the browser (not in this build)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &errs.Error{Kind: errs.Unsupported, Op: "ui", Want: "a command that was built whole",
				Got: "the command of the Python package", Remedy: "go build ./cmd/bivouac in a clone of the repository; " +
					"bivouac show and bivouac ls print the same"}
		},
	}
}
