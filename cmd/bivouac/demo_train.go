package main

import (
	"encoding/json"

	"github.com/bivouac-ml/bivouac/examples/digits/demo"
	"github.com/spf13/cobra"
)

// demoTrainCommand is the hidden command that a demo runs itself with: one
// training, in the way of demo.Serve, events to standard output and credits from
// standard input.
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
