package orbax

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/tree"
)

func path(keys ...string) tree.Path {
	var p tree.Path
	for _, k := range keys {
		p = append(p, tree.Key{Name: k})
	}
	return p
}

// What is removed is gone from every document, and nothing else is.
func TestRemove(t *testing.T) {
	doc := Tree{Entries: []Entry{
		{Path: path("a", "x"), ValueType: TypeNumpy}, {Path: path("a", "y"), ValueType: TypeString}, {Path: path("b"), ValueType: TypeScalar},
	}, UseZarr3: true}.Append(nil)
	left, params, err := RemoveEntries(doc, func(p tree.Path) bool { return p[0].Name == "a" })
	if err != nil || strings.Join(params, " ") != "a.x a.y" {
		t.Fatal(params, err)
	}
	got, err := ParseTree(left)
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Path.Param() != "b" || !got.UseZarr3 {
		t.Fatalf("%v %s", err, left)
	}
	if same, none, err := RemoveEntries(doc, func(tree.Path) bool { return false }); err != nil || none != nil ||
		string(same) != string(doc) {
		t.Fatal("nothing was to be removed")
	}
	rich := `{"tree_metadata": {}, "value_metadata_tree": "{}", "other": 1}`
	if out, _, err := RemoveEntries([]byte(rich), func(tree.Path) bool { return true }); err != nil ||
		string(out) != rich {
		t.Errorf("%s %v", out, err)
	}

	for _, c := range []struct{ doc, params, want string }{
		{`{"a.y": "1", "b": "2"}`, "a.y", `{"b":"2"}`},
		{`{"p": {"q": "1", "r": "2"}, "b": "2"}`, "p/q", `{"b":"2","p":{"r":"2"}}`},
		{`{"p": {"q": {"s": "1"}}, "b": "2"}`, "p/q/s", `{"b":"2"}`},
		{`{"p": "1"}`, "p/q", `{"p":"1"}`},
		{`{"p": {"q": "1"}}`, "p", `{"p":{"q":"1"}}`},
		{`{"p~q": "1", "x/y": "2"}`, "p~0q x~1y", `{}`},
	} {
		if out, err := RemoveStrings([]byte(c.doc), strings.Fields(c.params)); err != nil || string(out) != c.want {
			t.Errorf("%s without %s: %s %v, want %s", c.doc, c.params, out, err, c.want)
		}
	}

	arrays := `{"array_metadatas": [{"array_metadata": {"param_name": "a"}}, {"array_metadata": {"param_name": "b"}}], "z": 1}`
	if out, err := RemoveArrays([]byte(arrays), []string{"a"}); err != nil || strings.Contains(string(out), `"a"`) ||
		!strings.Contains(string(out), `"b"`) || !strings.Contains(string(out), `"z"`) {
		t.Errorf("%s %v", out, err)
	}
	if out, err := RemoveSharding([]byte(`{"YQ==": "1", "Yg==": "2"}`), []string{"a"}); err != nil ||
		strings.Contains(string(out), "YQ==") || !strings.Contains(string(out), "Yg==") {
		t.Errorf("%s %v", out, err)
	}
	meta := Checkpoint{Handlers: map[string]string{"a": "x", "b": "y"}}.Append(nil)
	out, err := RemoveItem(meta, "a")
	if err == nil {
		var c Checkpoint
		if c, err = ParseCheckpoint(out); len(c.Handlers) != 1 || c.Handlers["b"] != "y" {
			t.Errorf("%s", out)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// The mark is set and taken away, and custom metadata of others stays.
func TestMarked(t *testing.T) {
	bare := Tree{UseZarr3: true}.Append(nil)
	marked, err := Marked(bare, true)
	if err != nil || !strings.Contains(string(marked), "bivouac") {
		t.Fatalf("%s %v", marked, err)
	}
	if again, err := Marked(marked, true); err != nil || string(again) != string(marked) {
		t.Errorf("%s %v", again, err)
	}
	if back, err := Marked(marked, false); err != nil || strings.Contains(string(back), "bivouac") {
		t.Errorf("%s %v", back, err)
	}
	other := []byte(`{"tree_metadata": {}, "custom_metadata": {"mine": 1}}`)
	for _, m := range []bool{false, true} {
		if out, err := Marked(other, m); err != nil || string(out) != string(other) {
			t.Errorf("%v: %s %v", m, out, err)
		}
	}
}

// No document, however broken, makes a removal panic or give what cannot be read.
func FuzzRemove(f *testing.F) {
	f.Add(Tree{Entries: []Entry{{Path: path("a", "x"), ValueType: TypeNumpy},
		{Path: path("b"), ValueType: TypeScalar}}}.Append(nil), "a")
	f.Add([]byte(`{"a.y": "1", "p": {"q": "2"}}`), "p/q")
	f.Add([]byte(`{"array_metadatas": [{"array_metadata": {"param_name": "a"}}]}`), "a")
	f.Add([]byte(`{"item_handlers": {"a": "x"}}`), "a")
	f.Fuzz(func(t *testing.T, doc []byte, param string) {
		if out, _, err := RemoveEntries(doc, func(p tree.Path) bool { return p.Param() == param }); err == nil {
			got, err := ParseTree(out)
			if err != nil {
				t.Fatalf("%v in what is left: %s", err, out)
			}
			for _, e := range got.Entries {
				if e.Path.Param() == param {
					t.Fatalf("%q is still there", param)
				}
			}
		}
		if out, err := RemoveStrings(doc, []string{param}); err == nil {
			c, err := ParseStrings(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := c.Get(param); ok {
				t.Fatalf("%q is still there", param)
			}
		}
		RemoveArrays(doc, []string{param})   //nolint:errcheck // it must not panic
		RemoveSharding(doc, []string{param}) //nolint:errcheck // nor this
		if out, err := RemoveItem(doc, param); err == nil {
			if c, err := ParseCheckpoint(out); err == nil && c.Handlers[param] != "" {
				t.Fatalf("%q is still there", param)
			}
		}
		Marked(doc, true) //nolint:errcheck // nor this
	})
}
