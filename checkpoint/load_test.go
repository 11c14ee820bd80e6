package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// The databases of processes that were never merged read as the merged one.
func TestUnmergedDatabases(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"v1-containers", "v1-dtypes-np", "v1-sharded-2x4", "v1-many-small", "v1-two-processes"} {
		src := filepath.Join("..", "..", "shared", "vectors", "orbax", name, "checkpoint")
		if _, err := os.Stat(src); err != nil {
			src = filepath.Join("..", "testdata", "orbax", name, "checkpoint")
		}
		want, err := checkpoint.Load(ctx, src, nil)
		if errors.Is(err, errs.NotFound) {
			continue // not among the committed cases
		}
		if err != nil {
			t.Fatal(err)
		}
		dst := filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(dst, os.DirFS(src)); err != nil {
			t.Fatal(err)
		}
		for _, gone := range []string{"manifest.ocdbt", "d"} {
			if err := os.RemoveAll(filepath.Join(dst, "state", gone)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := checkpoint.Load(ctx, dst, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := tree.Diff(want, got); len(d) > 0 {
			t.Errorf("%s:\n%s", name, tree.FormatDiff(d))
		}
		// Without the databases there is nothing to read, and that is said.
		if err := os.RemoveAll(filepath.Join(dst, "state", "ocdbt.process_0")); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.Load(ctx, dst, nil); err == nil {
			t.Errorf("%s: loaded without its first database", name)
		}
	}
}

func TestNotACheckpoint(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	steps := filepath.Join("..", "testdata", "orbax", "trainer-basic", "checkpoint")
	session := filepath.Join(dir, "c.partial_save")
	if err := os.CopyFS(session, os.DirFS(filepath.Join(steps, "3"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		kind errs.Kind
	}{
		"nothing there":        {filepath.Join(dir, "none"), errs.NotFound},
		"a file":               {file, errs.Invalid},
		"an empty directory":   {t.TempDir(), errs.Invalid},
		"a directory of steps": {steps, errs.Invalid},
		"a partial session":    {session, errs.Invalid},
		"the root":             {"/", errs.Invalid},
		"no name":              {"", errs.Invalid},
	} {
		if _, err := checkpoint.Load(ctx, c.path, nil); errs.KindOf(err) != c.kind {
			t.Errorf("%s: got %v, want kind %v", name, err, c.kind)
		}
	}
	if _, err := checkpoint.Load(ctx, filepath.Join(steps, "3"), &checkpoint.LoadOptions{Name: "dataset"}); !errors.Is(err,
		errs.Mismatch) {
		t.Errorf("a JSON item as a tree: %v", err)
	}
	if _, err := checkpoint.Load(ctx, filepath.Join(steps, "3"), &checkpoint.LoadOptions{Name: "none"}); !errors.Is(err,
		errs.NotFound) {
		t.Errorf("no such item: %v", err)
	}
}
