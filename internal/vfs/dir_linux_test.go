package vfs

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What is read below a directory that is held stays below it, follows no links and tells
// each failure, with openat2 and without it.
func TestHeldDirectory(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "d/a/b"), 0o777), os.WriteFile(filepath.Join(root, "d/a/b/file"), []byte("text"), 0o666),
		os.Symlink("a", filepath.Join(root, "d/link")), os.Symlink("d", filepath.Join(root, "link")), os.WriteFile(filepath.Join(root, "outside"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	had := withoutOpenat2.Load()
	defer withoutOpenat2.Store(had)
	for _, without := range []bool{had, true} {
		withoutOpenat2.Store(without)
		for name, want := range map[string]error{"none": fs.ErrNotExist, "link": syscall.ENOTDIR, "outside": syscall.ENOTDIR} {
			if d, err := openDir(filepath.Join(root, name)); !errors.Is(err, want) || d != nil {
				t.Errorf("OpenDir of %s: %v, want %v", name, err, want)
			}
		}
		d, err := openDir(filepath.Join(root, "d"))
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]func(string) error{
			"Open": func(name string) error {
				f, err := d.Open(name)
				if err == nil {
					err = f.Close()
				}
				return err
			},
			"Stat":    func(name string) error { _, err := d.Stat(name); return err },
			"ReadDir": func(name string) error { _, err := d.ReadDir(name); return err },
		}
		for op, call := range calls {
			for name, want := range map[string]error{
				"none": fs.ErrNotExist, "a/none/file": fs.ErrNotExist, "link/b": syscall.ELOOP, "a/b/file/x": syscall.ENOTDIR,
				"../outside": syscall.EINVAL, "/etc": syscall.EINVAL, "a//b": syscall.EINVAL, "a/b": nil,
			} {
				if err := call(name); !errors.Is(err, want) {
					t.Errorf("%s of %s without openat2 %v: %v, want %v", op, name, without, err, want)
				}
			}
		}
		if err := calls["ReadDir"]("a/b/file"); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("ReadDir of a file: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for op, call := range calls {
			if err := call("a"); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s of a closed directory: %v", op, err)
			}
		}
		if taken, err := d.Lock(false); taken || !errors.Is(err, os.ErrClosed) {
			t.Errorf("Lock of a closed directory: %v, %v", taken, err)
		}
	}
}

// A socket has no contents, and is not opened.
func TestHeldSocket(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root) // the name of a socket must be short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer l.Close() //nolint:errcheck // a listener of this test
	d, err := openDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // nothing was written
	if f, err := d.Open("socket"); err == nil || f != nil {
		t.Errorf("a socket was opened: %v", err)
	}
	if info, err := d.Stat("socket"); err != nil || info.Mode()&fs.ModeSocket == 0 {
		t.Errorf("a socket is not seen: %v", err)
	}
}

// A directory of a file system that another machine may have mounted has no locks: proc is not on
// the list of file systems of one machine.
func TestNoLocksOfUnknownFileSystems(t *testing.T) {
	d, err := openDir("/proc")
	if err != nil {
		t.Skip("no /proc here:", err)
	}
	defer d.Close() //nolint:errcheck // nothing was written
	if taken, err := d.Lock(false); taken || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, %v", taken, err)
	}
}
