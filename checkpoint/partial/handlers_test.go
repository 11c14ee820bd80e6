package partial_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
)

// mark is a leaf; each has a file of its own, or shares one where the handler
// says so.
type mark struct{ Name string }

type marks struct{ shared bool }

func (h marks) file(name string) string {
	if h.shared {
		return "marks"
	}
	return "marks/" + name
}

func (marks) TypeString() string { return "test.Mark" }

func (h marks) Serialize(_ context.Context, leaves []handler.Saved[mark]) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error {
		for _, l := range leaves {
			if err := dir.Put(ctx, h.file(l.Name()), []byte(l.Value.Name)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (h marks) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[int8]) ([]mark, error) {
	out := make([]mark, len(leaves))
	for i, l := range leaves {
		b, err := dir.ReadFile(ctx, h.file(l.Name()))
		if err != nil {
			return nil, err
		}
		out[i] = mark{string(b)}
	}
	return out, nil
}

func (marks) Metadata(_ context.Context, _ handler.Reader, leaves []handler.Wanted[int8]) ([]int8, error) {
	return make([]int8, len(leaves)), nil
}

func (marks) Finalize(context.Context, handler.Writer) error { return nil }

// blob is an item of a handler of its own, in files whose names resemble names of documents.
type blob string

type blobs struct{}

func (blobs) TypeString() string { return "test.Blob" }

func (blobs) Handles(v any) bool { _, ok := v.(blob); return ok }

func (blobs) HandlesAbstract(a any) handler.Verdict {
	if _, ok := a.(blob); ok {
		return handler.Yes
	}
	return handler.No
}

func (blobs) Save(_ context.Context, v any) (handler.Commit, error) {
	return func(ctx context.Context, dir handler.Writer) error {
		if err := dir.Put(ctx, "d/0", []byte(v.(blob))); err != nil {
			return err
		}
		return dir.Put(ctx, "_METADATA.txt", []byte("no JSON"))
	}, nil
}

func (blobs) Load(ctx context.Context, dir handler.Reader, _ any) (any, error) {
	b, err := dir.ReadFile(ctx, "d/0")
	return blob(b), err
}

func (blobs) Metadata(context.Context, handler.Reader) (any, error) { return blob(""), nil }

func handled(t *testing.T, h marks) options.Options {
	t.Helper()
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(h), false); err != nil {
		t.Fatal(err)
	}
	r, err := handler.Local(nil, true)
	if err == nil {
		err = r.Add(blobs{}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return options.Options{PyTree: options.PyTree{LeafHandlers: leaves},
		Checkpointables: options.Checkpointables{Registry: r}}
}

// TestHandled saves leaves and items of handlers in parts.
func TestHandled(t *testing.T) {
	ctx := t.Context()
	st, _ := mem(t)
	o := on(st)
	o.Options = handled(t, marks{})
	for _, items := range []map[string]any{
		{"state": map[string]any{"a": mark{"one"}, "w": ramp(3000, 0)}, "blob": blob("first"), "data": json.RawMessage(`{"k": 1}`)},
		{"state": map[string]any{"b": mark{"two"}, "s": "text"}, "other": blob("second")},
		{"state": map[string]any{"c": map[string]any{"d": mark{"three"}}}},
	} {
		if err := partial.SaveCheckpointables(ctx, "c", items, o); err != nil {
			t.Fatal(err)
		}
	}
	for name, items := range map[string]map[string]any{
		"leaf a": {"state": map[string]any{"a": mark{"x"}}}, "item blob": {"blob": blob("x")}, "leaf c": {"state": map[string]any{"c": 1}},
	} {
		if err := partial.SaveCheckpointables(ctx, "c", items, o); errs.KindOf(err) != errs.Exists ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Replace = true
	if err := partial.SaveCheckpointables(ctx, "c", map[string]any{"blob": blob("replaced")}, o); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o.Options})
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]any{"a": mark{"one"}, "w": ramp(3000, 0), "b": mark{"two"}, "s": "text",
		"c": map[string]any{"d": mark{"three"}}}
	loaded := got["state"]
	delete(got, "state")
	if diff := cmp.Diff(map[string]any{"blob": blob("replaced"), "other": blob("second"),
		"data": json.RawMessage(`{"k": 1}`)}, got); diff != "" {
		t.Error(diff)
	}
	leaves := o.Options
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: leaves,
		Abstract: map[string]any{"a": int8(0), "w": nil, "b": nil, "s": nil, "c": nil}})
	if err != nil || n.Get("c").Get("d").Value != state["c"].(map[string]any)["d"] || n.Get("a").Value != state["a"] {
		t.Errorf("%v, %v; all items %v", n, err, loaded)
	}
	if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestHandledInOneFile saves leaves of a handler that keeps all of them in one
// file: in one part, or they are replaced together.
func TestHandledInOneFile(t *testing.T) {
	ctx := t.Context()
	st, _ := mem(t)
	o := on(st)
	o.Options = handled(t, marks{shared: true})
	save := func(state map[string]any) error { return partial.Save(ctx, "c", state, o) }
	if err := save(map[string]any{"a": mark{"one"}, "w": ramp(3000, 0)}); err != nil {
		t.Fatal(err)
	}
	err := save(map[string]any{"b": mark{"two"}})
	if errs.KindOf(err) != errs.Exists || !strings.Contains(err.Error(), "leaf handler test.Mark") ||
		!strings.Contains(err.Error(), "state/marks") {
		t.Errorf("%v", err)
	}
	o.Replace = true
	if err := save(map[string]any{"a": mark{"new"}}); err != nil {
		t.Fatal(err)
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o.Options})
	if err != nil || n.Get("a").Value != (mark{"new"}) || n.Get("b") != nil || n.Get("w").String() != "float32[3000]" {
		t.Errorf("%v, %v", n, err)
	}
}
