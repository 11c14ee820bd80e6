// Package tiff decodes the first image of TIFF files (TIFF 6.0): strips and tiles, interleaved or
// in planes; 1, 2, 4, 8 and 16 bits a sample; bilevel, gray, RGB, palettes, with alpha, and inks;
// gray and RGB of float32; stored plainly or compressed with LZW, Deflate, PackBits, CCITT groups 3
// and 4 or JPEG, with horizontal differences undone.
//
//	┌ "II*\0" or "MM\0*" ┬ offset ┬ … ┬ n ┬ n entries of 12 bytes: tag, type, count, value ┬ … ┐
//
// One or two bits become 8 by repetition. Palettes have 16 bits per colour. Inks become RGB with a
// full alpha. Samples of float32 do not change: 1 is full intensity.
package tiff

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// Is reports whether data begins like a TIFF file.
func Is(data []byte) bool {
	return len(data) >= 8 && (string(data[:4]) == "II*\x00" || string(data[:4]) == "MM\x00*")
}

// Tags.
const (
	tagWidth        = 256
	tagHeight       = 257
	tagBits         = 258
	tagCompression  = 259
	tagPhotometric  = 262
	tagFillOrder    = 266
	tagOffsets      = 273
	tagOrientation  = 274
	tagSamples      = 277
	tagRowsPerStrip = 278
	tagByteCounts   = 279
	tagPlanar       = 284
	tagT4Options    = 292
	tagPredictor    = 317
	tagColorMap     = 320
	tagTileWidth    = 322
	tagTileHeight   = 323
	tagTileOffsets  = 324
	tagTileCounts   = 325
	tagExtra        = 338
	tagFormat       = 339
	tagJPEGTables   = 347
)

// Formats of samples.
const (
	formatUnsigned = 1
	formatFloat    = 3
	formatUnknown  = 4
)

// Kinds of pixels.
const (
	whiteIsZero = 0
	blackIsZero = 1
	rgb         = 2
	paletted    = 3
	separated   = 5
	yCbCr       = 6
)

// file is the first directory of a file.
type file struct {
	raster.Header
	data                     []byte
	order                    binary.ByteOrder
	bits, samples            int
	compression, photometric int
	predictor, fillOrder, t4 int
	planar, float            bool
	tileW, tileH             int // of a tile, or of a strip
	across, down             int // number of tiles or strips in each direction
	offsets, counts          []int
	palette                  []int
	tables                   []byte // of JPEG streams
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	f, err := parse(data)
	if err != nil {
		return raster.Header{}, err
	}
	return f.Header, nil
}

func corrupt(want, got string) error { return raster.Corrupt("tiff", want, got) }

func parse(data []byte) (*file, error) {
	if !Is(data) {
		return nil, corrupt("a TIFF file", "other bytes")
	}
	f := &file{data: data, order: binary.LittleEndian}
	if data[0] == 'M' {
		f.order = binary.BigEndian
	}
	tags, err := f.directory()
	if err != nil {
		return nil, err
	}
	one := func(tag, missing int) int {
		if v := tags.values(tag, 1); len(v) > 0 {
			return v[0]
		}
		return missing
	}
	f.Width, f.Height = one(tagWidth, 0), one(tagHeight, 0)
	f.Orientation, f.Depth, f.Luma = one(tagOrientation, 1), 8, raster.LumaTIFF
	if f.Orientation < 1 || f.Orientation > 8 {
		f.Orientation = 1
	}
	if err := f.Check("tiff", len(data)); err != nil {
		return nil, err
	}
	f.samples, f.compression = one(tagSamples, 1), one(tagCompression, 1)
	f.photometric, f.predictor, f.fillOrder = one(tagPhotometric, blackIsZero), one(tagPredictor, 1), one(tagFillOrder, 1)
	f.planar, f.t4 = one(tagPlanar, 1) == 2 && f.samples > 1, one(tagT4Options, 0)
	if f.compression == compressionJPEG {
		f.predictor = 1
	}
	if err := f.readSamples(tags); err != nil {
		return nil, err
	}
	f.tables = tags.bytes(tagJPEGTables)
	return f, f.readTiles(tags, one)
}

// readSamples reads the description of the samples.
func (f *file) readSamples(tags *tags) error {
	if f.samples < 1 || f.samples > 8 {
		return raster.Unsupported("tiff", fmt.Sprintf("%d samples per pixel", f.samples))
	}
	f.bits = 1
	for i, b := range tags.values(tagBits, f.samples) {
		if i > 0 && b != f.bits {
			return raster.Unsupported("tiff", "samples of different depths")
		}
		f.bits = b
	}
	for i, format := range tags.values(tagFormat, f.samples) {
		if f.float = format == formatFloat && (i == 0 || f.float); !f.float && format != formatUnsigned && format != formatUnknown {
			return raster.Unsupported("tiff", "samples that are neither unsigned integers nor floats")
		}
	}
	switch {
	case f.float && f.bits == 32 && f.predictor == 1 && f.photometric != paletted && f.photometric != separated:
		f.Depth = raster.Float
	case f.float:
		return raster.Unsupported("tiff", fmt.Sprintf("floats of %d bits, with predictor %d", f.bits, f.predictor))
	case f.bits == 1, f.bits == 2, f.bits == 4, f.bits == 8:
	case f.bits == 16:
		f.Depth = 16
	default:
		return raster.Unsupported("tiff", fmt.Sprintf("%d bits per sample", f.bits))
	}
	least := map[int]int{whiteIsZero: 1, blackIsZero: 1, rgb: 3, paletted: 1, separated: 4, yCbCr: 3}[f.photometric]
	switch {
	case least == 0, f.photometric == yCbCr && f.compression != compressionJPEG:
		return raster.Unsupported("tiff", fmt.Sprintf("photometric interpretation %d with compression %d", f.photometric, f.compression))
	case f.samples < least:
		return corrupt(fmt.Sprintf("at least %d samples per pixel", least), fmt.Sprint(f.samples))
	case f.photometric == separated && (f.planar || f.bits < 8):
		return raster.Unsupported("tiff", fmt.Sprintf("inks in planes or of %d bits", f.bits))
	case f.compression == compressionJPEG && f.bits != 8:
		return raster.Unsupported("tiff", "JPEG without 8 bits per sample")
	}
	switch f.photometric {
	case paletted:
		if f.bits > 8 {
			return raster.Unsupported("tiff", "a palette for 16 bits")
		}
		if f.palette = tags.values(tagColorMap, 3<<f.bits); len(f.palette) != 3<<f.bits {
			return corrupt("a palette", "no palette")
		}
		f.Channels, f.Depth = 3, 16
	case separated:
		f.Channels, f.Luma = 4, raster.LumaCV // colours and a full alpha
	default:
		f.Channels = min(f.samples, least+1) // further samples are dropped
	}
	return nil
}

func (f *file) readTiles(tags *tags, one func(tag, missing int) int) error {
	offsets, counts := tagOffsets, tagByteCounts
	f.tileW, f.tileH = f.Width, min(one(tagRowsPerStrip, f.Height), f.Height)
	if tiled := one(tagTileWidth, 0); tiled != 0 {
		f.tileW, f.tileH = tiled, one(tagTileHeight, 0)
		offsets, counts = tagTileOffsets, tagTileCounts
	}
	const largest, spare = 1 << 16, 1 << 20 // tiles may be larger than a small image
	if f.tileW < 1 || f.tileH < 1 || f.tileW > max(largest, f.Width) || f.tileH > max(largest, f.Height) ||
		f.tileW*f.tileH > f.Width*f.Height+spare {
		return corrupt("tiles of a size that fits the image", fmt.Sprintf("%dx%d", f.tileW, f.tileH))
	}
	f.across, f.down = (f.Width+f.tileW-1)/f.tileW, (f.Height+f.tileH-1)/f.tileH
	n := f.across * f.down
	if f.planar {
		n *= f.samples
	}
	if n > len(f.data)/4+1 { // each has an entry in the directory
		return corrupt(fmt.Sprintf("%d strips or tiles", n), fmt.Sprintf("%d bytes", len(f.data)))
	}
	f.offsets, f.counts = tags.values(offsets, n), tags.values(counts, n)
	if len(f.offsets) != n || len(f.counts) != n && !(n == 1 && len(f.counts) == 0) {
		return corrupt(fmt.Sprintf("%d strips or tiles", n), fmt.Sprintf("%d offsets and %d lengths", len(f.offsets), len(f.counts)))
	}
	return nil
}

// stored returns the bytes of the i-th strip or tile.
func (f *file) stored(i int) ([]byte, error) {
	at, size := f.offsets[i], len(f.data)
	if len(f.counts) > 0 {
		size = f.counts[i]
	} else if at <= size {
		size -= at
	}
	if at < 0 || size < 0 || at > len(f.data) || size > len(f.data)-at {
		return nil, corrupt("strips and tiles within the file", fmt.Sprintf("%d bytes at %d of %d", size, at, len(f.data)))
	}
	return f.data[at : at+size], nil
}
