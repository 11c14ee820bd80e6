package training_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// label is a leaf of a type of its own, described by its length.
type label struct{ Text string }

type labels struct{ err error }

func (labels) TypeString() string { return "test.Label" }

func (h labels) Serialize(_ context.Context, leaves []handler.Saved[label]) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error {
		for _, l := range leaves {
			if err := dir.Put(ctx, "labels/"+l.Name(), []byte(l.Value.Text)); err != nil {
				return err
			}
		}
		return h.err
	}, nil
}

func (labels) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[int32]) ([]label, error) {
	out := make([]label, len(leaves))
	for i, l := range leaves {
		b, err := dir.ReadFile(ctx, "labels/"+l.Name())
		if err != nil {
			return nil, err
		}
		out[i].Text = string(b)
		if l.Abstract != nil {
			out[i].Text = out[i].Text[:*l.Abstract]
		}
	}
	return out, nil
}

func (h labels) Metadata(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[int32]) ([]int32, error) {
	all, err := h.Deserialize(ctx, dir, leaves)
	out := make([]int32, len(all))
	for i, l := range all {
		out[i] = int32(len(l.Text))
	}
	return out, err
}

func (labels) Finalize(ctx context.Context, dir handler.Writer) error {
	return dir.Put(ctx, "labels.done", nil)
}

// counter saves and describes itself.
type counter struct{ n byte }

func (c *counter) Save(context.Context) (handler.Commit, error) {
	b := []byte{c.n}
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, "n", b) }, nil
}

func (c *counter) Load(ctx context.Context, dir handler.Reader) error {
	b, err := dir.ReadFile(ctx, "n")
	if err == nil {
		c.n = b[0]
	}
	return err
}

func (c *counter) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	b, err := dir.ReadFile(ctx, "n")
	return len(b), err
}

func withLabels(t *testing.T, h labels) options.Options {
	t.Helper()
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(h), false); err != nil {
		t.Fatal(err)
	}
	return options.Options{PyTree: options.PyTree{LeafHandlers: leaves}}
}

// TestHandledSteps saves, describes and loads steps with leaves of leaf handlers
// and objects that save themselves.
func TestHandledSteps(t *testing.T) {
	ctx := t.Context()
	st := local.New(vfstest.NewMem(), "/", nil)
	c, err := training.Open(ctx, "run", &training.Options{Store: st, Options: withLabels(t, labels{}),
		Dedup: training.Dedup{On: true}})
	if err != nil {
		t.Fatal(err)
	}
	big := make([]float32, 5000)
	for step := range int64(3) {
		items := map[string]any{"state": map[string]any{"l": label{strings.Repeat("x", int(step)+1)}, "w": big},
			"count": &counter{byte(step)}}
		r, err := c.SaveCheckpointablesAsync(ctx, step, items, nil)
		if err != nil {
			t.Fatal(err)
		}
		items["count"].(*counter).n = 99
		if saved, err := r.Result(ctx); !saved || err != nil {
			t.Fatal(saved, err)
		}
	}
	for step := range int64(3) {
		n, err := c.Load(ctx, step, nil)
		if err != nil || len(n.Get("l").Value.(label).Text) != int(step)+1 {
			t.Errorf("step %d: %v, %v", step, n, err)
		}
		in, err := c.Metadata(ctx, step)
		if err != nil {
			t.Fatal(err)
		}
		state, _ := in.Item("state")
		if l := state.Leaves[0]; l.Param != "l" || l.Abstract != int32(step+1) {
			t.Errorf("step %d: %+v", step, l)
		}
		got := &counter{}
		items, err := c.LoadCheckpointables(ctx, step, &checkpoint.LoadOptions{Abstract: map[string]any{"count": got,
			"state": map[string]any{"l": int32(1), "w": nil}}})
		if err != nil || got.n != byte(step) || items["count"] != any(got) ||
			items["state"].(*tree.Node).Get("l").Value != (label{"x"}) {
			t.Errorf("step %d: %v, %v", step, items, err)
		}
	}
	// An object that is not given is left out, and told of; given, it describes itself.
	items, err := c.LoadCheckpointables(ctx, training.Latest, nil)
	if _, there := items["count"]; there || err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
	if _, err := c.LoadCheckpointables(ctx, training.Latest,
		&checkpoint.LoadOptions{Abstract: map[string]any{"count": nil}}); errs.KindOf(err) != errs.Invalid ||
		!strings.Contains(err.Error(), "count") {
		t.Errorf("an object that is asked for and not given: %v", err)
	}
	in, err := c.CheckpointablesMetadata(ctx, training.Latest)
	it, ok := in.Item("count")
	if err != nil || !ok || it.Metadata != nil {
		t.Errorf("%+v, %v", it, err)
	}
	script := surgery.Script{Rules: []surgery.Rule{surgery.Rename{Match: surgery.Match{Pattern: "l"}, To: "name"}}}
	n, err := c.LoadAndTransform(ctx, []training.Source{{Step: 1}}, nil, script.Transform, nil)
	if err != nil || n.Get("name").Value != (label{"xx"}) {
		t.Errorf("%v, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	// A run that was opened without the handler lists the steps, and refuses the leaves.
	plain, err := training.Open(ctx, "run", &training.Options{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // nothing is saved
	if diff := cmp.Diff([]int64{0, 1, 2}, stepsOf(plain)); diff != "" {
		t.Error(diff)
	}
	if _, err := plain.Load(ctx, 1, nil); errs.KindOf(err) != errs.Unsupported ||
		!strings.Contains(err.Error(), "test.Label") {
		t.Errorf("%v", err)
	}
	if n, err := plain.Load(ctx, 1, &checkpoint.LoadOptions{Options: withLabels(t, labels{})}); err != nil ||
		n.Get("l").Value != (label{"xx"}) {
		t.Errorf("with the handler for the call: %v, %v", n, err)
	}
}

// TestHandledStepFails has a leaf handler fail in the background.
func TestHandledStepFails(t *testing.T) {
	ctx := t.Context()
	st := local.New(vfstest.NewMem(), "/", nil)
	c, err := training.Open(ctx, "run", &training.Options{Store: st,
		Options: withLabels(t, labels{err: context.DeadlineExceeded})})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.SaveAsync(ctx, 1, map[string]any{"l": label{"x"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(ctx); err == nil || !strings.Contains(err.Error(), "leaf handler test.Label.Commit") {
		t.Errorf("%v", err)
	}
	if err := c.Wait(ctx); err != nil && !strings.Contains(err.Error(), "test.Label") {
		t.Errorf("%v", err)
	}
	if len(c.Steps()) != 0 {
		t.Errorf("%v", c.Steps())
	}
	c.Close() //nolint:errcheck // the failure was told
}
