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
		{"", nil, true},
		{"", keys("a"), false},
		{"a", keys("a"), true},
		{"a", keys("a", "b"), false},
		{"a/*", keys("a", "b"), true},
		{"a/*", keys("a"), false},
		{"a/*/w", keys("a", "b", "w"), true},
		{"a/**", keys("a"), true},
		{"a/**", keys("a", "b", "c"), true},
		{"**/w", keys("w"), true},
		{"**/w", keys("a", "b", "w"), true},
		{"**/w/**", keys("a", "w", "b"), true},
		{"**/w", keys("a", "ww"), false},
		{"**/**", keys("a"), true},
		{"**", nil, true},
		{"layer[0-3]/?", keys("layer2", "w"), true},
		{"layer[0-3]/?", keys("layer4", "w"), false},
		{"*", keys("block/linear"), true}, // Haiku's names
		{"block?linear", keys("block/linear"), true},
		{"a.b", keys("a.b"), true},
		{"a.b", keys("a", "b"), false},
	} {
		if got, err := MatchPath(c.pattern, c.key); got != c.want || err != nil {
			t.Errorf("%q, %v: %v, %v", c.pattern, c.key, got, err)
		}
	}
	for _, pattern := range []string{"[", "a/[", "**/[b"} {
		if _, err := MatchPath(pattern, keys("x")); err == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}

func TestStorageFor(t *testing.T) {
	o := Options{}
	o.Array.Saving.Storage = Storage{DType: tensor.Float32, ChunkByteSize: 1 << 20, ShardAxes: []int{0}}
	o.Bivouac.LeafStorage = []LeafStorage{
		{Match: "opt/**", Storage: Storage{DType: tensor.BFloat16}, Compression: Zstd},
		{Match: "**", Storage: Storage{ChunkByteSize: 7}},
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
		c    Compression
	}{
		{keys("opt", "m"), nil, Storage{tensor.BFloat16, 1 << 20, []int{0}}, Zstd},
		{keys("w"), nil, Storage{tensor.Float32, 7, []int{0}}, DefaultCompression},
		{keys("opt", "m"), "small", Storage{tensor.BFloat16, 1 << 20, []int{}}, Zstd},
	} {
		got, comp := o.StorageFor(c.key, c.leaf)
		if d := cmp.Diff(c.want, got); d != "" || comp != c.c {
			t.Errorf("%v: %s, %v", c.key, d, comp)
		}
	}
	if got, comp := (Options{}).StorageFor(keys("w"), nil); cmp.Diff(Storage{}, got) != "" || comp != DefaultCompression {
		t.Error(got, comp)
	}
}
