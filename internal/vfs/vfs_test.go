package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// TestConformance runs what every FS must do.
func TestConformance(t *testing.T) {
	mem := func(t *testing.T) (vfs.FS, string) {
		m := vfstest.NewMem()
		if err := m.Mkdir("/d", 0o777); err != nil {
			t.Fatal(err)
		}
		return m, "/d"
	}
	systems := []struct {
		name string
		open func(t *testing.T) (vfs.FS, string)
	}{
		{"OS", func(t *testing.T) (vfs.FS, string) { return vfs.OS(), filepath.ToSlash(t.TempDir()) }},
		{"Mem", mem},
		{"Fault", func(t *testing.T) (vfs.FS, string) {
			m, d := mem(t)
			return vfstest.NewFault(m, vfstest.Plan{}), d
		}},
		{"Log", func(t *testing.T) (vfs.FS, string) {
			m, d := mem(t)
			return vfstest.NewLog(m, io.Discard, nil), d
		}},
	}
	for _, s := range systems {
		for _, c := range conformance {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				fsys, dir := s.open(t)
				c.run(&bench{t, fsys, dir})
			})
		}
	}
}

// bench is a file system under test with a directory to work in.
type bench struct {
	*testing.T
	vfs.FS
	dir string
}

func (b *bench) at(name string) string { return b.dir + "/" + name }

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) is(err error, targets ...error) {
	b.Helper()
	for _, want := range targets {
		if errors.Is(err, want) {
			return
		}
	}
	b.Fatalf("got error %v, want one of %v", err, targets)
}

func (b *bench) file(name, content string) {
	b.Helper()
	f, err := b.Create(b.at(name), 0o666)
	b.ok(err)
	n, err := f.WriteAt([]byte(content), 0)
	b.ok(err)
	if n != len(content) {
		b.Fatalf("wrote %d of %d", n, len(content))
	}
	b.ok(f.Sync())
	b.ok(f.Close())
}

func (b *bench) want(name, content string) {
	b.Helper()
	f, err := b.Open(b.at(name))
	b.ok(err)
	defer f.Close()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40))
	b.ok(err)
	if diff := cmp.Diff(content, string(got)); diff != "" {
		b.Fatalf("%s (-want +got):\n%s", name, diff)
	}
}

func (b *bench) names(dir string) (names []string) {
	b.Helper()
	list, err := b.ReadDir(b.at(dir))
	b.ok(err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// atomicMoves skips where the system has neither RENAME_NOREPLACE nor RENAME_EXCHANGE.
func (b *bench) atomicMoves(err error) error {
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		b.Skip("not supported by this system")
	}
	return err
}

var conformance = []struct {
	name string
	run  func(b *bench)
}{
	{"create is exclusive", func(b *bench) {
		b.file("a", "one")
		_, err := b.Create(b.at("a"), 0o666)
		b.is(err, fs.ErrExist)
		_, err = b.Create(b.at("no/a"), 0o666)
		b.is(err, fs.ErrNotExist)
		b.want("a", "one")
		b.is(b.Mkdir(b.at("a"), 0o777), fs.ErrExist)
		b.is(b.Mkdir(b.at("no/a"), 0o777), fs.ErrNotExist)
	}},
	{"direct writes", func(b *bench) {
		f, err := b.Create(b.at("a"), 0o666)
		b.ok(err)
		if err = f.SetDirect(true); errors.Is(err, errors.ErrUnsupported) {
			b.ok(f.Close())
			b.Skip("not supported here")
		}
		b.ok(err)
		p := make([]byte, 3*vfs.DirectBlock)
		for !vfs.Aligned(p) {
			p = p[1:]
		}
		p = p[:vfs.DirectBlock]
		copy(p, "direct")
		b.ok(f.Allocate(vfs.DirectBlock))
		_, err = f.WriteAt(p, 0)
		b.ok(err)
		_, err = f.WriteAt(p[:1], 0)
		b.is(err, syscall.EINVAL)
		b.ok(f.Truncate(8))
		b.ok(f.SetDirect(false))
		_, err = f.WriteAt([]byte("!"), 6)
		b.ok(err)
		b.ok(f.Sync())
		b.ok(f.Close())
		b.want("a", "direct!\x00")
	}},
	{"read and write", func(b *bench) {
		f, err := b.Create(b.at("a"), 0o666)
		b.ok(err)
		for _, off := range []int64{1000, 0, 511} {
			_, err = f.WriteAt([]byte("xyz"), off)
			b.ok(err)
		}
		want := make([]byte, 1003)
		copy(want, "xyz")
		copy(want[511:], "xyz")
		copy(want[1000:], "xyz")
		got := make([]byte, 2000)
		n, err := f.ReadAt(got, 0)
		if err != io.EOF || !bytes.Equal(got[:n], want) {
			b.Fatalf("read %d, %v", n, err)
		}
		if n, err = f.ReadAt(got[:3], 1000); n != 3 || (err != nil && err != io.EOF) {
			b.Fatalf("tail: %d, %v", n, err)
		}
		if n, err = f.ReadAt(got, 5000); n != 0 || err != io.EOF {
			b.Fatalf("past the end: %d, %v", n, err)
		}
		b.ok(f.Truncate(512))
		b.ok(f.Truncate(600))
		n, _ = f.ReadAt(got, 0)
		clear(want[512:])
		if !bytes.Equal(got[:n], want[:600]) {
			b.Fatal("bytes cut off came back")
		}
		b.ok(f.Allocate(100))
		info, err := f.Stat()
		b.ok(err)
		if info.Size() != 600 {
			b.Fatalf("size %d after a smaller Allocate", info.Size())
		}
		b.ok(f.Sync())
		b.ok(f.Close())
		b.is(f.Close(), fs.ErrClosed)
		_, err = f.WriteAt([]byte("x"), 0)
		b.is(err, fs.ErrClosed)
		_, err = f.ReadAt(got, 0)
		b.is(err, fs.ErrClosed)
		b.is(f.Sync(), fs.ErrClosed)
	}},
	{"open reads only", func(b *bench) {
		b.file("a", "one")
		f, err := b.Open(b.at("a"))
		b.ok(err)
		defer f.Close()
		if _, err = f.WriteAt([]byte("x"), 0); err == nil {
			b.Fatal("wrote to a file opened for reading")
		}
		_, err = b.Open(b.at("b"))
		b.is(err, fs.ErrNotExist)
		_, err = b.Open(b.at("a/b"))
		b.is(err, syscall.ENOTDIR)
	}},
	{"list and stat", func(b *bench) {
		b.ok(b.Mkdir(b.at("d"), 0o777))
		for _, n := range []string{"d/b", "d/a", "d/B", "d/aa"} {
			b.file(n, n)
		}
		b.ok(b.Mkdir(b.at("d/c"), 0o777))
		if diff := cmp.Diff([]string{"B", "a", "aa", "b", "c"}, b.names("d")); diff != "" {
			b.Fatal(diff)
		}
		info, err := b.Stat(b.at("d/aa"))
		b.ok(err)
		if info.Size() != 4 || info.IsDir() || !info.Mode().IsRegular() || info.Name() != "aa" {
			b.Fatalf("stat: %v", info)
		}
		if info, err = b.Stat(b.at("d/c")); err != nil || !info.IsDir() {
			b.Fatalf("stat of a directory: %v, %v", info, err)
		}
		_, err = b.Stat(b.at("d/x"))
		b.is(err, fs.ErrNotExist)
		_, err = b.ReadDir(b.at("x"))
		b.is(err, fs.ErrNotExist)
		b.ok(b.SyncDir(b.at("d")))
		b.is(b.SyncDir(b.at("x")), fs.ErrNotExist)
	}},
	{"remove", func(b *bench) {
		b.ok(b.Mkdir(b.at("d"), 0o777))
		b.file("d/a", "one")
		b.is(b.Remove(b.at("d")), syscall.ENOTEMPTY)
		b.ok(b.Remove(b.at("d/a")))
		b.ok(b.Remove(b.at("d")))
		b.is(b.Remove(b.at("d")), fs.ErrNotExist)
	}},
	{"rename", func(b *bench) {
		b.file("a", "one")
		b.file("b", "two")
		b.ok(b.Rename(b.at("a"), b.at("b")))
		b.want("b", "one")
		b.ok(b.Mkdir(b.at("d"), 0o777))
		b.ok(b.Mkdir(b.at("e"), 0o777))
		b.file("e/x", "x")
		b.is(b.Rename(b.at("d"), b.at("e")), syscall.ENOTEMPTY, syscall.EEXIST)
		b.is(b.Rename(b.at("b"), b.at("e")), syscall.EISDIR, syscall.EEXIST)
		b.is(b.Rename(b.at("e"), b.at("b")), syscall.ENOTDIR)
		b.is(b.Rename(b.at("e"), b.at("e/f")), syscall.EINVAL)
		b.ok(b.Rename(b.at("e"), b.at("d")))
		b.want("d/x", "x")
		b.is(b.Rename(b.at("e"), b.at("f")), fs.ErrNotExist)
		if diff := cmp.Diff([]string{"b", "d"}, b.names("")); diff != "" {
			b.Fatal(diff)
		}
	}},
	{"rename without replacing", func(b *bench) {
		b.file("a", "one")
		b.file("b", "two")
		b.is(b.atomicMoves(b.RenameNoReplace(b.at("a"), b.at("b"))), fs.ErrExist)
		b.ok(b.RenameNoReplace(b.at("a"), b.at("c")))
		b.ok(b.Mkdir(b.at("d"), 0o777))
		b.ok(b.Mkdir(b.at("e"), 0o777))
		b.is(b.RenameNoReplace(b.at("d"), b.at("e")), fs.ErrExist)
		b.is(b.RenameNoReplace(b.at("x"), b.at("y")), fs.ErrNotExist)
		b.want("c", "one")
		b.want("b", "two")
	}},
	{"exchange", func(b *bench) {
		b.ok(b.Mkdir(b.at("d"), 0o777))
		b.ok(b.Mkdir(b.at("e"), 0o777))
		b.file("d/a", "one")
		b.file("e/b", "two")
		b.ok(b.atomicMoves(b.Exchange(b.at("d"), b.at("e"))))
		b.want("e/a", "one")
		b.want("d/b", "two")
		b.is(b.Exchange(b.at("d"), b.at("x")), fs.ErrNotExist)
	}},
	{"link", func(b *bench) {
		b.file("a", "one")
		b.ok(b.Link(b.at("a"), b.at("b")))
		b.is(b.Link(b.at("a"), b.at("b")), fs.ErrExist)
		b.is(b.Link(b.at("x"), b.at("y")), fs.ErrNotExist)
		b.ok(b.Remove(b.at("a")))
		b.want("b", "one")
	}},
	{"removed file stays readable", func(b *bench) {
		b.file("a", "one")
		f, err := b.Open(b.at("a"))
		b.ok(err)
		defer f.Close()
		b.ok(b.Remove(b.at("a")))
		p := make([]byte, 3)
		if n, err := f.ReadAt(p, 0); n != 3 || (err != nil && err != io.EOF) || string(p) != "one" {
			b.Fatalf("%q, %v", p[:n], err)
		}
	}},
}
