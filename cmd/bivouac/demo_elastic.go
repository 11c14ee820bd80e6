//go:build !bivouac_wheel

package main

import (
	"context"

	"github.com/bivouac-ml/bivouac/examples/elastic"
	"github.com/spf13/cobra"
)

func newDemoElasticCommand(g *global) *cobra.Command {
	d := elastic.Options{}.WithDefaults()
	o := elastic.Options{}
	cmd := &cobra.Command{
		Use:   "elastic",
		Short: "Change the number of ranks in mid-epoch, and compare with an uninterrupted run",
		Long: `Read a data set over 8 ranks; stop in mid-epoch and go on over 6, then 13, then 1,
with batches of another size each time; and compare with one rank that reads all
of it uninterrupted: the samples in their order, the random numbers of their
augmentation, and each sample exactly once in an epoch.

` + exitCodesHelp + `
Runs that differ are exit status 4.`,
		Example: `  bivouac demo elastic`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemoElastic(cmd.Context(), o, g) },
	}
	f := cmd.Flags()
	atLeast(f, &o.Samples, "samples", 1, d.Samples, "samples of the data set")
	atLeast(f, &o.Epochs, "epochs", 1, d.Epochs, "how often to read it")
	f.Uint64Var(&o.Seed, "seed", 7, "seed of order and augmentation")
	return with(cmd, g.addJSON)
}

func runDemoElastic(ctx context.Context, o elastic.Options, g *global) error {
	screen := newScreen(g)
	report, err := elastic.Run(ctx, o, screen)
	screen.close()
	if err != nil {
		return err
	}
	return g.printReport("demo elastic", report, report.Failures)
}
