//go:build !bivouac_wheel

package main

import (
	"context"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/examples/digits/demo"
)

// DemoOptions are the flags of `bivouac demo`.
type DemoOptions struct {
	demo.Options
}

// AddFlags declares the flags.
func (o *DemoOptions) AddFlags(cmd *cobra.Command) {
	f, d := cmd.Flags(), demo.Options{}.WithDefaults()
	f.StringVar(&o.Dir, "dir", "bivouac-demo",
		"directory for data set, checkpoints and plot; empty, or of an earlier demo")
	f.Uint64Var(&o.Seed, "seed", 7, "seed of weights, data order, augmentation and kills")
	atLeast(f, &o.Steps, "steps", 1, d.Steps, "training steps")
	atLeast(f, &o.SaveEvery, "save-every", 1, d.SaveEvery, "steps between two commits")
	atLeast(f, &o.Kills, "kills", 0, d.Kills, "how often to kill the training")
	atLeast(f, &o.Threads, "threads", 1, d.Threads, "threads of the data pipeline")
	atLeast(f, &o.Prefetch, "prefetch", 1, d.Prefetch, "batches prepared ahead")
}

// newDemoCommands returns demo, and the hidden command of its children.
func newDemoCommands(g *global) []*cobra.Command {
	return []*cobra.Command{newDemoCommand(g), newDemoTrainCommand(g)}
}

func newDemoCommand(g *global) *cobra.Command {
	var o DemoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Train a network, kill it five times, and compare with an uninterrupted training",
		Long: `Train a small network on handwritten digits, uninterrupted; train it again in a
child process that is killed with SIGKILL at random instants, some of them while
a commit is under way; and compare the two bit for bit: order of the samples,
augmented pixels, losses, final weights and optimizer.

Steps are committed asynchronously as Orbax checkpoints.

` + exitCodesHelp + `
Trainings that differ are exit status 4.`,
		Example: `  bivouac demo
  bivouac demo --dir digits --steps 200 --kills 2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), o, g) },
	}
	cmd.AddCommand(newDemoElasticCommand(g))
	return with(cmd, o.AddFlags, g.addJSON)
}

func runDemo(ctx context.Context, o DemoOptions, g *global) error {
	if o.Kills == 0 {
		o.Kills = demo.NoKills
	}
	self, err := os.Executable()
	if err != nil {
		return errs.Wrap("demo", "own executable", err)
	}
	o.Command = func(ctx context.Context, training string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, demoTrainCommand, training)
		cmd.Args[0] = os.Args[0]
		return cmd
	}
	screen := newScreen(g)
	report, err := demo.Run(ctx, o.Options, screen)
	screen.close()
	if err != nil {
		return err
	}
	return g.printReport("demo", report, report.Failures)
}
