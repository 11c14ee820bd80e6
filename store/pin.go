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

// Pinner is a Store that can hold on to a directory whose name may be given to
// another one, or taken away, at any time.
//
// A store that wraps another one and adds to its reads implements Pinner by a Pin of
// the store below, whose result it wraps in the same way. One that does not is read
// by names, as Pin says.
type Pinner interface {
	// Pin holds the directory that has the name now. Close of the result must be
	// called.
	//
	// Errors: NotFound for a missing name, Invalid for a name that is not a directory.
	Pin(ctx context.Context, name string) (Pinned, error)
}

// Pinned is a store that has one directory pinned: Open, Stat and List of that directory and of
// names below it lead to its contents, even if the directory has lost its name. If it is removed,
// its files go, and reads fail with NotFound. All other names and all other methods behave as in
// the store.
type Pinned interface {
	Store
	// Fate returns nil while the pinned directory has the name. It returns an error with ErrReplaced
	// in its chain if another directory has the name now, and with ErrRemoved if the name is gone. An
	// error of the check itself is returned as it is.
	Fate(ctx context.Context, name string) error
	// Lease keeps the files of the directory until Close, or until the process ends,
	// however it does: RemoveTree, and a transaction that overwrites, take the name
	// away at once and leave the files to CleanStaging. It is errs.Unsupported where the
	// writer would not see it, errs.Busy when others are in the way for long, and has
	// ErrRemoved or ErrReplaced in its chain when it comes too late.
	Lease(ctx context.Context) error
	// Leased reports whether somebody else has a lease of the directory; false where
	// there are no leases.
	Leased(ctx context.Context) (bool, error)
	// Close gives the directory and its lease back. Open readers are not affected.
	Close() error
}

// Pin holds the directory called name of st. Where st is no Pinner the result reads
// by names, Fate looks whether the name is there at all, and there are no leases: of a
// store whose directories are never replaced that is as good.
func Pin(ctx context.Context, st Store, name string) (Pinned, error) {
	if p, ok := st.(Pinner); ok {
		return p.Pin(ctx, name)
	}
	return unpinned{st}, nil
}

// unpinned is a store that is read by names.
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

// Overtaken returns nil while name leads to the directory that p holds. If name leads to another
// directory, or does not exist, the error is errs.Busy, names both directories by the time of their
// last change, and has ErrReplaced or ErrRemoved in its chain. A result made from the directory
// that p holds would undo what another writer has done since. An error of the check itself is
// returned as it is.
func Overtaken(ctx context.Context, st Store, p Pinned, name string) error {
	err := p.Fate(ctx, name)
	replaced := errors.Is(err, ErrReplaced)
	if !replaced && !errors.Is(err, ErrRemoved) {
		return err
	}
	e := &errs.Error{Kind: errs.Busy, Subject: name, Want: "the directory that was read", Got: "none", Err: ErrRemoved, Remedy: "run it again: it reads the present contents"}
	if read, err := p.Stat(ctx, name); err == nil {
		e.Want += ", changed " + read.ModTime.UTC().Format(stamp)
	}
	if replaced {
		e.Err, e.Got = ErrReplaced, "another one"
		if now, err := st.Stat(ctx, name); err == nil {
			e.Got += ", changed " + now.ModTime.UTC().Format(stamp)
		}
	}
	return e
}

// stamp is a time in messages.
const stamp = "2006-01-02T15:04:05.000000Z"

// Gone returns the error that Pinned.Fate reports for a name; why is ErrRemoved or ErrReplaced.
func Gone(name string, why error) error {
	e := &errs.Error{Kind: errs.NotFound, Subject: name, Err: why, Remedy: "load another step; a lease keeps the step that is being read"}
	if why == ErrReplaced {
		e.Remedy = "read it again"
	}
	return e
}
