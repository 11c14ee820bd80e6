package layout

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// replacements is how often a checkpoint that is replaced while it is read is read again. From the
// second time on it has a lease, if the store has leases.
const replacements = 16

// Read opens the checkpoint and calls do with it. If the checkpoint was replaced meanwhile, it does
// so again, so that do sees one checkpoint. If do fails because the checkpoint was removed
// meanwhile, Read returns errs.NotFound with store.ErrRemoved in its chain.
func (o Options) Read(ctx context.Context, st store.Store, name string, do func(*Checkpoint) error) (err error) {
	for range replacements {
		var c *Checkpoint
		if c, err = o.Open(ctx, st, name); err != nil {
			return err
		}
		if err = c.Explain(ctx, do(c)); err == nil {
			err = c.complete(ctx)
		}
		c.Close()
		if !errors.Is(err, store.ErrReplaced) {
			return err
		}
		o.Lease = true
	}
	return err
}

// Close releases the directory.
func (c *Checkpoint) Close() {
	if c.once != nil {
		c.once.close()
	}
	if c.pin != nil {
		c.pin.Close() //nolint:errcheck // nothing was written
	}
}

// Fate returns nil if the checkpoint still has its name. Otherwise it returns an error with
// store.ErrRemoved or store.ErrReplaced in its chain.
func (c *Checkpoint) Fate(ctx context.Context) error {
	if c.pin == nil {
		return nil
	}
	return errs.Wrap("checkpoint", c.name, c.pin.Fate(ctx, c.name))
}

// At returns the directory of the checkpoint if it was opened as name of st, and nil otherwise.
// Close of the checkpoint closes the directory.
func (c *Checkpoint) At(st store.Store, name string) store.Pinned {
	if c.pin == nil || c.name != name || c.pin.Properties().Name != st.Properties().Name {
		return nil
	}
	return c.pin
}

// Explain returns the error of a read of the checkpoint. If the checkpoint was removed or replaced
// meanwhile, it returns that instead, because vanished files look like damage.
func (c *Checkpoint) Explain(ctx context.Context, err error) error {
	if err == nil || errs.KindOf(err) == errs.Canceled {
		return err
	}
	if gone := c.Gone(ctx); gone != nil {
		return gone
	}
	return err
}

// Explain works like Checkpoint.Explain for an error that may come from any of several checkpoints.
func Explain(ctx context.Context, err error, of ...*Checkpoint) error {
	for _, c := range of {
		if why := c.Explain(ctx, err); why != err {
			return why
		}
	}
	return err
}

// Gone returns an error if the checkpoint was removed or replaced, else nil.
func (c *Checkpoint) Gone(ctx context.Context) error {
	if fate := c.Fate(ctx); isGone(fate) {
		return fate
	}
	return nil
}

// complete returns an error if a checkpoint without a manifest was removed or replaced. Without a
// manifest, what was read may be incomplete.
func (c *Checkpoint) complete(ctx context.Context) error {
	if c.Manifest != nil {
		return nil
	}
	return c.Fate(ctx)
}

func isGone(err error) bool {
	return errors.Is(err, store.ErrRemoved) || errors.Is(err, store.ErrReplaced)
}

// hold pins the directory that has the name.
func (c *Checkpoint) hold(ctx context.Context, st store.Store) error {
	if c.name != "" {
		info, err := st.Stat(ctx, c.name)
		if err != nil {
			return err
		}
		if c.info = info; info.Dir {
			if c.pin, err = store.Pin(ctx, st, c.name); err != nil {
				return err
			}
			st = c.pin
		}
	}
	if c.opts.Lease && c.pin != nil {
		// Without a lease, reading a removed checkpoint is an error that says so.
		err := c.pin.Lease(ctx)
		if kind := errs.KindOf(err); err != nil && kind != errs.Unsupported && kind != errs.Busy {
			return err
		}
	}
	if c.opts.Reads != nil {
		st = limited{st, c.opts.Reads}
	}
	if c.opts.Once {
		c.once = newOnce(st, c.name)
		st = c.once
	}
	c.st, c.raw = st, st
	return nil
}
