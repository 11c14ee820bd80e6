package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// RemoveOptions are the flags of `bivouac rm`.
type RemoveOptions struct {
	parallel
	Step      int64
	Recursive bool
	Force     bool
	DryRun    bool
}

// AddFlags declares the flags.
func (o *RemoveOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	atLeast(f, &o.Step, "step", 0, anyStep, "remove this step of a run")
	f.BoolVarP(&o.Recursive, "recursive", "r", false, "remove whole runs, with all that is in their directories")
	f.BoolVar(&o.Force, "force", false,
		"remove also what has tags, the last whole step, and files that do not belong to a run")
	f.BoolVarP(&o.DryRun, "dry-run", "n", false, "remove nothing, and print what would be removed")
}

// removedOne is what `rm --json` prints of an argument.
type removedOne struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // run, step, checkpoint
	Steps  int    `json:"steps"`
	Bytes  int64  `json:"bytes"`
	DryRun bool   `json:"dry_run"`
}

func newRemoveCommand(g *global) *cobra.Command {
	var o RemoveOptions
	return with(&cobra.Command{
		Use:   "rm PATH…",
		Short: "Remove checkpoints, steps, or whole runs that nobody uses",
		Long: `Remove checkpoints, with --step one step of each run, or with --recursive whole
runs. What is removed disappears in one move; its bytes are freed afterwards. It
cannot be brought back: --dry-run shows it first.

A run that a process writes, and a step that a reader holds, are in use and stay: that
is exit status 1. A step with tags, the last whole step of a run, and a run with files
of other programs are refused, unless --force is given. PATH is a checkpoint, a run
or a pattern of them. The directory of several runs is refused.

` + exitCodesHelp,
		Example: `  bivouac rm runs/digits --step 400
  bivouac rm --recursive 'runs/old-*' --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runRemove(cmd.Context(), args, o, g) },
	}, o.AddFlags, o.addFlags(g), g.addStepPrefix, g.addJSON, g.addURLs)
}

func runRemove(ctx context.Context, args []string, o RemoveOptions, g *global) error {
	list, err := findExactly(ctx, args)
	if err != nil {
		return err
	}
	docs, sums, bytes := documents{g: g}, tally{op: "rm"}, int64(0)
	err = each(ctx, o.jobs(), list, func(ctx context.Context, t named) (*removedOne, error) {
		return o.remove(ctx,
			t.path, g)
	},
		func(t named, done *removedOne, err error) error {
			if sums.add(t.path, err); err != nil {
				if len(list) > 1 {
					g.blame(t.path, err)
					return docs.add(failedRun{t.path, newFailureText(err)})
				}
				return nil
			}
			bytes += done.Bytes
			if !g.machine() {
				what := "removed "
				if o.DryRun {
					what = "remove  "
				}
				steps := ""
				if done.Kind == "run" {
					steps = fmt.Sprintf(", %d steps", done.Steps)
				}
				g.printf("%s  %s  %s%s, %s\n", what, done.Path, done.Kind, steps, size(done.Bytes))
			}
			return docs.add(done)
		})
	if err == nil {
		err = docs.end(len(list), map[string]any{"removed": len(list) - sums.bad, "failed": sums.bad, "bytes": bytes,
			"dry_run": o.DryRun})
	}
	if err != nil {
		return err
	}
	return sums.err()
}

// remove removes what one argument names.
func (o *RemoveOptions) remove(ctx context.Context, at string, g *global) (*removedOne, error) {
	if checkpoint.IsCheckpoint(ctx, at, nil) {
		if o.Step != anyStep {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: "--step", Want: "the directory of a run", Got: at +
				", which is a checkpoint"}
		}
		return o.checkpoint(ctx, place(at), g)
	}
	run, c, err := openSteps(ctx, at, nil, training.Options{}, g)
	if err != nil {
		return nil, err
	}
	var done *removedOne
	switch {
	case run.empty():
		err = run.missing(ctx, at, o.Step)
	case o.Step != anyStep:
		done, err = o.step(ctx, at, run, c)
	case !o.Recursive:
		err = &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: at, Want: "a checkpoint, or a step with --step",
			Got: fmt.Sprintf("a run with %d steps", len(run.steps)), Remedy: "--recursive removes the whole run"}
	default:
		done, err = o.run(ctx, place(at), run)
	}
	return done, errors.Join(err, c.Close())
}

// checkpoint removes a checkpoint. In the directory of a run it is removed as a step.
func (o *RemoveOptions) checkpoint(ctx context.Context, at place, g *global) (*removedOne, error) {
	above := place(at.parent())
	if step, ok := stepOf(string(at)); ok {
		if list, err := above.list(ctx); err == nil {
			if _, run := isRun(ctx, string(above), list); run && !checkpoint.IsCheckpoint(ctx, string(above), nil) {
				run, c, err := openSteps(ctx, string(above), nil, training.Options{}, g)
				if err != nil {
					return nil, err
				}
				asStep := *o
				asStep.Step = step
				if slices.ContainsFunc(run.steps, func(s training.Info) bool { return s.Directory == at.base() }) {
					done, err := asStep.step(ctx, string(above), run, c)
					return done, errors.Join(err, c.Close())
				}
				if err := c.Close(); err != nil {
					return nil, err
				}
			}
		}
	}
	files, err := at.files(ctx)
	if err != nil {
		return nil, err
	}
	done := &removedOne{Path: string(at), Kind: "checkpoint", Steps: 1, Bytes: sum(files).Bytes, DryRun: o.DryRun}
	st, name, err := at.open(ctx)
	if err == nil {
		err = unheld(ctx, st, name)
	}
	if err == nil && !o.DryRun {
		err = st.RemoveTree(ctx, name)
	}
	return done, err
}

// step removes a step of a run.
func (o *RemoveOptions) step(ctx context.Context, at string, run *runDir, c *training.Checkpointer) (*removedOne,
	error) {
	i := slices.IndexFunc(run.steps, func(s training.Info) bool { return s.Step == o.Step })
	if i < 0 {
		return nil, run.missing(ctx, at, o.Step)
	}
	found := place(place(at).join(run.steps[i].Directory))
	files, err := found.files(ctx)
	if err != nil {
		return nil, err
	}
	done := &removedOne{Path: string(found), Kind: "step", Steps: 1, Bytes: sum(files).Bytes, DryRun: o.DryRun}
	st, name, err := found.open(ctx)
	if err == nil {
		err = unheld(ctx, st, name)
	}
	if err != nil {
		return nil, err
	}
	if tags := run.tags[o.Step]; len(tags) > 0 && !o.Force {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: string(found), Want: "a step without tags",
			Got: "tagged " + strings.Join(tags, ", "), Remedy: "--force removes it all the same"}
	}
	if len(run.steps) == 1 && !o.Force {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: string(found), Got: "the last whole step of the run",
			Remedy: "--force removes it, --recursive the whole run"}
	}
	if o.DryRun {
		return done, nil
	}
	_, err = c.Delete(ctx, o.Step, &training.DeleteOptions{Last: o.Force, Tagged: o.Force})
	return done, err
}

// run removes a whole run while it holds the lock of the run.
func (o *RemoveOptions) run(ctx context.Context, at place, run *runDir) (done *removedOne, err error) {
	st, name, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: string(at), Want: "a run below the bucket",
			Got: "a whole bucket"}
	}
	if l, ok := st.(store.Locker); ok {
		lock, err := l.Lock(ctx, name)
		if err != nil && errs.KindOf(err) != errs.Unsupported {
			return nil, errs.Wrap("rm", string(at), err)
		}
		if err == nil {
			defer lock.Close() //nolint:errcheck // its file is gone
		}
	}
	if !o.Force {
		if err := o.refuse(ctx, at, run); err != nil {
			return nil, err
		}
	}
	for _, s := range run.steps {
		if err := unheld(ctx, st, path.Join(name, s.Directory)); err != nil {
			return nil, err
		}
	}
	files, err := at.files(ctx)
	if err != nil {
		return nil, err
	}
	done = &removedOne{Path: string(at), Kind: "run", Steps: len(run.steps), Bytes: sum(files).Bytes, DryRun: o.DryRun}
	if !o.DryRun {
		err = st.RemoveTree(ctx, name)
	}
	return done, err
}

// ofRun are the names that a run has beside its steps.
var ofRun = []string{store.LockName, ".bivouac.scrub", ".bivouac.head", ".bivouac.tags", "metadata"}

// refuse returns an error for a run with tags, or with names of other programs.
func (o *RemoveOptions) refuse(ctx context.Context, at place, run *runDir) error {
	if len(run.tags) > 0 {
		var steps []string
		for step := range run.tags {
			steps = append(steps, strconv.FormatInt(step, 10))
		}
		slices.Sort(steps)
		return &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: string(at), Want: "a run without tags",
			Got: "tagged steps: " + some(steps), Remedy: "--force removes it all the same"}
	}
	list, err := at.list(ctx)
	if err != nil {
		return err
	}
	known := slices.Concat(ofRun, run.aside)
	for _, s := range run.steps {
		known = append(known, s.Directory)
	}
	for _, s := range run.skipped {
		known = append(known, s.Directory)
	}
	var others []string
	for _, e := range list {
		if !slices.Contains(known, e.name) && !store.IsLeftover(e.name) {
			others = append(others, e.name)
		}
	}
	if len(others) > 0 {
		return &errs.Error{Kind: errs.Invalid, Op: "rm", Subject: string(at), Want: "nothing beside the steps of the run",
			Got: some(others), Remedy: "take them away, or give --force, which removes them too"}
	}
	return nil
}

// unheld returns an error if a reader has a lease of a directory.
func unheld(ctx context.Context, st store.Store, name string) error {
	info, err := st.Stat(ctx, name)
	if err != nil || !info.Dir {
		return err
	}
	pin, err := store.Pin(ctx, st, name)
	if err != nil {
		return err
	}
	defer pin.Close() //nolint:errcheck // nothing was written
	held, err := pin.Leased(ctx)
	if err == nil && held {
		err = &errs.Error{Kind: errs.Busy, Op: "rm", Subject: name, Got: "a reader has a lease of it",
			Remedy: "wait until it has ended"}
	}
	return err
}
