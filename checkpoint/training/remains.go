package training

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Remains is something below the directory that is or was a step and is not listed.
type Remains struct {
	Name string // below the directory
	// Err says why the step is not listed. Its kind is errs.Unsupported for a step that a newer
	// version wrote. It is errs.Corrupt for a damaged step and for one that was set aside. It is
	// errs.Invalid for a directory that is no longer a checkpoint, or that has the name of a step in
	// another NameFormat. It is errs.Exists for a second checkpoint of a listed step.
	Err error
}

// Remains returns what is left below the directory of steps that are not listed, by
// name: damaged steps, steps that were set aside (<name>.damaged), steps of newer
// versions, unsigned ones, checkpoints with names of another NameFormat, and
// directories that have the name of a step and are empty or hold files of one.
// A directory that has the name of a step and only other content is not a step.
func (c *Checkpointer) Remains(ctx context.Context) ([]Remains, error) {
	listed := map[string]bool{}
	for _, in := range c.snapshot() {
		listed[in.Directory] = true
	}
	var out []Remains
	for e, err := range c.store.List(ctx, c.root) {
		if errs.KindOf(err) == errs.NotFound {
			break // nothing was saved yet
		}
		if err != nil {
			return nil, errs.Wrap("training.Remains", c.dir, err)
		}
		if listed[e.Name] || store.IsStaging(e.Name) {
			continue
		}
		why, err := c.remains(ctx, e)
		if err != nil {
			return nil, errs.Wrap("training.Remains", c.dir, err)
		}
		if why != nil {
			out = append(out, Remains{Name: e.Name, Err: why})
		}
	}
	return out, nil
}

// remains returns why a name that is not listed is a step, or nil if it is not a step. err says why
// this cannot be told.
func (c *Checkpointer) remains(ctx context.Context, e store.Info) (why, err error) {
	step, named := c.opts.Names.Parse(e.Name)
	if layout.IsSetAside(e.Name) {
		before := e.Name[:strings.LastIndex(e.Name, layout.DamagedMark)]
		if _, was := c.opts.Names.Parse(before); was || numbered(before) {
			return &errs.Error{Kind: errs.Corrupt, Subject: e.Name, Got: "a step that was set aside"}, nil
		}
		return nil, nil
	}
	switch {
	case named && !e.Dir:
		return &errs.Error{Kind: errs.Invalid, Subject: e.Name, Want: "the directory of a step",
			Got: "a file or a symbolic link"}, nil
	case !named && (!e.Dir || !numbered(e.Name)):
		return nil, nil
	}
	in, why := c.inspect(ctx, step, e)
	if why == nil && named {
		why = c.trusted(ctx, in)
	}
	switch kind := errs.KindOf(why); {
	case kind == errs.Canceled || kind == errs.Permission || kind == errs.IO || kind == errs.Exhausted:
		return nil, why
	case kind == errs.NotFound: // it was removed in the meantime
		return nil, nil
	case why == nil && named:
		return &errs.Error{Kind: errs.Exists, Subject: e.Name,
			Got: "a second checkpoint of a listed step, or a new step"}, nil
	case why == nil:
		return &errs.Error{Kind: errs.Invalid, Subject: e.Name, Want: "a step with a name like " + c.opts.Names.Name(10),
			Got: "a checkpoint with a name of another format"}, nil
	case kind != errs.Invalid:
		return why, nil
	}
	was, err := c.wasStep(ctx, e.Name)
	if !named || !was || err != nil {
		return nil, err
	}
	return why, nil
}

// numbered reports whether some StandardNames gives a step this name: digits, perhaps after a
// prefix and an underscore.
func numbered(name string) bool {
	digits := name[strings.LastIndexByte(name, '_')+1:]
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// ofStep are names that occur in the directory of a step.
var ofStep = []string{
	orbax.CheckpointFile, orbax.MarkerFile, orbax.CommitFile, orbax.TreeFile, manifest.Name,
	orbax.StateItem, orbax.MetricsItem, "data", "default", "d", "manifest.ocdbt", "ocdbt.process_0",
}

// WasStep reports whether a directory with the name of a step may be what is left of one, by the
// names in it: the directory is empty, or one of the names occurs in a step.
func WasStep(names []string) bool {
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(ofStep, name) })
}

// wasStep works like WasStep for a directory that is not a checkpoint.
func (c *Checkpointer) wasStep(ctx context.Context, name string) (bool, error) {
	var names []string
	for e, err := range c.store.List(ctx, c.path(name)) {
		if errs.KindOf(err) == errs.NotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		names = append(names, e.Name)
	}
	return WasStep(names), nil
}

// startFresh moves all steps and remains of steps into a new directory below the root, the newest
// step last. It is called before the directory is listed.
func (c *Checkpointer) startFresh(ctx context.Context) error {
	remains, err := c.Remains(ctx)
	if err != nil {
		return err
	}
	_, err = c.store.Stat(ctx, c.path(headName))
	signed := errs.KindOf(err) != errs.NotFound
	if signed && err != nil {
		return err // a head that stayed would miss its steps forever
	}
	slices.SortStableFunc(remains, func(a, b Remains) int {
		return cmp.Compare(c.stepOf(a.Name), c.stepOf(b.Name))
	})
	aside, err := c.freeName(ctx, "aside-"+c.opts.Now().UTC().Format("20060102T150405Z"))
	if err != nil {
		return err
	}
	for _, r := range remains {
		to := path.Join(aside, r.Name)
		if err := store.Move(ctx, c.store, c.path(r.Name), c.path(to)); err != nil {
			return err
		}
		c.opts.OnEvent(Event{Kind: MovedAside, Step: c.stepOf(r.Name), Name: to})
	}
	// The tags belong to the steps that went. They would keep steps of the new run.
	if _, err := c.store.Stat(ctx, c.path(tagsName)); err == nil {
		if err := store.Move(ctx, c.store, c.path(tagsName), c.path(path.Join(aside, tagsName))); err != nil {
			return err
		}
	} else if errs.KindOf(err) != errs.NotFound {
		return err
	}
	if signed { // last: without the head the remaining steps would look complete
		return store.Move(ctx, c.store, c.path(headName), c.path(path.Join(aside, headName)))
	}
	return nil
}

// stepOf returns the step that a name spells, or 0 if it spells no step.
func (c *Checkpointer) stepOf(name string) int64 {
	step, _ := c.opts.Names.Parse(name)
	return max(step, 0)
}

// freeName returns the first of name, name-2, … that is not taken.
func (c *Checkpointer) freeName(ctx context.Context, name string) (string, error) {
	for n := 1; ; n++ {
		free := layout.Numbered(name, n)
		if _, err := c.store.Stat(ctx, c.path(free)); errs.KindOf(err) == errs.NotFound {
			return free, nil
		} else if err != nil {
			return "", err
		}
	}
}
