package checkpoint_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// An empty directory may be overwritten, and without Overwrite nothing may; a directory
// in which something lies is kept.
func TestOverwriteEmptyDirectory(t *testing.T) {
	ctx := context.Background()
	for _, update := range []bool{false, true} {
		mem := vfstest.NewMem()
		st := local.New(mem, "/", nil)
		for _, dir := range []string{"/a", "/b", "/b/mine"} {
			if err := mem.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		save := func(name string, overwrite bool) error {
			return checkpoint.Save(ctx, name, partOf(1), &checkpoint.SaveOptions{Store: st, Overwrite: overwrite,
				PartialUpdate: update})
		}
		if err := save("a", false); err == nil {
			t.Error("an empty directory was overwritten without Overwrite")
		}
		if err := save("a", true); err != nil {
			t.Errorf("update %v: an empty directory: %v", update, err)
		}
		if err := loads("a", partOf(1))(mem); err != nil {
			t.Errorf("update %v: %v", update, err)
		}
		if err := save("b", true); err == nil {
			t.Error("a directory with something in it was overwritten")
		}
		if _, err := mem.Stat("/b/mine"); err != nil {
			t.Error(err)
		}
	}
}

// Finalize says what it looked for, not what the system said.
func TestFinalizeWithoutSession(t *testing.T) {
	ctx := context.Background()
	st := local.New(vfstest.NewMem(), "/", nil)
	err := partial.Finalize(ctx, "a", &partial.FinalizeOptions{Store: st})
	if !errors.Is(err, errs.NotFound) || strings.Contains(err.Error(), "stat") ||
		!strings.Contains(err.Error(), "session of partial saves") {
		t.Errorf("nothing is there: %v", err)
	}
	if err := checkpoint.Save(ctx, "a", partOf(1), &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	err = partial.Finalize(ctx, "a", &partial.FinalizeOptions{Store: st})
	if !errors.Is(err, errs.Exists) || strings.Contains(err.Error(), "stat") ||
		!strings.Contains(err.Error(), "session of partial saves") {
		t.Errorf("a checkpoint is there: %v", err)
	}
}
