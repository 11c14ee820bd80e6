package writer

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Layout is how the arrays of an item are stored.
type Layout uint8

// The layouts.
const (
	OCDBTZarr3  Layout = iota // zarr v3 in a database
	OCDBTZarr2                // zarr v2 in a database
	PlainZarr3                // zarr v3, a directory an array
	PlainZarr2                // zarr v2, a directory an array
	Safetensors               // one file, no documents of Orbax
)

func (l Layout) ocdbt() bool { return l == OCDBTZarr3 || l == OCDBTZarr2 }
func (l Layout) zarr2() bool { return l == OCDBTZarr2 || l == PlainZarr2 }

// Compression is how sub-chunks are encoded.
type Compression uint8

// The compressions.
const (
	Uncompressed Compression = iota
	Zstd                     // codec zstd
	ByteSplit                // codec blosc: the bytes of elements split into planes, then zstd
)

// Levels of the compressors.
const (
	zstdLevel  = 3
	bloscLevel = 3
)

// codecs of a sub-chunk, behind its bytes. Format 2 has one at most, and no
// checksum.
func codecs(l Layout, c Compression) []zarr.CodecSpec {
	var out []zarr.CodecSpec
	switch {
	case c == Zstd && l.zarr2():
		out = append(out, zarr.CodecSpec{Name: "zstd", Config: map[string]any{"level": zstdLevel}})
	case c == Zstd:
		out = append(out, zarr.Zstd(zstdLevel))
	case c == ByteSplit:
		out = append(out, zarr.Blosc(zarr.BloscOptions{Codec: "zstd", Level: bloscLevel, Shuffle: zarr.ByteShuffle}))
	}
	if l.zarr2() {
		return out
	}
	return append(out, zarr.CRC32C())
}

// validate refuses options that do not go together.
func (o *Options) validate(items []Item) error {
	if o.Layout > Safetensors {
		return &errs.Error{Kind: errs.Invalid, Subject: "Layout", Want: "one of the constants"}
	}
	all := o.storage()
	if err := all.validate(o.Layout); err != nil {
		return err
	}
	switch {
	case o.MaxFileBytes < -1:
		return &errs.Error{Kind: errs.Invalid, Subject: "OCDBTTargetDataFileSize", Want: "bytes, or -1 for no bound"}
	case o.MaxFileBytes > 0 && !o.Layout.ocdbt() && o.Layout != Safetensors:
		return &errs.Error{Kind: errs.Unsupported, Subject: "OCDBTTargetDataFileSize", Want: "files of single arrays, or of chunks of them", Got: "a layout without a database",
			Remedy: "choose a layout with a database, or bound chunks"}
	case o.Layout != Safetensors:
		return nil
	case len(items) != 1 || items[0].Tree == nil:
		return unsupported("", "one tree of tensors")
	case items[0].Commit != nil:
		return unsupported("leaves of type "+slices.Min(slices.Collect(maps.Values(items[0].Foreign))), "leaves that are tensors")
	case items[0].Name != safetensorsItem:
		return unsupported("item "+items[0].Name, `the item "`+safetensorsItem+`"`)
	}
	return nil
}

// unsupported says what a safetensors file cannot hold.
func unsupported(subject, want string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: subject, Want: want, Got: "something that a safetensors file has no place for",
		Remedy: "choose another layout"}
}
