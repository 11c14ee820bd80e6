package store

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
)

// ErrRemoved is in the chain of a read error if the object was removed or renamed during the read,
// by retention for example. The error's kind is errs.NotFound.
var ErrRemoved = errors.New("removed while it was read")

// ErrReplaced is in the chain of a read error if another directory of the same name replaced the
// object during the read. A second read finds the new directory.
var ErrReplaced = errors.New("replaced while it was read")

// Pinner is a Store that can hold a directory whose name may be given to another directory, or
// removed, at any time.
//
// A store that wraps another store and changes its reads implements Pinner: it pins the directory
// in the store below and wraps the result in the same way. A store that is not a Pinner is read by
// names; see Pin.
type Pinner interface {
	// Pin holds the directory that has the name now. The caller must close the result.
	//
	// The error is of kind errs.NotFound for a missing name, and of kind errs.Invalid for a name that
	// is not a directory.
	Pin(ctx context.Context, name string) (Pinned, error)
}

// Pinned is a store with one pinned directory. Open, Stat and List of that directory and of names
// below it lead to its contents, even if the directory has lost its name. If the directory is
// removed, its files are freed, and reads fail with NotFound. All other names and all other methods
// behave as in the store.
type Pinned interface {
	Store
	// Fate returns nil while the pinned directory has the name. It returns an error with ErrReplaced
	// in its chain if another directory has the name now, and with ErrRemoved if the name is gone. An
	// error of the check itself is returned as it is.
	Fate(ctx context.Context, name string) error
	// Lease keeps the files of the directory until Close, or until the process ends in any way.
	// RemoveTree, and a transaction that overwrites, then remove only the name, and CleanStaging frees
	// the files later.
	//
	// The error is of kind errs.Unsupported if a writer could not see the lease, and of kind errs.Busy
	// if other processes hold the directory for too long. If the directory is gone already, the error
	// has ErrRemoved or ErrReplaced in its chain.
	Lease(ctx context.Context) error
	// Leased reports whether another reader has a lease of the directory. It is false if there are no
	// leases.
	Leased(ctx context.Context) (bool, error)
	// Close releases the directory and its lease. Open readers are not affected.
	Close() error
}

// Pin holds the directory of st called name. If st is not a Pinner, the result reads by names, Fate
// only checks whether the name exists, and there are no leases. That is enough for a store whose
// directories are never replaced.
func Pin(ctx context.Context, st Store, name string) (Pinned, error) {
	if p, ok := st.(Pinner); ok {
		return p.Pin(ctx, name)
	}
	return unpinned{st}, nil
}

// unpinned is a Pinned that reads by names.
type unpinned struct{ Store }

// Fate implements Pinned.
func (u unpinned) Fate(ctx context.Context, name string) error {
	_, err := u.Stat(ctx, name)
	if errs.KindOf(err) == errs.NotFound {
		return Gone(name, ErrRemoved)
	}
	return err
}

// Lease implements Pinned.
func (u unpinned) Lease(context.Context) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "store.Lease", Subject: u.Properties().Name, Got: "a store without leases"}
}

// Leased implements Pinned.
func (u unpinned) Leased(context.Context) (bool, error) { return false, nil }

// Close implements Pinned.
func (u unpinned) Close() error { return nil }

// Overtaken returns nil while name leads to the directory that p holds. Otherwise a result that was
// made from the directory of p would undo what another writer has done since. If name leads to
// another directory, or does not exist, the error is of kind errs.Busy. It names both directories
// by the time of their last change and has ErrReplaced or ErrRemoved in its chain. An error of the
// check itself is returned as it is.
func Overtaken(ctx context.Context, st Store, p Pinned, name string) error {
	err := p.Fate(ctx, name)
	replaced := errors.Is(err, ErrReplaced)
	if !replaced && !errors.Is(err, ErrRemoved) {
		return err
	}
	e := &errs.Error{Kind: errs.Busy, Subject: name, Want: "the directory that was read",
		Got: "no directory", Err: ErrRemoved, Remedy: "run it again: it then reads the present contents"}
	if read, err := p.Stat(ctx, name); err == nil {
		e.Want += ", changed " + read.ModTime.UTC().Format(stamp)
	}
	if replaced {
		e.Err, e.Got = ErrReplaced, "another directory"
		if now, err := st.Stat(ctx, name); err == nil {
			e.Got += ", changed " + now.ModTime.UTC().Format(stamp)
		}
	}
	return e
}

// stamp is the format of a time in messages.
const stamp = "2006-01-02T15:04:05.000000Z"

// Gone returns the error that Pinned.Fate returns for a name. why is ErrRemoved or ErrReplaced.
func Gone(name string, why error) error {
	e := &errs.Error{Kind: errs.NotFound, Subject: name, Err: why,
		Remedy: "load another step, or take a lease, which keeps the step that is being read"}
	if why == ErrReplaced {
		e.Remedy = "read it again"
	}
	return e
}
