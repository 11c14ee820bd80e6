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
	// Options are the scope of the call. Of them Bivouac.Signing signs the checkpoint;
	// it must have signed all parts, and without it parts that are signed are refused.
	// File.PathPermissionMode is of the directories and documents that are made.
	// Bivouac.Parity is of the checkpoint; parts have none, and are read for it.
	checkpoint.Options
	// Store holds the session; nil is Options.File.Store, and where that is nil the
	// local file system. The path is then a name in it.
	Store store.Store
}

// String returns what is set, as JSON: see options.Print.
func (o FinalizeOptions) String() string { return options.Print(o) }

// GoString returns String: %#v prints no private key.
func (o FinalizeOptions) GoString() string { return "partial.FinalizeOptions" + o.String() }

// MarshalJSON returns String, for people and logs.
func (o FinalizeOptions) MarshalJSON() ([]byte, error) { return []byte(o.String()), nil }

func (o *FinalizeOptions) resolve(ctx context.Context) (*FinalizeOptions, error) {
	return plan.Resolve(ctx, o, func(d *FinalizeOptions) (*options.Options, *store.Store) { return &d.Options, &d.Store })
}

// Finalize makes the checkpoint name of a session of partial saves, which lies
// beside it as name.partial_save; either may be named. The parts
// become one checkpoint in the order of their times: documents are joined, the
// databases of the arrays merged by reference, data files linked, not copied.
// Parts that this process is still saving are waited for. When one of these has
// failed and nobody was told, its failure is returned and nothing made: call
// Finalize again to do without it.
//
// The checkpoint appears at once or not at all, durable with all that the parts
// hold, which Orbax does not sync, is verified, and then the session
// goes; until then it is untouched, so that Finalize may be called again after a
// failure at any moment, and finishes what another had begun, Orbax included.
//
// Errors: NotFound where there is no session, Exists where the name is taken by
// something else, Mismatch where two parts save the same leaf, Corrupt for
// damaged parts.
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

// damage returns the first damage of a checkpoint, nil when it is sound.
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
	// Store holds the session; nil is the File.Store of the options of the context or
	// the process, and where that is nil the local file system.
	Store store.Store
}

// Abort removes the session of path with all its parts, after those that are
// being saved. A session that is not there is errs.NotFound.
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

// open enters the session of path in the store given.
func open(ctx context.Context, path string, given store.Store) (st store.Store, name string, s *session, err error) {
	if st, name, err = locate.Checkpoint(parts.Final(path), given); err != nil {
		return nil, "", nil, err
	}
	s, err = enter(ctx, placeOf(given, st, name))
	return st, name, s, err
}
