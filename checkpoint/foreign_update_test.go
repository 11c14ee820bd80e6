package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// TestUpdateHandled adds leaves of handlers, and items of others, to checkpoints.
func TestUpdateHandled(t *testing.T) {
	ctx := t.Context()
	both := withNotes(notes{})
	if err := both.PyTree.LeafHandlers.Add(handler.Leaf(tokens{}), false); err != nil {
		t.Fatal(err)
	}
	r, err := handler.Local(nil, true)
	if err == nil {
		err = r.Add(lines{}, "")
	}
	if err == nil {
		err = r.Add(album{}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	both.Checkpointables.Registry = r
	for _, layout := range []options.Layout{options.OCDBTZarr3, options.PlainZarr3} {
		o := both
		o.Layout = layout
		st := local.New(vfstest.NewMem(), "/", nil)
		save := func(overwrite bool, items map[string]any) error {
			return checkpoint.SaveCheckpointables(ctx, "c", items,
				&checkpoint.SaveOptions{Store: st, Options: o, PartialUpdate: true, Overwrite: overwrite})
		}
		big := make([]float32, 3000)
		if err := save(false, map[string]any{"state": map[string]any{"n": note{"one"}, "v": Tokens{[]string{"p"}}, "w": big},
			"words": words{"a", "b"}, "album": pages{map[string]any{"x": big}}}); err != nil {
			t.Fatal(err)
		}
		// Files of names of their own are joined, the items of other handlers kept.
		if err := save(false, map[string]any{"state": map[string]any{"m": note{"two"}, "u": big},
			"more": words{"c"}}); err != nil {
			t.Fatalf("%v: %v", layout, err)
		}
		// One file for all leaves is not.
		err := save(false, map[string]any{"state": map[string]any{"t": Tokens{[]string{"q"}}}})
		if errs.KindOf(err) != errs.Exists || !strings.Contains(err.Error(), "tokens.json") ||
			!strings.Contains(err.Error(), "example.Tokens") {
			t.Errorf("%v: a file that is there: %v", layout, err)
		}
		for name, items := range map[string]map[string]any{
			"n": {"state": map[string]any{"n": note{}}}, "words": {"words": words{}}, "album": {"album": pages{map[string]any{"y": 1}}},
		} {
			if err := save(false, items); errs.KindOf(err) != errs.Exists || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %s again: %v", layout, name, err)
			}
		}
		// A part of a handler's leaves cannot be replaced where their files are the same.
		if err := save(true, map[string]any{"state": map[string]any{"n": note{"new"}}}); errs.KindOf(err) != errs.Exists {
			t.Errorf("%v: one note of two: %v", layout, err)
		}
		if err := save(true, map[string]any{"words": words{"z"}, "album": pages{map[string]any{"y": 1}}}); err != nil {
			t.Errorf("%v: %v", layout, err)
		}
		all := map[string]any{"n": note{"new"}, "m": note{"new"}, "v": Tokens{[]string{"new"}}}
		if err := save(true, map[string]any{"state": all}); err != nil {
			t.Errorf("%v: all of them: %v", layout, err)
		}
		if err := save(false, map[string]any{"gone": words{"g"}}); err != nil {
			t.Errorf("%v: %v", layout, err)
		}
		if _, err := checkpoint.Delete(ctx, "c", &checkpoint.DeleteOptions{Store: st, Name: "gone"}); err != nil {
			t.Errorf("%v: one item: %v", layout, err)
		}
		got, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o})
		if err != nil {
			t.Fatal(err)
		}
		n := got["state"].(*tree.Node)
		for name, want := range all {
			if diff := cmp.Diff(want, n.Get(name).Value); diff != "" {
				t.Errorf("%v: %s", layout, diff)
			}
		}
		if n.Get("u").String() != "float32[3000]" || n.Get("w").String() != "float32[3000]" {
			t.Errorf("%v: %v", layout, n)
		}
		if _, there := got["gone"]; there || cmp.Diff(words{"z"}, got["words"]) != "" ||
			cmp.Diff(words{"c"}, got["more"]) != "" || got["album"].(pages).Tree.(*tree.Node).Get("y").Value != int64(1) {
			t.Errorf("%v: %v", layout, got)
		}
		if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() || !r.Manifest {
			t.Errorf("%v: %+v, %v", layout, r, err)
		}
	}
}
