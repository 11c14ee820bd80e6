package training

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// DeleteOptions modify Delete; nil is the zero value.
type DeleteOptions struct {
	// Name is the item to delete; "" is the whole step. The step without the item replaces the step in
	// one move. Metrics cannot be deleted.
	Name string
	// MissingOK makes Delete return false and no error if the step or item does not exist.
	MissingOK bool
	// Last allows Delete to delete the last whole step, which leaves the run with nothing to resume
	// from. Without Last that is errs.Invalid.
	Last bool
	// Tagged allows Delete to delete a step with tags, together with its tags. Without Tagged that is
	// errs.Invalid; see Checkpointer.Tag.
	Tagged bool
}

// Delete removes a step, or one of its items, as Options.Deletion says, whatever the preservation
// policy wants; Latest is the newest. It waits for a save in flight first. It
// reports whether there was something to delete: the step is invisible in one
// instant, and durably so when Delete returns.
//
// Errors: NotFound for a step or an item that is not there, Invalid for the last
// whole step and for a step with tags, see DeleteOptions, and for the only item;
// Closed after Close.
func (c *Checkpointer) Delete(ctx context.Context, step int64, o *DeleteOptions) (bool, error) {
	r := c.DeleteAsync(ctx, step, o)
	defer context.AfterFunc(ctx, r.Cancel)()
	deleted, err := r.Result(context.WithoutCancel(ctx))
	c.forgive(err)
	return deleted, err
}

// DeleteAsync works like Delete, in the background. A save that begins later, Wait and Close wait
// for it. Its failure is reported like the failure of a save in the background.
func (c *Checkpointer) DeleteAsync(ctx context.Context, step int64, o *DeleteOptions) *checkpoint.Response[bool] {
	if o == nil {
		o = &DeleteOptions{}
	}
	const op = "training.Delete"
	c.saving.Lock() // a save that is being prepared may link files of the step
	defer c.saving.Unlock()
	in, err := c.deletable(ctx, op, step)
	if err != nil {
		missing := o.MissingOK && errors.Is(err, errs.NotFound)
		return inBackground(ctx, func(context.Context) (bool, error) {
			if missing {
				return false, nil
			}
			return false, err
		})
	}
	c.mu.Lock()
	saved, before, over := c.pending, c.removing, make(chan struct{})
	c.removing = over
	c.mu.Unlock()
	return inBackground(ctx, func(ctx context.Context) (bool, error) {
		defer close(over)
		if saved != nil {
			<-saved.Done()
		}
		if before != nil {
			<-before
		}
		deleted, err := c.deleteStep(ctx, in.Step, o)
		if err = errs.Wrap(op, "step "+strconv.FormatInt(in.Step, 10)+" of "+c.dir, err); err != nil {
			c.keepFailure(err)
		}
		return deleted, err
	})
}

// deletable finds a step for a process that may delete. c.saving is held.
func (c *Checkpointer) deletable(ctx context.Context, op string, step int64) (Info, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return Info{}, &errs.Error{Kind: errs.Closed, Op: op, Subject: c.dir}
	}
	in, err := c.find(op, step)
	if err == nil {
		err = errs.Wrap(op, c.dir, c.takeLock(ctx))
	}
	return in, err
}

// deleteStep removes a step, unless it was removed meanwhile or is the last whole step.
func (c *Checkpointer) deleteStep(ctx context.Context, step int64, o *DeleteOptions) (bool, error) {
	in, err := c.find("", step)
	if err != nil {
		if o.MissingOK {
			err = nil
		}
		return false, err
	}
	here, has := c.own(step)
	if has {
		in = here
	}
	if o.Name != "" && !has {
		return false, onlyFar(step)
	}
	if o.Name != "" {
		do := checkpoint.DeleteOptions{Name: o.Name, MissingOK: o.MissingOK}
		do.Signing = c.opts.Signing
		deleted, err := c.changed(ctx, in, func() (bool, error) { return c.deleteAt(ctx, in, do) })
		if deleted {
			c.offer(in) // tiers that have the step get it once more
		}
		return deleted, err
	}
	if !o.Last && !c.elsewhereToo(step) {
		others := slices.DeleteFunc(slices.Clone(c.snapshot()), func(other Info) bool { return other.Step == in.Step })
		whole, err := c.newestWhole(ctx, others)
		if err != nil {
			return false, err
		}
		if whole == nil {
			return false, &errs.Error{Kind: errs.Invalid, Got: "the last whole step",
				Remedy: "set DeleteOptions.Last to delete it all the same"}
		}
	}
	if err := c.untagToDelete(ctx, step, o); err != nil {
		return false, err
	}
	if deleted, err := c.deleteFar(ctx, step); err != nil || !has {
		return deleted, err
	}
	free, err := c.remove(ctx, in)
	if free != nil && err == nil {
		err = c.free([]hiddenStep{{in, free}})
	}
	return true, err
}
