package checkpoint

import "github.com/bivouac-ml/bivouac/checkpoint/options"

// Layout is how the arrays of a checkpoint are stored: see options.Layout.
type Layout = options.Layout

// The layouts.
const (
	// Default is what the options of the context and the process say, and what
	// Orbax writes by default where they say nothing: OCDBTZarr3.
	Default = options.DefaultLayout
	// OCDBTZarr3 is an OCDBT database of zarr v3 arrays. Sub-chunks carry their
	// checksums, which other readers check too.
	OCDBTZarr3 = options.OCDBTZarr3
	// OCDBTZarr2 is an OCDBT database of zarr v2 arrays.
	OCDBTZarr2 = options.OCDBTZarr2
	// PlainZarr3 has a directory for each array, with its zarr.json and chunks.
	// Names of arrays are names of directories, where a "/" nests them; those
	// that no directory can have are refused. An array is one file, a shard; those
	// that are compressed have one for each 16 MiB.
	PlainZarr3 = options.PlainZarr3
	// PlainZarr2 is the same with .zarray and zarr v2 chunks. The format has no
	// shards: each chunk is a file, of 4 MiB unless chunk_byte_size says otherwise.
	PlainZarr2 = options.PlainZarr2
	// Safetensors is one file, model.safetensors, or several with an index where
	// the size of files or Base bound them: a tree of tensors and numbers, their
	// keys joined with ".". Its metadata has the structure, so that the tree is
	// loaded as it was saved. Strings and dtypes that the format lacks are refused,
	// as is more than one item.
	Safetensors = options.SafetensorsLayout
)

// ParseLayout returns the layout of that name. Others are errs.Invalid.
func ParseLayout(name string) (Layout, error) { return options.ParseLayout(name) }

// Compression is how arrays of more than 1024 bytes are compressed: see
// options.Compression.
type Compression = options.Compression

// The compressions. Zarr readers have the codecs of both.
const (
	Uncompressed = options.Uncompressed
	// Zstd is zstd.
	Zstd = options.Zstd
	// ByteSplit compresses the first bytes of elements apart from the second
	// ones, and so on. It is the codec blosc, shuffled, with zstd.
	ByteSplit = options.ByteSplit
)

// ParseCompression returns the compression of that name. Others are errs.Invalid.
func ParseCompression(name string) (Compression, error) { return options.ParseCompression(name) }
