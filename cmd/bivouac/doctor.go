package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
)

// DoctorOptions are the flags of `bivouac doctor`.
type DoctorOptions struct {
	Python string
}

// AddFlags declares the flags.
func (o *DoctorOptions) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.Python, "python", "python3", "the Python whose client is asked for its version")
}

func newDoctorCommand(g *global) *cobra.Command {
	var o DoctorOptions
	return with(&cobra.Command{
		Use:   "doctor [DIR|URL]…",
		Short: "Say what this machine, a directory and a bucket have of what jobs need",
		Long: `Say what is there and what is missing for jobs: the build, shared memory, limits of
the process and its control group, clocks, ffmpeg, and the Python client. In each DIR a
small save is committed, read and removed: direct writes, links, locks, room. In each
URL a small object is put, read and removed: whether the server keeps the laws on which
commits rest, and whether the clocks agree.

Each check has one of four grades:

  ok       it is there
  note     it is not there, and many jobs do not need it
  warning  jobs work, and lose speed, room or safety
  failed   a job would fail

What is not ok says what it costs, and what to do. A trial makes one directory
.bivouac-doctor-… or one object bivouac-doctor-… and removes it. A bucket also keeps
the answer of its server for a day, as after each save. Nothing else is changed.

The exit status is 1 if a check failed, and 0 with notes and warnings. It is 3 if a
DIR does not exist.

` + exitCodesHelp,
		Example: `  bivouac doctor                    # this machine
  bivouac doctor /data/runs         # and a directory
  bivouac doctor s3://bucket --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := examine(cmd.Context(), args, o)
			if err != nil {
				return err
			}
			return g.tellDiagnosis(diagnose(f))
		},
	}, o.AddFlags, g.addJSON, g.addURLs)
}

// patience is how long the trials in one place may take.
const patience = time.Minute

// examine collects the facts.
func examine(ctx context.Context, args []string, o DoctorOptions) (facts, error) {
	for _, arg := range args {
		if place(arg).remote() {
			continue
		}
		if is, err := place(arg).isDirectory(ctx); err != nil && errs.KindOf(err) == errs.NotFound {
			return facts{}, &errs.Error{Kind: errs.NotFound, Op: "doctor", Subject: arg, Got: "no such directory",
				Remedy: "mkdir -p " + arg}
		} else if err == nil && !is {
			return facts{}, usageError{&errs.Error{Kind: errs.Invalid, Op: "doctor", Subject: arg, Want: "a directory",
				Got: "a file"}}
		}
	}
	clock := startClock()
	f := facts{Build: examineBuild(), Shared: examineShared(), Limits: examineLimits(), FFmpeg: examineFFmpeg(ctx),
		Python: examinePython(ctx, o.Python)}
	for _, arg := range args {
		if place(arg).remote() {
			f.Stores = append(f.Stores, examineStore(ctx, arg))
		} else {
			f.Dirs = append(f.Dirs, examineDir(ctx, arg))
		}
	}
	f.Clock = clock.facts()
	return f, context.Cause(ctx)
}

// diagnosis is what `doctor --json` prints.
type diagnosis struct {
	Failed   int      `json:"failed"`
	Warnings int      `json:"warnings"`
	Notes    int      `json:"notes"`
	Checks   findings `json:"checks"`
}

// tellDiagnosis prints the findings. It returns an error if a check failed.
func (g *global) tellDiagnosis(list findings) error {
	d := diagnosis{Checks: list}
	first := ""
	for _, f := range list {
		switch f.Grade {
		case failing:
			d.Failed++
			if first == "" {
				first = f.Check
			}
		case risky:
			d.Warnings++
		case noted:
			d.Notes++
		}
	}
	if err := g.show(d, func() { d.print(g) }); err != nil || d.Failed == 0 {
		return err
	}
	return &errs.Error{Op: "doctor", Subject: first, Got: fmt.Sprintf("%d of %d checks failed", d.Failed, len(list))}
}

func (d *diagnosis) print(g *global) {
	colours := map[grade]colour{fine: good, noted: quiet, risky: warned, failing: bad}
	width := 0
	for _, f := range d.Checks {
		width = max(width, len([]rune(printable(f.Check))))
	}
	width = min(width, 40)
	for _, f := range d.Checks {
		// The colour is outside of the padding, which counts characters.
		fmt.Fprint(g.stdout, g.paint(colours[f.Grade], fmt.Sprintf("%-8s", f.Grade))) //nolint:errcheck // output keeps it
		g.printf(" %-*s  %s\n", width, f.Check, f.Found)
		if f.Cost != "" {
			g.printf("         %-*s  cost: %s\n", width, "", f.Cost)
		}
		if f.Remedy != "" {
			g.printf("         %-*s  do:   %s\n", width, "", f.Remedy)
		}
	}
	g.printf("%d checks: %d failed, %d warnings, %d notes\n", len(d.Checks), d.Failed, d.Warnings, d.Notes)
}
