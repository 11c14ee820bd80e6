package training_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// The options of the Checkpointer hold for the directory and what is in it. For each step the
// options of the call and the context overlay them.
func TestPathPermissionMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	with := func(mode fs.FileMode) options.Options {
		return options.Options{File: options.File{PathPermissionMode: mode}}
	}
	o := training.Options{Options: with(0o700), Custom: map[string]any{"run": 1}}
	o.Deletion.GCS.TodeleteFullPath = "trash"
	c, err := training.Open(t.Context(), dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	for step, mode := range map[int64]fs.FileMode{1: 0, 2: 0, 3: 0o710} {
		if _, err := c.Save(t.Context(), step, model(step),
			&training.SaveOptions{Options: with(mode), Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Save(options.With(t.Context(), with(0o711)), 4, model(4), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]fs.FileMode{}
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		top, err := filepath.Rel(dir, name)
		if e.IsDir() && (filepath.Dir(top) == "." || e.Name() == "state" && !strings.HasPrefix(top, "trash")) {
			got[top] = info.Mode().Perm()
		} else if info.Mode().Perm()&0o066 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
		return err
	})
	want := map[string]fs.FileMode{
		".": 0o700, "metadata": 0o700, "trash": 0o700, "2": 0o700, "3": 0o710, "4": 0o711,
		"2/state": 0o700, "3/state": 0o710, "4/state": 0o711,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(err, d)
	}
}

// A store that knows no permissions refuses a save that wants some.
func TestPathPermissionModeOfOtherStores(t *testing.T) {
	type plain struct{ store.Store }
	c, err := training.Open(t.Context(), "", &training.Options{Store: plain{local.New(vfstest.NewMem(), "/run", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is saved
	o := &training.SaveOptions{Options: options.Options{File: options.File{PathPermissionMode: 0o700}}}
	if saved, err := c.Save(t.Context(), 1, model(1), o); saved || errs.KindOf(err) != errs.Unsupported {
		t.Errorf("saved %v, error %v", saved, err)
	}
}
