package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/cmd/bivouac/internal/crashtest"
	"github.com/bivouac-ml/bivouac/errs"
)

const crashtestCommand = "crashtest"

// CrashtestOptions are the flags of `bivouac crashtest`.
type CrashtestOptions struct {
	crashtest.Options
	signal string
}

// AddFlags declares the flags.
func (o *CrashtestOptions) AddFlags(cmd *cobra.Command) {
	f, d := cmd.Flags(), crashtest.Options{}.WithDefaults()
	atLeast(f, &o.Kills, "kills", 1, d.Kills, "how often to kill the job")
	f.Uint64Var(&o.Seed, "seed", 7, "seed of the instants of the kills")
	f.StringVar(&o.signal, "signal", string(d.Signal), "KILL or TERM: what the job gets")
	f.Var(&duration{&o.Timeout}, "timeout",
		"how long a start of the job may take; by default an hour, and after a kill 3 unbroken runs and 30 s")
	f.Var(&duration{&o.Warmup}, "warmup", "no kill in this time after a start")
	o.Grace = d.Grace
	f.Var(&duration{&o.Grace}, "grace", "how long processes of the job may stay after SIGTERM, or after its end")
	f.BoolVar(&o.Twice, "twice", false, "run the job unbroken twice even if nothing differs")
	f.BoolVar(&o.Keep, "keep", false, "keep directories, records and output of the runs")
	f.StringVar(&o.Dir, "dir", "", "where to make the directories; by default where the system has temporary files")
}

// duration is the value of a flag for a time.
type duration struct{ to *time.Duration }

// Set implements pflag.Value.
func (d *duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return &errs.Error{Kind: errs.Invalid, Want: "a time such as 90s or 5m"}
	}
	*d.to = v
	return nil
}

// String implements pflag.Value.
func (d *duration) String() string {
	if d.to == nil || *d.to == 0 {
		return ""
	}
	return d.to.String()
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "TIME" }

func newCrashtestCommand(g *global) *cobra.Command {
	var o CrashtestOptions
	cmd := &cobra.Command{
		Use:   crashtestCommand + " [flags] -- COMMAND [ARG]...",
		Short: "Run your own job, kill it at random instants, and say what it lost",
		Long: `Run a job once unbroken; run it again in another directory, kill it several times
with all its processes, and start it again after each kill; and compare the two:
samples lost, repeated and in another order, losses, final weights.

` + crashtest.Lines + `
Some kills come in the first seconds after a start, the others are spread over
the steps. If something differs, the job runs unbroken once more: what differs
then too is not blamed on the kills.

What the job writes elsewhere is not seen: a checkpoint that both runs share
makes their comparison worthless. The output of the job is in output.txt of
each run; --keep keeps it.

` + exitCodesHelp + `
A job that differs, hangs or fails after a kill is exit status 4.`,
		Example: `  bivouac crashtest --kills 5 -- python train.py
  bivouac crashtest --signal TERM --timeout 10m -- python train.py --checkpoints {dir}`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runCrashtest(cmd.Context(), args, o, g) },
	}
	cmd.Flags().SetInterspersed(false) // the job has flags of its own
	return with(cmd, o.AddFlags, g.addJSON)
}

func runCrashtest(ctx context.Context, args []string, o CrashtestOptions, g *global) error {
	o.Command = args
	o.Options.Signal = crashtest.Signal(strings.TrimPrefix(strings.ToUpper(o.signal), "SIG"))
	screen := newScreen(g)
	report, err := crashtest.Run(ctx, o.Options, screen)
	screen.close()
	if err != nil {
		return err
	}
	return g.printReport("crashtest", report, report.Failures)
}

// printReport prints what a demo or a crash test found. The first failure is the error.
func (g *global) printReport(op string, report interface{ Print(io.Writer) }, failures []string) (err error) {
	err = g.show(report, func() { report.Print(g.stdout) })
	if len(failures) > 0 {
		return &errs.Error{Kind: errs.Mismatch, Op: op, Got: failures[0]}
	}
	return err
}
