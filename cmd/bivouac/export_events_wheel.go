//go:build bivouac_wheel

package main

import (
	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// newExportCommand returns a command that says where export is: the command of the wheel has no
// room for it.
func newExportCommand(*global) *cobra.Command {
	return &cobra.Command{
		Use:                "export RUN --tensorboard DIR",
		Short:              "Write the scalars of a run as event files (not in this build)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &errs.Error{Kind: errs.Unsupported, Op: "export", Want: "a command that was built whole",
				Got: "the command of the Python package", Remedy: "go build ./cmd/bivouac in a clone of the repository; " +
					"bivouac.Job has an argument tensorboard, with which a job writes event files itself"}
		},
	}
}
