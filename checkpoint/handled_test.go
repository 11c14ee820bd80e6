package checkpoint_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// handledOptions have leaf handlers of notes and tokens, and handlers of words
// and albums.
func handledOptions(t testing.TB) options.Options {
	t.Helper()
	o := withNotes(notes{})
	r, err := handler.Local(nil, true)
	for _, add := range []func() error{
		func() error { return o.PyTree.LeafHandlers.Add(handler.Leaf(tokens{}), false) },
		func() error { return r.Add(lines{}, "") },
		func() error { return r.Add(album{}, "") },
	} {
		if err == nil {
			err = add()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Checkpointables.Registry = r
	return o
}

// handledItems has something of each of them.
func handledItems() map[string]any {
	return map[string]any{
		"state": map[string]any{"a": note{"first"}, "b": map[string]any{"c": note{"second"}}, "v": Tokens{[]string{"p"}}, "w": make([]float32, 3000), "s": "text"},
		"words": words{"x", "y"},
		"album": pages{map[string]any{"p": make([]float32, 2000)}},
	}
}

// TestConvertHandled copies what handlers wrote, without them.
func TestConvertHandled(t *testing.T) {
	ctx, o, items := t.Context(), handledOptions(t), handledItems()
	for _, from := range []options.Layout{options.OCDBTZarr3, options.PlainZarr2} {
		st := local.New(vfstest.NewMem(), "/", nil)
		saved := o
		saved.Layout = from
		if err := checkpoint.SaveCheckpointables(ctx, "c", items,
			&checkpoint.SaveOptions{Store: st, Options: saved}); err != nil {
			t.Fatal(err)
		}
		for i, to := range []options.Layout{options.OCDBTZarr3, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2} {
			dst := string(rune('d' + i))
			co := &checkpoint.ConvertOptions{Store: st}
			co.Layout = to
			if err := checkpoint.Convert(ctx, "c", dst, co); err != nil {
				t.Errorf("%v to %v: %v", from, to, err)
				continue
			}
			got, err := checkpoint.LoadCheckpointables(ctx, dst, &checkpoint.LoadOptions{Store: st, Options: o})
			if err != nil {
				t.Errorf("%v to %v: %v", from, to, err)
				continue
			}
			n := got["state"].(*tree.Node)
			if n.Get("a").Value != (note{"first"}) || n.Get("b").Get("c").Value != (note{"second"}) ||
				cmp.Diff(Tokens{[]string{"p"}}, n.Get("v").Value) != "" ||
				cmp.Diff(items["words"], got["words"]) != "" ||
				got["album"].(pages).Tree.(*tree.Node).Get("p").String() != "float32[2000]" {
				t.Errorf("%v to %v: %v", from, to, got)
			}
			for d, err := range diff.Leaves(ctx, "c", dst, &diff.Options{Store: st}) {
				if err != nil || d.Status != diff.Same {
					t.Errorf("%v to %v: %+v, %v", from, to, d, err)
				}
			}
			if r, err := integrity.Verify(ctx, dst, &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
				t.Errorf("%v to %v: %+v, %v", from, to, r, err)
			}
		}
		co := &checkpoint.ConvertOptions{Store: st, Item: "state"}
		co.Layout = options.SafetensorsLayout
		if err := checkpoint.Convert(ctx, "c", "z", co); errs.KindOf(err) != errs.Unsupported ||
			!strings.Contains(err.Error(), "leaves of type ") {
			t.Errorf("to safetensors: %v", err)
		}
	}
}

// TestDiffHandled tells what handlers wrote apart by the bytes of their files.
func TestDiffHandled(t *testing.T) {
	ctx, o := t.Context(), handledOptions(t)
	st := local.New(vfstest.NewMem(), "/", nil)
	save := func(at string, change func(map[string]any)) {
		items := handledItems()
		delete(items, "album") // whose files have random names
		change(items)
		if err := checkpoint.SaveCheckpointables(ctx, at, items, &checkpoint.SaveOptions{Store: st, Options: o}); err != nil {
			t.Fatal(err)
		}
	}
	save("c", func(map[string]any) {})
	for name, c := range map[string]struct {
		change func(map[string]any)
		want   []string // that are not the same
	}{
		"nothing":   {func(map[string]any) {}, nil},
		"a word":    {func(m map[string]any) { m["words"] = words{"x", "z"} }, []string{"words changed"}},
		"a file":    {func(m map[string]any) { m["words"] = words{"x"} }, []string{"words changed"}},
		"a handler": {func(m map[string]any) { m["words"] = pages{map[string]any{"x": 1}} }, []string{"words changed"}},
		"a note": {func(m map[string]any) { m["state"].(map[string]any)["a"] = note{"other"} },
			[]string{"state a changed", "state b.c changed", "state v changed"}},
		"a type": {func(m map[string]any) { m["state"].(map[string]any)["v"] = note{"p"} },
			[]string{"state a changed", "state b.c changed", "state v changed"}},
	} {
		save("d", c.change)
		var got []string
		for d, err := range diff.Leaves(ctx, "c", "d", &diff.Options{Store: st}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Status != diff.Same {
				got = append(got, strings.Join(strings.Fields(d.Item+" "+d.Path.Param()+" "+d.Status.String()), " "))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, err := checkpoint.Delete(ctx, "d", &checkpoint.DeleteOptions{Store: st}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVerifyHandled notices damage to what handlers wrote.
func TestVerifyHandled(t *testing.T) {
	ctx, o := t.Context(), handledOptions(t)
	for _, file := range []string{"/c/words/w/1", `/c/state/notes/"a"`, "/c/state/tokens.json", "/c/album/_METADATA"} {
		mem := vfstest.NewMem()
		st := local.New(mem, "/", nil)
		if err := checkpoint.SaveCheckpointables(ctx, "c", handledItems(),
			&checkpoint.SaveOptions{Store: st, Options: o}); err != nil {
			t.Fatal(err)
		}
		if err := mem.Remove(file); err != nil {
			t.Fatal(err)
		}
		r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st})
		if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), strings.TrimPrefix(file, "/c/")) {
			t.Errorf("%s: %+v, %v", file, r, err)
		}
		if _, err := checkpoint.LoadCheckpointables(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o}); err == nil {
			t.Errorf("%s: loaded", file)
		}
	}
}

// TestTransformHandled moves, drops and keeps leaves of leaf handlers.
func TestTransformHandled(t *testing.T) {
	ctx, o := t.Context(), handledOptions(t)
	st := local.New(vfstest.NewMem(), "/", nil)
	if err := checkpoint.SaveCheckpointables(ctx, "c", handledItems(),
		&checkpoint.SaveOptions{Store: st, Options: o}); err != nil {
		t.Fatal(err)
	}
	rename := surgery.Script{Rules: []surgery.Rule{surgery.Rename{Match: surgery.Match{Pattern: `a`}, To: "moved.here"},
		surgery.Drop{Match: surgery.Match{Pattern: `v|s`}}}}
	n, err := checkpoint.LoadAndTransform(ctx, []string{"c"}, nil, rename.Transform,
		&checkpoint.LoadOptions{Store: st, Options: o})
	if err != nil || n.Get("moved").Get("here").Value != (note{"first"}) ||
		n.Get("b").Get("c").Value != (note{"second"}) || n.Get("v") != nil {
		t.Errorf("%v, %v", n, err)
	}
	// What is asked for of them reaches the handler.
	abstract := map[string]any{"moved": map[string]any{"here": noteInfo{2}}, "b": checkpoint.Placeholder{}, "w": nil}
	n, err = checkpoint.LoadAndTransform(ctx, []string{"c"}, abstract, rename.Transform,
		&checkpoint.LoadOptions{Store: st, Options: o})
	if err != nil || n.Get("moved").Get("here").Value != (note{"fi"}) || n.Get("b").Value != (checkpoint.Placeholder{}) {
		t.Errorf("%v, %v", n, err)
	}
	// Only what is left of them needs a handler.
	drop := surgery.Script{Rules: []surgery.Rule{surgery.Drop{Match: surgery.Match{Pattern: `a|v|b\.c`}}}}
	if n, err = checkpoint.LoadAndTransform(ctx, []string{"c"}, nil, drop.Transform,
		&checkpoint.LoadOptions{Store: st}); err != nil || n.Get("w").String() != "float32[3000]" {
		t.Errorf("%v, %v", n, err)
	}
	if _, err = checkpoint.LoadAndTransform(ctx, []string{"c"}, nil, rename.Transform,
		&checkpoint.LoadOptions{Store: st}); errs.KindOf(err) != errs.Unsupported ||
		!strings.Contains(err.Error(), "test.Note") {
		t.Errorf("without the handler: %v", err)
	}
	// Two sources give their leaves to one tree.
	both := func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		return &tree.Node{Kind: tree.Dict, Keys: []string{"x", "y"}, Items: []*tree.Node{in[0].Get("a"), in[1].Get("b")}}, nil
	}
	n, err = checkpoint.LoadAndTransform(ctx, []string{"c", "c"}, nil, both,
		&checkpoint.LoadOptions{Store: st, Options: o})
	if err != nil || n.Get("x").Value != (note{"first"}) || n.Get("y").Get("c").Value != (note{"second"}) {
		t.Errorf("%v, %v", n, err)
	}
	stack := surgery.Script{Rules: []surgery.Rule{surgery.Cast{Match: surgery.Match{Pattern: `a`}, DType: tensor.Float64}}}
	if _, err = checkpoint.LoadAndTransform(ctx, []string{"c"}, nil, stack.Transform,
		&checkpoint.LoadOptions{Store: st, Options: o}); err == nil || !strings.Contains(err.Error(), "test.Note") {
		t.Errorf("a leaf of a handler as an array: %v", err)
	}

	// A tree that is written keeps those that stay where they are.
	keep := surgery.Script{Rules: []surgery.Rule{surgery.Rename{Match: surgery.Match{Pattern: `w`}, To: "weights"},
		surgery.Drop{Match: surgery.Match{Pattern: `v`}}}}
	co := &checkpoint.ConvertOptions{Store: st}
	if err := checkpoint.ConvertAndTransform(ctx, []string{"c"}, "d", keep.Transform, co); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadCheckpointables(ctx, "d", &checkpoint.LoadOptions{Store: st, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	if n := got["state"].(*tree.Node); n.Get("a").Value != (note{"first"}) ||
		n.Get("weights").String() != "float32[3000]" || n.Get("v") != nil || cmp.Diff(words{"x", "y"}, got["words"]) != "" {
		t.Errorf("%v", got)
	}
	err = checkpoint.ConvertAndTransform(ctx, []string{"c"}, "e", rename.Transform, co)
	if errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), `leaf "moved.here"`) ||
		!strings.Contains(err.Error(), "drop the leaf") {
		t.Errorf("moved: %v", err)
	}
	if err := checkpoint.ConvertAndTransform(ctx, []string{"c", "c"}, "e", both,
		co); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("of two sources: %v", err)
	}
}
