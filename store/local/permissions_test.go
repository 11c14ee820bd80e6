package local_test

import (
	"context"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/storetest"
)

func TestConformancePermissions(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return local.New(vfstest.NewMem(), "/new/root", nil).WithPermissions(0o700)
	})
}

// commit makes the directory name: with more of each kind of object where there is more.
func commit(t *testing.T, st store.Store, name string, more func(store.Txn) error) {
	t.Helper()
	ctx := t.Context()
	txn, err := st.Begin(ctx, name, store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Abort() //nolint:errcheck // a no-op after Commit
	files := map[string]int64{"a": 3}
	if more != nil {
		files = map[string]int64{"d/a": 3, "direct": 2 << 20}
		if err := more(txn); err != nil {
			t.Fatal(err)
		}
		if err := txn.Put(ctx, "note", []byte("small")); err != nil {
			t.Fatal(err)
		}
	}
	for n, size := range files {
		w, err := txn.Create(ctx, n, size)
		if err == nil {
			if err = w.WriteAt(ctx, make([]byte, size), 0); err == nil {
				err = w.Seal(ctx)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := txn.Commit(ctx, manifest); err != nil {
		t.Fatal(err)
	}
}

// A store remembers a parent whose entry could not be synced, with any permissions, and syncs it
// later: objects that are committed below it survive power loss.
func TestPermissionsShareWhatIsOwed(t *testing.T) {
	for _, order := range []string{"private first", "private second"} {
		mem := vfstest.NewMem()
		fault := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSyncDir }})
		base := local.New(fault, "/made/root", nil)
		first, second := store.Store(base), base.WithPermissions(0o700)
		if order == "private first" {
			first, second = second, first
		}
		if _, err := first.Begin(t.Context(), "1", store.TxnOptions{}); errs.KindOf(err) != errs.IO {
			t.Fatalf("%s: %v", order, err)
		}
		commit(t, second, "1", nil)
		for state := range mem.States() {
			if _, err := local.New(state, "/made/root", nil).Stat(context.Background(), "1/manifest"); err != nil {
				t.Fatalf("%s: after power loss %v", order, err)
			}
		}
	}
}

func TestPermissionsOfOthers(t *testing.T) {
	if _, err := store.WithPermissions(struct{ store.Store }{local.New(vfstest.NewMem(), "/", nil)}, 0o700); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("a store without permissions: %v", err)
	}
}
