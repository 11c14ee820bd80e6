package checkpoint_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// A series of checkpoints, each the base of the next, whatever the store: what
// did not change is linked, and each is whole without the others.
func TestSaveFromBase(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		st   store.Store
		path func(name string) string
	}{
		{"local", nil, func(name string) string { return filepath.Join(dir, name) }},
		{"a store", local.New(vfstest.NewMem(), "/", nil), func(name string) string { return "runs/" + name }},
	} {
		state := map[string]any{"w": make([]float32, 2000)}
		for i, name := range []string{"a", "b", "b"} {
			r, err := checkpoint.SaveAsync(t.Context(), c.path(name), state, &checkpoint.SaveOptions{
				Store: c.st, Base: c.path([]string{"a", "a", "b"}[i]), VerifyEvery: 1, Overwrite: i == 2,
			})
			if err != nil {
				t.Fatal(c.name, err)
			}
			stats, err := r.Result(t.Context())
			if err != nil {
				t.Fatal(c.name, err)
			}
			if want := min(i, 1); stats.Linked != want || stats.Verified != want || int(stats.LinkedBytes) < want*8000 {
				t.Errorf("%s, save %d: %+v", c.name, i, stats)
			}
		}
		want, err := tree.From(state)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if got, err := checkpoint.Load(t.Context(), c.path(name), &checkpoint.LoadOptions{Store: c.st}); err != nil ||
				!tree.Equal(got, want) {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
}

func TestBadBase(t *testing.T) {
	dir := t.TempDir()
	state := map[string]any{"w": 1}
	for _, o := range []checkpoint.SaveOptions{
		{Base: filepath.Join(dir, "deeper", "a")},
		{Base: "/"},
		{Base: filepath.Join(dir, "a"), VerifyEvery: -1},
		{Base: "../a", Store: local.New(vfstest.NewMem(), "/", nil)},
	} {
		path := filepath.Join(dir, "c")
		if o.Store != nil {
			path = "c"
		}
		if err := checkpoint.Save(t.Context(), path, state, &o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
