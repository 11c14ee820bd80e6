// Package png decodes PNG images (ISO/IEC 15948): all depths, interlaced or not, palettes as RGB.
// Transparency that a tRNS chunk describes is dropped. The orientation comes from an eXIf chunk.
//
//	chunks ── IDAT ── inflate ── row ── filter undone ── samples ── raster.Image
//
// Only two rows of an image are kept. The package accepts the same files as the standard library.
package png

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Magic begins every file.
const Magic = "\x89PNG\r\n\x1a\n"

// Colour types of the header.
const (
	typeGray      = 0
	typeRGB       = 2
	typePalette   = 3
	typeGrayAlpha = 4
	typeRGBA      = 6
)

// ReadHeader returns the header of the image in data. data must have all chunks, because the last
// chunk may hold the orientation.
func ReadHeader(data []byte) (raster.Header, error) {
	h := raster.Header{Depth: 8, Orientation: 1}
	if !bytes.HasPrefix(data, []byte(Magic)) {
		return h, raster.Corrupt("png", "a PNG file", "other bytes")
	}
	rest, first := data[len(Magic):], true
	for {
		const around = 12 // length, type, checksum
		if len(rest) < around || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-around) {
			return h, raster.Corrupt("png", "complete chunks", fmt.Sprintf("%d bytes", len(data)))
		}
		size := int(binary.BigEndian.Uint32(rest))
		name, body := string(rest[4:8]), rest[8:8+size]
		rest = rest[around+size:]
		if first != (name == "IHDR") {
			return h, raster.Corrupt("png", "one header, as the first chunk", "chunk "+name)
		}
		first = false
		switch name {
		case "IHDR":
			if err := readHeader(&h, body); err != nil {
				return h, err
			}
		case "eXIf":
			h.Orientation = exif.Orientation(body)
		case "IEND":
			return h, h.Check("png", len(data))
		}
	}
}

func readHeader(h *raster.Header, b []byte) error {
	if len(b) != 13 {
		return raster.Corrupt("png", "a header of 13 bytes", fmt.Sprint(len(b)))
	}
	width, height := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if max(width, height) > 1<<31-1 {
		return raster.Corrupt("png", "sizes below 2^31", fmt.Sprintf("%dx%d", width, height))
	}
	h.Width, h.Height = int(width), int(height)
	if b[8] == 16 {
		h.Depth = 16
	}
	switch b[9] {
	case typeGray:
		h.Channels = 1
	case typeRGB, typePalette:
		h.Channels = 3
	case typeGrayAlpha:
		h.Channels, h.Mixed = 2, true
	case typeRGBA:
		h.Channels = 4
	default:
		return raster.Corrupt("png", "a colour type", fmt.Sprint(b[9]))
	}
	return nil
}

// Decode decodes the image in data to img, row by row. It does not keep the image.
func Decode(data []byte, img *raster.Image) error {
	h, err := ReadHeader(data)
	if err != nil {
		return err
	}
	d := decoder{data: data[len(Magic):]}
	pixels, err := d.chunks()
	if err != nil {
		return decodeError(err)
	}
	if err := img.Reset(h); err != nil {
		return err
	}
	z, err := zlib.NewReader(&pixels)
	if err != nil {
		return decodeError(err)
	}
	defer z.Close() //nolint:errcheck // it was read to its end
	if err := d.passes(z, img); err != nil {
		return decodeError(err)
	}
	// Only the checksum of the stream follows the pixels.
	switch n, err := io.ReadFull(z, make([]byte, 1)); {
	case n > 0 || pixels.rest > 0:
		return decodeError(raster.Corrupt("png", "the end of the pixels", "more pixels"))
	case !errors.Is(err, io.EOF):
		return decodeError(err)
	}
	return nil
}

// decodeError returns the error for a damaged file. It does not change errors of limits.
func decodeError(err error) error {
	if errors.Is(err, errs.Exhausted) {
		return err
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "png", Got: "Failed to decode", Err: err}
}
