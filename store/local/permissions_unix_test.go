//go:build unix

package local_test

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// permissionsBelow returns the permissions of everything below dir, by relative name.
func permissionsBelow(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	out := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := e.Info()
		if err == nil {
			name, err = filepath.Rel(dir, name)
			out[name] = info.Mode().Perm()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// New objects have the requested permissions, less the umask. Linked objects keep their own.
func TestPermissions(t *testing.T) {
	ctx := t.Context()
	for umask, want := range map[int]map[string]fs.FileMode{
		0: {
			"plain": 0o777, "plain/1": 0o777, "plain/1/a": 0o666, "plain/1/manifest": 0o666,
			"root": 0o750, "root/2": 0o750, "root/2/d": 0o750, "root/2/d/a": 0o640, "root/2/direct": 0o640, "root/2/note": 0o640, "root/2/manifest": 0o640,
			"root/2/linked": 0o666, "root/put": 0o640, "root/.bivouac.lock": 0o640,
		},
		0o027: {
			"plain": 0o750, "plain/1": 0o750, "plain/1/a": 0o640, "plain/1/manifest": 0o640,
			"root": 0o750, "root/2": 0o750, "root/2/d": 0o750, "root/2/d/a": 0o640, "root/2/direct": 0o640, "root/2/note": 0o640, "root/2/manifest": 0o640,
			"root/2/linked": 0o640, "root/put": 0o640, "root/.bivouac.lock": 0o640,
		},
		0o077: {
			"plain": 0o700, "plain/1": 0o700, "plain/1/a": 0o600, "plain/1/manifest": 0o600,
			"root": 0o700, "root/2": 0o700, "root/2/d": 0o700, "root/2/d/a": 0o600, "root/2/direct": 0o600, "root/2/note": 0o600, "root/2/manifest": 0o600,
			"root/2/linked": 0o600, "root/put": 0o600, "root/.bivouac.lock": 0o600,
		},
	} {
		dir := t.TempDir()
		func() {
			defer syscall.Umask(syscall.Umask(umask))
			base, err := local.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			commit(t, base, "plain/1", nil)
			with := base.WithPermissions(0o750)
			lock, err := with.(store.Locker).Lock(ctx, "root")
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close() //nolint:errcheck // of a test
			commit(t, with, "root/2", func(txn store.Txn) error { return txn.Link(ctx, "linked", "plain/1/a") })
			if err := with.Put(ctx, "root/put", []byte("x"), store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}()
		if d := cmp.Diff(want, permissionsBelow(t, dir)); d != "" {
			t.Errorf("umask %#o: %s", umask, d)
		}
	}
}
