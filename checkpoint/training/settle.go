package training

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// settle determines the outcome of saves that ended with store.ErrUncertain. A step that exists is
// listed and stays, and the event Settled is sent. While the outcome cannot be determined, nothing
// else is saved.
func (c *Checkpointer) settle(ctx context.Context) error {
	c.mu.Lock()
	doubts := slices.Clone(c.doubts)
	c.mu.Unlock()
	if len(doubts) == 0 {
		return nil
	}
	if err := c.store.Settle(ctx, c.root); err != nil {
		return err
	}
	if c.opts.Clean && c.writer {
		if err := c.clean(ctx); err != nil {
			return err
		}
	}
	for _, in := range doubts {
		if err := c.settleStep(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// settleStep lists the step if it exists, and unlists it if it does not.
func (c *Checkpointer) settleStep(ctx context.Context, in Info) error {
	c.deciding.Lock()
	err := c.decideDoubt(ctx, &in)
	c.deciding.Unlock()
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
		return err
	}
	c.opts.OnEvent(Event{Kind: Settled, Step: in.Step, Name: in.Directory, Err: err})
	if err == nil {
		c.offer(in)
		return c.listAgain(ctx, in)
	}
	return nil
}

// decideDoubt implements settleStep, and returns why the step does not exist. c.deciding is held.
func (c *Checkpointer) decideDoubt(ctx context.Context, in *Info) error {
	e, err := c.store.Stat(ctx, c.path(in.Directory))
	if err == nil {
		e.Name = in.Directory
		*in, err = c.inspect(ctx, in.Step, e)
	}
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Permission, errs.IO, errs.Exhausted:
		return err
	}
	c.mu.Lock()
	c.enter(*in, err == nil)
	c.doubts = slices.DeleteFunc(c.doubts, func(d Info) bool { return d.Step == in.Step })
	c.mu.Unlock()
	return err
}

// enter adds a step to the list, or removes it. c.mu is held.
func (c *Checkpointer) enter(in Info, there bool) {
	i, found := c.index(in.Step)
	switch {
	case there && found:
		c.list = slices.Clone(c.list)
		c.list[i] = in
	case there && i == len(c.list):
		c.list = append(c.list, in) // beyond the end of every snapshot
	case there:
		c.list = slices.Insert(slices.Clip(slices.Clone(c.list)), i, in)
	case found:
		c.list = slices.Delete(slices.Clone(c.list), i, i+1)
	}
}
