package training_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// opened is a run on a file system with some steps.
func opened(t *testing.T, fsys vfs.FS, o training.Options, steps ...int64) *training.Checkpointer {
	t.Helper()
	o.Store = local.New(fsys, "/run", nil)
	c, err := training.Open(t.Context(), "", &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // tests that care close it
	for _, n := range steps {
		if _, err := c.Save(t.Context(), n, model(n), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// cut makes a step one that is not whole.
func cut(t *testing.T, mem *vfstest.Mem, dir string) {
	t.Helper()
	if err := mem.Remove("/run/" + dir + "/state/_METADATA"); err != nil {
		t.Fatal(err)
	}
}

func TestDelete(t *testing.T) {
	ctx := t.Context()
	var removed []int64
	mem := vfstest.NewMem()
	c := opened(t, mem, training.Options{OnEvent: func(e training.Event) {
		if e.Kind == training.Removed {
			removed = append(removed, e.Step)
		}
	}}, 1, 2, 3)
	for _, try := range []struct {
		step    int64
		o       *training.DeleteOptions
		deleted bool
		kind    errs.Kind
		left    []int64
	}{
		{9, nil, false, errs.NotFound, []int64{1, 2, 3}},
		{9, &training.DeleteOptions{MissingOK: true}, false, errs.Other, []int64{1, 2, 3}},
		{2, nil, true, errs.Other, []int64{1, 3}},
		{2, nil, false, errs.NotFound, []int64{1, 3}},
		{training.Latest, nil, true, errs.Other, []int64{1}},
		{1, nil, false, errs.Invalid, []int64{1}},
		{1, &training.DeleteOptions{Last: true}, true, errs.Other, nil},
		{training.Latest, nil, false, errs.NotFound, nil},
	} {
		deleted, err := c.Delete(ctx, try.step, try.o)
		if deleted != try.deleted || errs.KindOf(err) != try.kind || !slices.Equal(c.Steps(), try.left) {
			t.Errorf("%d: %v, %v, left %v", try.step, deleted, err, c.Steps())
		}
	}
	if want := []int64{2, 3, 1}; !slices.Equal(removed, want) {
		t.Errorf("removed %v, want %v", removed, want)
	}
	if err := c.Close(); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if _, err := c.Delete(ctx, 1, nil); !errors.Is(err, errs.Closed) {
		t.Errorf("after Close: %v", err)
	}
}

// What deletion in the background could not do is told by the next save.
func TestDeleteAsyncFailureIsTold(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
		return c.Op == vfstest.OpRename && strings.HasSuffix(c.Name, "/1")
	}})
	c := opened(t, f, training.Options{}, 1, 2)
	r := c.DeleteAsync(ctx, 1, nil)
	if _, err := c.SaveAsync(ctx, 3, model(3), nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("the next save: %v", err)
	}
	if _, err := r.Result(ctx); !errors.Is(err, syscall.EIO) {
		t.Errorf("the result: %v", err)
	}
	if got := c.Steps(); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("listed: %v", got)
	}
	if _, err := c.DeleteAsync(ctx, 1, nil).Result(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("told twice: %v", err)
	}
}

// The last whole step stays, whatever the policy says and whatever damaged the others.
func TestLastWholeStepStays(t *testing.T) {
	for name, damaged := range map[string][]string{"of none": {}, "of the newest": {"5"}, "of all others": {"5", "4"}} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			mem := vfstest.NewMem()
			var spared []int64
			opened(t, mem, training.Options{}, 4, 5).Close() //nolint:errcheck // waited for
			c := opened(t, mem, training.Options{Preserve: training.LatestN{N: 1}, OnEvent: func(e training.Event) {
				if e.Kind == training.Spared {
					spared = append(spared, e.Step)
				}
			}})
			for _, dir := range damaged {
				cut(t, mem, dir)
			}
			// Below the latest: the policy gives it up at once.
			if _, err := c.Save(ctx, 3, model(3), &training.SaveOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			want := map[int][]int64{0: nil, 1: {4}, 2: {3}}[len(damaged)]
			if !slices.Equal(spared, want) {
				t.Errorf("spared %v, want %v", spared, want)
			}
			for _, step := range want {
				if _, err := c.Load(ctx, step, nil); err != nil {
					t.Error(err)
				}
				if _, err := c.Delete(ctx, step, nil); !errors.Is(err, errs.Invalid) {
					t.Errorf("deleting the last whole step: %v", err)
				}
			}
		})
	}
}

// A directory that took the place of a step is nothing that retention or Delete
// removes.
func TestWhatIsNoStepAnyMoreStays(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{1, 2} {
		if _, err := c.Save(ctx, n, model(n), nil); err != nil {
			t.Fatal(err)
		}
	}
	precious := filepath.Join(dir, "1", "thesis")
	err = errors.Join(os.RemoveAll(filepath.Dir(precious)), os.Mkdir(filepath.Dir(precious), 0o777),
		os.WriteFile(precious, []byte("x"), 0o666))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(ctx, 1, nil); !errors.Is(err, errs.NotFound) && err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	if got := c.Steps(); !slices.Equal(got, []int64{2}) {
		t.Errorf("listed: %v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// waitingContext calls waits when somebody begins to wait for its end.
type waitingContext struct {
	context.Context
	waits func()
}

func (c waitingContext) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// A cancelled save leaves nothing, its failure is its own, and the run goes on.
func TestCancel(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	hold, reached := make(chan struct{}), make(chan struct{})
	blocked := false
	fsys := vfstest.Intercept(mem, func(call *vfstest.Call, do func() error) error {
		if call.Op == vfstest.OpMkdir && strings.Contains(call.Name, "/2.") && !blocked {
			blocked = true
			close(reached)
			<-hold
		}
		return do()
	})
	c := opened(t, fsys, training.Options{}, 1)
	r, err := c.SaveAsync(ctx, 2, model(2), &training.SaveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if !c.IsSavingInProgress() {
		t.Error("no save in progress")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Cancel(ended); !errors.Is(err, errs.Canceled) {
		t.Errorf("an impatient caller: %v", err)
	}
	// The save is held until Cancel waits for its end.
	if canceled, err := c.Cancel(waitingContext{ctx, sync.OnceFunc(func() { close(hold) })}); err != nil || !canceled {
		t.Errorf("cancelled %v, %v", canceled, err)
	}
	if saved, err := r.Result(ctx); saved || !errors.Is(err, errs.Canceled) {
		t.Errorf("the save: %v, %v", saved, err)
	}
	if canceled, err := c.Cancel(ctx); canceled || err != nil {
		t.Errorf("nothing is in flight: %v, %v", canceled, err)
	}
	for e, err := range local.New(mem, "/run", nil).List(ctx, "") {
		if err != nil || strings.HasPrefix(e.Name, "2") {
			t.Errorf("left: %s, %v", e.Name, err)
		}
	}
	if _, err := c.Save(ctx, 2, model(2), &training.SaveOptions{Force: true}); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Of two deletions of one step that wait for a save the second finds nothing.
func TestDeleteTwice(t *testing.T) {
	ctx := t.Context()
	gate, held := make(chan struct{}), make(chan struct{})
	var hold atomic.Bool
	fsys := vfstest.Intercept(vfstest.NewMem(), func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpSync && hold.CompareAndSwap(true, false) {
			close(held)
			<-gate
		}
		return do()
	})
	c := opened(t, fsys, training.Options{}, 1, 2, 3)
	hold.Store(true)
	saved, err := c.SaveAsync(ctx, 4, model(4), &training.SaveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	<-held
	first := c.DeleteAsync(ctx, 1, nil)
	second := c.DeleteAsync(ctx, 1, nil)
	third := c.DeleteAsync(ctx, 1, &training.DeleteOptions{MissingOK: true})
	close(gate)
	if _, err := saved.Result(ctx); err != nil {
		t.Fatal(err)
	}
	if deleted, err := first.Result(ctx); err != nil || !deleted {
		t.Errorf("the first: %v, %v", deleted, err)
	}
	if deleted, err := second.Result(ctx); errs.KindOf(err) != errs.NotFound || deleted {
		t.Errorf("the second: %v, %v", deleted, err)
	}
	if deleted, err := third.Result(ctx); err != nil || deleted {
		t.Errorf("the third: %v, %v", deleted, err)
	}
	if got := c.Steps(); !slices.Equal(got, []int64{2, 3, 4}) {
		t.Errorf("listed: %v", got)
	}
}
