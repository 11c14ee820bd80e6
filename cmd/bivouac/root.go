package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// global holds what all commands share.
type global struct {
	stdout, stderr io.Writer
	plain          bool
	quiet          bool   // no progress at all
	noPager        bool   // --no-pager
	color          string // --color
	json           bool
	jsonl          bool    // a line of JSON for each result
	stepPrefix     *string // prefix of the steps of runs; nil: find it

	unsafeSingleWriter bool // take object stores that do not keep the laws of conditions
}

func newRootCommand(g *global) *cobra.Command {
	root := &cobra.Command{
		Use:   "bivouac",
		Short: "Feed training jobs and save them, so that a killed job carries on as if nothing had happened",
		Long: `Feed training jobs and save them, so that a job killed at any instant
carries on as if nothing had happened.

` + exitCodesHelp,
		SilenceErrors: true,
		SilenceUsage:  true,

		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := g.checkPaths(cmd, args); err != nil {
				return err
			}
			if cmd.Annotations[pages] != "" {
				g.usePager(cmd)
			}
			return nil
		},
	}
	// Templates of cobra would make the linker keep every exported method: a sixth of the command.
	show := root.Flags().Bool("version", false, "print the version, as the command version does")
	root.Args = func(cmd *cobra.Command, args []string) error {
		if *show {
			return nil
		}
		return cobra.NoArgs(cmd, args)
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*show {
			return cmd.Help()
		}
		g.print(currentVersion().text())
		return nil
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVar(&g.plain, "plain", false,
		"print plain lines instead of progress bars, also on a terminal")
	g.color = "auto"
	root.PersistentFlags().Var(colorWhen{&g.color}, "color",
		"when to print colours: auto (on a terminal, unless NO_COLOR is set), always or never")
	root.PersistentFlags().BoolVar(&g.quiet, "no-progress", false, "print no progress at all")
	root.PersistentFlags().BoolVar(&g.unsafeSingleWriter, "unsafe-single-writer", false,
		"use an object store without conditional writes; sound only if no other process ever writes there")
	root.PersistentFlags().BoolVar(&g.noPager, "no-pager", false,
		"print long output on a terminal as it is, and not through $BIVOUAC_PAGER, $PAGER or less")
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		g.usePager(cmd)
		help(cmd, args)
	})
	root.AddCommand(newDemoCommands(g)...)
	root.AddCommand(
		newCrashtestCommand(g),
		newShowCommand(g),
		newWatchCommand(g),
		newPlotCommand(g),
		newExportCommand(g),
		newUICommand(g),
		newLsCommand(g),
		newInfoCommand(g),
		newVerifyCommand(g),
		newDiffCommand(g),
		newRepairCommand(g),
		newAdoptCommand(g),
		newConvertCommand(g),
		newCopyCommand(g),
		newForkCommand(g),
		newExplainCommand(g),
		newReplayCommand(g),
		newSyncCommand(g),
		newPruneCommand(g),
		newRemoveCommand(g),
		newDuCommand(g),
		newProtectCommand(g),
		newTagCommand(g),
		newRunCommand(g),
		newGraphCommand(g),
		newSurgeryCommand(g),
		newExtractCommand(g),
		newCatCommand(g),
		newDataCommand(g),
		newIndexCommand(g),
		newStateCommand(g),
		newServeCommand(g),
		newOpsCommand(g),
		newDoctorCommand(g),
		newVersionCommand(g),
		newManCommand(g),
		newCompletionCommand(g),
	)
	g.addCompletion(root)
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "ls", "info", "show", "cat", "diff", "du", "ops", "state", "version":
			addPager(cmd)
		}
	}
	markUsage(root)
	return root
}

// with gives a command flags, and returns it.
func with(cmd *cobra.Command, flags ...func(*cobra.Command)) *cobra.Command {
	for _, add := range flags {
		add(cmd)
	}
	return cmd
}

// addJSON gives a command the flag --json.
func (g *global) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&g.json, "json", false, "print JSON for programs")
}

// machine reports whether a command prints JSON.
func (g *global) machine() bool { return g.json || g.jsonl }

// bars reports whether progress bars may be drawn on w.
func (g *global) bars(w io.Writer) bool {
	return !g.plain && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := underlying(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
