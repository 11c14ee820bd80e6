package partial_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
)

// A part that takes too long is not a part; the next one is.
func TestSaveTimeout(t *testing.T) {
	st, _ := mem(t)
	late := on(st)
	late.Asynchronous.SaveTimeout = 1
	if err := partial.Save(t.Context(), "c", map[string]any{"a": ramp(1000, 0)}, late); !errors.Is(err, errs.Canceled) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a save that took too long", err)
	}
	late.Asynchronous.SaveTimeout, late.Asynchronous.Timeout = 0, 1
	r, err := partial.SaveAsync(t.Context(), "c", map[string]any{"a": ramp(1000, 0)}, late)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("in the background: %v, want a save that took too long", err)
	}
	if err := partial.Save(t.Context(), "c", map[string]any{"b": ramp(1000, 1)}, late); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(t.Context(), "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	want(t, map[string]any{"b": ramp(1000, 1)}, load(t, st, "c"))
}

// The callback is called for each part in the background, when it is in the session.
func TestPostFinalizationCallback(t *testing.T) {
	st, _ := mem(t)
	var parts atomic.Int64
	o := on(st)
	o.Asynchronous.PostFinalizationCallback = func() {
		for e, err := range st.List(context.Background(), "c.partial_save") {
			if err != nil {
				t.Error(err)
			}
			if e.Dir {
				parts.Add(1)
			}
		}
	}
	for i, n := range []string{"a", "b"} {
		r, err := partial.SaveAsync(t.Context(), "c", map[string]any{n: ramp(1000, 0)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(t.Context()); err != nil || parts.Swap(0) != int64(i+1) {
			t.Errorf("part %d: %v, or the callback did not find it", i, err)
		}
	}
	if err := partial.Finalize(t.Context(), "c", &partial.FinalizeOptions{Store: st}); err != nil || parts.Load() != 0 {
		t.Errorf("%v; Finalize, which the caller waits for, called it %d times", err, parts.Load())
	}
}
