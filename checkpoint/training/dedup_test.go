package training_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// linking opens a run whose steps are linked, and returns where the statistics
// of the last save are.
func linking(t *testing.T, dir string, o training.Options) (*training.Checkpointer, *checkpoint.SaveStats) {
	t.Helper()
	stats := new(checkpoint.SaveStats)
	o.OnEvent = func(e training.Event) {
		if e.Kind == training.SaveCommitted {
			*stats = e.Stats
		}
	}
	o.Dedup.On = true
	c, err := training.Open(t.Context(), dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // failures were told by the saves
	return c, stats
}

// layers is a state of n arrays of size bytes.
func layers(n, size int) map[string][]float32 {
	state := map[string][]float32{}
	for i := range n {
		v := make([]float32, size/4)
		for k := range v {
			v[k] = float32(i*k + k)
		}
		state[fmt.Sprintf("layer%02d", i)] = v
	}
	return state
}

// What did not change is not written: of an unchanged state at most one byte in
// a hundred, of a state with one changed array at most 64 MiB and the documents.
func TestDedupWritesWhatChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("writes some hundred MiB")
	}
	const size, count = 4 << 20, 40
	for _, how := range []struct {
		name   string
		budget options.Limit
		save   func(c *training.Checkpointer, step int64, state any) error
	}{
		{"copied", 0, func(c *training.Checkpointer, step int64, state any) error {
			r, err := c.SaveAsync(t.Context(), step, state, &training.SaveOptions{Force: true})
			if err == nil {
				_, err = r.Result(t.Context())
			}
			return err
		}},
		{"in place", 40 << 20, func(c *training.Checkpointer, step int64, state any) error {
			_, err := c.Save(t.Context(), step, state, &training.SaveOptions{Force: true})
			return err
		}},
	} {
		dir := t.TempDir()
		c, stats := linking(t, dir,
			training.Options{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: how.budget}},
				Preserve: training.LatestN{N: 2}})
		state := layers(count, size)
		save := func(step int64) checkpoint.SaveStats {
			if err := how.save(c, step, state); err != nil {
				t.Fatal(err)
			}
			return *stats
		}
		if s := save(1); s.Bytes < size*count || s.Linked != 0 {
			t.Errorf("%s, first: %+v", how.name, s)
		}
		if s := save(2); s.Bytes > size*count/100 || s.LinkedBytes < size*count {
			t.Errorf("%s, unchanged: %+v", how.name, s)
		}
		state["layer07"][1000]++
		if s := save(3); s.Bytes > 64<<20+1<<20 || s.Bytes < size || s.LinkedBytes+s.Bytes < size*count {
			t.Errorf("%s, one array: %+v", how.name, s)
		}
		state["layer07"][1000]--
		want, err := tree.From(state)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Load(t.Context(), 2, nil); err != nil || !tree.Equal(got, want) {
			t.Errorf("%s: step 2: %v", how.name, err)
		}
		for _, step := range []string{"2", "3"} {
			if r, err := integrity.Verify(t.Context(), filepath.Join(dir, step), nil); err != nil || !r.OK() {
				t.Errorf("%s: step %s: %v %v", how.name, step, err, r)
			}
		}
	}
}

// Linked files are the same inode, read back as often as was asked for; one that
// rotted is written anew.
func TestDedupVerifiesAgain(t *testing.T) {
	dir := t.TempDir()
	c, stats := linking(t, dir, training.Options{Dedup: training.Dedup{VerifyEvery: 3}})
	state := map[string][]float32{"w": make([]float32, 3000)}
	var linked, verified []int
	for step := range int64(8) {
		if _, err := c.Save(t.Context(), step, state, &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		linked, verified = append(linked, stats.Linked), append(verified, stats.Verified)
	}
	if !slices.Equal(linked, []int{0, 1, 1, 1, 1, 1, 1, 1}) || !slices.Equal(verified, []int{0, 0, 0, 1, 0, 0, 1, 0}) {
		t.Errorf("linked %v, verified %v", linked, verified)
	}
	file := dataFile(t, filepath.Join(dir, "7", "state", "d"), 12000)
	if a, b := stat(t, file), stat(t, dataFile(t, filepath.Join(dir, "0", "state", "d"), 12000)); !os.SameFile(a, b) {
		t.Error("steps 0 and 7 have files of their own")
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte{1}, 6000)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for step := int64(8); step < 10; step++ {
		if _, err := c.Save(t.Context(), step, state, &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if stats.Damaged != 1 || stats.Linked != 0 {
		t.Errorf("%+v", *stats)
	}
	if _, err := c.Load(t.Context(), 9, nil); err != nil {
		t.Error(err)
	}
	if _, err := c.Load(t.Context(), 7, nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("step 7: %v", err)
	}
}

func stat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// dataFile is the file in dir that holds an array of size bytes.
func dataFile(t *testing.T, dir string, size int64) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if n := stat(t, name).Size(); n >= size && n < size+100 {
			return name
		}
	}
	t.Fatalf("no file for %d bytes in %s", size, dir)
	return ""
}

// The newest step whose manifest can be read is the base.
func TestDedupPassesOverDamage(t *testing.T) {
	dir := t.TempDir()
	c, stats := linking(t, dir, training.Options{})
	save := func(step int64) {
		t.Helper()
		if _, err := c.Save(t.Context(), step, model(1), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	save(1)
	save(2)
	if err := os.WriteFile(filepath.Join(dir, "2", "bivouac.manifest"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	save(3)
	if stats.Linked != 1 {
		t.Errorf("%+v", *stats)
	}
	if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	if err := equalsModel(t.Context(), c, 3, 1); err != nil {
		t.Error(err)
	}
}

func equalsModel(ctx context.Context, c *training.Checkpointer, step, n int64) error {
	want, err := tree.From(model(n))
	if err != nil {
		return err
	}
	got, err := c.Load(ctx, step, nil)
	if err == nil && !tree.Equal(want, got) {
		err = fmt.Errorf("step %d holds another state", step)
	}
	return err
}

// Where nothing can be linked every step is whole, and the statistics say so.
func TestDedupWithoutLinks(t *testing.T) {
	st := local.New(vfstest.NewFault(vfstest.NewMem(),
		vfstest.Plan{N: 1, Forever: true, Err: syscall.EMLINK,
			Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLink }}), "/", nil)
	c, stats := linking(t, "run", training.Options{Store: st})
	for step := range int64(2) {
		if _, err := c.Save(t.Context(), step, model(1), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if stats.Refused != 1 || stats.Linked != 0 || stats.Bytes < 1200 {
		t.Errorf("%+v", *stats)
	}
	if err := equalsModel(t.Context(), c, 1, 1); err != nil {
		t.Error(err)
	}
}

func TestBadDedup(t *testing.T) {
	if _, err := training.Open(t.Context(), t.TempDir(),
		&training.Options{Dedup: training.Dedup{VerifyEvery: -1}}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}
