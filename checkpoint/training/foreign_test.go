package training_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// put writes a file of somebody else.
func put(fsys vfs.FS, name string) error {
	for i, c := range name {
		if c != '/' || i == 0 {
			continue
		}
		if err := fsys.Mkdir(name[:i], 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	f, err := fsys.Create(name, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(name), 0)
	return errors.Join(err, f.Close())
}

// holds reports whether a file is what put wrote.
func holds(fsys vfs.FS, name string) bool {
	f, err := fsys.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it is read
	b := make([]byte, len(name))
	n, err := f.ReadAt(b, 0)
	return (err == nil || err == io.EOF) && string(b[:n]) == name
}

// Retention, Delete, Overwrite and Clean take away steps that are recognised, and
// what interrupted saves have left; whatever else lies in the directory of a run,
// under whatever name, stays as it is.
func TestWhatIsNotOursStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{
			"0", "00", "1", "01", "-1", "+2", "2 ", "2.damaged", "3", "3.bak", "step_4", "9", "99", "1e1", "0x1", "notes.txt", "metadata2",
			"5.partial_save.orbax-checkpoint-tmp", "6.orbax-checkpoint-tmp-mine", "best", "_CHECKPOINT_METADATA2", "trash",
		})
		inner := rapid.SampledFrom([]string{"thesis", "state", "commit_success.txt", "metrics/metrics", "a/b/c"})
		mem := vfstest.NewMem()
		var foreign []string
		for _, name := range rapid.SliceOfNDistinct(word, 1, 8, rapid.ID[string]).Draw(t, "names") {
			if rapid.Bool().Draw(t, "directory") {
				name += "/" + inner.Draw(t, "inside")
			}
			foreign = append(foreign, "/run/"+name)
			if err := put(mem, "/run/"+name); err != nil {
				t.Fatal(err)
			}
		}
		ctx := context.Background()
		o := training.Options{
			Store: local.New(mem, "/run", nil), Clean: rapid.Bool().Draw(t, "clean"),
			Preserve: training.LatestN{N: rapid.IntRange(0, 2).Draw(t, "n")},
		}
		if rapid.Bool().Draw(t, "trash") {
			o.Deletion.GCS.TodeleteFullPath = "gone"
		}
		c, err := training.Open(ctx, "", &o)
		if err != nil {
			t.Fatal(err)
		}
		saved := 0
		for step := range int64(rapid.IntRange(1, 8).Draw(t, "steps")) {
			so := &training.SaveOptions{Force: true, Overwrite: rapid.Bool().Draw(t, "overwrite")}
			switch _, err := c.Save(ctx, step, map[string]any{"n": step}, so); {
			case err == nil:
				saved++
			case !errors.Is(err, errs.Exists):
				t.Fatal(err)
			}
		}
		for _, step := range c.Steps() {
			if _, err := c.Delete(ctx, step, &training.DeleteOptions{Last: true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range foreign {
			if !holds(mem, name) {
				t.Fatalf("%s is gone, or was changed; %d steps were saved", name, saved)
			}
		}
	})
}

// Steps that are given up are whole in the trash, and the run does not see them.
func TestTrash(t *testing.T) {
	ctx := t.Context()
	for name, trash := range map[string]func(dir string) string{
		"relative": func(string) string { return "old/steps" },
		"absolute": func(dir string) string { return filepath.Join(dir, "old", "steps") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := &training.Options{Preserve: training.LatestN{N: 1}}
			o.Deletion = options.Deletion{GCS: options.GCSDeletion{TodeleteFullPath: trash(dir)}}
			c, err := training.Open(ctx, dir, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []int64{1, 2, 3} {
				if _, err := c.Save(ctx, step, model(step), nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Delete(ctx, 3, &training.DeleteOptions{Last: true}); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Reload(ctx), c.Close()); err != nil || len(c.Steps()) != 0 {
				t.Errorf("left: %v, %v", c.Steps(), err)
			}
			for _, step := range []int64{1, 2, 3} {
				found, err := filepath.Glob(filepath.Join(dir, "old", "steps", fmt.Sprintf("%d-2*", step)))
				if err != nil || len(found) != 1 {
					t.Fatalf("step %d in the trash: %v, %v", step, found, err)
				}
				got, err := checkpoint.Load(ctx, found[0], nil)
				want, _ := tree.From(model(step))
				if err != nil || !tree.Equal(want, got) {
					t.Errorf("step %d in the trash: %v", step, err)
				}
			}
		})
	}
}

// One item of a step goes, the rest stays.
func TestDeleteItem(t *testing.T) {
	ctx := t.Context()
	c, err := training.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is in flight
	items := map[string]any{"state": model(1), "data": position(1)}
	if _, err := c.SaveCheckpointables(ctx, 1, items,
		&training.SaveOptions{Metrics: map[string]float64{"loss": 1}}); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		o       training.DeleteOptions
		deleted bool
		kind    errs.Kind
	}{
		{training.DeleteOptions{Name: "other"}, false, errs.NotFound},
		{training.DeleteOptions{Name: "other", MissingOK: true}, false, errs.Other},
		{training.DeleteOptions{Name: "metrics"}, false, errs.Invalid},
		{training.DeleteOptions{Name: "data"}, true, errs.Other},
		{training.DeleteOptions{Name: "state"}, false, errs.Invalid},
	} {
		if deleted, err := c.Delete(ctx, 1, &try.o); deleted != try.deleted || errs.KindOf(err) != try.kind {
			t.Errorf("%+v: %v, %v", try.o, deleted, err)
		}
	}
	if err := c.Reload(ctx); err != nil || !slices.Equal(c.Steps(), []int64{1}) {
		t.Errorf("steps %v, %v", c.Steps(), err)
	}
	info, err := c.CheckpointablesMetadata(ctx, 1)
	if err != nil || len(info.Items) != 2 { // and the metrics
		t.Errorf("described: %+v, %v", info, err)
	}
	got, err := c.LoadCheckpointables(ctx, 1, nil)
	if err != nil || !same(map[string]any{"state": model(1)}, withoutMetrics(got)) {
		t.Errorf("left: %v, %v", slices.Collect(maps.Keys(got)), err)
	}
}

// A step of the run and a checkpoint from elsewhere become one state.
func TestLoadAndTransform(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := checkpoint.Save(ctx, other, map[string]any{"embedding": []float32{7}}, nil); err != nil {
		t.Fatal(err)
	}
	c, err := training.Open(ctx, filepath.Join(dir, "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is in flight
	if _, err := c.Save(ctx, 3, map[string]any{"w": []float32{1, 2}}, nil); err != nil {
		t.Fatal(err)
	}
	join := func(_ context.Context, from []*tree.Node) (*tree.Node, error) {
		out := tree.NewDict()
		for _, n := range from {
			out.Keys, out.Items = append(out.Keys, n.Keys...), append(out.Items, n.Items...)
		}
		return out, nil
	}
	got, err := c.LoadAndTransform(ctx, []training.Source{{Path: other}, {Step: training.Latest}}, nil, join, nil)
	want, _ := tree.From(map[string]any{"w": []float32{1, 2}, "embedding": []float32{7}})
	if err != nil || !tree.Equal(want, got) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.LoadAndTransform(ctx, []training.Source{{Step: 4}}, nil, join, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("no such step: %v", err)
	}
}
