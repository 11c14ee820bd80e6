package local

import (
	"context"
	"errors"
	"path"

	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Syncer = (*Store)(nil)

// Sync implements store.Syncer. It syncs files first, then the directories that name them, deepest
// first.
func (s *Store) Sync(ctx context.Context, name string) error {
	const op = "store.Sync"
	info, err := s.locate(ctx, op, name)
	if err != nil {
		return err
	}
	return s.syncBelow(ctx, op, describe(name, info), name)
}

func (s *Store) syncBelow(ctx context.Context, op string, info store.Info, name string) error {
	if err := alive(ctx, op, name); err != nil {
		return err
	}
	if !info.Dir {
		return wrap(op, name, s.syncFile(name))
	}
	for e, err := range s.List(ctx, name) {
		if err != nil {
			return err
		}
		below := path.Join(name, e.Name)
		info, err := s.fs.Stat(s.path(below))
		if err != nil {
			return wrap(op, below, err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			continue // a link, which is durable with its directory
		}
		if err := s.syncBelow(ctx, op, e, below); err != nil {
			return err
		}
	}
	return wrap(op, name, s.fs.SyncDir(s.path(name)))
}

func (s *Store) syncFile(name string) error {
	f, err := s.fs.Open(s.path(name))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
