package writer

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// InDatabase reports whether the arrays of a layout lie in an OCDBT database.
func InDatabase(l options.Layout) bool {
	_, ocdbt, _ := l.Known().Spelling()
	return ocdbt.IsOn()
}

// inZarr2 reports whether the arrays of a layout are of zarr v2.
func inZarr2(l options.Layout) bool {
	family, _, zarr3 := l.Known().Spelling()
	return family == options.Orbax && !zarr3.IsOn()
}

// Levels of the compressors.
const (
	zstdLevel  = 3
	bloscLevel = 3
)

// codecs returns the codecs of a sub-chunk, behind its bytes. Format 2 has at most one, and no
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

// validate refuses options that do not go together.
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
		return &errs.Error{Kind: errs.Invalid, Subject: "OCDBTTargetDataFileSize", Want: "bytes, or -1 for no bound"}
	case o.MaxFileBytes > 0 && !InDatabase(o.Layout) && o.Layout != options.SafetensorsLayout:
		return &errs.Error{Kind: errs.Unsupported, Subject: "OCDBTTargetDataFileSize",
			Want: "files of single arrays, or of chunks of them", Got: "a layout without a database",
			Remedy: "choose a layout with a database, or bound chunks"}
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

// unsupported says what a safetensors file cannot hold.
func unsupported(subject, want string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: subject, Want: want,
		Got:    "something that a safetensors file has no place for",
		Remedy: "choose another layout"}
}
