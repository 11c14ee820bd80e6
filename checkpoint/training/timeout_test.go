package training_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// A step that takes too long is not there, its failure is told once, and the next
// step is saved.
func TestSaveTimeout(t *testing.T) {
	for name, o := range map[string]options.Asynchronous{
		"any save": {SaveTimeout: 1}, "in the background": {Timeout: 1},
	} {
		c, err := openOn(vfstest.NewMem(), training.Options{})
		if err != nil {
			t.Fatal(err)
		}
		late := &training.SaveOptions{Force: true}
		late.Asynchronous = o
		r, err := c.SaveAsync(t.Context(), 1, model(1), late)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(t.Context()); !errors.Is(err, errs.Canceled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want a save that took too long", name, err)
		}
		if _, err := c.Save(t.Context(), 2, model(2), late); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the next save does not tell it: %v", name, err)
		}
		want := []int64{3}
		if o.SaveTimeout == 0 {
			want = []int64{2, 3}
		}
		if saved, err := c.Save(t.Context(), 2, model(2), late); saved != (len(want) == 2) || saved != (err == nil) {
			t.Errorf("%s: in the foreground %v, %v", name, saved, err)
		}
		if saved, err := c.Save(t.Context(), 3, model(3), &training.SaveOptions{Force: true}); !saved || err != nil {
			t.Errorf("%s: the save after that: %v, %v", name, saved, err)
		}
		if err := c.Reload(t.Context()); err != nil || !slices.Equal(stepsOf(c), want) {
			t.Errorf("%s: steps %v, want %v, %v", name, stepsOf(c), want, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The wait for the save before is not part of the time that a save may take.
func TestTimeoutBeginsAfterTheWait(t *testing.T) {
	// What the process keeps, such as encoders, is made outside of the bubble.
	if err := saving(1, 2)(vfstest.NewMem(), func(string) {}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c, err := openOn(vfstest.NewMem(), training.Options{})
		if err != nil {
			t.Fatal(err)
		}
		slow := &training.SaveOptions{Force: true, Progress: func(int64, int64) { time.Sleep(2 * time.Hour) }}
		slow.Asynchronous.Timeout = options.Unlimited
		if _, err := c.SaveAsync(t.Context(), 1, model(1), slow); err != nil {
			t.Fatal(err)
		}
		quick := &training.SaveOptions{Force: true}
		quick.Asynchronous.SaveTimeout = time.Hour
		if saved, err := c.Save(t.Context(), 2, model(2), quick); !saved || err != nil {
			t.Errorf("%v, %v", saved, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The callback finds the step listed, before the result is there.
func TestPostFinalizationCallback(t *testing.T) {
	var c *training.Checkpointer
	var latest atomic.Int64
	o := training.Options{}
	o.Asynchronous.PostFinalizationCallback = func() {
		in, _ := c.Latest()
		latest.Store(in.Step)
	}
	c, err := openOn(vfstest.NewMem(), o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.SaveAsync(t.Context(), 7, model(7), nil)
	if err != nil {
		t.Fatal(err)
	}
	if saved, err := r.Result(t.Context()); !saved || err != nil || latest.Load() != 7 {
		t.Errorf("%v, %v; the callback found step %d", saved, err, latest.Load())
	}
	if r, err = c.SaveAsync(t.Context(), 6, model(6), nil); err != nil { // which the policy does not want
		t.Fatal(err)
	}
	latest.Store(0)
	if saved, err := r.Result(t.Context()); saved || err != nil || latest.Load() != 0 {
		t.Errorf("a step that was not saved: %v, %v, the callback found %d", saved, err, latest.Load())
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
