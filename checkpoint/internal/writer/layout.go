package writer

import (
	"maps"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Storage is how one array is stored.
type Storage struct {
	// DType is the dtype to which the elements are cast; Invalid does not cast. Scalars and PRNG keys
	// are never cast.
	DType       tensor.DType
	Compression options.Compression
	// ShardAxes are axes along which boxes will be read: sub-chunks are cut along these first. An axis
	// that the array lacks is skipped, if another array of the item has it.
	ShardAxes []int
	// ChunkBytes is about how many bytes of the array are encoded, checksummed and read at once; 0 is
	// 4 MiB.
	ChunkBytes int
}

// storageOf returns the Storage of one array.
func (o *Options) storageOf(p tree.Path, s tensor.Spec) (Storage, error) {
	one := o.Storage
	var err error
	if o.Leaf != nil {
		one.ShardAxes = slices.Clone(one.ShardAxes)
		if one, err = o.Leaf(p, s, one); err == nil {
			err = one.validate(o.Layout)
		}
	}
	if one.DType != tensor.Invalid {
		s.DType = one.DType
	}
	if err == nil && one.ChunkBytes > 0 && one.ChunkBytes < s.DType.Size() && len(s.Shape) > 0 {
		err = &errs.Error{Kind: errs.Invalid, Subject: "ChunkByteSize",
			Want: "at least the size of one " + s.DType.String(), Got: strconv.Itoa(one.ChunkBytes)}
	}
	return one, err
}

// namedAxes are axes along which arrays should be cut, each with the first array that lacks it, or
// "" if an array has it.
type namedAxes map[int]string

func (n namedAxes) add(name string, s tensor.Spec, axes []int) {
	for _, k := range axes {
		if k < len(s.Shape) {
			n[k] = ""
		} else if _, known := n[k]; !known && len(s.Shape) > 0 {
			n[k] = strconv.Quote(name) + " of shape " + s.Shape.String()
		}
	}
}

// check returns an error for a named axis that no array has.
func (n namedAxes) check() error {
	for _, k := range slices.Sorted(maps.Keys(n)) {
		if n[k] != "" {
			return &errs.Error{Kind: errs.Invalid, Subject: "ShardAxes", Want: "axes of the arrays, counted from 0",
				Got: strconv.Itoa(k) + " for " + n[k]}
		}
	}
	return nil
}

// validate returns an error for options with which no array of the layout can be stored. It
// replaces the default compression by a concrete one.
func (s *Storage) validate(l options.Layout) error {
	s.Compression = s.Compression.Known()
	switch {
	case s.DType != tensor.Invalid && !s.DType.Valid():
		return &errs.Error{Kind: errs.Invalid, Subject: "DType", Want: "a type of elements", Got: s.DType.String()}
	case s.Compression > options.Uncompressed:
		return &errs.Error{Kind: errs.Invalid, Subject: "Compression", Want: "one of the constants"}
	case slices.ContainsFunc(s.ShardAxes, func(k int) bool { return k < 0 }):
		return &errs.Error{Kind: errs.Invalid, Subject: "ShardAxes", Want: "axes, counted from 0"}
	case s.ChunkBytes < 0 || s.ChunkBytes > maxChunkBytes:
		return &errs.Error{Kind: errs.Invalid, Subject: "ChunkByteSize",
			Want: "0 to " + strconv.Itoa(maxChunkBytes) + " bytes",
			Got:  strconv.Itoa(s.ChunkBytes)}
	case l != options.SafetensorsLayout:
		return nil
	case s.Compression != options.Uncompressed:
		return unsupported("Compression", "uncompressed tensors")
	case len(s.ShardAxes) > 0:
		return unsupported("ShardAxes", "tensors in row-major order")
	case s.ChunkBytes != 0:
		return unsupported("ChunkByteSize", "tensors in one piece")
	}
	return nil
}

// chunkBytes returns about the largest size of a sub-chunk.
func (s *Storage) chunkBytes() int {
	if s.ChunkBytes == 0 {
		return subChunkBytes
	}
	return s.ChunkBytes
}

// Bounds of what ChunkBytes may ask for.
const (
	maxChunkBytes = 1 << 30
	maxChunks     = 1 << 20 // chunks of an array
)

// checkCount returns an error if an array would be cut into uselessly many pieces: each needs
// memory, and a file or an entry of an index.
func checkCount(shape tensor.Shape, sub []int) error {
	count := 1
	for k, n := range sub {
		if count *= (shape[k] + n - 1) / max(n, 1); count > maxChunks {
			return &errs.Error{Kind: errs.Invalid, Subject: "ChunkByteSize",
				Want: "at most " + strconv.Itoa(maxChunks) + " chunks in an array", Got: "more chunks"}
		}
	}
	return nil
}

// shardBytes is the largest size of a shard of sub-chunks whose encoded sizes are unknown. Each
// shard is one file and is encoded in memory.
const shardBytes = 16 << 20

// shardBytes returns a size of shards that leaves room in the budget for several workers, each with
// a shard and its elements. A shard is written at once.
func (o *Options) shardBytes() int {
	most := int64(shardBytes)
	if o.Budget > 0 {
		most = min(most, o.Budget/8)
	}
	if o.WriteBytes > 0 {
		most = min(most, o.WriteBytes-o.WriteBytes/8) // minus the index and the worst expansion of compressors
	}
	return int(most)
}

// shard returns the shape of a shard of a chunk: consecutive whole sub-chunks of at most most
// elements, but at least one sub-chunk. A shard does not extend across given parts.
func shard(chunk, sub []int, most int, parts bool) []int {
	out := slices.Clone(sub)
	have := tensor.Shape(sub).Len()
	for axis := len(sub) - 1; axis >= 0 && have > 0; axis-- {
		count := chunk[axis] / sub[axis]
		n := min(count, max(1, most/have))
		for parts && count%n != 0 {
			n--
		}
		out[axis] *= n
		have *= n
		if n < count {
			break
		}
	}
	return out
}

// InDatabase reports whether the arrays of a layout lie in an OCDBT database.
func InDatabase(l options.Layout) bool {
	_, ocdbt, _ := l.Known().Spelling()
	return ocdbt.IsOn()
}

// inZarr2 reports whether the arrays of a layout are zarr v2.
func inZarr2(l options.Layout) bool {
	family, _, zarr3 := l.Known().Spelling()
	return family == options.Orbax && !zarr3.IsOn()
}

// Levels of the compressors.
const (
	zstdLevel  = 3
	bloscLevel = 3
)

// codecs returns the codecs of a sub-chunk after "bytes". Format 2 has at most one, and no
// checksum.
func codecs(l options.Layout, c options.Compression) []zarr.CodecSpec {
	var out []zarr.CodecSpec
	switch {
	case c == options.Zstd && inZarr2(l):
		out = append(out, zarr.CodecSpec{Name: "zstd", Config: map[string]any{"level": zstdLevel}})
	case c == options.Zstd:
		out = append(out, zarr.Zstd(zstdLevel))
	case c == options.ByteSplit:
		out = append(out, zarr.Blosc(zarr.BloscOptions{Codec: "zstd", Level: bloscLevel, Shuffle: zarr.ByteShuffle}))
	}
	if inZarr2(l) {
		return out
	}
	return append(out, zarr.CRC32C())
}

// validate returns an error for options that contradict each other.
func (o *Options) validate(items []Item) error {
	if o.Layout > options.OCDBTZarr3 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Layout", Want: "one of the constants"}
	}
	all := o.Storage
	if err := all.validate(o.Layout); err != nil {
		return err
	}
	switch {
	case o.MaxFileBytes < -1:
		return &errs.Error{Kind: errs.Invalid, Subject: "OCDBTTargetDataFileSize",
			Want: "a number of bytes, or -1 for no bound"}
	case o.MaxFileBytes > 0 && !InDatabase(o.Layout) && o.Layout != options.SafetensorsLayout:
		return &errs.Error{Kind: errs.Unsupported, Subject: "OCDBTTargetDataFileSize",
			Want: "a layout with a database", Got: "a layout whose files hold single arrays or chunks",
			Remedy: "choose a layout with a database, or set ChunkByteSize"}
	case o.Layout != options.SafetensorsLayout:
		return nil
	case len(items) != 1 || items[0].Tree == nil:
		return unsupported("", "one tree of tensors")
	case items[0].Commit != nil:
		return unsupported("leaves of type "+slices.Min(slices.Collect(maps.Values(items[0].Foreign))),
			"leaves that are tensors")
	case items[0].Name != safetensorsItem:
		return unsupported("item "+items[0].Name, `the item "`+safetensorsItem+`"`)
	}
	return nil
}

// unsupported returns the error for something that a safetensors file cannot hold.
func unsupported(subject, want string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: subject, Want: want,
		Got:    "something that a safetensors file cannot hold",
		Remedy: "choose another layout"}
}
