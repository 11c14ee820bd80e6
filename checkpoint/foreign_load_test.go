package checkpoint_test

import (
	"context"
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

// notebook saves a tree with notes as the checkpoint c.
func notebook(t *testing.T) *local.Store {
	t.Helper()
	st := local.New(vfstest.NewMem(), "/", nil)
	state := map[string]any{"x": []float32{1, 2}, "a": note{"first"}, "b": map[string]any{"c": note{"second"}},
		"s": "text"}
	if err := checkpoint.Save(t.Context(), "c", state,
		&checkpoint.SaveOptions{Store: st, Options: withNotes(notes{})}); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestLeafHandlersDescribe(t *testing.T) {
	ctx, st := t.Context(), notebook(t)
	abstracts := func(in *checkpoint.Info) map[string]any {
		out := map[string]any{}
		for _, l := range in.Items[0].Leaves {
			if l.Kind == checkpoint.HandledLeaf {
				out[l.Param] = l.Abstract
			}
		}
		return out
	}
	want := map[string]any{"a": noteInfo{5}, "b.c": noteInfo{6}}
	with := &checkpoint.LoadOptions{Store: st, Options: withNotes(notes{})}
	in, err := checkpoint.Metadata(ctx, "c", with)
	if err != nil || cmp.Diff(want, abstracts(in)) != "" {
		t.Errorf("%+v, %v", in, err)
	}
	// The options of a context count like the options of a call.
	items, err := checkpoint.CheckpointablesMetadata(options.With(ctx, withNotes(notes{})), "c",
		&checkpoint.LoadOptions{Store: st})
	if err != nil || cmp.Diff(want, abstracts(items)) != "" {
		t.Errorf("%+v, %v", items, err)
	}
	none, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || cmp.Diff(map[string]any{"a": nil, "b.c": nil}, abstracts(none)) != "" {
		t.Errorf("without the handler: %+v, %v", none, err)
	}
	r, err := checkpoint.OpenReader(ctx, "c", with)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := r.Leaf("b.c"); err != nil || l.Abstract != (noteInfo{6}) {
		t.Errorf("%+v, %v", l, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	// What metadata says is what can be asked for.
	with.Abstract = in
	n, err := checkpoint.Load(ctx, "c", with)
	if err != nil || n.Get("a").Value != (note{"first"}) {
		t.Errorf("%v, %v", n, err)
	}
}

// TestLeafHandlersAbstract asks for leaves of a handler, and for others as if
// they were.
func TestLeafHandlersAbstract(t *testing.T) {
	ctx, st := t.Context(), notebook(t)
	whole := func(a any) map[string]any {
		return map[string]any{"x": nil, "a": a, "b": nil, "s": nil}
	}
	for _, c := range []struct {
		name     string
		abstract any
		want     any // of leaf a
		kind     errs.Kind
		text     []string
	}{
		{name: "nil", abstract: whole(nil), want: note{"first"}},
		{name: "a placeholder", abstract: whole(checkpoint.Placeholder{}), want: checkpoint.Placeholder{}},
		{name: "what describes it", abstract: whole(noteInfo{2}), want: note{"fi"}},
		{name: "a leaf of the type", abstract: whole(note{"whatever"}), want: note{"first"}},
		{name: "its type", abstract: whole(checkpoint.TypeOf[note]()), want: note{"first"}},
		{name: "any type", abstract: whole(checkpoint.TypeOf[any]()), want: note{"first"}},
		{name: "more than there is", abstract: whole(noteInfo{99}), kind: errs.Mismatch,
			text: []string{"leaf handler test.Note.Deserialize", `leaf "a"`, "want 99 bytes, got 5"}},
		{name: "another type", abstract: whole(checkpoint.TypeOf[string]()), kind: errs.Mismatch,
			text: []string{"leaf a", "test.Note", "checkpoint_test.noteInfo", "got string"}},
		{name: "an array", abstract: whole(checkpoint.Abstract{}), kind: errs.Mismatch, text: []string{"leaf a", "test.Note", "checkpoint.Abstract"}},
		{name: "a number", abstract: whole(3), kind: errs.Mismatch, text: []string{"leaf a", "got int64"}},
		{name: "a string", abstract: whole("x"), kind: errs.Mismatch, text: []string{"leaf a", "got string"}},
		{name: "a container", abstract: whole(map[string]any{"k": 1}), kind: errs.Mismatch, text: []string{"~"}},
		{name: "a description of an array", abstract: map[string]any{"x": noteInfo{1}, "a": nil, "b": nil, "s": nil}, kind: errs.Mismatch,
			text: []string{"leaf x", "want a leaf of type test.Note, got array float32[2]"}},
		{name: "a leaf of the type for a string", abstract: map[string]any{"x": nil, "a": nil, "b": nil, "s": note{}}, kind: errs.Mismatch,
			text: []string{"leaf s", "want a leaf of type test.Note, got string"}},
		{name: "a leaf that is not there", abstract: map[string]any{"x": nil, "a": nil, "b": nil, "s": nil, "new": noteInfo{}}, kind: errs.Mismatch, text: []string{"new"}},
	} {
		n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: withNotes(notes{}),
			Abstract: c.abstract})
		if c.kind == errs.Other {
			if err != nil || n.Get("a").Value != c.want || n.Get("b").Get("c").Value != (note{"second"}) {
				t.Errorf("%s: %v, %v", c.name, n, err)
			}
			continue
		}
		for _, text := range c.text {
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v\nwant %v with %q", c.name, err, c.kind, text)
			}
		}
	}
	// Without the handler what describes a leaf is not a leaf; that it is there is told.
	_, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Abstract: whole(nil)})
	if errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "test.Note") ||
		!strings.Contains(err.Error(), "LeafHandlers") {
		t.Errorf("without the handler: %v", err)
	}
	only := map[string]any{"x": nil, "a": checkpoint.Placeholder{}, "b": checkpoint.Placeholder{}, "s": nil}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Abstract: only})
	if err != nil || n.Get("a").Value != (checkpoint.Placeholder{}) {
		t.Errorf("passed over: %v, %v", n, err)
	}
	_, err = checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: withNotes(notes{}),
		Want: func(l checkpoint.LeafInfo) checkpoint.Want {
			return checkpoint.Want{Boxes: []checkpoint.Box{{}}, Skip: l.Kind != checkpoint.HandledLeaf}
		}})
	if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), `leaf "a"`) {
		t.Errorf("boxes: %v", err)
	}
}

func TestLeafHandlersPartialLoad(t *testing.T) {
	ctx, st := t.Context(), notebook(t)
	o := withNotes(notes{})
	o.PyTree.Loading.PartialLoad = options.On
	report := &checkpoint.LoadReport{}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o, Report: report,
		Abstract: map[string]any{"b": map[string]any{"c": noteInfo{3}}, "new": note{"kept"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := tree.Node{Kind: tree.Dict, Keys: []string{"b", "new"}}
	if n.Get("b").Get("c").Value != (note{"sec"}) || n.Get("new").Value != (note{"kept"}) ||
		cmp.Diff(want.Keys, n.Keys) != "" {
		t.Errorf("%v", n)
	}
	missing := 0
	for _, l := range report.Leaves {
		if l.Missing {
			missing++
		}
	}
	if missing != 1 {
		t.Errorf("%+v", report.Leaves)
	}
	// A description of a leaf is not a leaf, and cannot stand for a leaf that was not saved.
	_, err = checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Options: o,
		Abstract: map[string]any{"new": noteInfo{1}}})
	if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "new") {
		t.Errorf("%v", err)
	}
}

func TestLeafHandlersInto(t *testing.T) {
	ctx, st := t.Context(), notebook(t)
	type state struct {
		X []float32 `bivouac:"x"`
		A note      `bivouac:"a"`
		B struct {
			C *note `bivouac:"c"`
		} `bivouac:"b"`
		S string `bivouac:"s"`
	}
	dst := state{X: make([]float32, 2), A: note{"old"}}
	if err := checkpoint.LoadInto(ctx, "c", &dst, &checkpoint.LoadOptions{Store: st,
		Options: withNotes(notes{})}); err != nil || dst.A.Text != "first" || dst.B.C.Text != "second" || dst.X[1] != 2 {
		t.Errorf("%+v, %v", dst, err)
	}
	dst = state{A: note{"old"}, S: "old"}
	dst.B.C = &note{"old"}
	o := &checkpoint.LoadOptions{Store: st, Options: withNotes(notes{}),
		Want: func(l checkpoint.LeafInfo) checkpoint.Want {
			return checkpoint.Want{Skip: l.Kind == checkpoint.HandledLeaf && l.Param == "a"}
		}}
	if err := checkpoint.LoadInto(ctx, "c", &dst, o); err != nil || dst.A.Text != "old" || dst.B.C.Text != "second" {
		t.Errorf("%+v, %v", dst, err)
	}
}

// TestLeafHandlersOfNumbers asks for leaves by numbers, which trees widen.
func TestLeafHandlersOfNumbers(t *testing.T) {
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(tokens{}), false); err != nil {
		t.Fatal(err)
	}
	ctx := options.With(context.Background(), options.Options{PyTree: options.PyTree{LeafHandlers: leaves}})
	st := local.New(vfstest.NewMem(), "/", nil)
	if err := checkpoint.Save(ctx, "c", map[string]any{"v": Tokens{[]string{"p"}}, "n": 3},
		&checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Abstract: map[string]any{"v": 1, "n": 1}})
	if err != nil || len(n.Get("v").Value.(Tokens).List) != 1 || n.Get("n").Value != int64(3) {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st,
		Abstract: map[string]any{"v": 1.5, "n": 1}}); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("%v", err)
	}
	in, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || in.Items[0].Leaves[1].Abstract != 1 {
		t.Errorf("%+v, %v", in, err)
	}
	if n, err = checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st, Abstract: in}); err != nil {
		t.Errorf("%v, %v", n, err)
	}
}

// pages is an item whose handler keeps a tree in it.
type pages struct{ Tree any }

// album has the registered engine keep the tree.
type album struct{}

func (album) TypeString() string { return "test.Album" }

func (album) Handles(v any) bool { _, ok := v.(pages); return ok }

func (album) HandlesAbstract(a any) handler.Verdict {
	if _, ok := a.(pages); ok {
		return handler.Yes
	}
	return handler.No
}

func (album) Save(ctx context.Context, v any) (handler.Commit, error) {
	return handler.Tree{}.Save(ctx, v.(pages).Tree)
}

func (album) Load(ctx context.Context, dir handler.Reader, abstract any) (any, error) {
	asked, _ := abstract.(pages)
	n, err := handler.Tree{}.Load(ctx, dir, asked.Tree)
	return pages{n}, err
}

func (album) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	in, err := handler.Tree{}.Metadata(ctx, dir)
	return pages{in}, err
}

// TestTreesInItems saves a tree within the item of a handler, with leaves of types
// of their own, and loads it as it is asked for.
func TestTreesInItems(t *testing.T) {
	r, err := handler.Local(nil, true)
	if err == nil {
		err = r.Add(album{}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	o := withNotes(notes{})
	o.Checkpointables.Registry = r
	ctx, st := options.With(t.Context(), o), local.New(vfstest.NewMem(), "/", nil)
	big := make([]float32, 5000)
	big[4999] = 7
	items := map[string]any{"album": pages{map[string]any{"w": big, "n": note{"within"}, "s": "text"}},
		"state": map[string]any{"y": 1}}
	if err := checkpoint.SaveCheckpointables(ctx, "c", items, &checkpoint.SaveOptions{Store: st}); err != nil {
		t.Fatal(err)
	}
	load := func(abstract any) (*tree.Node, error) {
		got, err := checkpoint.LoadCheckpointables(ctx, "c",
			&checkpoint.LoadOptions{Store: st, Abstract: map[string]any{"album": pages{abstract}}})
		if err != nil {
			return nil, err
		}
		return got["album"].(pages).Tree.(*tree.Node), nil
	}
	n, err := load(nil)
	if err != nil || n.Get("n").Value != (note{"within"}) || n.Get("s").Value != "text" {
		t.Errorf("%v, %v", n, err)
	}
	n, err = load(map[string]any{"w": checkpoint.Abstract{Boxes: []checkpoint.Box{{Origin: []int{4998}, Shape: []int{2}}}},
		"n": noteInfo{4}, "s": checkpoint.Placeholder{}})
	if err != nil || n.Get("n").Value != (note{"with"}) || n.Get("s").Value != (checkpoint.Placeholder{}) ||
		n.Get("w").String() != "float32[2]" {
		t.Errorf("%v, %v", n, err)
	}
	for name, abstract := range map[string]any{
		"another shape":     map[string]any{"w": checkpoint.Abstract{Shape: []int{3}}, "n": nil, "s": nil},
		"another structure": map[string]any{"w": nil, "n": nil, "z": nil},
		"another type":      map[string]any{"w": noteInfo{}, "n": nil, "s": nil},
	} {
		if _, err := load(abstract); errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "test.Album") {
			t.Errorf("%s: %v", name, err)
		}
	}
	in, err := checkpoint.CheckpointablesMetadata(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	it, _ := in.Item("album")
	told, ok := it.Metadata.(pages)
	if !ok || len(told.Tree.(checkpoint.ItemInfo).Leaves) != 3 {
		t.Errorf("%+v", it)
	}
	if n, err := load(told.Tree); err != nil || n.Get("w").String() != "float32[5000]" {
		t.Errorf("as the metadata say: %v, %v", n, err)
	}
	if r, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
}
