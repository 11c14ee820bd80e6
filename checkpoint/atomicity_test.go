package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// modes are options of atomicity, and whether they ask for commit_success.txt.
var modes = map[string]struct {
	o     checkpoint.Options
	needs bool
}{
	"none":                {checkpoint.Options{}, false},
	"auto":                {checkpoint.Options{Atomicity: options.Atomicity{Mode: options.AutoAtomicity}}, false},
	"atomic rename":       {checkpoint.Options{Atomicity: options.Atomicity{Mode: options.AtomicRename, AllowLegacyAtomicRename: options.Off}}, false},
	"commit file":         {checkpoint.Options{Atomicity: options.Atomicity{Mode: options.CommitFile}}, true},
	"of v0":               {checkpoint.Options{File: options.File{TemporaryPath: options.CommitFile}}, true},
	"commit file, legacy": {checkpoint.Options{Atomicity: options.Atomicity{Mode: options.CommitFile, AllowLegacyAtomicRename: options.On}}, false},
}

// A load that asks for the marker refuses a checkpoint without commit_success.txt, and other loads
// take it, as in Orbax. Our checkpoints and Orbax's have it.
func TestLoadsByCommitFile(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	whole, without := filepath.Join(dir, "whole"), filepath.Join(dir, "without")
	if err := checkpoint.Save(ctx, whole, map[string]any{"a": grid(9, 9)}, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(without, os.DirFS("../testdata/orbax/v0-standard/checkpoint")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(without, "commit_success.txt")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range modes {
		o := &checkpoint.LoadOptions{Options: mode.o}
		for _, path := range []string{whole, "../testdata/orbax/v0-standard/checkpoint",
			"../testdata/orbax/v1-scalars/checkpoint"} {
			if _, err := checkpoint.Load(ctx, path, o); err != nil {
				t.Errorf("%s: %s: %v", name, path, err)
			}
		}
		want := errs.Other
		if mode.needs {
			want = errs.Invalid
		}
		if _, err := checkpoint.Load(ctx, without, o); errs.KindOf(err) != want || (err != nil) != mode.needs {
			t.Errorf("%s: without the marker: %v", name, err)
		}
		if is := checkpoint.IsCheckpoint(ctx, without, o); is == mode.needs {
			t.Errorf("%s: without the marker it is a checkpoint: %v", name, is)
		}
	}
}

// No save writes in place: a name never holds half a checkpoint.
func TestSavesRefuseCommitFile(t *testing.T) {
	for name, mode := range modes {
		st := local.New(vfstest.NewMem(), "/", nil)
		err := checkpoint.Save(t.Context(), "c", map[string]any{"a": grid(9, 9)},
			&checkpoint.SaveOptions{Options: mode.o, Store: st})
		refused := mode.o.InPlace()
		if (errs.KindOf(err) == errs.Unsupported) != refused || (err != nil) != refused ||
			(len(names(t, st)) == 0) != refused {
			t.Errorf("%s: %v; there is %q", name, err, names(t, st))
		}
	}
}
