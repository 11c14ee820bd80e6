package training

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// openToWrite takes the lock of an existing directory if this process is its writer, and resolves
// the saves that an earlier writer left uncertain.
func (c *Checkpointer) openToWrite(ctx context.Context) error {
	if !c.opts.Clean && !c.opts.StartFresh || !c.writer {
		return nil
	}
	if _, err := c.store.Stat(ctx, c.root); errs.KindOf(err) == errs.NotFound {
		return nil // the first save makes the directory
	}
	// A process without write permission, or with a full disk, may still read the steps.
	if err := c.takeLock(ctx); err != nil && (c.opts.StartFresh || errs.KindOf(err) != errs.Permission &&
		errs.KindOf(err) != errs.Exhausted) {
		return err
	}
	if err := c.store.Settle(ctx, c.root); err != nil {
		return err
	}
	if c.opts.StartFresh {
		return c.startFresh(ctx) // startFresh deletes nothing, not even leftovers
	}
	return c.clean(ctx)
}

// clean removes the leftovers of interrupted saves.
func (c *Checkpointer) clean(ctx context.Context) error {
	c.deciding.Lock()
	removed, err := c.store.CleanStaging(ctx, c.root, nil)
	c.deciding.Unlock()
	for _, name := range removed {
		c.opts.OnEvent(Event{Kind: Cleaned, Name: name})
	}
	return err
}

// takeLock makes this process the writer of the directory, until Close. Open calls it, or a caller
// that holds c.saving.
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
		return &errs.Error{Err: err, Remedy: "set Options.Multiprocessing if several processes save together"}
	}
	if err == nil {
		c.lock, c.locked = lock, true
	}
	return err
}

// checkLock returns an error if the directory, or its lock file, was removed or replaced since this
// process became the writer: another process may save there, and saves of this process would be
// lost.
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
			Got:    "no directory: it was removed while the run was open",
			Remedy: "find out who removes it, and open the run again"}
	}
	return err
}

// unlock releases the lock.
func (c *Checkpointer) unlock() error {
	if c.lock == nil {
		return nil
	}
	err := c.lock.Close()
	c.lock = nil
	return err
}

// Lease keeps a step for a long read, of an evaluator for example. Close must be called.
type Lease struct {
	// Info describes the step.
	Info
	pin store.Pinned
}

// Lease takes a lease of the nearest copy of a step, or of the newest for Latest. The preservation
// policies of all processes that write the directory spare the step until Close, or until this
// process ends, however it does: they tell it as Spared. When the step is deleted or overwritten
// all the same its name goes, and the bytes stay for reads that have begun.
//
// The lease is a lock of the directory, which needs no permission to write. Errors:
// NotFound for a step that is not there any more, errs.Unsupported where a writer on
// another host would not see it, as on network file systems.
func (c *Checkpointer) Lease(ctx context.Context, step int64) (*Lease, error) {
	const op = "training.Lease"
	copies, err := c.copies(op, step)
	if err != nil {
		return nil, err
	}
	nearest := copies[0]
	for range 16 { // an overwritten step is another directory, so look again
		var pin store.Pinned
		if pin, err = store.Pin(ctx, nearest.at.store, nearest.at.path(nearest.Directory)); err != nil {
			break
		}
		if err = pin.Lease(ctx); err == nil {
			return &Lease{Info: nearest.Info, pin: pin}, nil
		}
		pin.Close() //nolint:errcheck // nothing was written
		if !errors.Is(err, store.ErrReplaced) {
			break
		}
	}
	return nil, errs.Wrap(op, c.dir, err)
}

// Close ends the lease. It may be called twice.
func (l *Lease) Close() error {
	if l.pin == nil {
		return nil
	}
	pin := l.pin
	l.pin = nil
	return pin.Close()
}

// leased reports whether a step has a lease. A step that is gone has no lease. Any other failure to
// look is returned: without an answer the step must stay.
func (c *Checkpointer) leased(ctx context.Context, in Info) (bool, error) {
	pin, err := store.Pin(ctx, c.store, c.path(in.Directory))
	if err != nil {
		if errs.KindOf(err) == errs.NotFound {
			err = nil
		}
		return false, err
	}
	defer pin.Close() //nolint:errcheck // nothing was written
	return pin.Leased(ctx)
}
