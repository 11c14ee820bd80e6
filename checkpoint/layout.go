package checkpoint

import (
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/errs"
)

// Layout is how the arrays of a checkpoint are stored. All layouts are read
// without being told which, and all have a manifest that covers every byte.
type Layout uint8

// The layouts.
const (
	// Default is what Orbax writes by default: an OCDBT database of zarr v3
	// arrays. Sub-chunks carry their checksums, which other readers check too.
	Default = Layout(image.OCDBTZarr3)
	// OCDBTZarr2 is an OCDBT database of zarr v2 arrays.
	OCDBTZarr2 = Layout(image.OCDBTZarr2)
	// PlainZarr3 has a directory for each array, with its zarr.json and chunks.
	// Names of arrays are names of directories, where a "/" nests them; those
	// that no directory can have are refused. An array is one file, a shard; those
	// that are compressed have one for each 16 MiB.
	PlainZarr3 = Layout(image.PlainZarr3)
	// PlainZarr2 is the same with .zarray and zarr v2 chunks. The format has no
	// shards: each chunk is a file, of 4 MiB unless ChunkBytes says otherwise.
	PlainZarr2 = Layout(image.PlainZarr2)
	// Safetensors is one file, model.safetensors, or several with an index where
	// MaxFileBytes or Base bound them: a tree of tensors and numbers, their keys
	// joined with ".". Its metadata has the structure, so that the tree is loaded
	// as it was saved. Strings and dtypes that the format lacks are refused, as is
	// more than one item.
	Safetensors = Layout(image.Safetensors)
)

var layoutNames = [...]string{"ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2", "safetensors"}

// String returns "ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2" or "safetensors".
func (l Layout) String() string { return nameOf(layoutNames[:], int(l), "layout") }

// ParseLayout returns the layout of that name. Others are errs.Invalid.
func ParseLayout(name string) (Layout, error) {
	i, err := parseName(layoutNames[:], name, "layout")
	return Layout(i), err
}

// Compression is how arrays of more than 1024 bytes are compressed. Weights in
// floating point hardly shrink: leave them uncompressed where speed counts.
type Compression uint8

// The compressions. Zarr readers have the codecs of both.
const (
	Uncompressed = Compression(image.Uncompressed)
	// Zstd is zstd.
	Zstd = Compression(image.Zstd)
	// ByteSplit puts the first bytes of all elements of a block together, then
	// the second ones, and so on, then compresses: signs and exponents, which
	// repeat, are apart from mantissas, which do not. It is the codec blosc,
	// shuffled, with zstd.
	ByteSplit = Compression(image.ByteSplit)
)

var compressionNames = [...]string{"none", "zstd", "bytesplit"}

// String returns "none", "zstd" or "bytesplit".
func (c Compression) String() string { return nameOf(compressionNames[:], int(c), "compression") }

// ParseCompression returns the compression of that name. Others are errs.Invalid.
func ParseCompression(name string) (Compression, error) {
	i, err := parseName(compressionNames[:], name, "compression")
	return Compression(i), err
}

func nameOf(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return what + " " + strconv.Itoa(i)
}

func parseName(names []string, name, what string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, &errs.Error{Kind: errs.Invalid, Subject: what + " " + strconv.Quote(name), Want: strings.Join(names, ", ")}
}
