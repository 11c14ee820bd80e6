package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/storetest"
)

func TestConformanceOS(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := local.Open(filepath.Join(t.TempDir(), "new", "root"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestConformanceMem(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return local.New(vfstest.NewMem(), "/new/root", nil) })
}

// TestConformanceLesser runs the suite on a file system without
// RENAME_NOREPLACE and hard links between directories.
func TestConformanceLesser(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		lesser := vfstest.Intercept(vfstest.NewMem(), func(c *vfstest.Call, do func() error) error {
			switch {
			case c.Op == vfstest.OpRenameNoReplace:
				return &os.LinkError{Op: "renameat2", Old: c.Name, New: c.To, Err: syscall.ENOTSUP}
			case c.Op == vfstest.OpLink && filepath.Base(c.To) == "y":
				return &os.LinkError{Op: "link", Old: c.Name, New: c.To, Err: syscall.EXDEV}
			}
			return do()
		})
		return local.New(lesser, "/", nil)
	})
}

var manifest = store.Blob{Name: "manifest", Data: []byte("all there")}

func TestOverwriteNeedsExchange(t *testing.T) {
	mem := vfstest.NewMem()
	s := local.New(vfstest.NewFault(mem, vfstest.Plan{
		N: 1, Forever: true, Err: syscall.ENOTSUP, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpExchange },
	}), "/r", nil)
	for i, want := range []errs.Kind{errs.Other, errs.Unsupported} {
		txn, err := s.Begin(t.Context(), "a", store.TxnOptions{Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := txn.Put(t.Context(), "x", []byte{byte('0' + i)}); err != nil {
			t.Fatal(err)
		}
		if err := txn.Commit(t.Context(), manifest); errs.KindOf(err) != want {
			t.Fatal(err)
		}
	}
	wantNames(t, s, "", "a")
	wantBytes(t, s, "a/x", "0")
}

func wantNames(t *testing.T, s store.Store, dir string, want ...string) {
	t.Helper()
	var got []string
	for info, err := range s.List(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("names in %q (-want +got):\n%s", dir, diff)
	}
}

func wantBytes(t *testing.T, s store.Store, name, want string) {
	t.Helper()
	r, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := make([]byte, r.Size())
	if err := r.ReadAt(t.Context(), p, 0); err != nil {
		t.Fatal(err)
	}
	if string(p) != want {
		t.Fatalf("%s holds %q, want %q", name, p, want)
	}
}

func TestOpenRefusesFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "a\x00b", name} {
		if _, err := local.Open(bad, nil); !errors.Is(err, errs.Invalid) {
			t.Errorf("Open(%q): %v", bad, err)
		}
	}
}

// TestCleanStaging shows what is removed and what never is.
func TestCleanStaging(t *testing.T) {
	root := t.TempDir()
	outside := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(name), 0o777))
		must(os.WriteFile(name, []byte("x"), 0o666))
	}
	file(filepath.Join(outside, "precious"))
	file(filepath.Join(root, "1.orbax-checkpoint-tmp-0123456789abcdef", "d", "x"))
	must(os.Symlink(outside, filepath.Join(root, "1.orbax-checkpoint-tmp-0123456789abcdef", "d", "link")))
	file(filepath.Join(root, "2.orbax-checkpoint-tmp", "x"))
	file(filepath.Join(root, "note.orbax-checkpoint-tmp-0123456789abcdef"))
	file(filepath.Join(root, "kept.orbax-checkpoint-tmp-1700000000", "x"))
	foreign := []string{
		".orbax-checkpoint-tmp-00", "3", "4.partial_save.orbax-checkpoint-tmp", "5.orbax-checkpoint-tmp-", "6.orbax-checkpoint-tmp.txt",
		"7.orbax-checkpoint-tmp-12/..", "notes.txt",
	}
	for _, f := range foreign {
		file(filepath.Join(root, f, "x"))
	}
	must(os.Symlink(outside, filepath.Join(root, "8.orbax-checkpoint-tmp-00")))

	s, err := local.Open(root, nil)
	must(err)
	removed, err := s.CleanStaging(t.Context(), "", func(i store.Info) bool { return i.Name[:4] == "kept" })
	must(err)
	want := []string{
		"1.orbax-checkpoint-tmp-0123456789abcdef", "2.orbax-checkpoint-tmp", "note.orbax-checkpoint-tmp-0123456789abcdef",
	}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Fatal(diff)
	}
	wantNames(t, s, "", ".orbax-checkpoint-tmp-00", "3", "4.partial_save.orbax-checkpoint-tmp", "5.orbax-checkpoint-tmp-",
		"6.orbax-checkpoint-tmp.txt", "8.orbax-checkpoint-tmp-00", "kept.orbax-checkpoint-tmp-1700000000", "notes.txt", "x")
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Fatal(err)
	}
}

// TestSymlinks: the root may be one, nothing below it may.
func TestSymlinks(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base, outside := t.TempDir(), t.TempDir()
	must(os.WriteFile(filepath.Join(outside, "x"), []byte("x"), 0o666))
	must(os.Mkdir(filepath.Join(base, "real"), 0o777))
	must(os.Symlink("real", filepath.Join(base, "root")))
	s, err := local.Open(filepath.Join(base, "root"), nil)
	must(err)
	must(os.Symlink(outside, filepath.Join(base, "real", "dir")))
	must(os.Symlink(filepath.Join(outside, "x"), filepath.Join(base, "real", "file")))
	for _, name := range []string{"file", "dir/x", "dir"} {
		if _, err := s.Open(t.Context(), name); !errors.Is(err, errs.Invalid) {
			t.Errorf("Open(%q): %v", name, err)
		}
	}
	for _, err := range s.List(t.Context(), "dir") {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("List: %v", err)
		}
	}
	if _, err := s.Begin(t.Context(), "dir/1", store.TxnOptions{}); !errors.Is(err, errs.Exists) {
		t.Errorf("Begin: %v", err)
	}
	must(s.Put(t.Context(), "real", []byte("y"), store.PutOptions{}))
	wantNames(t, s, "", "dir", "file", "real")
	must(s.RemoveTree(t.Context(), "dir"))
	wantNames(t, s, "", "file", "real")
	if _, err := os.Stat(filepath.Join(outside, "x")); err != nil {
		t.Fatal(err)
	}
}

// TestErrorKinds maps what the system says.
func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind errs.Kind
	}{
		{syscall.ENOSPC, errs.Exhausted}, {syscall.EDQUOT, errs.Exhausted}, {syscall.EMFILE, errs.Exhausted},
		{syscall.EACCES, errs.Permission}, {syscall.EPERM, errs.Permission}, {syscall.EROFS, errs.Permission},
		{syscall.ENOENT, errs.NotFound}, {syscall.EEXIST, errs.Exists}, {syscall.ENAMETOOLONG, errs.Invalid},
		{syscall.EIO, errs.IO}, {syscall.EINTR, errs.IO},
	} {
		f := vfstest.NewFault(vfstest.NewMem(), vfstest.Plan{
			N: 1, Forever: true, Err: c.err, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpWriteAt },
		})
		err := local.New(f, "/r", nil).Put(t.Context(), "a", []byte("x"), store.PutOptions{})
		if errs.KindOf(err) != c.kind || !errors.Is(err, c.err) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
}
