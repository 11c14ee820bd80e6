//go:build !bivouac_wheel

package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac"
)

// forkedRun is what `fork --json` prints.
type forkedRun struct {
	Run     string  `json:"run"`
	Origin  string  `json:"origin"`
	Step    int64   `json:"step"`
	Files   int     `json:"files"`
	Shared  int64   `json:"shared_bytes"`
	Copied  int64   `json:"copied_bytes"`
	Signed  bool    `json:"signed"`
	Seconds float64 `json:"seconds"`
}

func newForkCommand(g *global) *cobra.Command {
	var o stepFlag
	return with(&cobra.Command{
		Use:   "fork RUN/STEP NEW",
		Short: "Make a new run of a step of another one, which shares its files",
		Long: `Make a new run of a step of another one, such as the one before the loss jumped. A job
that is opened on NEW goes on from this step, exactly as one on RUN would. RUN stays as it
is. It may be training meanwhile: no lock is taken, and retention spares the step.

The files of the step are hard links on a disk, and references in a bucket, so a fork
costs next to nothing, and each run may remove its steps. What could not be shared is
copied, and counted. NEW must be on the same disk or in the same bucket, and must not
exist. RUN stands for its newest step, and --step names another one.

The journal of NEW begins with its origin; bivouac show and bivouac explain print it.
Tags and other steps stay with RUN.

` + exitCodesHelp,
		Example: `  bivouac fork runs/a/1200 runs/b
  bivouac fork s3://bucket/runs/a --step 1200 s3://bucket/runs/b`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runFork(cmd.Context(), args[0], args[1], o, g) },
	}, o.addFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runFork(ctx context.Context, from, to string, o stepFlag, g *global) error {
	s, err := o.find(ctx, from, g)
	if err != nil {
		return err
	}
	made, err := bivouac.Fork(ctx, s.run, s.info.Step, to, &bivouac.ForkOptions{Names: s.dir.family.Format})
	if err != nil {
		return err
	}
	out := forkedRun{Run: to, Origin: s.run, Step: made.Step, Files: made.Files, Shared: made.Shared, Copied: made.Copied,
		Signed: made.Signed, Seconds: made.Took.Seconds()}
	return g.show(out, func() {
		g.printf("%s: step %d of %s\n", to, out.Step, out.Origin)
		g.printf("%d files, %s shared, %s copied, in %s\n", out.Files, size(out.Shared), size(out.Copied),
			made.Took.Round(time.Microsecond).String())
		if out.Signed {
			g.print("The step is signed; the list of signed steps stays with the other run, so the first start\n" +
				"that asks for signatures needs Options.AcceptMissing.\n")
		}
	})
}
