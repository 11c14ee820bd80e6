package training_test

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// failAt counts the calls of a file system once it is armed, and fails the n-th.
type failAt struct {
	mu       sync.Mutex
	armed    bool
	n, calls int
	hit      vfstest.Op
}

func (f *failAt) call(c *vfstest.Call, do func() error) error {
	f.mu.Lock()
	fail := false
	if f.armed && c.Op != vfstest.OpClose && c.Op != vfstest.OpLockDir { // a lease that cannot be had is no failure
		f.calls++
		if fail = f.calls == f.n; fail {
			f.hit = c.Op
		}
	}
	f.mu.Unlock()
	if fail {
		return syscall.EIO
	}
	return do()
}

func (f *failAt) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

// Each failure of the disk during a Tag, Untag, Tags or Prune is told. What Prune then says of the
// steps is true.
func TestEveryFailureOfTagsIsTold(t *testing.T) {
	ctx := context.Background()
	steps := []int64{10, 20, 30, 40}
	for name, do := range map[string]func(c *training.Checkpointer) ([]training.Retained, error){
		"tag": func(c *training.Checkpointer) ([]training.Retained, error) { return nil, c.Tag(ctx, 20, "new") },
		"untag": func(c *training.Checkpointer) ([]training.Retained, error) {
			_, err := c.Untag(ctx, 10, "old")
			return nil, err
		},
		"tags":  func(c *training.Checkpointer) ([]training.Retained, error) { _, err := c.Tags(ctx); return nil, err },
		"prune": func(c *training.Checkpointer) ([]training.Retained, error) { return c.Prune(ctx, nil) },
	} {
		for n := 1; ; n++ {
			mem := vfstest.NewMem()
			savedRun(t, mem, steps...)
			f := &failAt{n: n}
			c, err := openRun(vfstest.Intercept(mem, f.call), training.Options{Preserve: training.LatestN{N: 1}})
			if err == nil {
				err = c.Tag(ctx, 10, "old")
			}
			if err != nil {
				t.Fatal(err)
			}
			f.arm()
			list, err := do(c)
			if f.hit == vfstest.OpNone {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if n < 3 {
					t.Errorf("%s: only %d calls", name, f.calls)
				}
				break
			}
			if err == nil {
				t.Errorf("%s: the failure of call %d, %d, is not told", name, n, f.hit)
			}
			look, err := openRun(mem, training.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				if there := slices.Contains(look.Steps(), r.Step); r.Keep != there {
					t.Errorf("%s: after a failure of call %d, step %d is there: %v, told as kept: %v %s", name, n, r.Step,
						there, r.Keep, r.Reason)
				}
			}
			if err := look.Close(); err != nil {
				t.Fatal(err)
			}
			c.Close() //nolint:errcheck // the disk has failed
		}
	}
}

// A fresh start that cannot move the tags fails: they would keep steps of the new run.
func TestFreshStartTellsTags(t *testing.T) {
	ctx := context.Background()
	for _, op := range []vfstest.Op{vfstest.OpStat, vfstest.OpRename, vfstest.OpRenameNoReplace} {
		mem := vfstest.NewMem()
		savedRun(t, mem, 10)
		c, err := openRun(mem, training.Options{})
		if err == nil {
			err = c.Tag(ctx, 10, "old")
		}
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		hit := false
		fresh, err := openRun(vfstest.Intercept(mem, func(call *vfstest.Call, do func() error) error {
			if call.Op == op && path.Base(call.Name) == ".bivouac.tags" {
				hit = true
				return syscall.EIO
			}
			return do()
		}), training.Options{StartFresh: true})
		if hit && err == nil {
			t.Errorf("a failure of %v is not told", op)
			err = fresh.Close()
			if err != nil {
				t.Error(err)
			}
		}
		if op == vfstest.OpStat && !hit {
			t.Errorf("%v of the tags was not called", op)
		}
		if !hit && err == nil {
			if err := fresh.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Tags of steps that do not exist are refused.
func TestTagsOfNothing(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	c, err := openRun(mem, training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it saves nothing
	for what, err := range map[string]error{
		"Tag of a step":   c.Tag(ctx, 77, "x"),
		"Tag of Latest":   c.Tag(ctx, training.Latest, "x"),
		"Untag of Latest": untag(ctx, c, training.Latest, "x"),
	} {
		if errs.KindOf(err) != errs.NotFound {
			t.Errorf("%s: %v, want not found", what, err)
		}
	}
	if err := untag(ctx, c, 5, "a/b"); errs.KindOf(err) != errs.Invalid {
		t.Errorf("Untag of no tag: %v, want invalid", err)
	}
	if list, err := c.Prune(ctx, nil); err != nil || len(list) != 0 {
		t.Errorf("Prune of an empty run: %s, %v", fmt.Sprint(list), err)
	}
}

func untag(ctx context.Context, c *training.Checkpointer, step int64, tag string) error {
	_, err := c.Untag(ctx, step, tag)
	return err
}
