package local

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

var _ store.Pinner = (*Store)(nil)

// Pin implements store.Pinner. It keeps a descriptor of the directory.
func (s *Store) Pin(ctx context.Context, name string) (store.Pinned, error) {
	const op = "store.Pin"
	info, err := s.locate(ctx, op, name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, notFollowed(op, name)
	case !info.IsDir():
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a directory", Got: "a file"}
	}
	dir, err := s.fs.OpenDir(s.path(name))
	if err != nil {
		return nil, wrap(op, name, err)
	}
	if info, err = dir.Stat("."); err != nil {
		dir.Close() //nolint:errcheck // nothing was written
		return nil, wrap(op, name, err)
	}
	return &pinned{Store: s, dir: dir, name: name, info: info}, nil
}

// pinned is the store with one pinned directory.
type pinned struct {
	*Store
	dir  vfs.Dir
	name string
	info fs.FileInfo
}

// borrowed is a directory that another caller has pinned and closes.
type borrowed struct{ *pinned }

// Close implements store.Pinned. The directory stays with the caller that pinned it.
func (borrowed) Close() error { return nil }

// Pin implements store.Pinner. For the name of the pinned directory it returns that directory.
func (p *pinned) Pin(ctx context.Context, name string) (store.Pinned, error) {
	if name != p.name {
		return p.Store.Pin(ctx, name)
	}
	return borrowed{p}, alive(ctx, "store.Pin", name)
}

// below returns a name relative to the pinned directory.
func (p *pinned) below(name string) (rel string, ok bool) {
	switch {
	case name == p.name:
		return ".", true
	case p.name == "":
		return name, name != ""
	case inside(name, p.name):
		return name[len(p.name)+1:], true
	}
	return "", false
}

// in checks a name and returns it relative to the pinned directory.
func (p *pinned) in(ctx context.Context, op, name string) (rel string, ok bool, err error) {
	if rel, ok = p.below(name); !ok || rel == "." {
		return rel, ok, alive(ctx, op, name)
	}
	if err := store.CheckName(op, name); err != nil {
		return "", true, err
	}
	return rel, true, alive(ctx, op, name)
}

// Open implements store.Store.
func (p *pinned) Open(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Open"
	rel, ok, err := p.in(ctx, op, name)
	if !ok {
		return p.Store.Open(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	f, err := p.dir.Open(rel)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) { // a pipe or a socket cannot be opened like this
			if info, serr := p.dir.Stat(rel); serr == nil && !info.Mode().IsRegular() {
				err = regular(op, name, info)
			}
		}
		return nil, wrap(op, name, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(op, name, info)
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, wrap(op, name, err)
	}
	return &reader{f, name, info.Size()}, nil
}

// Stat implements store.Store.
func (p *pinned) Stat(ctx context.Context, name string) (store.Info, error) {
	const op = "store.Stat"
	rel, ok, err := p.in(ctx, op, name)
	if !ok {
		return p.Store.Stat(ctx, name)
	}
	if err != nil {
		return store.Info{}, err
	}
	info, err := p.dir.Stat(rel)
	if err != nil {
		return store.Info{}, wrap(op, name, err)
	}
	return describe(name, info), nil
}

// List implements store.Store.
func (p *pinned) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	rel, ok := p.below(dir)
	if !ok {
		return p.Store.List(ctx, dir)
	}
	return list(ctx, dir, func(ctx context.Context, op string) ([]fs.DirEntry, error) {
		if _, _, err := p.in(ctx, op, dir); err != nil {
			return nil, err
		}
		entries, err := p.dir.ReadDir(rel)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be no directory
			if info, serr := p.dir.Stat(rel); serr == nil {
				err = cmp.Or(directory(op, dir, info), err)
			}
		}
		return entries, wrap(op, dir, err)
	})
}

// Fate implements store.Pinned.
func (p *pinned) Fate(ctx context.Context, name string) error {
	const op = "store.Fate"
	info, err := p.Store.locate(ctx, op, name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return store.Gone(name, store.ErrRemoved)
	case err != nil:
		return err
	case !vfs.SameFile(info, p.info):
		return store.Gone(name, store.ErrReplaced)
	}
	return nil
}

// leasePatience is how often Lease tries to get the lock, a millisecond apart, while another
// process checks for leases.
const leasePatience = 200

// Lease implements store.Pinned by a shared lock of the directory.
func (p *pinned) Lease(ctx context.Context) error {
	const op = "store.Lease"
	for range leasePatience {
		taken, err := p.dir.Lock(false)
		if err != nil {
			return wrap(op, p.name, err)
		}
		if err := p.Fate(ctx, p.name); err != nil || taken {
			return err // it may have been removed before the lock was taken
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return alive(ctx, op, p.name)
		}
	}
	return &errs.Error{Kind: errs.Busy, Op: op, Subject: p.name,
		Got: "another process that holds the directory exclusively"}
}

// Leased implements store.Pinned. A lease of this Pinned is given up.
func (p *pinned) Leased(context.Context) (bool, error) {
	leased, err := p.leased()
	return leased, wrap("store.Leased", p.name, err)
}

func (p *pinned) leased() (bool, error) {
	dir, err := p.fs.OpenDir(p.path(p.name)) // a separate lock, which is released below
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	defer dir.Close() //nolint:errcheck // nothing was written
	taken, err := dir.Lock(true)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil && !taken, err
}

// Close implements store.Pinned.
func (p *pinned) Close() error { return wrap("store.Close", p.name, p.dir.Close()) }

// Leases and owners.
//
// A process that builds a transaction holds the lock of its staging directory, shared. A reader
// with a lease holds the lock of the directory that it reads, shared. An object has no owner if it
// has a staging name made by this package and its lock can be taken exclusively.

// own takes the lock of a new staging directory. lock is nil if the file system has no such locks.
// lost is true if another process has freed the directory before the lock was taken.
func (s *Store) own(name string) (lock vfs.Dir, lost bool, err error) {
	dir, err := s.fs.OpenDir(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	taken, err := dir.Lock(false)
	if err == nil && taken {
		var at, is fs.FileInfo
		if is, err = dir.Stat("."); err == nil {
			at, err = s.fs.Stat(s.path(name))
		}
		if taken = err == nil && vfs.SameFile(at, is); taken {
			return dir, false, nil
		}
	}
	dir.Close() //nolint:errcheck // nothing was written
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, false, nil
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	return nil, err == nil, err
}

// free removes an object with a staging name unless an owner or a reader holds its lock. If the
// file system has no such locks, unlocked says whether the object is removed. With sync the name is
// made durable first: power loss must not bring back an older name with part of the bytes. freed is
// false if the object was left.
func (s *Store) free(name string, unlocked, sync bool) (freed bool, err error) {
	info, err := s.fs.Stat(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		dir, err := s.fs.OpenDir(s.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		defer dir.Close() //nolint:errcheck // nothing was written
		switch alone, err := s.alone(name, dir); {
		case errors.Is(err, errors.ErrUnsupported):
			if !unlocked {
				return false, nil
			}
		case err != nil || !alone:
			return false, err
		}
	}
	if sync {
		if err := s.fs.SyncDir(s.path(parent(name))); err != nil {
			return false, err
		}
	}
	return true, s.removeAll(s.path(name))
}

// alone takes the lock of a directory exclusively and reports whether it could. It also checks that
// name still leads to dir, because a transaction may have just renamed the directory.
func (s *Store) alone(name string, dir vfs.Dir) (bool, error) {
	taken, err := dir.Lock(true)
	if err != nil || !taken {
		return false, err
	}
	is, err := dir.Stat(".")
	if err != nil {
		return false, err
	}
	at, err := s.fs.Stat(s.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && vfs.SameFile(at, is), err
}

// reap frees the leftovers of dead transactions in dir, once for each Store. Later it tries again
// to free the objects that were left to readers. It removes only objects that this package made,
// because their makers hold locks. Objects that cannot be freed are left to the next Store and to
// CleanStaging.
func (s *Store) reap(dir string) error {
	s.mu.Lock()
	first := !s.reaped[dir]
	s.reaped[dir] = true
	var names []string
	for name := range s.leased {
		if parent(name) == dir {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	if first {
		list, err := s.fs.ReadDir(s.path(dir))
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a process with only write permission cannot list
			return err
		}
		for _, e := range list {
			if isOurs(e.Name()) && e.IsDir() && !s.staged(dir, e.Name()) {
				names = append(names, path.Join(dir, e.Name()))
			}
		}
	}
	for _, name := range names {
		if freed, err := s.free(name, false, true); freed && err == nil {
			s.mu.Lock()
			delete(s.leased, name)
			s.mu.Unlock()
		}
	}
	return nil
}

// release frees a replaced or removed tree, which has a staging name, or leaves it to its readers.
// The next transaction tries again to free what is left.
func (s *Store) release(name string) error {
	freed, err := s.free(name, true, false)
	if !freed || err != nil {
		s.mu.Lock()
		s.leased[name] = true
		s.mu.Unlock()
	}
	return err
}

// isOurs reports whether a staging name was made by stage. Other programs, and versions of Bivouac
// before there were locks, do not hold the lock of what they build.
func isOurs(name string) bool {
	i := strings.LastIndexByte(name, '-')
	return i > 0 && store.IsLeftover(name) && len(name)-i-1 == nonceDigits && sealNonce(name[i+1:][:nonceDigits-sealDigits]) == name[i+1:]
}
