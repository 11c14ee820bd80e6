package training_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// openRun opens a run with the policy of the options.
func openRun(fsys vfs.FS, o training.Options) (*training.Checkpointer, error) {
	o.Store = local.New(fsys, "/run", nil)
	return training.Open(context.Background(), "", &o)
}

// savedRun saves steps of a run that keeps all of them.
func savedRun(t *testing.T, fsys vfs.FS, steps ...int64) {
	t.Helper()
	c, err := openRun(fsys, training.Options{})
	for _, step := range steps {
		if err == nil {
			_, err = c.Save(t.Context(), step, model(step), &training.SaveOptions{Force: true})
		}
	}
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reasons returns the steps that a prune keeps, and why.
func reasons(list []training.Retained) (kept []int64, why map[int64]string) {
	why = map[int64]string{}
	for _, r := range list {
		if r.Keep {
			kept = append(kept, r.Step)
			why[r.Step] = r.Reason
		}
	}
	return kept, why
}

// A dry run says what a prune then does: it keeps what the policy keeps, the newest step, and steps
// with tags or leases.
func TestPrune(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	savedRun(t, mem, 10, 20, 30, 40, 50, 60)
	c, err := openRun(mem, training.Options{Preserve: training.LatestN{N: 2}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Tag(ctx, 20, "paper"); err != nil {
		t.Fatal(err)
	}
	lease, err := c.Lease(ctx, 30)
	if err != nil {
		t.Fatal(err)
	}
	dry, err := c.Prune(ctx, &training.PruneOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{20, 30, 50, 60}
	kept, why := reasons(dry)
	if !slices.Equal(kept, want) || why[20] != "it has the tag paper" || why[30] != "a reader has a lease of it" {
		t.Errorf("a dry run keeps %v: %v", kept, why)
	}
	if got := c.Steps(); len(got) != 6 {
		t.Errorf("after a dry run the steps are %v", got)
	}
	done, err := c.Prune(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(done) != fmt.Sprint(dry) {
		t.Errorf("prune did %v, the dry run said %v", done, dry)
	}
	if got := c.Steps(); !slices.Equal(got, want) {
		t.Errorf("after the prune the steps are %v, want %v", got, want)
	}
	// The process is the writer now, and another one is refused.
	other, err := openRun(mem, training.Options{Preserve: training.LatestN{N: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := other.Steps(); !slices.Equal(got, want) {
		t.Errorf("another process sees %v", got)
	}
	if _, err := other.Prune(ctx, nil); errs.KindOf(err) != errs.Busy {
		t.Errorf("beside a writer: %v, want busy", err)
	}
	if err := errors.Join(lease.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Prune(ctx, nil); err != nil {
		t.Error(err)
	}
	if got := other.Steps(); !slices.Equal(got, []int64{20, 60}) {
		t.Errorf("without the lease the steps are %v", got)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Prune(ctx, nil); errs.KindOf(err) != errs.Closed {
		t.Errorf("after Close: %v, want closed", err)
	}
}

// A prune with the policy to keep nothing keeps the newest step and the last whole one.
func TestPruneKeepsTheLast(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	savedRun(t, mem, 10, 20)
	c, err := openRun(mem, training.Options{Preserve: training.LatestN{N: 0}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it saves nothing
	if _, err := c.Prune(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if got := c.Steps(); !slices.Equal(got, []int64{20}) {
		t.Errorf("the steps are %v", got)
	}
}

// A save of another process spares a step with a tag, and so does Delete until it is told not to.
func TestTagsKeepSteps(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	spared := map[int64]string{}
	trainer, err := openRun(mem, training.Options{Preserve: training.LatestN{N: 1}, Foreground: true,
		OnEvent: func(e training.Event) {
			if e.Kind == training.Spared {
				spared[e.Step] = e.Reason
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer trainer.Close() //nolint:errcheck // closed below
	save := func(step int64) {
		t.Helper()
		if _, err := trainer.Save(ctx, step, model(step), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	save(10)
	other, err := openRun(mem, training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"best", "paper", "best"} {
		if err := other.Tag(ctx, training.Latest, tag); err != nil {
			t.Fatal(err)
		}
	}
	save(20)
	save(30)
	if got := trainer.Steps(); !slices.Equal(got, []int64{10, 30}) || spared[10] != "it has the tag best, paper" {
		t.Errorf("the steps are %v, spared %v", got, spared)
	}
	tags, err := trainer.Tags(ctx)
	if err != nil || fmt.Sprint(tags) != "map[10:[best paper]]" {
		t.Errorf("the tags are %v, %v", tags, err)
	}
	if _, err := trainer.Delete(ctx, 10, nil); errs.KindOf(err) != errs.Invalid {
		t.Errorf("Delete of a step with tags: %v, want invalid", err)
	}
	if had, err := other.Untag(ctx, 10, "best"); !had || err != nil {
		t.Errorf("Untag: %v, %v", had, err)
	}
	if had, err := other.Untag(ctx, 10, "best"); had || err != nil {
		t.Errorf("a second Untag: %v, %v", had, err)
	}
	if deleted, err := trainer.Delete(ctx, 10, &training.DeleteOptions{Tagged: true}); !deleted || err != nil {
		t.Errorf("Delete with Tagged: %v, %v", deleted, err)
	}
	if tags, err := trainer.Tags(ctx); len(tags) != 0 || err != nil {
		t.Errorf("after Delete the tags are %v, %v", tags, err)
	}
	if err := other.Tag(ctx, 10, "best"); errs.KindOf(err) != errs.NotFound {
		t.Errorf("Tag of a step that is gone: %v, want not found", err)
	}
	if tags, err := trainer.Tags(ctx); len(tags) != 0 || err != nil {
		t.Errorf("the tag of a step that is gone stays: %v, %v", tags, err)
	}
	for _, tag := range []string{"", ".x", "a/b", "a@b", "ä", "a b", fmt.Sprintf("%065d", 0)} {
		if err := other.Tag(ctx, 30, tag); errs.KindOf(err) != errs.Invalid {
			t.Errorf("tag %q: %v, want invalid", tag, err)
		}
	}
}

// A fresh start moves the tags with the steps that they keep.
func TestFreshStartMovesTags(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	savedRun(t, mem, 10)
	c, err := openRun(mem, training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Tag(ctx, 10, "old"), c.Close()); err != nil {
		t.Fatal(err)
	}
	fresh, err := openRun(mem, training.Options{StartFresh: true})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close() //nolint:errcheck // it saves nothing
	if tags, err := fresh.Tags(ctx); len(tags) != 0 || err != nil {
		t.Errorf("the new run has the tags %v, %v", tags, err)
	}
}
