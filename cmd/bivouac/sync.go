package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// SyncOptions are the flags of `bivouac sync`.
type SyncOptions struct {
	CopyOptions
	Delete bool
	DryRun bool
}

// AddFlags declares the flags.
func (o *SyncOptions) AddFlags(cmd *cobra.Command) {
	o.CopyOptions.AddFlags(cmd)
	cmd.Flags().BoolVar(&o.Delete, "delete", false, "remove the steps of DST that SRC does not have")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "only print what would be copied and removed")
}

// synced is what `sync --json` prints.
type synced struct {
	copies
	DryRun  bool     `json:"dry_run"`
	Removed []string `json:"removed"`
}

func newSyncCommand(g *global) *cobra.Command {
	var o SyncOptions
	return with(&cobra.Command{
		Use:   "sync SRC… DST",
		Short: "Give runs what others have, also from and to an object store",
		Long: `Copy the whole steps of the run SRC that the run DST does not have. SRC and DST are
paths or URLs, such as s3://bucket/run. A step appears in DST in one move when it is
whole and durable. It is read back and compared with its checksums, or with the source.
The same call again goes on where an interrupted one stopped.

` + severalHelp + `

Nothing in DST is removed or replaced unless a flag says so. With --delete the steps
of DST that SRC does not have are removed when all steps are copied. A step of DST
stays if SRC has a damaged one of the same name, or if it has a tag. If a job saves in DST, nothing is
removed.

` + exitCodesHelp,
		Example: `  bivouac sync runs/digits s3://bucket/digits
  bivouac sync runs s3://bucket/runs --dry-run`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runSync(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

func runSync(ctx context.Context, args []string, o SyncOptions, g *global) error {
	return copyAll(ctx, "sync", args, o.CopyOptions, g, func(ctx context.Context, src, dst place, g *global) (any,
		func(), error) {
		if err := copyable(ctx, "sync", src, dst); err != nil {
			return nil, nil, err
		}
		if checkpoint.IsCheckpoint(ctx, string(src), nil) {
			return nil, nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "sync", Subject: string(src),
				Want: "the directory of a run", Got: "a checkpoint", Remedy: "bivouac cp copies one checkpoint"}}
		}
		c := newCopier(src, dst, o.CopyOptions, g)
		c.dry = o.DryRun
		done := synced{DryRun: o.DryRun, Removed: []string{}}
		err := c.run(ctx, src, dst, func(run *runDir) (err error) {
			if o.Delete {
				done.Removed, err = c.removeOthers(ctx, run, dst)
			}
			return err
		})
		c.work.close()
		done.copies = c.out
		return done, func() { done.print(c) }, err
	})
}

// print prints what was copied and removed.
func (s *synced) print(c *copier) {
	c.print()
	for _, name := range s.Removed {
		what := "removed "
		if c.dry {
			what = "remove  "
		}
		c.g.printf("%s  %s\n", what, name)
	}
}

// removeOthers removes the steps of dst that the run does not have, and returns their places.
func (c *copier) removeOthers(ctx context.Context, run *runDir, dst place) (removed []string, err error) {
	removed = []string{}
	there, err := openRun(ctx, string(dst), c.g)
	if errs.KindOf(err) == errs.NotFound && c.dry {
		return removed, nil
	}
	if err != nil {
		return removed, err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(run.steps, func(s training.Info) bool { return s.Directory == name }) ||
			slices.ContainsFunc(run.skipped, func(s skippedStep) bool { return s.Directory == name })
	}
	others := slices.DeleteFunc(there.steps, func(s training.Info) bool { return has(s.Directory) })
	if len(others) == 0 {
		return removed, nil
	}
	var steps *training.Checkpointer
	if !c.dry {
		if steps, err = training.Open(ctx, string(dst), &training.Options{Names: there.family.Format}); err != nil {
			return removed, err
		}
		defer func() { err = errors.Join(err, steps.Close()) }()
	}
	for _, s := range others {
		if tags := there.tags[s.Step]; len(tags) > 0 {
			c.out.Skipped = append(c.out.Skipped, skippedSource{dst.join(s.Directory), "it has the tag " + strings.Join(tags,
				", ") + " and stays"})
			continue
		}
		if !c.dry {
			if _, err := steps.Delete(ctx, s.Step, &training.DeleteOptions{MissingOK: true}); err != nil {
				return removed, err
			}
		}
		removed = append(removed, dst.join(s.Directory))
	}
	return removed, nil
}
