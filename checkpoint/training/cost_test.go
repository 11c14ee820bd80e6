package training_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/growth"
	"github.com/bivouac-ml/bivouac/store/local"
)

// withoutDirSync is a file system whose directories are not synced, for which Mem copies all of
// their names.
func withoutDirSync() vfs.FS {
	return vfstest.Intercept(vfstest.NewMem(), func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpSyncDir {
			return nil
		}
		return do()
	})
}

// A save costs the same whatever number of steps is kept.
func TestSaveAmongManySteps(t *testing.T) {
	for name, policy := range map[string]training.PreservationPolicy{
		"all": training.PreserveAll{}, "interval": training.EveryNSteps{Interval: 1},
	} {
		ctx := t.Context()
		c, err := training.Open(ctx, "run", &training.Options{Store: local.New(withoutDirSync(), "/", nil),
			Save: training.FixedInterval{Steps: 1}, Preserve: policy, Foreground: true})
		if err != nil {
			t.Fatal(err)
		}
		state := map[string]any{"w": make([]float32, 16)}
		step := int64(0)
		save := func() error {
			step++
			_, err := c.Save(ctx, step, state, nil)
			return err
		}
		// cheapest is what the cheapest of some saves allocates: now and then the list grows.
		cheapest := func() uint64 {
			least := ^uint64(0)
			for range 5 {
				cost, err := growth.Measure(save)
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, cost.Bytes)
			}
			return least
		}
		grow := func(to int64) {
			for step < to {
				if err := save(); err != nil {
					t.Fatal(err)
				}
			}
		}
		grow(50)
		few := cheapest()
		grow(1600)
		if many := cheapest(); many > few+few/4 {
			t.Errorf("%s: a save allocates %d bytes with 50 steps and %d with 1,600", name, few, many)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Open of many steps, which looks at several at once, finds what it finds one by one.
func TestOpenOfManySteps(t *testing.T) {
	ctx, st := t.Context(), local.New(vfstest.NewMem(), "/", nil)
	open := func() *training.Checkpointer {
		c, err := training.Open(ctx, "run", &training.Options{Store: st, Save: training.FixedInterval{Steps: 1}, Clean: true})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	for step := range int64(300) {
		if _, err := c.Save(ctx, step, map[string]any{"n": step},
			&training.SaveOptions{Metrics: map[string]float64{"loss": float64(step)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	damaged := []string{"7", "120", "299"}
	for _, name := range damaged {
		if err := st.RemoveTree(ctx, "run/"+name+"/state/_METADATA"); err != nil {
			t.Fatal(err)
		}
	}
	c = open()
	defer c.Close() //nolint:errcheck // nothing is saved
	list := c.Checkpoints()
	if len(list) != 297 {
		t.Fatalf("%d steps, want 297", len(list))
	}
	last := int64(-1)
	for _, in := range list {
		if in.Step <= last || in.Metrics["loss"] != float64(in.Step) {
			t.Errorf("%v after step %d", in, last)
		}
		last = in.Step
	}
	for _, name := range damaged {
		if _, err := st.Stat(ctx, "run/"+name+".damaged"); err != nil {
			t.Error(err)
		}
	}
}
