package main

import (
	"github.com/spf13/cobra"
)

func newCompletionCommand(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a completion script for a shell",
		Long: `Print a completion script for a shell. For the shell at hand:

  source <(bivouac completion bash)`,
		Example:   `  source <(bivouac completion bash)`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(g.stdout, true)
			case "zsh":
				return root.GenZshCompletion(g.stdout)
			default:
				return root.GenFishCompletion(g.stdout, true)
			}
		},
	}
}
