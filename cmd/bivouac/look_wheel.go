//go:build bivouac_wheel

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/timeline"
)

// The command of the wheel has no room for these commands; each says where it is.

func newExplainCommand(*global) *cobra.Command {
	return elsewhere("explain RUN[/STEP]", "Say what a step of a run was made from", "bivouac show says what a run is")
}

func newForkCommand(*global) *cobra.Command {
	return elsewhere("fork RUN/STEP NEW", "Make a new run of a step of another one",
		"bivouac cp copies a step into a new run")
}

func newReplayCommand(*global) *cobra.Command {
	return elsewhere("replay RUN", "Print a digest of the data of each step", "bivouac data replay lists the samples")
}

// elsewhere returns a command that says where it is.
func elsewhere(use, short, instead string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short + " (not in this build)",
		DisableFlagParsing: true,
		RunE:               func(cmd *cobra.Command, _ []string) error { return notHere(cmd.Name(), instead) },
	}
}

func notHere(op, instead string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: op, Want: "a command that was built whole",
		Got: "the command of the Python package", Remedy: "go build ./cmd/bivouac in a clone of the repository; " + instead}
}

// checkSheet returns an error if a sheet is asked for.
func checkSheet(path string) error {
	if path == "" {
		return nil
	}
	return notHere("data peek", "without --sheet the samples are listed")
}

func drawSamples(context.Context, *behind, []stepInfo, string, int, *global) error { return nil }

// pipelineSheet has no flags here.
type pipelineSheet struct{ File string }

func (*pipelineSheet) addFlags(*cobra.Command) {}

func (*pipelineSheet) draw(context.Context, *timeline.Timeline, int64, int64, string, int, *global) error {
	return nil
}
