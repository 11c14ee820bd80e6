package local

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// RemoveTree implements store.Store.
func (s *Store) RemoveTree(ctx context.Context, name string) error {
	free, err := s.Hide(ctx, name)
	if err != nil {
		return err
	}
	return free()
}

// Hide implements store.Hider.
func (s *Store) Hide(ctx context.Context, name string) (free func() error, err error) {
	const op = "store.RemoveTree"
	if err := store.CheckFinalName(op, name); err != nil {
		return nil, err
	}
	if _, err := s.locate(ctx, op, name); err != nil {
		return nil, err
	}
	trash := s.stage(name)
	if err := s.fs.Rename(s.path(name), s.path(trash)); err != nil {
		switch _, e := s.fs.Stat(s.path(trash)); {
		case e == nil: // the rename took place; only the reply was lost
		case errors.Is(e, fs.ErrNotExist):
			s.unstage(trash)
			return nil, wrap(op, name, err)
		default:
			s.doubt(trash)
			return nil, wrap(op, name, err)
		}
	}
	s.forget(s.path(name))
	if err := s.fs.SyncDir(s.path(parent(name))); err != nil {
		s.doubt(trash) // the bytes stay, because power loss may bring the old name back
		return nil, wrap(op, name, err)
	}
	return func() error {
		err := s.release(trash)
		s.unstage(trash)
		if err != nil {
			return &errs.Error{
				Op: op, Subject: name, Err: wrap(op, trash, err), Remedy: "the object is no longer visible; CleanStaging frees the rest",
			}
		}
		return nil
	}, nil
}

// Settle implements store.Store. If a sync of the directory has failed, Settle syncs it again,
// because the name can be in no other directory. A journaling file system whose journal has failed
// refuses every later sync.
func (s *Store) Settle(ctx context.Context, dir string) error {
	const op = "store.Settle"
	info, err := s.locate(ctx, op, dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir, Want: "a directory", Got: "another kind of file"}
	}
	doubts := s.doubts(dir) // the doubts from before the sync
	if err := s.fs.SyncDir(s.path(dir)); err != nil {
		return uncertain(op, dir, err)
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	for _, p := range doubts {
		delete(live.names, p)
	}
	return nil
}

// CleanStaging implements store.Store. It removes only directories and regular files.
func (s *Store) CleanStaging(ctx context.Context, dir string, keep func(store.Info) bool) ([]string, error) {
	const op = "store.CleanStaging"
	list, err := s.readDir(ctx, op, dir)
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, e := range list {
		if !store.IsLeftover(e.Name()) || s.staged(dir, e.Name()) || (!e.IsDir() && !e.Type().IsRegular()) {
			continue
		}
		if err := alive(ctx, op, dir); err != nil {
			return removed, err
		}
		if keep != nil {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return removed, wrap(op, path.Join(dir, e.Name()), err)
			}
			if keep(describe(e.Name(), info)) {
				continue
			}
		}
		freed, err := s.free(path.Join(dir, e.Name()), true, true)
		if err != nil {
			return removed, wrap(op, path.Join(dir, e.Name()), err)
		}
		if freed {
			removed = append(removed, e.Name())
		}
	}
	return removed, nil
}

// removeAll removes a file, or a directory with everything in it, without following symbolic links.
// It continues after an error and returns the first one. A missing file is not an error.
func (s *Store) removeAll(name string) error {
	info, err := s.fs.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return s.removeEntry(name, info.IsDir())
}

func (s *Store) removeEntry(name string, dir bool) error {
	if dir {
		list, err := s.fs.ReadDir(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		for _, e := range list {
			if e := s.removeEntry(name+"/"+e.Name(), e.IsDir()); err == nil {
				err = e
			}
		}
		if err != nil {
			return err
		}
	}
	if err := s.fs.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var _ store.Mover = (*Store)(nil)

// Move implements store.Mover. It syncs both directories, the directory of the new name first.
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
