package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// anyStep as a step means the newest one.
const anyStep = -1

// addStepPrefix gives a command that reads runs the flag --step-prefix.
func (g *global) addStepPrefix(cmd *cobra.Command) {
	cmd.Flags().Var(&optional{&g.stepPrefix}, "step-prefix",
		"prefix of the steps of a run, which are directories PREFIX_N; '' for plain numbers; by default it is found")
}

// optional is the value of a flag for text that may be empty; nil means that the flag was not
// given.
type optional struct{ to **string }

// Set implements pflag.Value.
func (o *optional) Set(s string) error { *o.to = &s; return nil }

// String implements pflag.Value.
func (o *optional) String() string {
	if o.to == nil || *o.to == nil {
		return ""
	}
	return **o.to
}

// Type implements pflag.Value.
func (o *optional) Type() string { return "prefix" }

// runDir holds the contents of a run directory.
type runDir struct {
	family  training.NameFamily
	steps   []training.Info    // ascending
	skipped []skippedStep      // directories that look like steps but are not whole checkpoints, ascending
	tags    map[int64][]string // of steps
	gone    []training.Missing // signed steps that do not exist any more
	aside   []string           // directories that were set aside: damaged steps, or all steps at a fresh start
}

type skippedStep struct {
	Step      int64  `json:"step"`
	Directory string `json:"directory"`
	Reason    string `json:"reason"`
	err       error
}

// empty reports whether a run has no steps of any kind.
func (r *runDir) empty() bool { return len(r.steps)+len(r.skipped)+len(r.aside) == 0 }

// openRun reads the steps of dir and changes nothing there.
func openRun(ctx context.Context, dir string, g *global) (*runDir, error) {
	r, c, err := openSteps(ctx, dir, nil, training.Options{}, g)
	if err != nil {
		return nil, err
	}
	return r, c.Close()
}

// openSteps works like openRun, and returns what it has opened with the options. The caller must
// close it. The key must have signed the head of the run, if the run has one; a nil key checks no
// signature.
func openSteps(ctx context.Context, dir string, key ed25519.PublicKey, o training.Options,
	g *global) (*runDir, *training.Checkpointer, error) {
	if err := needDirectory(ctx, dir); err != nil {
		return nil, nil, err
	}
	var r runDir
	list, err := place(dir).list(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, e := range list {
		switch {
		case !e.dir:
		case isAside(e.name):
			r.aside = append(r.aside, e.name)
		default:
			names = append(names, e.name)
		}
	}
	if r.family, err = stepNames(ctx, dir, names, g); err != nil {
		return nil, nil, err
	}
	opening := true
	o.Names = r.family.Format
	o.OnEvent = func(e training.Event) {
		if opening && e.Kind == training.Skipped {
			r.skipped = append(r.skipped, skippedStep{Step: e.Step, Directory: e.Name, Reason: e.Err.Error(), err: e.Err})
		}
	}
	c, err := training.Open(ctx, dir, &o)
	if err != nil {
		return nil, nil, err
	}
	opening = false
	if r.steps = c.Checkpoints(); len(r.steps)+len(r.aside) == 0 && !isLocked(list) && !holdsRemains(ctx, dir, list) {
		r.skipped = nil // numbered directories with other contents: it is not a run
	}
	slices.SortFunc(r.skipped, func(a, b skippedStep) int { return cmp.Compare(a.Step, b.Step) })
	r.gone, err = c.MissingSteps(ctx, key)
	if err == nil {
		r.tags, err = c.Tags(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return &r, c, nil
}

// isLocked reports whether a directory has the lock file of a run.
func isLocked(list []entry) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.name == store.LockName })
}

// isAside reports whether a directory of a run was set aside: a damaged step by a repair or a
// start, or all contents of the run at a fresh start.
func isAside(name string) bool {
	step, n, ok := strings.Cut(name, ".damaged")
	return ok && step != "" && strings.Trim(strings.TrimPrefix(n, "-"), "0123456789") == "" || strings.HasPrefix(name,
		"aside-")
}

// stepNames determines how the steps of a run are named: as --step-prefix says, with plain numbers,
// or in the only other way in which checkpoints there are named.
func stepNames(ctx context.Context, dir string, names []string, g *global) (training.NameFamily, error) {
	plain := training.NameFamily{Format: training.StandardNames{}}
	families := training.NameFamilies(names)
	if g.stepPrefix != nil {
		for _, f := range families {
			if f.Prefix == nil && *g.stepPrefix == "" || f.Prefix != nil && *f.Prefix == strings.TrimSuffix(*g.stepPrefix, "_") {
				return f, nil
			}
		}
		return plain, &errs.Error{Kind: errs.NotFound, Subject: dir, Want: "steps named " + prefixed(*g.stepPrefix),
			Got: described(families)}
	}
	var found []training.NameFamily
	for _, f := range families {
		if f.Prefix == nil {
			plain = f
		}
		if slices.ContainsFunc(f.Names, func(name string) bool {
			return checkpoint.IsCheckpoint(ctx, place(dir).join(name),
				nil)
		}) {
			found = append(found, f)
		}
	}
	switch {
	case len(found) == 0:
		return plain, nil
	case len(found) > 1 && found[0].Prefix == nil:
		g.warn(&errs.Error{Subject: dir, Got: "checkpoints named " + described(found[1:]) + " lie beside the steps",
			Remedy: "--step-prefix reads them"})
	case len(found) > 1:
		return plain, &errs.Error{Kind: errs.Invalid, Subject: dir, Want: "steps that are named in one way",
			Got: described(found), Remedy: "choose with --step-prefix " + *found[0].Prefix}
	}
	return found[0], nil
}

// prefixed describes names with a prefix, or without one if it is "".
func prefixed(prefix string) string {
	if prefix == "" {
		return "N"
	}
	return strings.TrimSuffix(prefix, "_") + "_N"
}

// described lists families of names.
func described(families []training.NameFamily) string {
	var list []string
	for _, f := range families {
		if f.Prefix == nil {
			list = append(list, prefixed(""))
		} else {
			list = append(list, prefixed(*f.Prefix))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return some(list)
}

func needDirectory(ctx context.Context, dir string) error {
	is, err := place(dir).isDirectory(ctx)
	if err == nil && !is {
		return noCheckpoint(ctx, dir)
	}
	return err
}

// resolved is a checkpoint that was found.
type resolved struct {
	path string
	step *int64 // step of a run, or the step in the name of the directory; nil: no step
	run  bool   // it was found as a step of a run

	committed time.Time // of a step of a run
}

// resolve finds the checkpoint that path means: path itself, or a step of the run directory path.
// It warns if a newer step is damaged.
func resolve(ctx context.Context, path string, step int64, g *global) (resolved, error) {
	if err := needDirectory(ctx, path); err != nil && (errs.KindOf(err) != errs.Invalid || !checkpoint.IsCheckpoint(ctx,
		path, nil)) {
		return resolved{}, err
	}
	if checkpoint.IsCheckpoint(ctx, path, nil) {
		r := resolved{path: path}
		if own, ok := stepOf(path); ok {
			r.step = &own
		}
		if step != anyStep && (r.step == nil || *r.step != step) {
			return r, &errs.Error{Kind: errs.Invalid, Subject: "--step", Want: "the directory of a run", Got: path +
				", which is a checkpoint"}
		}
		return r, nil
	}
	r, err := openRun(ctx, path, g)
	if err != nil {
		return resolved{}, err
	}
	return r.choose(ctx, path, step, g)
}

// choose finds a step of the run in dir, or the newest.
func (r *runDir) choose(ctx context.Context, dir string, step int64, g *global) (resolved, error) {
	for i := len(r.steps) - 1; i >= 0; i-- {
		s := r.steps[i]
		if step != anyStep && s.Step != step {
			continue
		}
		if step == anyStep {
			r.warnPassed(dir, s, g)
		}
		return resolved{place(dir).join(s.Directory), &s.Step, true, s.Time}, nil
	}
	for i := len(r.skipped) - 1; i >= 0; i-- {
		if s := r.skipped[i]; step == anyStep || s.Step == step {
			return resolved{}, errs.Wrap("", place(dir).join(s.Directory), s.reason())
		}
	}
	return resolved{}, r.missing(ctx, dir, step)
}

// reason returns why a directory with the name of a step is not a step. An interrupted save, or a
// directory that was never a checkpoint, counts as damage in place of a step.
func (s skippedStep) reason() error {
	if errs.KindOf(s.err) == errs.Invalid {
		return &errs.Error{Kind: errs.Corrupt, Got: "a directory with the name of a step that is not a whole checkpoint",
			Err: s.err}
	}
	return s.err
}

// warnPassed warns that the newest whole step is not the newest step.
func (r *runDir) warnPassed(dir string, chosen training.Info, g *global) {
	for i := len(r.skipped) - 1; i >= 0; i-- {
		if s := r.skipped[i]; s.Step > chosen.Step {
			g.warn(&errs.Error{Subject: place(dir).join(s.Directory), Got: "passed over, step " +
				strconv.FormatInt(chosen.Step, 10) + " is read instead", Err: s.reason()})
		}
	}
}

// missing returns the error for a directory without a checkpoint, or without the step.
func (r *runDir) missing(ctx context.Context, dir string, step int64) error {
	if n := len(r.steps); n > 0 {
		e := &errs.Error{Kind: errs.NotFound, Subject: dir, Want: "step " + strconv.FormatInt(step, 10), Got: "only step " +
			strconv.FormatInt(r.steps[0].Step, 10)}
		if n > 1 {
			e.Got = "steps " + strconv.FormatInt(r.steps[0].Step, 10) + " to " + strconv.FormatInt(r.steps[n-1].Step, 10)
		}
		return e
	}
	_, err := checkpoint.Metadata(ctx, dir, nil)
	var why *errs.Error
	if kind := errs.KindOf(err); err != nil && kind != errs.NotFound && (kind != errs.Invalid || errors.As(err, &why) &&
		why.Remedy != "") {
		return err // it is a checkpoint, of a newer version for example, or its remains
	}
	e := &errs.Error{Kind: errs.NotFound, Subject: dir, Want: "a checkpoint or the directory of a run",
		Got: "a directory without steps"}
	list, err := place(dir).list(ctx)
	switch {
	case err == nil && len(list) == 0:
		e.Got = "an empty directory"
	case len(r.aside) > 0:
		e.Got, e.Remedy = "a directory whose steps were set aside: "+some(r.aside),
			"bivouac verify "+place(dir).join(r.aside[0])+" says why"
	}
	for _, d := range list {
		below := place(dir).join(d.name)
		if e.Remedy == "" && d.dir && (checkpoint.IsCheckpoint(ctx, below, nil) || holdsSteps(ctx, below)) {
			e.Remedy = "did you mean " + below + "?"
		}
	}
	if files := checkpointFiles(list); e.Remedy == "" && len(files) > 0 {
		e.Got = "a directory of files: " + some(files)
		e.Remedy = "each file is a checkpoint by itself; name one, such as " + place(dir).join(files[len(files)-1])
	}
	if files, remedy := foreignFiles(list); e.Remedy == "" && len(files) > 0 {
		e.Got, e.Remedy = "a directory with files of another program: "+some(files), remedy
	}
	return e
}

// checkpointFiles returns the files that are named like single-file checkpoints; Flax names them by
// their steps.
func checkpointFiles(list []entry) []string {
	var files []string
	for _, d := range list {
		step, flax := strings.CutPrefix(d.name, "checkpoint_")
		_, err := strconv.ParseUint(step, 10, 64)
		if !d.dir && (flax && err == nil || slices.Contains([]string{".msgpack", ".npz", ".npy"}, filepath.Ext(d.name))) {
			files = append(files, d.name)
		}
	}
	slices.SortFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return files
}

// holdsSteps reports whether a directory looks like the directory of a run.
func holdsSteps(ctx context.Context, dir string) bool {
	list, err := place(dir).list(ctx)
	if err != nil {
		return false
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.name
	}
	for _, f := range training.NameFamilies(names) {
		if checkpoint.IsCheckpoint(ctx, place(dir).join(f.Names[len(f.Names)-1]), nil) {
			return true
		}
	}
	return false
}

// stepOf reads the step from the name of a step's directory, of a plain number.
func stepOf(path string) (int64, bool) {
	return training.StandardNames{}.Parse(place(path).base())
}
