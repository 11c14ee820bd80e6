package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/bivouac-ml/bivouac/store/local"
)

// global holds what all commands share.
type global struct {
	stdout, stderr io.Writer
	plain          bool
	quiet          bool // no progress at all
	json           bool
	stepPrefix     *string // prefix of the steps of runs; nil: find it
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

		PersistentPreRunE: checkPaths,
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
	root.PersistentFlags().BoolVar(&g.quiet, "no-progress", false, "print no progress at all")
	root.AddCommand(
		newDemoCommand(g),
		newDemoTrainCommand(g),
		newCrashtestCommand(g),
		newLsCommand(g),
		newInfoCommand(g),
		newVerifyCommand(g),
		newDiffCommand(g),
		newRepairCommand(g),
		newAdoptCommand(g),
		newConvertCommand(g),
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
		newVersionCommand(g),
		newCompletionCommand(g),
	)
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

// bars reports whether progress bars may be drawn on w.
func (g *global) bars(w io.Writer) bool {
	return !g.plain && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := underlying(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// pathFlags are the flags of all commands whose values are paths.
var pathFlags = map[string]bool{"dir": true, "output": true, "key": true, "sign-key": true, "checkpoint-in": true, "checkpoint-out": true, "listen": true}

// checkPaths returns an error for a URL or a home directory in place of a path: the command would
// look for a file of that name, or make one.
func checkPaths(cmd *cobra.Command, args []string) (err error) {
	if cmd.Name() == crashtestCommand {
		args = nil // the job has its own
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "~/") || strings.Contains(arg, "://") {
			if err := local.CheckPath(arg); err != nil {
				return err
			}
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && pathFlags[f.Name] {
			err = local.CheckPath(f.Value.String())
		}
	})
	return err
}
