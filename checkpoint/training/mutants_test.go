package training_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Tests that make mutate asked for: each fails when one line of the save path
// is taken out.

// An old step that cannot be removed is told, and the new one is committed.
func TestRetentionFailureIsTold(t *testing.T) {
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
	saved, err := c.SaveCheckpointables(ctx, 30, map[string]any{"state": model(30), "data": position(30)},
		&training.SaveOptions{Force: true})
	if !saved || !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "is committed") {
		t.Errorf("saved %v, error %v", saved, err)
	}
	if last, ok := c.Latest(); !ok || last.Step != 30 || len(c.Checkpoints()) != 3 {
		t.Errorf("listed: %v", c.Checkpoints())
	}
	if err := c.Close(); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if err := survived(10, 20, 30)(mem, nil); err != nil {
		t.Error(err)
	}
}

// What cannot be saved is refused, and the step does not exist.
func TestSaveRefusals(t *testing.T) {
	ctx := context.Background()
	c, err := openOn(vfstest.NewMem(), training.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	good := map[string]any{"state": model(1)}
	for name, try := range map[string]struct {
		items map[string]any
		o     training.SaveOptions
	}{
		"no items":             {nil, training.SaveOptions{}},
		"an item's name":       {map[string]any{"a/b": model(1)}, training.SaveOptions{}},
		"an item of bad JSON":  {map[string]any{"data": json.RawMessage("{")}, training.SaveOptions{}},
		"a leaf":               {map[string]any{"state": map[string]any{"f": func() {}}}, training.SaveOptions{}},
		"metrics":              {good, training.SaveOptions{Metrics: map[string]float64{"loss": math.NaN()}}},
		"metadata":             {good, training.SaveOptions{Custom: 3}},
		"an item like metrics": {map[string]any{"METRICS": model(1)}, training.SaveOptions{Metrics: map[string]float64{"loss": 1}}},
	} {
		try.o.Force = true
		saved, err := c.SaveCheckpointables(ctx, 1, try.items, &try.o)
		if kind := errs.KindOf(err); saved || kind != errs.Invalid && kind != errs.Unsupported {
			t.Errorf("%s: saved %v, error %v", name, saved, err)
		}
	}
	if _, err := c.SaveCheckpointablesAsync(ctx, -7, good, nil); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a negative step: %v", err)
	}
	if n := len(c.Checkpoints()); n != 0 {
		t.Errorf("%d steps", n)
	}
}

// A step of which a file is longer than it was is not taken for whole.
func TestLongerFileIsNoticed(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{1, 2} {
		if _, err := c.Save(ctx, n, model(n), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "2", "state", "manifest.ocdbt"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write([]byte{0})
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, err = training.Open(ctx, dir, nil); err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	if last, ok := c.Latest(); !ok || last.Step != 1 {
		t.Errorf("the latest is %d", last.Step)
	}
}

// Whichever call fails while steps are removed, by Delete or by what a policy gives
// up, it is told.
func TestEveryFailureOfRemovalIsTold(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	if err := opened(t, mem, training.Options{}, 1, 2, 3).Close(); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	for name, try := range map[string]struct {
		o  training.Options
		do func(*training.Checkpointer) error
	}{
		"delete": {training.Options{}, func(c *training.Checkpointer) error {
			_, err := c.Delete(ctx, 1, nil)
			return err
		}},
		"delete to a trash": {training.Options{Options: options.Options{Deletion: options.Deletion{GCS: options.GCSDeletion{TodeleteFullPath: "trash"}}}},
			func(c *training.Checkpointer) error {
				_, err := c.Delete(ctx, 1, nil)
				return err
			}},
		"retention": {training.Options{Preserve: training.LatestN{N: 1}}, func(c *training.Checkpointer) error {
			_, err := c.Save(ctx, 4, model(4), nil)
			return errors.Join(err, c.Wait(ctx)) // the bytes go behind the save
		}},
	} {
		for n := 1; ; n++ {
			armed := false
			f := vfstest.NewFault(mem.Clone(), vfstest.Plan{N: n, Err: syscall.EIO,
				Only: func(c vfstest.Call) bool { return armed && c.Op != vfstest.OpClose }})
			c := opened(t, f, try.o)
			armed = true
			err := try.do(c)
			armed = false
			call, hits := f.Hit()
			if hits == 0 {
				if err != nil || n < 10 {
					t.Errorf("%s: %v after %d calls", name, err, n-1)
				}
				break
			}
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("%s: call %d, %v, failed, and: %v", name, n, call, err)
			}
		}
	}
}

// A step on the list whose directory somebody removed is overwritten as if it had
// never been there.
func TestOverwriteOfAVanishedStep(t *testing.T) {
	mem := vfstest.NewMem()
	c := opened(t, mem, training.Options{}, 1, 2)
	if err := local.New(mem, "/run", nil).RemoveTree(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	saved, err := c.Save(t.Context(), 2, model(3), &training.SaveOptions{Overwrite: true})
	if err != nil || !saved {
		t.Fatal(saved, err)
	}
	if _, err := c.Load(t.Context(), 2, nil); err != nil {
		t.Error(err)
	}
}
