package training_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// freeing is the removal of bytes of a step that has already lost its name.
func freeing(c vfstest.Call) bool {
	return c.Op == vfstest.OpRemove && strings.Contains(c.Name, ".orbax-checkpoint-tmp-")
}

// entries are the names in the directory of the run, without the lock.
func entries(t *testing.T, fsys vfs.FS) (names []string) {
	t.Helper()
	list, err := fsys.ReadDir("/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// Save returns when the step is committed and the one before has lost its name, though its
// bytes are still there. The next save, Wait and Close wait until they are gone.
func TestSaveDoesNotWaitForBytesToGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		mem, gate := vfstest.NewMem(), make(chan struct{})
		held := vfstest.NewFault(mem, vfstest.Plan{N: 1, Only: func(c vfstest.Call) bool {
			if freeing(c) {
				<-gate
			}
			return false
		}})
		c, err := training.Open(ctx, "run", &training.Options{Store: local.New(held, "/", nil),
			Preserve: training.LatestN{N: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(2) {
			if _, err := c.Save(ctx, n, model(n), nil); err != nil {
				t.Fatal(err)
			}
		}
		if got := stepsOf(c); !slices.Equal(got, []int64{1}) {
			t.Errorf("steps %v", got)
		}
		if got := entries(t, mem); len(got) != 2 || got[0] == "0" || slices.Index(got, "1") < 0 {
			t.Errorf("in the directory: %v, want 1 and what is being freed", got)
		}
		if saved, err := c.Save(ctx, 0, model(0), nil); saved || err != nil {
			t.Errorf("a save that is declined: %v, %v", saved, err)
		}
		ended, end := context.WithCancel(ctx)
		end()
		if err := c.Wait(ended); errs.KindOf(err) != errs.Canceled {
			t.Errorf("Wait: %v, want that it waits", err)
		}
		over := make(chan error, 1)
		go func() {
			_, err := c.Save(ctx, 2, model(2), nil)
			over <- err
		}()
		synctest.Wait()
		if got := entries(t, mem); slices.Contains(got, "2") || len(over) > 0 {
			t.Errorf("the next save did not wait: %v", got)
		}
		close(gate)
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := entries(t, mem); !slices.Equal(got, []string{"2"}) {
			t.Errorf("in the directory: %v, want 2", got)
		}
	})
}

// Bytes that cannot be freed are told as an event and to the next call, and are freed by
// the save after that, or by the next process.
func TestBytesThatCannotBeFreed(t *testing.T) {
	for _, again := range []bool{true, false} {
		ctx := context.Background()
		mem := vfstest.NewMem()
		fault := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: freeing})
		var events []training.Event
		o := training.Options{Store: local.New(fault, "/", nil), Preserve: training.LatestN{N: 1},
			OnEvent: func(e training.Event) {
				if e.Kind == training.Removed || e.Kind == training.Unfreed {
					events = append(events, e)
				}
			}}
		c, err := training.Open(ctx, "run", &o)
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(2) {
			if _, err := c.Save(ctx, n, model(n), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Wait(ctx); errs.KindOf(err) != errs.IO {
			t.Errorf("Wait: %v, want why the bytes are still there", err)
		}
		if len(events) != 2 || events[0].Kind != training.Removed || events[1].Kind != training.Unfreed ||
			events[1].Step != 0 || events[1].Err == nil {
			t.Errorf("events %+v", events)
		}
		if got := entries(t, mem); len(got) != 2 {
			t.Errorf("in the directory: %v", got)
		}
		if !again {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			o.Store = local.New(mem, "/", nil)
			if c, err = training.Open(ctx, "run", &o); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Save(ctx, 2, model(2), nil); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := entries(t, mem); !slices.Equal(got, []string{"2"}) {
			t.Errorf("next save by the same process %v: in the directory: %v, want 2", again, got)
		}
	}
}
