//go:build !bivouac_wheel

package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/journal/tensorboard"
)

// ExportOptions are the flags of `bivouac export`.
type ExportOptions struct {
	TensorBoard string
}

// AddFlags declares the flags.
func (o *ExportOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.TensorBoard, "tensorboard", "",
		"directory of this machine for event files, which TensorBoard shows")
}

// exportedRun is what `export --json` prints.
type exportedRun struct {
	Run       string                 `json:"run"`
	Directory string                 `json:"directory"`
	Files     []tensorboard.Exported `json:"files"`
}

func newExportCommand(g *global) *cobra.Command {
	var o ExportOptions
	return with(&cobra.Command{
		Use:   "export RUN --tensorboard DIR",
		Short: "Write the scalars of a run as event files, which TensorBoard shows",
		Long: `Write the scalars of the journal of a run as event files, one for each attempt.
They have what counts: if an attempt continued from step 100, what the one before it
did beyond that step is left out. Values are float32 there.

DIR is made if it does not exist. Files of an earlier export of the run are replaced.
A directory with other event files is left alone, because TensorBoard would show both
as one run.

` + exitCodesHelp,
		Example: "  bivouac export runs/digits --tensorboard board/digits",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runExport(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addJSON, g.addURLs)
}

func runExport(ctx context.Context, dir string, o ExportOptions, g *global) error {
	if o.TensorBoard == "" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "export", Subject: "--tensorboard",
			Want: "a directory for the event files", Got: "none", Remedy: "--tensorboard board"}}
	}
	j, err := openJournal(ctx, dir)
	if err != nil {
		return errs.Wrap("export", dir, err)
	}
	for _, p := range j.Problems() {
		g.warn(p)
	}
	files, err := tensorboard.Export(ctx, j, o.TensorBoard, g.warn)
	if err != nil {
		return errs.Wrap("export", dir, err)
	}
	return g.show(exportedRun{dir, o.TensorBoard, files}, func() {
		for _, f := range files {
			g.printf("attempt %d: %d steps: %s\n", f.Attempt, f.Steps, f.File)
		}
		g.printf("written: %s files in %s\n", strconv.Itoa(len(files)), o.TensorBoard)
	})
}

// openJournal opens the journal of a run. A run without a journal is an error.
func openJournal(ctx context.Context, dir string) (*journal.Reader, error) {
	if err := needDirectory(ctx, dir); err != nil {
		return nil, err
	}
	st, name, err := place(dir).open(ctx)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(ctx, st, name)
	if err != nil {
		return nil, err
	}
	if len(j.Attempts()) == 0 {
		return nil, &errs.Error{Kind: errs.NotFound, Want: "a journal", Got: "none",
			Remedy: "a job writes it, with the scalars that Job.Scalar records"}
	}
	return j, nil
}
