package training_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// However the bytes of a state reach the store — from a copy, from memory that
// was handed over, while the caller waits, or because the budget is too small
// for a copy — what is loaded is what was saved, and the event says how.
func TestWaysToSave(t *testing.T) {
	for _, c := range []struct {
		name         string
		budget       options.Limit
		reserve      int64
		wait, handed bool
		copied       bool
	}{
		{name: "copied", copied: true},
		{name: "copied to reserved memory", reserve: 20 << 20, copied: true},
		{name: "within the budget", budget: 32 << 20, reserve: 64 << 20, copied: true},
		{name: "past the budget", budget: 9 << 20},
		{name: "waited for", wait: true},
		{name: "handed over", handed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			var stats checkpoint.SaveStats
			s, err := training.Open(ctx, t.TempDir(),
				&training.Options{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: c.budget}}, Reserve: c.reserve,
					OnEvent: func(e training.Event) {
						if e.Kind == training.SaveCommitted {
							stats = e.Stats
						}
					},
				})
			if err != nil {
				t.Fatal(err)
			}
			a, b := make([]float32, 4<<20), make([]uint8, 5000)
			for i := range a {
				a[i] = float32(i)
			}
			b[4999] = 7
			var released atomic.Int32
			var done atomic.Int64
			o := &training.SaveOptions{Progress: func(n, total int64) { done.Store(n) }}
			if c.handed {
				o.Release, o.Watch = func() { released.Add(1) }, true
			}
			state := map[string]any{"a": a, "b": b}
			if c.wait {
				_, err = s.Save(ctx, 1, state, o)
			} else {
				var r *checkpoint.Response[bool]
				if r, err = s.SaveAsync(ctx, 1, state, o); err == nil {
					if !c.handed {
						a[0], a[len(a)-1] = -1, -1
					}
					_, err = r.Result(ctx)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.handed != (released.Load() == 1) {
				t.Errorf("released %d times", released.Load())
			}
			if stats.Copied != c.copied || stats.Bytes < 16<<20 || stats.Files == 0 || done.Load() < 16<<20 ||
				stats.Blocked == 0 {
				t.Errorf("%+v, progress %d", stats, done.Load())
			}
			a[0], a[len(a)-1] = -1, -1
			clear(b)
			into := map[string]any{"a": a, "b": b}
			if err := s.LoadInto(ctx, 1, &into, nil); err != nil {
				t.Fatal(err)
			}
			for i := range a {
				if a[i] != float32(i) {
					t.Fatalf("a[%d] is %v", i, a[i])
				}
			}
			if b[4999] != 7 {
				t.Error("b was not loaded")
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// What the policy does not want is released all the same.
func TestReleaseOfSkipped(t *testing.T) {
	ctx := t.Context()
	s, err := training.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Save(ctx, 5, map[string]any{"a": 1}, nil); err != nil {
		t.Fatal(err)
	}
	var released atomic.Int32
	r, err := s.SaveAsync(ctx, 4, map[string]any{"a": 1}, &training.SaveOptions{Release: func() { released.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	if saved, err := r.Result(ctx); saved || err != nil || released.Load() != 1 {
		t.Errorf("saved %v, %v, released %d times", saved, err, released.Load())
	}
}

func TestBadBudget(t *testing.T) {
	for _, o := range []training.Options{{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: -2}}},
		{Reserve: -1}} {
		if _, err := training.Open(t.Context(), t.TempDir(), &o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
