package training_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// A save is over when it is committed; what is given up is removed meanwhile, and
// Close waits for that.
func TestResultBeforeRemovals(t *testing.T) {
	ctx := context.Background()
	hold := make(chan struct{})
	var removed []int64
	c, err := openOn(vfstest.NewMem(), training.Options{OnEvent: func(e training.Event) {
		if e.Kind == training.Removed {
			<-hold
			removed = append(removed, e.Step)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []int64{10, 20, 30} {
		r, err := c.SaveAsync(ctx, step, model(step), &training.SaveOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if saved, err := r.Result(ctx); !saved || err != nil { // would never return if it waited for the removal
			t.Fatalf("saved %v, error %v", saved, err)
		}
	}
	close(hold)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if list := c.Checkpoints(); len(removed) != 1 || removed[0] != 10 || len(list) != 2 || list[0].Step != 20 {
		t.Errorf("removed %v, left %v", removed, list)
	}
}

// The failure to remove a step is told by the next save, once.
func TestRemovalFailureAfterAsyncSave(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	if err := prepared(10, 20)(mem); err != nil {
		t.Fatal(err)
	}
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
		return c.Op == vfstest.OpRename && strings.HasSuffix(c.Name, "/10")
	}})
	c, err := openOn(f, training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // what is to be told was
	save := func(step int64) error {
		_, err := c.SaveAsync(ctx, step, model(step), &training.SaveOptions{Force: true})
		return err
	}
	if err := save(30); err != nil {
		t.Fatal(err)
	}
	if err := save(40); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next save: %v", err)
	}
	if err := save(40); err != nil {
		t.Errorf("told twice: %v", err)
	}
}

// Saves that are held back hold the same.
func TestPace(t *testing.T) {
	ctx := context.Background()
	for name, p := range map[string]training.Pace{
		"background": {Background: true}, "one writer": {Background: true, Writers: 1}, "rate": {Writers: 2, Rate: 1 << 30},
	} {
		mem := vfstest.NewMem()
		c, err := openOn(mem, training.Options{Pace: p})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.SaveCheckpointablesAsync(ctx, 10, map[string]any{"state": model(10), "data": position(10)},
			&training.SaveOptions{Force: true})
		if err == nil {
			_, err = r.Result(ctx)
		}
		if err = errors.Join(err, c.Close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := survived(10)(mem, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []training.Pace{{Writers: -1}, {Rate: -1}} {
		if err := (training.Options{Pace: bad}).Validate(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
