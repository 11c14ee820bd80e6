package checkpoint_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// recordedTypes is value_metadata_tree of the item state.
func recordedTypes(t *testing.T, st store.Store, path string) string {
	t.Helper()
	b, err := store.ReadAll(t.Context(), st, strings.TrimPrefix(path+"/state/_METADATA", "/"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Rich string `json:"value_metadata_tree"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Rich
}

// With rich types a tree has the containers that it was saved with, recorded as
// Orbax spells them; without, and by default, lists and dictionaries.
func TestRichTypes(t *testing.T) {
	src := filepath.Join(orbaxCases, "v1-containers-rich", "checkpoint")
	disk, err := local.Open(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, err := checkpoint.Load(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := recordedTypes(t, disk, "")
	for _, c := range []struct {
		on   options.Toggle
		want string
		kind tree.Kind
		pair tree.Kind
	}{{options.On, want, tree.Tuple, tree.Named}, {options.Off, "", tree.List, tree.Dict},
		{options.Inherit, "", tree.List, tree.Dict}} {
		for m := range manners {
			o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
			o.PyTree.Saving.Metadata.SupportRichTypes = c.on
			if err := saveIn(t.Context(), m, state, o); err != nil {
				t.Fatal(err)
			}
			if got := recordedTypes(t, o.Store, "c"); got != c.want {
				t.Errorf("%v: %s, want %s", c.on, got, c.want)
			}
			got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
			if err != nil {
				t.Fatal(err)
			}
			if k := got.Get("tup").Kind; k != c.kind {
				t.Errorf("%v: tup is a %v", c.on, k)
			}
			if k := got.Get("nt").Kind; k != c.pair {
				t.Errorf("%v: nt is a %v", c.on, k)
			}
			if d := tree.Diff(state, got); len(d) > 0 && c.on == options.On {
				t.Errorf("loaded differs:\n%s", tree.FormatDiff(d))
			}
		}
	}
}

// A Go struct keeps its name, and is one in safetensors files too.
func TestRichTypesOfStructs(t *testing.T) {
	type Moments struct{ Mu, Nu []float32 }
	state := map[string]any{"opt": Moments{[]float32{1, 2}, []float32{3}},
		"list": []any{int64(1), map[string]any{"x": 2.5}}}
	for _, l := range allLayouts {
		o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
		o.Layout, o.PyTree.Saving.Metadata.SupportRichTypes = l, options.On
		if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
		if err != nil {
			t.Fatal(err)
		}
		want, err := tree.From(state)
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Get("opt"); n.Kind != tree.Named || n.Type != "Moments" || got.Get("list").Kind != tree.List {
			t.Errorf("%v: %v of type %q", l, n, n.Type)
		}
		if d := tree.Diff(want, got); len(d) > 0 {
			t.Errorf("%v: loaded differs:\n%s", l, tree.FormatDiff(d))
		}
	}
}

// Parts with and without recorded types become one tree that has them all.
func TestRichTypesOfUpdates(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	for i, part := range []map[string]any{
		{"a": map[string]any{"x": []any{1.5, []any{}}}, "s": "text"},
		{"b": struct{ X, Y float32 }{1, 2}},
		{"c": []float32{1}},
	} {
		o := checkpoint.SaveOptions{Store: st, PartialUpdate: true}
		o.PyTree.Saving.Metadata.SupportRichTypes = options.ToggleOf(i == 1)
		if err := checkpoint.Save(t.Context(), "c", part, &o); err != nil {
			t.Fatal(err)
		}
	}
	got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if got.Get("a").Get("x").Kind != tree.List || got.Get("b").Kind != tree.Named {
		t.Errorf("%v", got)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(recordedTypes(t, st, "c")), &doc); err != nil || len(doc) != 4 {
		t.Errorf("%v, %v", doc, err)
	}
}
