package parts

import (
	"path"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// treeOf is a _METADATA of arrays at the paths, the keys of each divided by ".".
func treeOf(paths ...string) string {
	var entries []string
	for _, p := range paths {
		var name, keys []string
		for k := range strings.SplitSeq(p, ".") {
			name, keys = append(name, "'"+k+"'"), append(keys, `{"key": "`+k+`", "key_type": 2}`)
		}
		entries = append(entries, `"(`+strings.Join(name, ", ")+`,)": {"key_metadata": [`+strings.Join(keys, ", ")+
			`], "value_metadata": {"value_type": "np.ndarray", "skip_deserialize": false}}`)
	}
	return `{"tree_metadata": {` + strings.Join(entries, ", ") + `}, "use_zarr3": true}`
}

func assemblyOf(docs map[string]string) *Assembly {
	a := newAssembly(nil, "c")
	for name, doc := range docs {
		a.docs[path.Join("state", name)] = []byte(doc)
	}
	return a
}

// No writer makes a checkpoint whose documents are not a tree.
func TestUnsoundTrees(t *testing.T) {
	for name, doc := range map[string]string{
		"no document":        `{`,
		"a leaf with leaves": treeOf("a", "a.b"),
	} {
		docs := map[string]string{orbax.TreeFile: doc}
		for how, err := range map[string]error{
			"replaced": assemblyOf(docs).Replace(t.Context(), "c", nil, nil),
			"joined":   assemblyOf(docs).Join(t.Context(), nil, &writer.Draft{Manifest: &manifest.Manifest{}}),
		} {
			if err == nil || !strings.Contains(err.Error(), "state") {
				t.Errorf("%s, %s: %v, want an error that names the item", name, how, err)
			}
		}
	}
}

// What a save adds must go with what is there.
func TestUnsoundJoin(t *testing.T) {
	for name, c := range map[string]struct {
		doc  store.Blob
		want errs.Kind
	}{
		"a broken list of items":         {store.Blob{Name: orbax.CheckpointFile, Data: []byte(`{`)}, errs.Corrupt},
		"shardings that are no document": {store.Blob{Name: "state/" + orbax.ShardingFile, Data: []byte(`[`)}, errs.Mismatch},
	} {
		a := assemblyOf(map[string]string{orbax.TreeFile: treeOf("a"), orbax.ShardingFile: `{}`})
		err := a.Join(t.Context(), nil, &writer.Draft{Docs: []store.Blob{c.doc}, Manifest: &manifest.Manifest{}})
		if errs.KindOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing is taken from documents that cannot be read.
func TestUnsoundRemoval(t *testing.T) {
	leaf := Removal{"state": {{"a"}}}
	for name, docs := range map[string]map[string]string{
		"no tree":                        {},
		"shardings that are no document": {orbax.TreeFile: treeOf("a", "b"), orbax.ShardingFile: `[`},
	} {
		if err := assemblyOf(docs).Remove(leaf); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := assemblyOf(map[string]string{orbax.TreeFile: treeOf("a", "b"),
		orbax.ShardingFile: `{}`}).Remove(leaf); err != nil {
		t.Error(err)
	}
	for _, doc := range []string{`{`, `{"remove": 3}`, `[]`} {
		if r, err := ParseRemoval([]byte(doc)); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v, %v", doc, r, err)
		}
	}
}
