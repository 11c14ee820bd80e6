package main

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/spf13/cobra"
)

// AdoptOptions are the flags of `bivouac adopt`.
type AdoptOptions struct {
	Step int64
}

// AddFlags declares the flags.
func (o *AdoptOptions) AddFlags(cmd *cobra.Command) {
	atLeast(cmd.Flags(), &o.Step, "step", 0, anyStep, "step of a run; by default the newest")
}

func newAdoptCommand(g *global) *cobra.Command {
	var o AdoptOptions
	return with(&cobra.Command{
		Use:   "adopt PATH",
		Short: "Give a checkpoint that Orbax wrote a manifest, so that every byte is covered",
		Long: `Verify a checkpoint that Orbax wrote, or a step of a run, and give it a manifest: from
then on every byte is covered, and verify calls it sound. No other file is changed,
and Orbax loads it as before. A damaged checkpoint is not adopted.

` + exitCodesHelp,
		Example: `  bivouac adopt runs/orbax/100`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runAdopt(cmd.Context(), args[0], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runAdopt(ctx context.Context, path string, o AdoptOptions, g *global) error {
	found, err := resolve(ctx, path, o.Step, g)
	if err != nil {
		return err
	}
	work := newWork(g)
	r, err := integrity.Adopt(ctx, found.path, &integrity.AdoptOptions{Progress: work.on(place(found.path).base())})
	work.close()
	if err != nil {
		return err
	}
	v := newVerdict(found.path, r)
	return g.show(v, func() {
		g.printf("adopted   %s  %d files, %d leaves, %s; covered: %s\n", v.Path, v.Files, v.Leaves, size(v.Bytes), v.Coverage)
	})
}
