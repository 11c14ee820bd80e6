package training_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// A Checkpointer lists steps without commit_success.txt unless it asks for that file; then it
// leaves them where they are, as Orbax's Checkpointer does.
func TestListsByCommitFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/orbax/trainer-basic/checkpoint")); err != nil {
		t.Fatal(err)
	}
	list := func(o options.Atomicity) []int64 {
		t.Helper()
		c, err := training.Open(t.Context(), dir, &training.Options{Options: options.Options{Atomicity: o}, Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		steps := stepsOf(c)
		if o.Mode == options.CommitFile {
			if _, err := c.Save(t.Context(), 1000, model(1),
				&training.SaveOptions{Force: true}); errs.KindOf(err) != errs.Unsupported {
				t.Errorf("a save in place: %v", err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		return steps
	}
	all := list(options.Atomicity{})
	if got := list(options.Atomicity{Mode: options.CommitFile}); len(all) < 2 || !slices.Equal(got, all) {
		t.Fatalf("with all markers %v, of %v", got, all)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "commit_success.txt"))
	if err != nil || len(found) != len(all) {
		t.Fatal(found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    options.Atomicity
		want int
	}{
		"auto":        {options.Atomicity{}, len(all)},
		"commit file": {options.Atomicity{Mode: options.CommitFile}, len(all) - 1},
		"legacy":      {options.Atomicity{Mode: options.CommitFile, AllowLegacyAtomicRename: options.On}, len(all)},
		"auto again":  {options.Atomicity{AllowLegacyAtomicRename: options.Off}, len(all)},
	} {
		if got := list(c.o); len(got) != c.want {
			t.Errorf("%s: %v, of %v", name, got, all)
		}
	}
}
