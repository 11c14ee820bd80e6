package local

import (
	"context"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Mover = (*Store)(nil)

// Move implements store.Mover. Both directories are synced, the directory of the new name first.
// Power loss in between leaves the object under either name.
func (s *Store) Move(ctx context.Context, from, to string) error {
	const op = "store.Move"
	for _, name := range []string{from, to} {
		if err := store.CheckFinalName(op, name); err != nil {
			return err
		}
	}
	if inside(to, from) {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: from, Want: "a name that is not below it", Got: to}
	}
	info, err := s.locate(ctx, op, from)
	if err != nil {
		return err
	}
	if err := s.ensureDir(parent(to)); err != nil {
		return wrap(op, to, err)
	}
	if err := s.renameNoReplace(s.path(from), s.path(to), info.IsDir()); err != nil && s.landed(info, s.path(to)) != yes {
		return wrap(op, from, err)
	}
	s.forget(s.path(from))
	if err := s.fs.SyncDir(path.Dir(s.path(to))); err != nil {
		return wrap(op, to, err)
	}
	if parent(from) == parent(to) {
		return nil
	}
	return wrap(op, from, s.fs.SyncDir(path.Dir(s.path(from))))
}
