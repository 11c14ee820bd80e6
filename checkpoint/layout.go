package checkpoint

import (
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/errs"
)

// Layout is how the arrays of a checkpoint are stored.
type Layout uint8

// The layouts.
const (
	Default     = Layout(image.OCDBTZarr3)  // zarr v3 in an OCDBT database, as Orbax by default
	OCDBTZarr2  = Layout(image.OCDBTZarr2)  // zarr v2 in an OCDBT database
	PlainZarr3  = Layout(image.PlainZarr3)  // zarr v3, a directory an array
	PlainZarr2  = Layout(image.PlainZarr2)  // zarr v2, a directory an array
	Safetensors = Layout(image.Safetensors) // one safetensors file, without structure
)

var layoutNames = [...]string{"ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2", "safetensors"}

// String returns "ocdbt-zarr3", "ocdbt-zarr2", "zarr3", "zarr2" or "safetensors".
func (l Layout) String() string { return nameOf(layoutNames[:], int(l), "layout") }

// ParseLayout returns the layout of that name. Others are errs.Invalid.
func ParseLayout(name string) (Layout, error) {
	i, err := parseName(layoutNames[:], name, "layout")
	return Layout(i), err
}

// Compression is how the arrays of a checkpoint are compressed.
type Compression uint8

// The compressions.
const (
	Uncompressed = Compression(image.Uncompressed)
	Zstd         = Compression(image.Zstd)
	ByteSplit    = Compression(image.ByteSplit) // the bytes of elements split into planes, then zstd
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
