package checkpoint

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// LeafStorage is how one array is stored. A safetensors file has a place for the
// zero value only; anything else is errs.Unsupported there.
type LeafStorage struct {
	Compression Compression
	// ShardAxes are axes along which parts of the array will be read: see
	// SaveOptions.ShardAxes.
	ShardAxes []int
	// ChunkBytes is about how many bytes of the array are compressed, verified and
	// read at once: see SaveOptions.ChunkBytes.
	ChunkBytes int
}

// StorageFunc decides how one array is stored. It is told of the leaf what is
// known before it is saved (Path, Param, DType, Shape) and what holds for all
// arrays, which it may change and return. An error fails the save, and names
// the leaf. It is called once for each array, one call at a time, before the
// save returns.
type StorageFunc func(leaf LeafInfo, all LeafStorage) (LeafStorage, error)

// StorageRule has arrays whose path matches stored in one way.
type StorageRule struct {
	// Pattern has one element for each key of the path, separated by "/". An
	// element is a pattern of path.Match for the key, or "**" for any number of
	// keys, also none: "layers/*/w", "**/embedding", "opt/**".
	Pattern string
	LeafStorage
}

// StorageByPath returns the function that stores a leaf as the first rule that
// matches its path says, and other leaves as all. A malformed pattern is
// errs.Invalid, at the first leaf that is held against it.
func StorageByPath(rules ...StorageRule) StorageFunc {
	rules = slices.Clone(rules)
	elements := make([][]string, len(rules))
	for i, r := range rules {
		elements[i] = splitPattern(r.Pattern)
	}
	return func(leaf LeafInfo, all LeafStorage) (LeafStorage, error) {
		for i, r := range rules {
			ok, err := matchPath(elements[i], leaf.Path)
			if err != nil {
				return all, &errs.Error{Kind: errs.Invalid, Subject: "pattern " + strconv.Quote(r.Pattern), Want: "elements of the form of path.Match", Err: err}
			}
			if ok {
				return r.LeafStorage, nil
			}
		}
		return all, nil
	}
}

// splitPattern cuts a pattern at its slashes; "" is that of the root.
func splitPattern(p string) []string {
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

func matchPath(elements []string, p tree.Path) (bool, error) {
	if len(elements) == 0 {
		return len(p) == 0, nil
	}
	if elements[0] == "**" {
		for n := range len(p) + 1 {
			if ok, err := matchPath(elements[1:], p[n:]); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	name := ""
	if len(p) > 0 {
		name = p[0].Name
	}
	// A slash in a key is a character like any other.
	ok, err := path.Match(elements[0], strings.ReplaceAll(name, "/", "\x00"))
	if err != nil || !ok || len(p) == 0 {
		return false, err
	}
	return matchPath(elements[1:], p[1:])
}

// ImageLeaf is for this module: the function as the planner of saves calls it,
// nil for nil.
func (f StorageFunc) ImageLeaf() func(tree.Path, tensor.Spec, image.Storage) (image.Storage, error) {
	if f == nil {
		return nil
	}
	return func(p tree.Path, spec tensor.Spec, all image.Storage) (image.Storage, error) {
		leaf := LeafInfo{Path: p, Param: p.Param(), Kind: ArrayLeaf, DType: spec.DType, Shape: spec.Shape}
		one, err := f(leaf, LeafStorage{Compression(all.Compression), all.ShardAxes, all.ChunkBytes})
		return image.Storage{Compression: image.Compression(one.Compression), ShardAxes: one.ShardAxes, ChunkBytes: one.ChunkBytes}, err
	}
}
