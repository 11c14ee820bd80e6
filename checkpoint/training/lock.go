package training

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// openToWrite takes the lock of a directory that is there, when this is its writer, and
// settles what a writer before may have left in doubt.
func (c *Checkpointer) openToWrite(ctx context.Context) error {
	if !c.opts.Clean && !c.opts.StartFresh || !c.writer {
		return nil
	}
	if _, err := c.store.Stat(ctx, c.root); errs.KindOf(err) == errs.NotFound {
		return nil // the first save makes it
	}
	// Who may not write there, or finds the disk full, may still look at what is there.
	if err := c.takeLock(ctx); err != nil && (c.opts.StartFresh || errs.KindOf(err) != errs.Permission &&
		errs.KindOf(err) != errs.Exhausted) {
		return err
	}
	if err := c.store.Settle(ctx, c.root); err != nil {
		return err
	}
	if c.opts.StartFresh {
		return c.startFresh(ctx) // and it deletes nothing, leftovers neither
	}
	return c.clean(ctx)
}

// clean removes what interrupted saves have left.
func (c *Checkpointer) clean(ctx context.Context) error {
	c.deciding.Lock()
	removed, err := c.store.CleanStaging(ctx, c.root, nil)
	c.deciding.Unlock()
	for _, name := range removed {
		c.opts.OnEvent(Event{Kind: Cleaned, Name: name})
	}
	return err
}

// takeLock makes this process the one that writes the directory, until Close. It
// is called by Open and under c.saving.
func (c *Checkpointer) takeLock(ctx context.Context) error {
	l, ok := c.store.(store.Locker)
	if c.opts.NoLock || c.locked || !ok {
		return nil
	}
	lock, err := l.Lock(ctx, c.root)
	switch errs.KindOf(err) {
	case errs.Unsupported:
		c.locked = true // the store has no locks
		return nil
	case errs.Busy:
		return &errs.Error{Err: err, Remedy: "processes that save together say so in Options.Multiprocessing"}
	}
	if err == nil {
		c.lock, c.locked = lock, true
	}
	return err
}

// checkLock fails when the directory, or the lock file in it, was removed or replaced
// since this process became the writer: others may save there, and what is saved here
// would be alone.
func (c *Checkpointer) checkLock(ctx context.Context) error {
	if held, ok := c.lock.(store.HeldLock); ok {
		return held.Check(ctx)
	}
	c.mu.Lock()
	saved := len(c.list) > 0
	c.mu.Unlock()
	if !saved {
		return nil
	}
	_, err := c.store.Stat(ctx, c.root)
	if errs.KindOf(err) == errs.NotFound {
		return &errs.Error{Kind: errs.NotFound, Subject: c.dir, Want: "the directory of the run",
			Got:    "none: it was removed while the run was open",
			Remedy: "find out who removes it, and open the run again"}
	}
	return err
}

// unlock gives the lock back.
func (c *Checkpointer) unlock() error {
	if c.lock == nil {
		return nil
	}
	err := c.lock.Close()
	c.lock = nil
	return err
}
