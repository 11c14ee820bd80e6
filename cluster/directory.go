package cluster

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Directory returns the board in a directory that all members share. It makes the directory if it
// is missing.
//
// A document is a file. Changes happen under a lock of the file system (flock), so one of two
// changes to the same version fails; a document that was absent is also linked exclusively. So the
// file system must have locks among the machines, as NFS version 4, Lustre, GPFS and CephFS do.
// With NFS mount the directory with lookupcache=none, or members see each other late.
func Directory(path string) (Board, error) {
	const op = "cluster.Directory"
	if path == "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "the path of a directory", Got: "an empty one"}
	}
	if err := errs.CheckPath(path); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, failure(op, path, err)
	}
	if err := os.MkdirAll(absolute, 0o777); err != nil {
		return nil, failure(op, absolute, err)
	}
	lock, err := os.OpenFile(filepath.Join(absolute, lockName), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, failure(op, absolute, err)
	}
	return &directory{path: absolute, lock: lock, turn: make(chan struct{}, 1)}, nil
}

// directory is a board in a directory.
type directory struct {
	path string
	lock *os.File
	turn chan struct{} // has room for the one that has the lock

	cleaned bool
}

var _ Board = (*directory)(nil)

const (
	lockName   = ".lock"
	newPrefix  = ".new-" // of files that are being written
	fileHeader = "bivouac-cluster "
	// maxFile bounds what is read of a file that anybody may have written.
	maxFile = 64 << 20
)

// Properties implements Board.
func (b *directory) Properties() Properties {
	return Properties{Name: b.path, MaxValue: maxFile / 2, Poll: 2 * time.Millisecond, MaxPoll: 50 * time.Millisecond}
}

// Close implements Board.
func (b *directory) Close() error {
	b.lock.Close() //nolint:errcheck // nothing was written to it
	return nil
}

// file is the name of the file of a document.
func (b *directory) file(key string) string { return filepath.Join(b.path, url.PathEscape(key)) }

// Get implements Board.
func (b *directory) Get(ctx context.Context, key string) (Document, error) {
	if err := alive(ctx, "cluster.Get", key); err != nil {
		return Document{}, err
	}
	return b.read("cluster.Get", key)
}

func (b *directory) read(op, key string) (Document, error) {
	name := b.file(key)
	info, err := os.Stat(name)
	if err == nil && (info.Size() > maxFile || !info.Mode().IsRegular()) {
		return Document{}, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: name, Want: "a document of a cluster",
			Got: "a file of another kind or size", Remedy: "see which other program writes there, and remove the file"}
	}
	all, err := os.ReadFile(name) // fails as well if Stat did
	if err != nil {
		return Document{}, failure(op, name, err)
	}
	line, value, ok := bytes.Cut(all, []byte("\n"))
	version, is := strings.CutPrefix(string(line), fileHeader)
	if !ok || !is || len(version) != 16 {
		return Document{}, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: name, Want: "a document of a cluster",
			Got: quote(all), Remedy: "see which other program writes there, and remove the file"}
	}
	return Document{Key: key, Value: value, Version: version}, nil
}

// Put implements Board.
func (b *directory) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	const op = "cluster.Put"
	if len(value) > maxFile/2 {
		return "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.file(key), Want: "a smaller document"}
	}
	got := nonce()
	return got, b.locked(ctx, op, key, func() error {
		now, err := b.read(op, key)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return err
		}
		if now.Version != version {
			return changed(op, b.file(key))
		}
		return b.replace(op, key, append([]byte(fileHeader+got+"\n"), value...), version == "")
	})
}

// replace writes the file of a document.
func (b *directory) replace(op, key string, all []byte, absent bool) error {
	name, made := b.file(key), filepath.Join(b.path, newPrefix+nonce())
	f, err := os.OpenFile(made, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return failure(op, made, err)
	}
	defer os.Remove(made) //nolint:errcheck // gone after a rename
	_, err = f.Write(all)
	lease := strings.HasPrefix(key, leasePrefix) // a token must not come back after a power failure
	if lease {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return failure(op, made, err)
	}
	if absent {
		err = os.Link(made, name)
	} else {
		err = os.Rename(made, name)
	}
	if absent && errors.Is(err, fs.ErrExist) {
		return changed(op, name)
	}
	if err == nil && lease {
		err = syncDir(b.path)
	}
	if err != nil {
		return failure(op, name, err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Delete implements Board.
func (b *directory) Delete(ctx context.Context, key, version string) error {
	const op = "cluster.Delete"
	return b.locked(ctx, op, key, func() error {
		if version != "" {
			now, err := b.read(op, key)
			if errs.KindOf(err) == errs.NotFound {
				return nil
			}
			if err != nil {
				return err
			}
			if now.Version != version {
				return changed(op, b.file(key))
			}
		}
		if err := os.Remove(b.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return failure(op, b.file(key), err)
		}
		return nil
	})
}

// List implements Board.
func (b *directory) List(ctx context.Context, prefix string) ([]Document, error) {
	const op = "cluster.List"
	if err := alive(ctx, op, prefix); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(b.path)
	if err != nil {
		return nil, failure(op, b.path, err)
	}
	var out []Document
	for _, e := range entries {
		key, _ := url.PathUnescape(e.Name()) //nolint:errcheck // no key has such a name
		if strings.HasPrefix(key, ".") || !strings.HasPrefix(key, prefix) || url.PathEscape(key) != e.Name() {
			continue
		}
		d, err := b.read(op, key)
		if errs.KindOf(err) == errs.NotFound {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Document) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

// locked runs f while no other process changes a document.
func (b *directory) locked(ctx context.Context, op, key string, f func() error) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return alive(ctx, op, key)
	}
	defer func() { <-b.turn }()
	if err := alive(ctx, op, key); err != nil {
		return err
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		ok, err := tryLock(b.lock)
		if err != nil {
			return failure(op, filepath.Join(b.path, lockName), err)
		}
		if ok {
			break
		}
		if !sleep(ctx, wait) {
			return &errs.Error{Kind: errs.Canceled, Op: op, Subject: filepath.Join(b.path, lockName), Want: "the lock",
				Got: "another process has it", Err: context.Cause(ctx)}
		}
	}
	defer unlock(b.lock)
	if !b.cleaned {
		b.cleaned = true
		b.clean()
	}
	return f()
}

// clean removes files that a process was writing when it was killed. The lock is held, so nobody is
// writing one.
func (b *directory) clean() {
	names, _ := filepath.Glob(filepath.Join(globbed(b.path), newPrefix+"*")) //nolint:errcheck // a good pattern
	for _, name := range names {
		os.Remove(name) //nolint:errcheck // the next process tries again
	}
}

// globbed escapes what a pattern would take as its own.
func globbed(path string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "?", "\\?", "[", "\\[").Replace(path)
}

// failure is the error of the file system.
func failure(op, name string, err error) error {
	kind := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = errs.Permission
	case errors.Is(err, fs.ErrClosed):
		kind = errs.Closed
	}
	return &errs.Error{Kind: kind, Op: op, Subject: name, Err: err}
}
