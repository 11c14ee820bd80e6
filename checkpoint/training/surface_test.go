package training_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/tree"
)

// A second Checkpointer of the directory sees what the first does when it lists anew.
func TestReload(t *testing.T) {
	tr := newTrainer(t)
	other, err := training.Open(t.Context(), tr.Directory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // it saves nothing
	if other.Directory() != tr.Directory() {
		t.Errorf("%s and %s", other.Directory(), tr.Directory())
	}
	if _, err := tr.save(9, nil); err != nil {
		t.Fatal(err)
	}
	if last, _ := other.Latest(); last.Step != 5 {
		t.Errorf("before: %+v", last)
	}
	if err := other.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{1, 5, 9}, other.Steps()); d != "" {
		t.Error(d)
	}
}

// What runs in the background gives what the call that waits does: of all items, of
// one, of metadata and deletions.
func TestBackground(t *testing.T) {
	ctx, tr := t.Context(), newTrainer(t)
	r, err := tr.SaveCheckpointablesAsync(ctx, 9, map[string]any{"model": map[string]any{"w": []float32{9}},
		"opt": map[string]any{"m": 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if saved, err := r.Result(ctx); !saved || err != nil || tr.IsSavingInProgress() {
		t.Fatalf("%v, %v", saved, err)
	}
	items, err := tr.LoadCheckpointablesAsync(ctx, 9,
		&checkpoint.LoadOptions{Abstract: map[string]any{"model": nil}}).Result(ctx)
	if err != nil || len(items) != 1 || items["model"].(*tree.Node).Get("w") == nil {
		t.Errorf("%v, %v", items, err)
	}
	info, err := tr.CheckpointablesMetadata(ctx, 9)
	if err != nil || len(info.Items) != 2 || info.Items[0].Name != "model" {
		t.Errorf("%+v, %v", info, err)
	}
	if deleted, err := tr.DeleteAsync(ctx, 1, nil).Result(ctx); !deleted || err != nil {
		t.Errorf("%v, %v", deleted, err)
	}
	if d := cmp.Diff([]int64{5, 9}, tr.Steps()); d != "" {
		t.Error(d)
	}
}

// The layout that a Checkpointer saves is not one that its loads insist on: steps of
// one run may have several, and sources any.
func TestLayoutOfStepsIsFound(t *testing.T) {
	tr := newTrainer(t)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	o := &training.Options{}
	o.CheckpointLayout = options.SafetensorsFile
	c, err := training.Open(t.Context(), tr.Directory(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // its saves are waited for
	if _, err := c.Save(t.Context(), 9, map[string]any{"w": []float32{9}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, step := range []int64{5, 9} {
		if _, err := c.Load(t.Context(), step, nil); err != nil {
			t.Error(err)
		}
	}
	first := func(_ context.Context, sources []*tree.Node) (*tree.Node, error) { return sources[0], nil }
	if _, err := c.LoadAndTransform(t.Context(), []training.Source{{Step: 5}, {Step: 9}}, nil, first, nil); err != nil {
		t.Error(err)
	}
}
