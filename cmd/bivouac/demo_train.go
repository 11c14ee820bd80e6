//go:build !bivouac_wheel

package main

import (
	"encoding/json"

	"github.com/bivouac-ml/bivouac/examples/digits/demo"
	"github.com/spf13/cobra"
)

// demoTrainCommand is the hidden command with which a demo starts itself: it does one training as
// demo.Serve does, writes events to standard output and reads credits from standard input.
const demoTrainCommand = "demo-train"

func newDemoTrainCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:    demoTrainCommand + " TRAINING",
		Short:  "Do one training of a demo, as its child",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t demo.Training
			if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
				return usageError{err}
			}
			return demo.Serve(cmd.Context(), t, g.stdout, cmd.InOrStdin())
		},
	}
}
