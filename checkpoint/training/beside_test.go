package training_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// during calls what before the nth call of a reader that reads below a directory, once.
func during(mem *vfstest.Mem, dir string, n int, what func()) (vfs.FS, *int) {
	var mu sync.Mutex
	calls := 0
	return vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		mu.Lock()
		if c.Name == dir || strings.HasPrefix(c.Name, dir+"/") {
			calls++
			if calls == n {
				what()
			}
		}
		mu.Unlock()
		return do()
	}), &calls
}

// A step that is overwritten before any call of a load, a look or a verification is
// read whole, as it was or as it is; one that is removed says that it was removed.
func TestReadsBesideAWriter(t *testing.T) {
	ctx := context.Background()
	reads := map[string]func(st store.Store) error{
		"load": func(st store.Store) error {
			items, err := checkpoint.LoadCheckpointables(ctx, "10", &checkpoint.LoadOptions{Store: st})
			if err == nil && !same(map[string]any{"state": model(10), "data": position(10)}, items) && !same(map[string]any{"state": model(11), "data": position(11)}, items) {
				err = errors.New("a mixture of two steps")
			}
			return err
		},
		"metadata": func(st store.Store) error {
			_, err := checkpoint.Metadata(ctx, "10", &checkpoint.LoadOptions{Store: st})
			return err
		},
		"verify": func(st store.Store) error {
			r, err := integrity.Verify(ctx, "10", &integrity.VerifyOptions{Store: st})
			if err == nil && !r.OK() {
				err = r.Problems[0]
			}
			return err
		},
		"reload": func(st store.Store) error {
			var told error
			c, err := training.Open(ctx, "", &training.Options{Store: st, OnEvent: func(e training.Event) { told = e.Err }})
			if err == nil {
				err = errors.Join(told, c.Close())
			}
			return err
		},
	}
	for name, read := range reads {
		for _, removed := range []bool{false, true} {
			n := 1
			for ; ; n++ {
				mem := vfstest.NewMem()
				if err := prepared(10)(mem); err != nil {
					t.Fatal(err)
				}
				plain := local.New(mem, "/run", nil)
				fsys, calls := during(mem, "/run/10", n, func() {
					var err error
					if removed {
						err = plain.RemoveTree(ctx, "10")
					} else {
						err = checkpoint.SaveCheckpointables(ctx, "10", map[string]any{"state": model(11), "data": position(11)},
							&checkpoint.SaveOptions{Store: plain, Overwrite: true})
					}
					if err != nil {
						t.Error(err)
					}
				})
				err := read(local.New(fsys, "/run", nil))
				if *calls < n {
					break
				}
				switch {
				case err == nil:
				case removed && errors.Is(err, errs.NotFound) &&
					(errors.Is(err, store.ErrRemoved) || n <= 3): // before it was opened it was not there
				default:
					t.Errorf("%s, removed %v, call %d: %v", name, removed, n, err)
				}
			}
			if n < 5 {
				t.Errorf("%s: %d calls, want some", name, n)
			}
		}
	}
}

// A reload at any call of a save that overwrites finds the step, whole, and sets
// nothing aside.
func TestReloadBesideOverwriting(t *testing.T) {
	ctx := context.Background()
	for n := 1; ; n++ {
		mem := vfstest.NewMem()
		if err := prepared(10, 20)(mem); err != nil {
			t.Fatal(err)
		}
		var c *training.Checkpointer
		var over sync.WaitGroup
		calls, began := 0, false
		var mu sync.Mutex
		fsys := vfstest.Intercept(mem, func(call *vfstest.Call, do func() error) error {
			mu.Lock()
			if began && call.Op.Mutates() {
				if calls++; calls == n { // it may have to wait for the save
					over.Go(func() {
						if err := c.Reload(ctx); err != nil {
							t.Errorf("call %d: reload: %v", n, err)
						}
					})
				}
			}
			mu.Unlock()
			return do()
		})
		var err error
		c, err = training.Open(ctx, "", &training.Options{Store: local.New(fsys, "/run", nil), Clean: true,
			OnEvent: func(e training.Event) {
				if e.Kind == training.Quarantined || e.Kind == training.Skipped {
					t.Errorf("call %d: %v of step %d: %v", n, e.Kind, e.Step, e.Err)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		began = true
		mu.Unlock()
		if _, err := c.Save(ctx, 20, model(21), &training.SaveOptions{Force: true, Overwrite: true}); err != nil {
			t.Fatal(err)
		}
		if got := c.Steps(); len(got) != 2 || got[1] != 20 {
			t.Fatalf("call %d: after Save the steps are %v", n, got)
		}
		over.Wait()
		if got := c.Steps(); len(got) != 2 || got[1] != 20 {
			t.Fatalf("call %d: in the end the steps are %v", n, got)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if calls < n {
			break
		}
	}
}

// A reload during which another writer puts a whole step in the place of one, at any call,
// finds the step, and sets nothing aside.
func TestReloadBesideAnotherWriter(t *testing.T) {
	ctx := context.Background()
	for n := 1; ; n++ {
		mem := vfstest.NewMem()
		if err := prepared(10, 20)(mem); err != nil {
			t.Fatal(err)
		}
		calls, began := 0, false
		fsys := vfstest.Intercept(mem, func(_ *vfstest.Call, do func() error) error {
			if began {
				if calls++; calls == n {
					began = false
					if err := checkpoint.Save(ctx, "20", model(21),
						&checkpoint.SaveOptions{Store: local.New(mem, "/run", nil), Overwrite: true}); err != nil {
						t.Error(err)
					}
				}
			}
			return do()
		})
		c, err := training.Open(ctx, "", &training.Options{Store: local.New(fsys, "/run", nil), Clean: true,
			OnEvent: func(e training.Event) {
				if e.Kind == training.Quarantined || e.Kind == training.Skipped {
					t.Errorf("call %d: %v of step %d: %v", n, e.Kind, e.Step, e.Err)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		began = true
		if err := c.Reload(ctx); err != nil {
			t.Errorf("call %d: %v", n, err)
		}
		if got := c.Steps(); len(got) != 2 || got[1] != 20 {
			t.Errorf("call %d: the steps are %v", n, got)
		}
		over := began // it had fewer calls
		began = false
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if over {
			break
		}
	}
}

// Retention spares a leased step until the lease ends. If the step is deleted all the same, the
// holder of the lease reads it to the end, and its bytes go afterwards.
func TestLease(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	spared := map[int64]bool{}
	writer, err := openOn(mem, training.Options{Clean: true, Foreground: true, OnEvent: func(e training.Event) {
		if e.Kind == training.Spared {
			spared[e.Step] = true
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for n := range int64(keep) {
		if err := step(writer, n+1); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := openOn(mem, training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	lease, err := reader.Lease(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if err := step(writer, n+10); err != nil {
			t.Fatal(err)
		}
	}
	if !spared[1] || spared[2] || writer.Steps()[0] != 1 {
		t.Errorf("the steps are %v, spared were %v", writer.Steps(), spared)
	}
	if _, err := writer.Delete(ctx, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Lease(ctx, 1); !errors.Is(err, errs.NotFound) {
		t.Errorf("a lease of a step that was deleted: %v", err)
	}
	left := func() (n int) {
		list, err := mem.ReadDir("/run")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if store.IsStaging(e.Name()) {
				n++
			}
		}
		return n
	}
	if left() != 1 {
		t.Errorf("%d trees are kept for who reads them, want 1", left())
	}
	if err := step(writer, 20); err != nil {
		t.Fatal(err)
	}
	if left() != 1 {
		t.Errorf("%d trees are kept beside a save, want 1", left())
	}
	if err := lease.Close(); err != nil {
		t.Fatal(err)
	}
	if err := step(writer, 21); err != nil {
		t.Fatal(err)
	}
	if left() != 0 {
		t.Errorf("%d trees are left after the lease", left())
	}
	lease, err = reader.Lease(ctx, training.Latest)
	if err == nil {
		err = lease.Close()
	}
	if !errors.Is(err, errs.NotFound) { // what the reader lists is gone
		t.Errorf("a lease of a step that retention took: %v", err)
	}
	if err := reader.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	if lease, err = reader.Lease(ctx, training.Latest); err != nil || lease.Step != 21 {
		t.Fatalf("a lease of the newest step: %v", err)
	}
	if err := errors.Join(lease.Close(), lease.Close()); err != nil {
		t.Error(err)
	}
}
