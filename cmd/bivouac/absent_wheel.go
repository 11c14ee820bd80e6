//go:build bivouac_wheel

package main

import (
	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// absent returns a command that says where it is: the command of the wheel has no room for it.
func absent(use, name, short, instead string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              short + " (not in this build)",
		Example:            "  bivouac " + use,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return &errs.Error{Kind: errs.Unsupported, Op: name, Want: "a command that was built whole",
				Got: "the command of the Python package", Remedy: "go build ./cmd/bivouac in a clone of the repository" + instead}
		},
	}
}

func newWatchCommand(*global) *cobra.Command {
	return absent("watch DIR…", "watch", "Watch runs, and give an alert when one stalls, loses steps or is damaged",
		"; bivouac ls and bivouac verify have exit statuses for cron")
}

func newManCommand(*global) *cobra.Command {
	return absent("man [DIR]", "man", "Print the manual page, or write the pages of all commands to a directory",
		"; bivouac help COMMAND has the same text")
}

func newDemoCommands(*global) []*cobra.Command {
	short := "Train a network, kill it five times, and compare with an uninterrupted training"
	return []*cobra.Command{absent("demo", "demo", short,
		"; docs/guide/python-resume.md has a training in Python that is killed and goes on")}
}
