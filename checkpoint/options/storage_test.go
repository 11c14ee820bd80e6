package options

import (
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
	"github.com/google/go-cmp/cmp"
)

func keys(names ...string) tree.Path {
	var p tree.Path
	for _, n := range names {
		p = append(p, tree.Key{Name: n})
	}
	return p
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		key     tree.Path
		want    bool
	}{
		{"a", keys("a"), true},
		{"a", keys("a", "b"), false},
		{"a.*", keys("a", "b"), true},
		{"a.*", keys("a"), false},
		{"a.*.w", keys("a", "b", "w"), true},
		{"a.**", keys("a"), true},
		{"a.**", keys("a", "b", "c"), true},
		{"**.w", keys("w"), true},
		{"**.w", keys("a", "b", "w"), true},
		{"**.w.**", keys("a", "w", "b"), true},
		{"**.w", keys("a", "ww"), false},
		{"**", nil, true},
		{"layer[0-3].?", keys("layer2", "w"), true},
		{"layer[0-3].?", keys("layer4", "w"), false},
		{"*", keys("block/linear"), true}, // Haiku's names
		{"block/*", keys("block/linear"), true},
		{"a.b", keys("a.b"), true}, // one key, the same name in Orbax
	} {
		if got := matchPath(c.pattern, c.key); got != c.want {
			t.Errorf("%q, %v: %v", c.pattern, c.key, got)
		}
	}
}

func TestStorageFor(t *testing.T) {
	o := Options{}
	o.Array.Saving.Storage = Storage{DType: tensor.Float32, ChunkByteSize: 1 << 20, ShardAxes: []int{0}}
	o.Bivouac.LeafStorage = []LeafStorage{
		{"opt.**", Storage{DType: tensor.BFloat16}},
		{"**", Storage{ChunkByteSize: 7}},
	}
	o.Array.Saving.ScopedStorage = func(p tree.Path, leaf any) *Storage {
		if leaf == "small" {
			return &Storage{ShardAxes: []int{}}
		}
		return nil
	}
	for _, c := range []struct {
		key  tree.Path
		leaf any
		want Storage
	}{
		{keys("opt", "m"), nil, Storage{tensor.BFloat16, 1 << 20, []int{0}}},
		{keys("w"), nil, Storage{tensor.Float32, 7, []int{0}}},
		{keys("opt", "m"), "small", Storage{tensor.BFloat16, 1 << 20, []int{}}},
	} {
		if d := cmp.Diff(c.want, o.StorageFor(c.key, c.leaf)); d != "" {
			t.Errorf("%v: %s", c.key, d)
		}
	}
	if d := cmp.Diff(Storage{}, Options{}.StorageFor(keys("w"), nil)); d != "" {
		t.Error(d)
	}
}
