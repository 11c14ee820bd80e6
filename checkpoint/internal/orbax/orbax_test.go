package orbax

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// vectorFiles calls f with every file of that name below the checkpoints that
// Orbax wrote: all of them where they lie beside the checkout, else the copies
// in testdata.
func vectorFiles(t *testing.T, name string, f func(path string, b []byte)) {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..", "shared", "vectors", "orbax")
	if _, err := os.Stat(root); err != nil {
		root = filepath.Join("..", "..", "..", "testdata", "orbax")
	}
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != name {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && len(b) > 0 {
			n++
			f(path, b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatalf("no %s found", name)
	}
}

func TestOuterKeysArePythonReprs(t *testing.T) {
	vectorFiles(t, TreeFile, func(path string, b []byte) {
		doc, err := ParseTree(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		var raw struct {
			Tree json.RawMessage `json:"tree_metadata"`
		}
		if err := json.Unmarshal(b, &raw); err != nil {
			t.Fatal(err)
		}
		ms, err := members(raw.Tree)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range ms {
			if got := TupleRepr(doc.Entries[i].Path); got != m.key {
				t.Errorf("%s: entry %d: repr %s, Orbax wrote %s", path, i, got, m.key)
			}
		}
	})
}

func TestTreeRoundTrip(t *testing.T) {
	vectorFiles(t, TreeFile, func(path string, b []byte) {
		doc, err := ParseTree(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		again, err := ParseTree(doc.Append(nil))
		if err != nil {
			t.Errorf("%s: reading our own: %v", path, err)
			return
		}
		if doc.UseOCDBT == nil {
			doc.UseOCDBT = again.UseOCDBT
		}
		if d := cmp.Diff(doc, again, cmp.Comparer(func(a, b *bool) bool { return *a == *b })); d != "" {
			t.Errorf("%s: -read +written and read\n%s", path, d)
		}
	})
}

func TestCheckpointRoundTrip(t *testing.T) {
	vectorFiles(t, CheckpointFile, func(path string, b []byte) {
		doc, err := ParseCheckpoint(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		again, err := ParseCheckpoint(doc.Append(nil))
		if err != nil {
			t.Errorf("%s: reading our own: %v", path, err)
			return
		}
		if doc.Custom == nil {
			doc.Custom = json.RawMessage("{}")
		}
		if doc.Performance == nil {
			doc.Performance = again.Performance
		}
		if doc.Handlers == nil && doc.Flat == "" {
			doc.Handlers = again.Handlers
		}
		if d := cmp.Diff(doc, again); d != "" {
			t.Errorf("%s: -read +written and read\n%s", path, d)
		}
	})
}

func TestTupleRepr(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, `()`},
		{[]string{"a"}, `('a',)`},
		{[]string{"a", "b"}, `('a', 'b')`},
		{[]string{"it's"}, `("it's",)`},
		{[]string{`it's "so"`}, `('it\'s "so"',)`},
		{[]string{`q"`}, `('q"',)`},
		{[]string{"\\\n\t\r\x00\x7f"}, `('\\\n\t\r\x00\x7f',)`},
		{[]string{"äöü 日本 😀"}, `('äöü 日本 😀',)`},
		{[]string{"\u00a0\u200b\u2028\U000e0001"}, `('\xa0\u200b\u2028\U000e0001',)`},
	} {
		var p tree.Path
		for _, k := range c.keys {
			p = append(p, tree.Key{Name: k, Kind: tree.KeyDict})
		}
		if got := TupleRepr(p); got != c.want {
			t.Errorf("%q: got %s, want %s", c.keys, got, c.want)
		}
	}
}

func TestStrings(t *testing.T) {
	s := Strings{"l.3": "s", "x/y": "str", "a~1b": "slash", "quote\"": "<&>", "": "empty name"}
	b, err := s.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"":"empty name","a/b":"slash","l.3":"s","quote\"":"<&>","x":{"y":"str"}}`
	if string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
	c, err := ParseStrings(b)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range s {
		if got, ok := c.Get(name); !ok || got != value {
			t.Errorf("%q: got %q, %v", name, got, ok)
		}
	}
	if _, ok := c.Get("x"); ok {
		t.Error("an object was taken for a string")
	}
	for _, bad := range []Strings{{"a": "1", "a/b": "2"}, {"a~b": "1"}, {"a~": "1"}} {
		if _, err := bad.Append(nil); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%v: got %v, want a refusal", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"tree_metadata": {"('a',)": {"key_metadata": [{"key": "a", "key_type": 2}], "value_metadata": {"value_type": "scalar", "skip_deserialize": false}}}, "use_zarr3": true}`))
	f.Add([]byte(`{"item_handlers": {"a": null}, "init_timestamp_nsecs": 1.5e18}`))
	f.Add([]byte(`{"a":{"b":"c"}}`))
	f.Add([]byte(`{"array_metadatas":[{"array_metadata":{"param_name":"k","ext_metadata":{"random_key_impl":"fry"}}}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if doc, err := ParseTree(b); err == nil {
			if _, err := ParseTree(doc.Append(nil)); err != nil && doc.Custom == nil {
				t.Errorf("our own spelling is refused: %v", err)
			}
		}
		if doc, err := ParseCheckpoint(b); err == nil {
			if _, err := ParseCheckpoint(doc.Append(nil)); err != nil {
				t.Errorf("our own spelling is refused: %v", err)
			}
		}
		if c, err := ParseStrings(b); err == nil {
			c.Get("a/b")
		}
		_, _ = ParseArrays("process_0", b)
		_, _ = ParseRoot(b)
	})
}
