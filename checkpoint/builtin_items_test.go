package checkpoint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// TestBuiltInItems saves, describes and loads an item of each built-in handler.
func TestBuiltInItems(t *testing.T) {
	ctx := t.Context()
	registry, err := handler.Local(nil, true)
	if err == nil {
		err = registry.Add(handler.JSON{}, "config") // of a map, of which a tree is made otherwise
	}
	if err != nil {
		t.Fatal(err)
	}
	o := options.Options{Checkpointables: options.Checkpointables{Registry: registry}}
	position := state.Document{Version: 1, Kind: "pipeline", Position: 12}
	st := local.New(vfstest.NewMem(), "/", nil)
	rows := []struct {
		name, handler, kind string
		value               any
		metadata            any // of the handler
		leaves              int // of a tree
		abstract, want      any
	}{
		{"tree", handler.TypeTree, "tree", map[string]any{"w": []float32{1, 2}, "s": "x"}, nil, 2,
			map[string]any{"w": checkpoint.TypeOf[[]float64](), "s": checkpoint.Placeholder{}}, map[string]any{"w": tensor.FromSlice([]float64{1, 2}, 2), "s": checkpoint.Placeholder{}}},
		{"array", handler.TypeTree, "tree", []float32{3, 4}, nil, 1, checkpoint.Abstract{DType: tensor.Float64}, tensor.FromSlice([]float64{3, 4}, 2)},
		{"number", handler.TypeTree, "tree", 7, nil, 1, nil, int64(7)},
		{"raw", handler.TypeJSON, "json", json.RawMessage(`{"k": 1}`), nil, 0, nil, json.RawMessage(`{"k": 1}`)},
		{"config", handler.TypeJSON, "json", map[string]any{"k": []any{1, "x"}}, nil, 0, &map[string]any{}, &map[string]any{"k": []any{1.0, "x"}}},
		{"position", handler.TypeJSON, "json", position, nil, 0, &state.Document{}, &position},
		{"text", handler.TypeProto, "proto", checkpoint.ProtoText("a: 1\n"), handler.ProtoText{}, 0, checkpoint.ProtoText(nil), checkpoint.ProtoText("a: 1\n")},
	}
	items := map[string]any{}
	for _, r := range rows {
		items[r.name] = r.value
	}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st, Options: o}); err != nil {
		t.Fatal(err)
	}
	in, err := checkpoint.CheckpointablesMetadata(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		it, ok := in.Item(r.name)
		if !ok || it.Handler != r.handler || it.Kind != r.kind || len(it.Leaves) != r.leaves ||
			cmp.Diff(r.metadata, it.Metadata) != "" {
			t.Errorf("%s: %+v", r.name, it)
		}
		got, err := checkpoint.LoadCheckpointables(ctx, "c",
			&checkpoint.LoadOptions{Store: st, Options: o, Abstract: map[string]any{r.name: r.abstract}})
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", r.name, got, err)
			continue
		}
		want, value := r.want, got[r.name]
		if n, ok := value.(*tree.Node); ok {
			w, err := tree.Options{KeepUnknown: true}.From(want)
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Diff(w, n); len(d) > 0 {
				t.Errorf("%s: %s", r.name, tree.FormatDiff(d))
			}
			continue
		}
		if diff := cmp.Diff(want, value); diff != "" {
			t.Errorf("%s: %s", r.name, diff)
		}
	}
	// What the metadata say can be asked for, of all items at once.
	if got, err := checkpoint.LoadCheckpointables(ctx, "c",
		&checkpoint.LoadOptions{Store: st, Options: o, Abstract: in}); err != nil || len(got) != len(rows) {
		t.Errorf("%v, %v", got, err)
	}
	// What cannot be is refused, and names the item.
	for name, abstract := range map[string]any{"tree": map[string]any{"w": "text", "s": nil}, "array": "text",
		"text": &position, "words": nil} {
		_, err := checkpoint.LoadCheckpointables(ctx, "c",
			&checkpoint.LoadOptions{Store: st, Options: o, Abstract: map[string]any{name: abstract}})
		if errs.KindOf(err) == errs.Other || !strings.Contains(err.Error(), "item "+name) {
			t.Errorf("%s as %T: %v", name, abstract, err)
		}
	}
}
