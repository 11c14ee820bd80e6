package partial

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// FinalizeOptions modify Finalize; nil is the zero value.
type FinalizeOptions struct {
	// Options are the scope of the call. Bivouac.Signing signs the checkpoint; it must have signed all
	// parts, and without it signed parts are refused. File.PathPermissionMode applies to new
	// directories and documents. Bivouac.Parity applies to the checkpoint; parts have no parity, and
	// are read to make it.
	checkpoint.Options
	// Store holds the session, and the path is a name in it. nil is Options.File.Store, or if that is
	// nil too, the local file system.
	Store store.Store
}

// String returns the set options as JSON: see options.Print.
func (o FinalizeOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o FinalizeOptions) GoString() string { return "partial.FinalizeOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o FinalizeOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

func (o *FinalizeOptions) resolve(ctx context.Context) (*FinalizeOptions, error) {
	return plan.Resolve(ctx, o, func(d *FinalizeOptions) (*options.Options, *store.Store) { return &d.Options, &d.Store })
}

// Finalize makes the checkpoint name from its session of partial saves, the directory
// name.partial_save beside it. path is either of the two. The parts become one checkpoint in the
// order of their times: documents are joined, databases of arrays are merged by reference, and data
// files are linked, not copied. Finalize waits for the parts that this process is still saving. If
// such a part has failed and no call has returned its failure yet, Finalize returns it and makes
// nothing. Call Finalize again to make the checkpoint without that part.
//
// The checkpoint appears whole or not at all. It is durable together with the files of all parts,
// which Orbax does not sync. It is verified, and then the session is removed. Until then the
// session is unchanged. So Finalize can be called again after a failure at any moment, and it also
// completes a finalization that Orbax or another process began.
//
// Errors: NotFound if there is no session, Exists if the name is taken by something else, Mismatch
// if two parts save the same leaf, Corrupt for damaged parts.
func Finalize(ctx context.Context, path string, o *FinalizeOptions) error {
	const op = "partial.Finalize"
	o, err := o.resolve(ctx)
	if err != nil {
		return errs.Wrap(op, path, err)
	}
	st, name, s, err := open(ctx, path, o.Store)
	if err != nil {
		return errs.Wrap(op, path, err)
	}
	defer s.leave()
	if err := s.tell(); err != nil {
		return errs.Wrap(op, path, &errs.Error{Got: "a part that could not be saved", Err: err,
			Remedy: "save it again; or call Finalize again for a checkpoint without it"})
	}
	if st, err = store.WithPermissions(st, o.File.PathPermissionMode); err == nil {
		err = parts.Finalize(ctx, st, name, o.Signing, o.Parity, damage)
	}
	return errs.Wrap(op, path, err)
}

// damage returns the first damage of a checkpoint, or nil if it is sound.
func damage(ctx context.Context, st store.Store, name string) (damage, err error) {
	r, err := integrity.Verify(ctx, name, &integrity.VerifyOptions{Store: st})
	if err != nil {
		return nil, err
	}
	if !r.OK() {
		damage = r.Problems[0]
	}
	return damage, nil
}

// AbortOptions modify Abort; nil is the zero value.
type AbortOptions struct {
	// Store holds the session. nil is the File.Store of the options of the context or the process, or
	// if that is nil too, the local file system.
	Store store.Store
}

// Abort waits for the parts that are being saved, and removes the session of path with all its
// parts. A missing session is errs.NotFound.
func Abort(ctx context.Context, path string, o *AbortOptions) error {
	const op = "partial.Abort"
	if o == nil {
		o = &AbortOptions{}
	}
	scope, err := (&FinalizeOptions{Store: o.Store}).resolve(ctx)
	if err != nil {
		return errs.Wrap(op, path, err)
	}
	st, name, s, err := open(ctx, path, scope.Store)
	if err != nil {
		return errs.Wrap(op, path, err)
	}
	defer s.leave()
	failed := s.tell()
	if err := st.RemoveTree(ctx, parts.Session(name)); err != nil {
		return errs.Wrap(op, path, errors.Join(err, failed))
	}
	return nil
}

// open enters the session of path in the given store.
func open(ctx context.Context, path string, given store.Store) (st store.Store, name string, s *session, err error) {
	if st, name, err = locate.Checkpoint(parts.Final(path), given); err != nil {
		return nil, "", nil, err
	}
	s, err = enter(ctx, placeOf(given, st, name))
	return st, name, s, err
}
