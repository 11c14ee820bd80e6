package object_test

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/store"
)

// The callers of a shared transaction link objects of one directory, each its own. When that
// directory is removed, all of them stay.
func TestLinksOfAllCallersStay(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, saved("run/a"))
	host, err := st.Begin(ctx, "run/b", store.TxnOptions{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	guest, err := st.Begin(ctx, "run/b", store.TxnOptions{Join: host.Staging()})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(host.Link(ctx, "l/0", "run/a/d/0"), guest.Link(ctx, "l/1", "run/a/d/1"),
		guest.Commit(ctx, store.Blob{}), host.Commit(ctx, store.Blob{Name: "manifest"}),
		st.RemoveTree(ctx, "run/a")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"run/b/l/0": "run/a 0", "run/b/l/1": "run/a 1"} {
		if b, err := store.ReadAll(ctx, st, name); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
