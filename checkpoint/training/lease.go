package training

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Lease keeps a step for a long read, of an evaluator for example. Close must be called.
type Lease struct {
	// Info is the step.
	Info
	pin store.Pinned
}

// Lease takes a lease of a step, or of the newest for Latest. The preservation policies
// of all processes that write the directory spare the step until Close, or until this
// process ends, however it does: they tell it as Spared. When the step is deleted or
// overwritten all the same its name goes, and the bytes stay for reads that have begun.
//
// The lease is a lock of the directory, which needs no permission to write. Errors:
// NotFound for a step that is not there any more, errs.Unsupported where a writer on
// another host would not see it, as on network file systems.
func (c *Checkpointer) Lease(ctx context.Context, step int64) (*Lease, error) {
	const op = "training.Lease"
	in, err := c.find(op, step)
	if err != nil {
		return nil, err
	}
	for range 16 { // a step that is overwritten is another directory
		var pin store.Pinned
		if pin, err = store.Pin(ctx, c.store, c.path(in.Directory)); err != nil {
			break
		}
		if err = pin.Lease(ctx); err == nil {
			return &Lease{Info: in, pin: pin}, nil
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
