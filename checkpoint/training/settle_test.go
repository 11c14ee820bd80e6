package training_test

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
)

// While it is found out what became of an uncertain save every failure is told,
// nothing is saved, and the next attempt finds out.
func TestEveryCallOfSettlingFails(t *testing.T) {
	prior := vfstest.NewMem()
	if err := prepared(10, 20)(prior); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		mem := prior.Clone()
		var counting atomic.Bool
		f := vfstest.NewFault(vfstest.NewFault(mem, unsure(2, false)),
			vfstest.Plan{N: n, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
				return counting.Load() && c.Op != vfstest.OpClose
			}})
		c, err := openOn(f, training.Options{Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := step(c, 30); !errors.Is(err, store.ErrUncertain) {
			t.Fatalf("a commit whose last sync failed: %v", err)
		}
		counting.Store(true)
		err = step(c, 40)
		counting.Store(false)
		hit, hits := f.Hit()
		saving := hit.Op == vfstest.OpMkdir || hits == 0 // all of settling has failed
		if !saving {
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("call %d, %v, failed: %v", n, hit, err)
			}
			if err := step(c, 40); err != nil {
				t.Errorf("call %d, %v, failed; again: %v", n, hit, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Errorf("call %d, %v, failed: told twice: %v", n, hit, err)
		}
		if saving {
			break
		}
	}
}

// Options of the context that contradict each other are refused.
func TestRefusedContext(t *testing.T) {
	ctx := options.With(t.Context(), options.Options{Multiprocessing: options.Multiprocessing{ProcessCount: -1}})
	c, err := openOn(vfstest.NewMem(), training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	if saved, err := c.Save(ctx, 1, model(1), &training.SaveOptions{Force: true}); saved ||
		errs.KindOf(err) != errs.Invalid {
		t.Errorf("saved %v, %v", saved, err)
	}
}
