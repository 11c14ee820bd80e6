package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// TagOptions are the flags of `bivouac tag` and `bivouac protect`.
type TagOptions struct {
	parallel
	Step   int64
	Remove bool
}

// tagged is what `tag --json` prints of a run.
type tagged struct {
	Directory string   `json:"directory"`
	Step      int64    `json:"step"`
	Tags      []string `json:"tags"`    // that the step has now
	Changed   bool     `json:"changed"` // the tag was given, or taken away
}

const tagsHelp = `bivouac prune and the policies of a training spare a step with a tag, and
bivouac rm and bivouac sync --delete refuse it. So it stays until its tags are taken away, or
somebody removes it with other means. bivouac cp and bivouac sync copy the tags.
A training may be running. The tag belongs to the number of the step.`

func newTagCommand(g *global) *cobra.Command {
	var o TagOptions
	cmd := with(&cobra.Command{
		Use:   "tag TAG RUN…",
		Short: "Give a step a tag, which also keeps it",
		Long: `Give the newest step of each run, or the step --step, a tag of letters, digits,
'.', '-' and '_'. bivouac ls prints the tags.

` + tagsHelp + `

` + exitCodesHelp,
		Example: `  bivouac tag paper runs/digits --step 4000
  bivouac tag paper runs/digits --step 4000 --remove`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runTag(cmd.Context(), args[0], args[1:], o, g) },
	}, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
	o.declare(cmd, "take the tag away")
	return cmd
}

func newProtectCommand(g *global) *cobra.Command {
	var o TagOptions
	cmd := with(&cobra.Command{
		Use:   "protect RUN…",
		Short: "Keep a step whatever policies say: give it the tag " + training.Protected,
		Long: `Give the newest step of each run, or the step --step, the tag ` + training.Protected + `.

` + tagsHelp + `

` + exitCodesHelp,
		Example: `  bivouac protect runs/digits --step 4000
  bivouac protect runs/digits --step 4000 --remove`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTag(cmd.Context(), training.Protected, args, o, g)
		},
	}, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
	o.declare(cmd, "end the protection")
	return cmd
}

// declare declares the flags.
func (o *TagOptions) declare(cmd *cobra.Command, remove string) {
	atLeast(cmd.Flags(), &o.Step, "step", 0, anyStep, "step of the run; by default the newest")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, remove)
}

func runTag(ctx context.Context, tag string, args []string, o TagOptions, g *global) error {
	if err := training.CheckTag(tag); err != nil {
		return usageError{err}
	}
	list, err := findNamed(ctx, args)
	if err != nil {
		return err
	}
	docs, sums := documents{g: g}, tally{op: "tag"}
	err = each(ctx, o.jobs(), list, func(ctx context.Context, t named) (tagged, error) {
		return tagRun(ctx, t.path, tag,
			o, g)
	},
		func(t named, done tagged, err error) error {
			if sums.add(t.path, err); err != nil {
				if len(list) > 1 {
					g.blame(t.path, err)
					return docs.add(failedRun{t.path, newFailureText(err)})
				}
				return nil
			}
			if !g.machine() {
				tags := "no tags"
				if len(done.Tags) > 0 {
					tags = "tagged " + strings.Join(done.Tags, ", ")
				}
				g.printf("%s  step %d  %s\n", t.path, done.Step, tags)
			}
			return docs.add(done)
		})
	if err == nil {
		err = docs.end(len(list), map[string]int{"runs": len(list), "failed": sums.bad})
	}
	if err != nil {
		return err
	}
	return sums.err()
}

// tagRun gives a step of a run a tag, or takes it away.
func tagRun(ctx context.Context, path, tag string, o TagOptions, g *global) (done tagged, err error) {
	if checkpoint.IsCheckpoint(ctx, path, nil) {
		return done, &errs.Error{Kind: errs.Invalid, Op: "tag", Subject: path, Want: "the directory of a run",
			Got:    "a checkpoint",
			Remedy: "name the run, and the step with --step"}
	}
	run, c, err := openSteps(ctx, path, nil, training.Options{}, g)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if o.Step == anyStep && !o.Remove || len(run.steps) == 0 {
		if _, err := run.choose(ctx, path, o.Step, g); err != nil {
			return done, err
		}
	}
	done = tagged{Directory: path, Step: o.Step, Tags: []string{}, Changed: true}
	if newest, ok := c.Latest(); ok && o.Step == anyStep {
		done.Step = newest.Step
	}
	if o.Remove {
		done.Changed, err = c.Untag(ctx, done.Step, tag)
	} else {
		err = c.Tag(ctx, done.Step, tag)
	}
	if err != nil {
		return done, err
	}
	tags, err := c.Tags(ctx)
	done.Tags = append(done.Tags, tags[done.Step]...)
	return done, err
}
