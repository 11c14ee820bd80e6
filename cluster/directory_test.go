package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// openDir returns the board in a new directory.
func openDir(t *testing.T) (*directory, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "board")
	b, err := Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() }) //nolint:errcheck // it may be closed
	return b.(*directory), dir      //nolint:forcetypeassert // what Directory returns
}

// soonOver returns a context that keeps no test for long.
func soonOver(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func TestDirectoryBasics(t *testing.T) {
	b, dir := openDir(t)
	ctx := soonOver(t, 10*time.Second)
	first, err := b.Put(ctx, "a/b", []byte("1"), "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.Put(ctx, "a/b", []byte("2\n"), first)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"", first, "x"} {
		if _, err := b.Put(ctx, "a/b", []byte("3"), v); !errors.Is(err, ErrChanged) {
			t.Errorf("version %q: %v", v, err)
		}
	}
	d, err := b.Get(ctx, "a/b")
	if err != nil || string(d.Value) != "2\n" || d.Version != second {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := b.Put(ctx, "c", nil, ""); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{"": 2, "a": 1, "a/b": 1, "c": 1, "b": 0, "a/b/": 0} {
		if docs, err := b.List(ctx, prefix); err != nil || len(docs) != want {
			t.Errorf("%q: %v, %v", prefix, docs, err)
		}
	}
	// Hidden files, files that go meanwhile, and files whose name no key has are not documents.
	good, err := os.ReadFile(filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a+b c", "%zz", "x%2", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), good, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "goes")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(ctx, "a+b c", nil, ""); err != nil {
		t.Fatal(err)
	}
	if docs, err := b.List(ctx, ""); err != nil || len(docs) != 3 {
		t.Errorf("%v, %v", docs, err)
	}
	if err := errors.Join(b.Delete(ctx, "c", ""), b.Delete(ctx, "c", ""), b.Delete(ctx, "a/b", second), b.Close(),
		b.Close()); err != nil {
		t.Error(err)
	}
}

// A path that can be no board is an error that says why.
func TestDirectoryRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // what a path names that is taken by mistake
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "taken", lockName), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"":         {"want the path of a directory, got an empty one"},
		"~/run":    {"home directory"},
		"file/x":   {"cluster.Directory", "mkdir"},
		"file":     {"cluster.Directory", "mkdir"},
		"./taken/": {lockName, "directory"},
	} {
		b, err := Directory(path)
		if err == nil {
			b.Close() //nolint:errcheck // it should not be there
			t.Errorf("%q is a board", path)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: want %q, got %v", path, w, err)
			}
		}
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip(err) // not while it is the working directory
	}
	if _, err := Directory("board"); err == nil || !strings.Contains(err.Error(), "board") {
		t.Errorf("without a working directory: %v", err)
	}
}

// What another program has put in place of a document is never taken for one, nor replaced.
func TestDirectoryGarbage(t *testing.T) {
	const header, v = fileHeader, "0123456789abcdef"
	for name, c := range map[string]struct {
		text string
		size int64
		got  string
	}{
		"nothing":              {"", 0, `""`},
		"another text":         {"<html>It works!</html>\n", 0, "It works!"},
		"no header":            {v + "\nx", 0, v},
		"a short version":      {header + v[1:] + "\nx", 0, v[1:]},
		"a long version":       {header + v + "0\nx", 0, v},
		"no end of the header": {header + v, 0, v},
		"a very long text":     {strings.Repeat("x", 100), 0, strings.Repeat("x", 60) + `" …`},
		"too large":            {header + v + "\nx", maxFile + 1, "another kind or size"},
		"a directory":          {"", -1, "another kind or size"},
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := openDir(t)
			ctx := soonOver(t, 10*time.Second)
			file := filepath.Join(dir, "round")
			var err error
			if c.size < 0 {
				err = os.MkdirAll(filepath.Join(file, "x"), 0o777)
			} else {
				err = os.WriteFile(file, []byte(c.text), 0o666)
			}
			if err == nil && c.size > 0 {
				err = os.Truncate(file, c.size)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, getErr := b.Get(ctx, "round")
			_, putErr := b.Put(ctx, "round", nil, "")
			_, changeErr := b.Put(ctx, "round", nil, v)
			_, listErr := b.List(ctx, "")
			for _, err := range []error{getErr, putErr, changeErr, listErr, b.Delete(ctx, "round", v)} {
				wants(t, err, errs.Corrupt, file, c.got, "remove the file")
			}
			err = b.Delete(ctx, "round", "")
			if c.size < 0 {
				wants(t, err, errs.IO, file)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// A document that cannot be written leaves the one before, and says why.
func TestDirectoryCannotWrite(t *testing.T) {
	b, dir := openDir(t)
	ctx := soonOver(t, 10*time.Second)
	_, err := b.Put(ctx, "a", make([]byte, maxFile/2+1), "")
	wants(t, err, errs.Invalid, "a smaller document")
	if err := os.MkdirAll(filepath.Join(dir, "lease%2Fx", "y"), 0o777); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("k", 300)
	for _, absent := range []bool{false, true} {
		for _, key := range []string{"lease/x", long, leasePrefix + long} {
			err := b.replace("cluster.Put", key, []byte("x"), absent)
			if absent && key == "lease/x" {
				if !errors.Is(err, ErrChanged) {
					t.Errorf("it is there already: %v", err)
				}
				continue
			}
			wants(t, err, errs.IO, b.file(key))
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, newPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left over, %v", left, err)
	}
	if err := syncDir(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of a missing directory: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = b.Put(ctx, "a", nil, "")
	wants(t, err, errs.NotFound, newPrefix)
	_, err = b.List(ctx, "")
	wants(t, err, errs.NotFound, dir)
}

// One process changes a document at a time. One that waits gives up when its context ends.
func TestDirectoryLock(t *testing.T) {
	b, dir := openDir(t)
	other, err := Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()             //nolint:errcheck // nothing is written
	lock := other.(*directory).lock //nolint:forcetypeassert // what Directory returns
	if ok, err := tryLock(lock); err != nil || !ok {
		t.Fatal(ok, err)
	}
	free := time.AfterFunc(5*time.Second, func() { unlock(lock) })
	_, err = b.Put(soonOver(t, 50*time.Millisecond), "a", nil, "")
	wants(t, err, errs.Canceled, "another process has it")
	free.Stop()
	unlock(lock)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 40 { // the context and the lock are ready at once
		_, err := b.Put(canceled, "a", nil, "")
		wants(t, err, errs.Canceled)
	}
	if _, err := b.Put(soonOver(t, 10*time.Second), "a", nil, ""); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	_, err = b.Put(soonOver(t, time.Second), "b", nil, "")
	wants(t, err, errs.Closed, lockName)
}

// The first change of a process removes what a process was writing when it was killed. It does so
// once: each look lists the directory.
func TestDirectoryCleansOnce(t *testing.T) {
	b, dir := openDir(t)
	ctx := soonOver(t, 10*time.Second)
	left := filepath.Join(dir, newPrefix+"left")
	for n, want := range []bool{false, true} {
		if err := os.WriteFile(left, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Put(ctx, string(rune('a'+n)), nil, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); (err == nil) != want {
			t.Errorf("change %d: %v", n, err)
		}
	}
}

func TestFailureOfTheFileSystem(t *testing.T) {
	for err, want := range map[error]errs.Kind{
		fs.ErrNotExist: errs.NotFound, fs.ErrPermission: errs.Permission, fs.ErrClosed: errs.Closed, fs.ErrInvalid: errs.IO,
	} {
		got := failure("cluster.Get", "name", &fs.PathError{Op: "open", Path: "name", Err: err})
		wants(t, got, want, "name")
		if !errors.Is(got, err) {
			t.Errorf("%v is not %v", got, err)
		}
	}
}
