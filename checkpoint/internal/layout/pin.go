package layout

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// replacements is how often a checkpoint that is replaced while it is read is read
// again. From the second time on it has a lease, where the store has those.
const replacements = 16

// Read opens the checkpoint and calls do with it, again when the checkpoint was
// replaced while do read it. What do reads is of one checkpoint. An error of do that
// came because the checkpoint was removed meanwhile is that instead: errs.NotFound with
// store.ErrRemoved in its chain.
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

// Close gives the directory back.
func (c *Checkpoint) Close() {
	if c.pin != nil {
		c.pin.Close() //nolint:errcheck // nothing was written
	}
}

// Fate says what became of the name of the checkpoint since it was opened: nil when it
// still has it, else an error with store.ErrRemoved or store.ErrReplaced in its chain.
func (c *Checkpoint) Fate(ctx context.Context) error {
	if c.pin == nil {
		return nil
	}
	return errs.Wrap("checkpoint", c.name, c.pin.Fate(ctx, c.name))
}

// At returns the directory of the checkpoint, when it was opened as name of st, and nil
// otherwise. It is closed by Close of the checkpoint.
func (c *Checkpoint) At(st store.Store, name string) store.Pinned {
	if c.pin == nil || c.name != name || c.pin.Properties().Name != st.Properties().Name {
		return nil
	}
	return c.pin
}

// Explain returns the error of a read of the checkpoint, or what became of the
// checkpoint, when that is why: files that go with it look like damage.
func (c *Checkpoint) Explain(ctx context.Context, err error) error {
	if err == nil || errs.KindOf(err) == errs.Canceled {
		return err
	}
	if gone := c.Gone(ctx); gone != nil {
		return gone
	}
	return err
}

// Explain is Checkpoint.Explain for an error that may have come from any of several.
func Explain(ctx context.Context, err error, of ...*Checkpoint) error {
	for _, c := range of {
		if why := c.Explain(ctx, err); why != err {
			return why
		}
	}
	return err
}

// Gone returns what became of the checkpoint, when it was removed or replaced; else nil.
func (c *Checkpoint) Gone(ctx context.Context) error {
	if fate := c.Fate(ctx); isGone(fate) {
		return fate
	}
	return nil
}

// complete returns what became of a checkpoint without a manifest, which would have
// said what went with it: what was read may have been what was left.
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
		// Without a lease what is removed is an error that says so.
		err := c.pin.Lease(ctx)
		if kind := errs.KindOf(err); err != nil && kind != errs.Unsupported && kind != errs.Busy {
			return err
		}
	}
	if c.opts.Reads != nil {
		st = limited{st, c.opts.Reads}
	}
	c.st, c.raw = st, st
	return nil
}
