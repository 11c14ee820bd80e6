//go:build bivouac_wheel

package main

import (
	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// newPlotCommand returns a command that says where plot is: the command of the wheel has no room
// for it.
func newPlotCommand(*global) *cobra.Command {
	return &cobra.Command{
		Use:                "plot RUN…",
		Short:              "Draw the scalars of one or several runs (not in this build)",
		Example:            `  bivouac plot runs/digits -o loss.svg`,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &errs.Error{Kind: errs.Unsupported, Op: "plot", Want: "a command that was built whole",
				Got: "the command of the Python package", Remedy: "go build ./cmd/bivouac in a clone of the repository; " +
					"bivouac show has curves in a terminal"}
		},
	}
}
