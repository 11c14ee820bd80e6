package training

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// retire lets the preservation policy speak: in the background, where the next
// save and Close wait for it and tell its failure, or at once.
func (c *Checkpointer) retire(ctx context.Context, subject string) error {
	ctx = context.WithoutCancel(ctx) // which ends with the save
	retain := func() error {
		err := errs.Wrap("training.Save", subject+" is committed, removing older steps", c.retain(ctx))
		if err != nil {
			c.keepFailure(err)
		}
		return err
	}
	if c.opts.Foreground {
		return retain()
	}
	over := make(chan struct{})
	c.mu.Lock()
	before := c.removing
	c.removing = over
	c.mu.Unlock()
	go func() {
		defer close(over)
		if before != nil {
			<-before
		}
		retain() //nolint:errcheck // it is kept
	}()
	return nil
}

// retain removes what the preservation policy gives up, oldest first, never the
// newest, and never the last step that is whole.
func (c *Checkpointer) retain(ctx context.Context) error {
	var kept, doomed []Info
	for _, r := range c.Retention() {
		if r.Keep {
			kept = append(kept, r.Info)
		} else {
			doomed = append(doomed, r.Info)
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	doomed, err := c.spare(ctx, kept, doomed)
	if err != nil {
		return err
	}
	for _, in := range doomed {
		leased, err := c.leased(ctx, in)
		if err != nil {
			return err
		}
		if leased {
			c.opts.OnEvent(Event{Kind: Spared, Step: in.Step, Name: in.Directory, Reason: "a reader has a lease of it"})
			continue
		}
		if err := c.remove(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// follow takes out of the list what the process removes that this one saves with.
func (c *Checkpointer) follow() {
	for _, r := range c.Retention() {
		if !r.Keep {
			c.unlist(r.Step)
		}
	}
}

// spare takes the newest whole step out of those that are to go when none of those
// that are kept is whole.
func (c *Checkpointer) spare(ctx context.Context, kept, doomed []Info) ([]Info, error) {
	whole, err := c.newestWhole(ctx, kept)
	if err != nil || whole != nil {
		return doomed, err
	}
	whole, err = c.newestWhole(ctx, doomed)
	if err != nil || whole == nil {
		return nil, err
	}
	c.opts.OnEvent(Event{Kind: Spared, Step: whole.Step, Name: whole.Directory, Reason: "no other step is whole"})
	return slices.DeleteFunc(doomed, func(in Info) bool { return in.Step == whole.Step }), nil
}

// newestWhole returns the newest of some steps that is still a whole checkpoint,
// signed where there is a key; nil when none is.
func (c *Checkpointer) newestWhole(ctx context.Context, list []Info) (*Info, error) {
	for _, in := range slices.Backward(list) {
		damage, err := c.look(ctx, in)
		if err != nil {
			return nil, err
		}
		if damage == nil {
			return &in, nil
		}
	}
	return nil, nil
}

// look says what is wrong with a step on the list, as it is now. err is why
// nobody can tell.
func (c *Checkpointer) look(ctx context.Context, in Info) (damage, err error) {
	e, err := c.store.Stat(ctx, c.path(in.Directory))
	if err == nil {
		e.Name = in.Directory
		_, err = c.inspect(ctx, in.Step, e)
	}
	if err == nil {
		err = c.trusted(ctx, in)
	}
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
		return nil, err
	}
	return err, nil
}

// remove takes a step away as Options.Deletion says. What is no whole checkpoint
// any more is no longer listed, told as Skipped, and left where it is.
func (c *Checkpointer) remove(ctx context.Context, in Info) error {
	c.deciding.Lock()
	event, err := c.decide(ctx, in)
	c.deciding.Unlock()
	if event.Kind != 0 {
		c.opts.OnEvent(event)
	}
	return err
}

// decide is remove; it returns what OnEvent is to be told. c.deciding is held.
func (c *Checkpointer) decide(ctx context.Context, in Info) (Event, error) {
	damage, err := c.look(ctx, in)
	if err != nil {
		return Event{}, err
	}
	if damage != nil {
		c.unlist(in.Step)
		if errs.KindOf(damage) != errs.NotFound {
			return Event{Kind: Skipped, Step: in.Step, Name: in.Directory, Err: damage}, nil
		}
		return Event{}, nil
	}
	if err := c.drop(ctx, in); err != nil && errs.KindOf(err) != errs.NotFound {
		if _, gone := c.store.Stat(ctx, c.path(in.Directory)); errs.KindOf(gone) == errs.NotFound {
			c.unlist(in.Step)
		}
		return Event{}, err
	}
	c.unlist(in.Step)
	return Event{Kind: Removed, Step: in.Step, Name: in.Directory}, nil
}

// drop removes the directory of a step, or moves it to the trash.
func (c *Checkpointer) drop(ctx context.Context, in Info) error {
	if c.opts.Deletion == (options.Deletion{}) {
		return c.store.RemoveTree(ctx, c.path(in.Directory))
	}
	_, err := c.deleteAt(ctx, in, checkpoint.DeleteOptions{Options: options.Options{Deletion: c.deletion()}})
	return err
}

// deleteAt is checkpoint.Delete of a step, in the store of the run whatever ctx says.
func (c *Checkpointer) deleteAt(ctx context.Context, in Info, o checkpoint.DeleteOptions) (bool, error) {
	o.Store, o.File.PathPermissionMode = c.store, c.opts.File.PathPermissionMode
	return checkpoint.Delete(ctx, c.path(in.Directory), &o)
}

// deletion is Options.Deletion, by names in the store.
func (c *Checkpointer) deletion() options.Deletion {
	d := c.opts.Deletion
	if trash := d.GCS.TodeleteFullPath; c.opts.Store == nil && filepath.IsAbs(trash) {
		if dir, err := filepath.Abs(c.dir); err == nil {
			if trash, err = filepath.Rel(dir, trash); err == nil {
				d.GCS.TodeleteFullPath = filepath.ToSlash(trash)
			}
		}
	}
	return d
}

// unlist takes a step off the list.
func (c *Checkpointer) unlist(step int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.index(step); found {
		c.list = slices.Delete(c.list, i, i+1)
	}
}
