package local

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Rename implements store.Store.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	const op = "store.Rename"
	for _, name := range []string{from, to} {
		if err := store.CheckFinalName(op, name); err != nil {
			return err
		}
	}
	if parent(from) != parent(to) {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: from, Want: "a name in the same directory", Got: to}
	}
	info, err := s.locate(ctx, op, from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: from, Want: "a directory", Got: "a file"}
	}
	if err := s.renameNoReplace(s.path(from), s.path(to), true); err != nil && s.landed(info, s.path(to)) != yes {
		return wrap(op, from, err)
	}
	s.forget(s.path(from))
	return wrap(op, to, s.fs.SyncDir(s.path(parent(to))))
}
