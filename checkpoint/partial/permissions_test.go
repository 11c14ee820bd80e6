package partial_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
)

// A session, its parts and the checkpoint made of them have the permissions that are
// asked for.
func TestPathPermissionMode(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	private := func(when string, atLeast int) {
		n := 0
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || name == dir {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s: %v", when, name, info.Mode())
			}
			n++
			return err
		})
		if err != nil || n < atLeast {
			t.Errorf("%s: %d files and directories, %v", when, n, err)
		}
	}
	o := options.Options{File: options.File{PathPermissionMode: 0o700}}
	for _, name := range []string{"a", "b"} {
		if err := partial.Save(t.Context(), path, map[string]any{name: ramp(1000, 0)},
			&partial.SaveOptions{SaveOptions: checkpoint.SaveOptions{Options: o}}); err != nil {
			t.Fatal(err)
		}
	}
	private("the session", 10)
	if err := partial.Finalize(t.Context(), path, &partial.FinalizeOptions{Options: o}); err != nil {
		t.Fatal(err)
	}
	private("the checkpoint", 6)
}

// Sessions are in the store of the context, unless the options name a store.
func TestStoreOfTheContext(t *testing.T) {
	st, _ := mem(t)
	ctx := options.With(t.Context(), options.Options{File: options.File{Store: st}})
	state := map[string]any{"a": ramp(1000, 0)}
	if err := partial.Save(ctx, "c", state, nil); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", nil); err != nil {
		t.Fatal(err)
	}
	want(t, state, load(t, st, "c"))
	if err := partial.Save(ctx, "d", state, nil); err != nil {
		t.Fatal(err)
	}
	if err := partial.Abort(ctx, "d", nil); err != nil {
		t.Fatal(err)
	}
	if deleted, err := checkpoint.Delete(ctx, "c", nil); !deleted || err != nil {
		t.Fatal(deleted, err)
	}
	for e, err := range st.List(t.Context(), "") {
		t.Errorf("left %q, %v", e.Name, err)
	}
}
