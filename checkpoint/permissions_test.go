package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// private has everything be the owner's alone, which no umask in use changes.
func private() checkpoint.Options {
	return checkpoint.Options{File: options.File{PathPermissionMode: 0o700}}
}

// wantPrivate looks at everything below dir, and returns how much that is.
func wantPrivate(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		n++
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is written has the permissions that are asked for: of missing parents, a
// checkpoint of any layout, what is added to it, converted, left of it, moved away.
func TestPathPermissionMode(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "new", "parents", name) }
	state := map[string]any{"a": grid(300, 300), "n": 3}
	for _, l := range []options.Layout{options.OCDBTZarr3, options.PlainZarr2, options.SafetensorsLayout} {
		o := &checkpoint.SaveOptions{Options: private()}
		o.Layout = l
		if err := checkpoint.Save(ctx, at(l.String()), state, o); err != nil {
			t.Fatal(err)
		}
	}
	c := at(options.OCDBTZarr3.String())
	if err := checkpoint.Convert(ctx, c, at("converted"), &checkpoint.ConvertOptions{Options: private()}); err != nil {
		t.Fatal(err)
	}
	add := &checkpoint.SaveOptions{Options: private(), PartialUpdate: true, Name: "more"}
	if err := checkpoint.Save(ctx, c, state, add); err != nil {
		t.Fatal(err)
	}
	for _, o := range []*checkpoint.DeleteOptions{{Options: private(), Name: "more"}, {Options: private()}} {
		o.Deletion.GCS.TodeleteFullPath = "old/trash"
		if _, err := checkpoint.Delete(ctx, c, o); err != nil {
			t.Fatal(err)
		}
	}
	if n := wantPrivate(t, dir); n < 30 {
		t.Errorf("%d files and directories", n)
	}
	if _, err := os.Stat(at("old/trash")); err != nil {
		t.Error(err)
	}
}

// The context says it as well.
func TestPathPermissionModeOfTheContext(t *testing.T) {
	dir := t.TempDir()
	ctx := options.With(t.Context(), private())
	if err := checkpoint.Save(ctx, filepath.Join(dir, "c"), map[string]any{"a": grid(30, 30)}, nil); err != nil {
		t.Fatal(err)
	}
	if n := wantPrivate(t, dir); n < 5 {
		t.Errorf("%d files and directories", n)
	}
}

// A store without permissions refuses to be given some, before anything is written.
func TestPathPermissionModeIsRefused(t *testing.T) {
	st := struct{ store.Store }{local.New(vfstest.NewMem(), "/", nil)}
	err := checkpoint.Save(t.Context(), "c", map[string]any{"a": grid(3, 3)},
		&checkpoint.SaveOptions{Options: private(), Store: st})
	if errs.KindOf(err) != errs.Unsupported || len(names(t, st)) > 0 {
		t.Errorf("%v, left %q", err, names(t, st))
	}
}
