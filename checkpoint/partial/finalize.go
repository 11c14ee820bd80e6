package partial

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Finalize makes the checkpoint of the session of path, as checkpoint.Finalize
// does, after the parts that this process is still saving. When one of these has
// failed and nobody was told, its failure is returned and nothing made: call
// Finalize again to do without it.
func Finalize(ctx context.Context, path string, o *checkpoint.FinalizeOptions) error {
	const op = "partial.Finalize"
	if o == nil {
		o = &checkpoint.FinalizeOptions{}
	}
	_, _, s, err := open(ctx, path, o.Store, o.Options)
	if err != nil {
		return errs.Wrap(op, path, err)
	}
	defer s.leave()
	if err := s.tell(); err != nil {
		return errs.Wrap(op, path, &errs.Error{Got: "a part that could not be saved", Err: err,
			Remedy: "save it again; or call Finalize again for a checkpoint without it"})
	}
	return checkpoint.Finalize(ctx, path, o)
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
	st, name, s, err := open(ctx, path, o.Store, checkpoint.Options{})
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

// open enters the session of path in the store given, else in that of the options.
func open(ctx context.Context, path string, given store.Store, o checkpoint.Options) (st store.Store, name string, s *session, err error) {
	o, err = options.Resolve(ctx, o, options.Options{})
	if err != nil {
		return nil, "", nil, err
	}
	if given == nil {
		given = o.File.Store
	}
	if st, name, err = locate.Checkpoint(parts.Final(path), given); err != nil {
		return nil, "", nil, err
	}
	s, err = enter(ctx, placeOf(given, st, name))
	return st, name, s, err
}
