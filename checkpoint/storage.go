package checkpoint

import (
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
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
	// Pattern is one of options.MatchPath: "layers/*/w", "**/embedding", "opt/**".
	Pattern string
	LeafStorage
}

// StorageByPath returns the function that stores a leaf as the first rule that
// matches its path says, and other leaves as all. A malformed pattern is
// errs.Invalid, at the first leaf that is held against it.
func StorageByPath(rules ...StorageRule) StorageFunc {
	rules = slices.Clone(rules)
	return func(leaf LeafInfo, all LeafStorage) (LeafStorage, error) {
		for _, r := range rules {
			ok, err := options.MatchPath(r.Pattern, leaf.Path)
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
