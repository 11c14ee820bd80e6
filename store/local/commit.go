package local

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// Commit implements store.Txn. The package comment has the sequence of its steps.
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
		t.discard() //nolint:errcheck // the first error counts; CleanStaging removes what is left
		return err
	}
	if t.opt.Join != "" {
		t.over = true // the process that began the transaction publishes
		return nil
	}
	if l := t.opt.Publishing; l != nil {
		l.Lock()
		defer l.Unlock()
	}
	return t.publish(context.WithoutCancel(ctx), op)
}

// prepare makes the staging tree complete and durable.
func (t *txn) prepare(ctx context.Context, op string, manifest store.Blob, markers []store.Blob) error {
	for w := range t.writers {
		return &errs.Error{
			Kind: errs.Invalid, Op: op, Subject: t.subject(w.name), Want: "a sealed object", Got: "an open writer",
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

// syncAbove syncs the directory of the manifest. It also syncs the directories above it that got a
// new entry because of the manifest.
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

// publish makes the staging tree visible, and makes that durable.
func (t *txn) publish(ctx context.Context, op string) error {
	defer t.disown()
	from := t.path("")
	id, err := t.s.fs.Stat(from)
	if err != nil {
		t.discard() //nolint:errcheck // the first error counts; CleanStaging removes what is left
		return wrap(op, t.final, err)
	}
	replaced, err := t.moveIn(ctx, op, from, t.s.path(t.final))
	if err != nil {
		switch landed := t.s.landed(id, t.s.path(t.final)); {
		case landed == yes && !errors.Is(err, errNotReturned):
		case landed == no:
			t.discard() //nolint:errcheck // as above
			return wrap(op, t.final, err)
		default:
			t.over = true
			t.s.doubt(t.staging) // the staging name may hold the old tree
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
		// The transaction is committed. CleanStaging removes what cannot be removed now.
		t.s.release(t.staging) //nolint:errcheck // see above
	}
	t.s.unstage(t.staging)
	return nil
}

// moveIn renames or exchanges, and reports which. If another writer adds or removes the name
// meanwhile, it tries again, unless the transaction must replace one certain directory.
func (t *txn) moveIn(ctx context.Context, op, from, to string) (replaced bool, err error) {
	overwrite := t.opt.Overwrite || t.opt.Replaces != nil
	if overwrite {
		end, err := t.s.turn(parent(t.final))
		if err != nil {
			return false, err
		}
		defer end()
	}
	for range 3 {
		if err := t.overtaken(ctx, op); err != nil {
			return false, err
		}
		if replaced, err = t.s.occupied(op, t.final, overwrite); err != nil {
			return replaced, err
		}
		if !replaced {
			err = t.s.renameNoReplace(from, to, true)
			if overwrite && errors.Is(err, fs.ErrExist) {
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
		if err == nil {
			return true, t.exchanged(ctx, op, from, to)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return replaced, err
}

// overtaken returns an error if the name no longer belongs to the directory that is to be replaced.
func (t *txn) overtaken(ctx context.Context, op string) error {
	if t.opt.Replaces == nil {
		return nil
	}
	return errs.Wrap(op, "", store.Overtaken(ctx, t.s, t.opt.Replaces, t.final))
}

// errNotReturned is in the chain of an error of moveIn if it replaced the wrong directory and could
// not give that directory its name back.
var errNotReturned = errors.New("another directory was replaced, and could not get its name back")

// exchanged checks which directory an exchange has replaced. A writer that does not wait for its
// turn may have put another directory there after the last check. That directory gets its name
// back.
func (t *txn) exchanged(ctx context.Context, op, from, to string) error {
	if t.opt.Replaces == nil {
		return nil
	}
	if err := t.opt.Replaces.Fate(ctx, t.staging); !errors.Is(err, store.ErrReplaced) {
		return nil
	}
	if err := t.s.fs.Exchange(from, to); err != nil {
		return errors.Join(errNotReturned, err)
	}
	return &errs.Error{Kind: errs.Busy, Op: op, Subject: t.final, Want: "the directory that was read",
		Got: "another directory", Err: store.ErrReplaced,
		Remedy: "run it again: it then reads the present contents"}
}

// turnPatience is how long turn waits for the lock of a directory. Transactions hold it for an
// exchange, which takes a moment, so a lock that stays away for so long is held for other reasons.
const turnPatience = 10 * time.Second

// turn waits until no other transaction, of this process or another one, replaces a directory in
// dir. It keeps other transactions out until the returned function is called. If another program
// keeps the lock, the error is errs.Busy. If there are no locks, there is no error, and only the
// checks before and after an exchange protect the directory.
func (s *Store) turn(dir string) (end func(), err error) {
	d, err := s.fs.OpenDir(s.path(dir))
	if err != nil {
		return func() {}, nil //nolint:nilerr // there is nothing to lock
	}
	for until := time.Now().Add(turnPatience); ; {
		taken, err := d.Lock(true)
		if taken && err == nil {
			return func() { d.Close() }, nil //nolint:errcheck // nothing was written
		}
		if err != nil {
			d.Close() //nolint:errcheck // nothing was written
			return func() {}, nil
		}
		if time.Sleep(time.Millisecond); time.Now().After(until) {
			d.Close() //nolint:errcheck // nothing was written
			return nil, &errs.Error{Kind: errs.Busy, Want: "the lock of the directory above",
				Got:    "a lock that another program has held for " + turnPatience.String(),
				Remedy: "end that program, or run it again"}
		}
	}
}

type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// landed decides whether a rename or exchange that returned an error took place nevertheless. It
// checks whether the moved object, id, is now at name.
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

// renameNoReplace moves a file or directory to a free name. It also works on file systems that
// cannot do so in one step; the package comment says how.
func (s *Store) renameNoReplace(from, to string, dir bool) error {
	err := s.fs.RenameNoReplace(from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if !dir {
		if err := s.fs.Link(from, to); err != nil {
			return err
		}
		// The object is at its new name. CleanStaging removes what cannot be removed now.
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
