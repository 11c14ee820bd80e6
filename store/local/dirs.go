package local

import (
	"errors"
	"io/fs"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
)

// ensureDir creates the directory name (checked, "" = the root) with its parents. It makes their
// entries durable, up to the first directory that existed before this process and lies outside the
// store.
//
// It also syncs existing directories of the store, its root included, into their parents, once for
// each Store: a process that was killed may have created them without the sync.
func (s *Store) ensureDir(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ensure(s.path(name))
}

func (s *Store) ensure(dir string) error {
	if s.durable[dir] {
		return nil
	}
	up := path.Dir(dir)
	if up == dir {
		return nil // "/" and the roots of other systems
	}
	ours := dir == s.root || inside(dir, s.root)
	info, err := s.fs.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &errs.Error{Kind: errs.Exists, Subject: dir, Want: "a directory", Got: "another kind of file under that name"}
	case err == nil && !ours && !s.owed[dir]:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	missing := err != nil
	if missing || ours {
		if err := s.ensure(up); err != nil {
			return err
		}
	}
	if missing {
		if err := s.fs.Mkdir(dir, s.opt.DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s.owed[dir] = true
	}
	if err := s.fs.SyncDir(up); err != nil {
		// The parent of a root that somebody created for this process need not be readable.
		if dir != s.root || missing || !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	s.durable[dir] = true
	delete(s.owed, dir)
	return nil
}

// forget is called when a directory is removed or renamed, because a directory with the same name
// would be a new one.
func (s *Store) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.durable {
		if d == dir || inside(d, dir) {
			delete(s.durable, d)
		}
	}
}

// inside reports whether name lies below dir.
func inside(name, dir string) bool {
	if dir == "/" {
		return len(name) > 1
	}
	return len(name) > len(dir) && name[:len(dir)] == dir && name[len(dir)] == '/'
}

// CheckPath returns an error for a path that people and shells do not read as a file; see
// errs.CheckPath.
func CheckPath(path string) error { return errs.CheckPath(path) }
