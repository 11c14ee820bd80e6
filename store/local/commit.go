package local

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// Commit implements store.Txn; the package comment has the sequence.
func (t *txn) Commit(ctx context.Context, manifest store.Blob, markers ...store.Blob) error {
	const op = "store.Commit"
	t.life.Lock()
	defer t.life.Unlock()
	err := t.usable(ctx, op)
	if t.over {
		return err
	}
	if err == nil {
		err = t.prepare(ctx, op, manifest, markers)
	}
	if err != nil {
		t.discard() //nolint:errcheck // the reason comes first; CleanStaging finds what is left
		return err
	}
	if t.opt.Join != "" {
		t.over = true // whoever began it publishes
		return nil
	}
	if l := t.opt.Publishing; l != nil {
		l.Lock()
		defer l.Unlock()
	}
	return t.publish(op)
}

// prepare makes the staging tree whole and durable.
func (t *txn) prepare(ctx context.Context, op string, manifest store.Blob, markers []store.Blob) error {
	for w := range t.writers {
		return &errs.Error{
			Kind: errs.Invalid, Op: op, Subject: t.subject(w.name), Want: "a sealed object", Got: "one that is still open",
		}
	}
	last := t.opt.Join == "" || manifest.Name != ""
	blobs := slices.Clone(markers)
	if last {
		blobs = append(blobs, manifest)
	}
	for _, b := range blobs {
		if err := store.CheckFinalName(op, b.Name); err != nil {
			return err
		}
	}
	for _, b := range markers {
		if err := alive(ctx, op, t.final); err != nil {
			return err
		}
		if err := t.put(op, b.Name, b.Data); err != nil {
			return err
		}
	}
	dirs := slices.Collect(maps.Keys(t.dirs))
	slices.SortFunc(dirs, func(a, b string) int { return strings.Compare(b, a) }) // each before its parents
	for _, d := range dirs {
		if err := alive(ctx, op, t.final); err != nil {
			return err
		}
		if err := t.s.fs.SyncDir(t.path(d)); err != nil {
			return wrap(op, t.final, err)
		}
	}
	if err := alive(ctx, op, t.final); err != nil || !last {
		return err
	}
	if err := t.put(op, manifest.Name, manifest.Data); err != nil {
		return err
	}
	if err := t.syncAbove(op, manifest.Name, dirs); err != nil {
		return err
	}
	return alive(ctx, op, t.final)
}

// syncAbove syncs the directory of the manifest, and of the directories above
// it those into which the manifest put new ones.
func (t *txn) syncAbove(op, manifest string, before []string) error {
	for d := parent(manifest); ; d = parent(d) {
		if err := t.s.fs.SyncDir(t.path(d)); err != nil {
			return wrap(op, t.final, err)
		}
		if slices.Contains(before, d) {
			return nil
		}
	}
}

// publish makes the staging tree visible, and that durable.
func (t *txn) publish(op string) error {
	defer t.disown()
	from := t.path("")
	id, err := t.s.fs.Stat(from)
	if err != nil {
		t.discard() //nolint:errcheck // the reason comes first; CleanStaging finds what is left
		return wrap(op, t.final, err)
	}
	replaced, err := t.moveIn(op, from, t.s.path(t.final))
	if err != nil {
		switch t.s.landed(id, t.s.path(t.final)) {
		case yes:
		case no:
			t.discard() //nolint:errcheck // as above
			return wrap(op, t.final, err)
		default:
			t.over = true
			t.s.doubt(t.staging) // it may hold the old tree
			return uncertain(op, t.final, err)
		}
	}
	t.over = true
	t.s.forget(t.s.path(t.final))
	if err := t.s.fs.SyncDir(t.s.path(parent(t.final))); err != nil {
		t.s.doubt(t.staging)
		return uncertain(op, t.final, err)
	}
	if replaced {
		// Committed. What cannot be removed now is left to CleanStaging.
		t.s.release(t.staging) //nolint:errcheck // see above
	}
	t.s.unstage(t.staging)
	return nil
}

// moveIn renames or exchanges, and reports which; it follows a name that comes
// or goes meanwhile by the hand of another writer.
func (t *txn) moveIn(op, from, to string) (replaced bool, err error) {
	for range 3 {
		if replaced, err = t.s.occupied(op, t.final, t.opt.Overwrite); err != nil {
			return replaced, err
		}
		if !replaced {
			err = t.s.renameNoReplace(from, to, true)
			if t.opt.Overwrite && errors.Is(err, fs.ErrExist) {
				continue
			}
			return false, err
		}
		err = t.s.fs.Exchange(from, to)
		if errors.Is(err, errors.ErrUnsupported) {
			err = &errs.Error{
				Kind: errs.Unsupported, Op: op, Subject: t.final, Err: err,
				Remedy: "this file system cannot exchange two directories: remove the old one first, or save under another name",
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return replaced, err
}

type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// landed decides, after a rename or exchange that reported an error, whether it
// took place all the same: is what was to be moved, id, now at name?
func (s *Store) landed(id fs.FileInfo, name string) answer {
	info, err := s.fs.Stat(name)
	switch {
	case err == nil && vfs.SameFile(id, info):
		return yes
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return no
	}
	return unknown
}

// renameNoReplace moves a file or directory to a free name, also on file
// systems that cannot do so in one step; the package comment says how.
func (s *Store) renameNoReplace(from, to string, dir bool) error {
	err := s.fs.RenameNoReplace(from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if !dir {
		if err := s.fs.Link(from, to); err != nil {
			return err
		}
		// The object is there; what cannot be removed now is left to CleanStaging.
		s.fs.Remove(from) //nolint:errcheck // see above
		return nil
	}
	switch _, err := s.fs.Stat(to); {
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return s.fs.Rename(from, to)
}
