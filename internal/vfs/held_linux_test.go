package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// heldIn opens a file with the contents in a directory that is held.
func heldIn(t *testing.T, contents []byte) (Dir, File) {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), contents, 0o640); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() }) //nolint:errcheck // nothing was written
	f, err := d.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	return d, f
}

// A file in a held directory reads, and describes itself, as an os.File does.
func TestHeldFileReadsAsOS(t *testing.T) {
	contents := []byte("ten bytes.")
	d, f := heldIn(t, contents)
	defer f.Close() //nolint:errcheck // nothing was written
	ref, err := os.Open(d.(*osDir).name + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer ref.Close() //nolint:errcheck // nothing was written
	for _, off := range []int64{-1, 0, 4, 10, 11} {
		for _, n := range []int{0, 1, 6, 10, 20} {
			got, want := make([]byte, n), make([]byte, n)
			m, err := f.ReadAt(got, off)
			k, werr := ref.ReadAt(want, off)
			if m != k || !bytes.Equal(got, want) || (err == nil) != (werr == nil) || (err == io.EOF) != (werr == io.EOF) {
				t.Errorf("%d bytes at %d: %d, %q, %v, want %d, %q, %v", n, off, m, got, err, k, want, werr)
			}
		}
	}
	info, err := f.Stat()
	want, werr := ref.Stat()
	if err != nil || werr != nil {
		t.Fatal(err, werr)
	}
	if info.Name() != want.Name() || info.Size() != want.Size() || info.Mode() != want.Mode() ||
		!info.ModTime().Equal(want.ModTime()) || !SameFile(info, want) {
		t.Errorf("Stat: %v %d %v %v, want %v", info.Name(), info.Size(), info.Mode(), info.ModTime(), want)
	}
}

// A failure of the system is told, with the name of the file.
func TestHeldFileTellsFailures(t *testing.T) {
	d, _ := heldIn(t, nil)
	dir, err := d.Open(".") // a directory can be opened and not read
	if err != nil {
		t.Fatal(err)
	}
	n, err := dir.ReadAt(make([]byte, 1), 0)
	var at *fs.PathError
	if n != 0 || !errors.Is(err, syscall.EISDIR) || !errors.As(err, &at) || at.Path != d.(*osDir).name {
		t.Errorf("a read of a directory: %d, %v", n, err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	f := &heldFile{held{name: "file", fd: 1 << 20}} // no such descriptor
	if _, err := f.Stat(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Stat of a descriptor that does not exist: %v", err)
	}
	if err := f.Close(); !errors.Is(err, syscall.EBADF) || !errors.As(err, &at) || at.Op != "close" || at.Path != "file" {
		t.Errorf("Close of a descriptor that does not exist: %v", err)
	}
}

// A closed file says so, and a file is not changed through a reader.
func TestHeldFileClosedAndReadOnly(t *testing.T) {
	d, f := heldIn(t, []byte("text"))
	for op, err := range map[string]error{
		"Allocate": f.Allocate(9), "Truncate": f.Truncate(0), "SetDirect": f.SetDirect(true), "Sync": f.Sync(),
		"WriteAt": func() error { _, err := f.WriteAt([]byte("other"), 0); return err }(),
	} {
		if !errors.Is(err, syscall.EBADF) {
			t.Errorf("%s: %v, want EBADF", op, err)
		}
	}
	if b, err := os.ReadFile(d.(*osDir).name + "/file"); err != nil || string(b) != "text" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("ReadAt of a closed file: %v", err)
	}
	if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Stat of a closed file: %v", err)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
}

// A file that is closed while goroutines read it gives each of them the bytes, or says that it is
// closed: no read reaches a file that got the descriptor afterwards.
func TestHeldFileClosedWhileRead(t *testing.T) {
	for range 50 {
		d, f := heldIn(t, []byte("right"))
		if err := os.WriteFile(d.(*osDir).name+"/other", []byte("wrong"), 0o666); err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					b := make([]byte, 5)
					if _, err := f.ReadAt(b, 0); err != nil {
						if !errors.Is(err, os.ErrClosed) {
							t.Errorf("ReadAt: %v", err)
						}
						return
					}
					if string(b) != "right" {
						t.Errorf("ReadAt gave %q", b)
						return
					}
				}
			})
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		other, err := d.Open("other")
		if err != nil {
			t.Fatal(err)
		}
		readers.Wait()
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A list describes what was there when the directory was read, of any kind, and the directory may
// lose its name before.
func TestHeldListDescribes(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "d/sub/empty"), 0o777),
		os.WriteFile(filepath.Join(root, "d/sub/file"), []byte("text"), 0o640),
		os.Symlink("file", filepath.Join(root, "d/sub/link"))); err != nil {
		t.Fatal(err)
	}
	d, err := openDir(filepath.Join(root, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing was written
	if err := os.Rename(filepath.Join(root, "d"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	list, err := d.ReadDir("sub")
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v", list, err)
	}
	for i, want := range []string{"empty", "file", "link"} {
		info, err := list[i].Info()
		ref, werr := os.Lstat(filepath.Join(root, "moved/sub", want))
		if err != nil || werr != nil {
			t.Fatal(want, err, werr)
		}
		if list[i].Name() != want || info.Name() != want || info.Mode() != ref.Mode() || info.Size() != ref.Size() ||
			!SameFile(info, ref) {
			t.Errorf("%s: %v %v %d", want, info.Name(), info.Mode(), info.Size())
		}
	}
}

// A list that cannot be read says where, and an object that is gone when it is looked at says so.
func TestHeldListTellsFailures(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "there"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	held, err := openDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close() //nolint:errcheck // nothing was written
	d := held.(*osDir)
	var at *fs.PathError
	if list, err := d.list(1<<20, "sub"); len(list) != 0 || !errors.Is(err, syscall.EBADF) || !errors.As(err, &at) ||
		at.Path != filepath.Join(root, "sub") {
		t.Errorf("%v, %v", list, err)
	}
	list := d.describe(d.fd, ".", []string{"gone", "there"})
	if _, err := list[0].Info(); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &at) ||
		at.Path != filepath.Join(root, "gone") {
		t.Errorf("Info of what is gone: %v", err)
	}
	if list[0].IsDir() || list[0].Type() != fs.ModeIrregular {
		t.Errorf("what is gone has the type %v", list[0].Type())
	}
	if _, err := list[1].Info(); err != nil || list[1].Type() != 0 {
		t.Errorf("what is there: %v, %v", err, list[1].Type())
	}
}

// A directory with more names than fit into one answer of the system is listed whole.
func TestHeldListIsWhole(t *testing.T) {
	root := t.TempDir()
	const files = 1000
	for i := range files {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("file-%04d", i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing was written
	list, err := d.ReadDir(".")
	if err != nil || len(list) != files {
		t.Fatalf("%d names, %v", len(list), err)
	}
	for i, e := range list {
		if want := fmt.Sprintf("file-%04d", i); e.Name() != want || e.IsDir() {
			t.Fatalf("%d: %v, want %s", i, e, want)
		}
	}
}
