// Package png decodes PNG images (ISO/IEC 15948) with the standard library: all
// depths, interlaced or not, palettes as RGB. Transparency that a tRNS chunk
// describes is dropped. The orientation is that of an eXIf chunk.
package png

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"

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

// ReadHeader returns the header of the image in data, which must have all its
// chunks: the last may tell the orientation.
func ReadHeader(data []byte) (raster.Header, error) {
	h := raster.Header{Depth: 8, Orientation: 1}
	if !bytes.HasPrefix(data, []byte(Magic)) {
		return h, raster.Corrupt("png", "a PNG file", "other bytes")
	}
	rest, first := data[len(Magic):], true
	for {
		const around = 12 // length, type, check sum
		if len(rest) < around || uint64(binary.BigEndian.Uint32(rest)) > uint64(len(rest)-around) {
			return h, raster.Corrupt("png", "whole chunks", fmt.Sprintf("%d bytes", len(data)))
		}
		size := int(binary.BigEndian.Uint32(rest))
		name, body := string(rest[4:8]), rest[8:8+size]
		rest = rest[around+size:]
		if first != (name == "IHDR") {
			return h, raster.Corrupt("png", "one header, first", "chunk "+name)
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

// Decode decodes the image in data to img.
func Decode(data []byte, img *raster.Image) error {
	h, err := ReadHeader(data)
	if err != nil {
		return err
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "png", Got: "Failed to decode", Err: err}
	}
	if size := decoded.Bounds().Size(); size.X != h.Width || size.Y != h.Height {
		return raster.Corrupt("png", fmt.Sprintf("an image of %dx%d", h.Width, h.Height), size.String())
	}
	img.Reset(h)
	return fill(img, decoded)
}

// fill copies the samples of the channels that the header has: the standard library
// widens gray with alpha and images with transparency to RGBA.
func fill(img *raster.Image, decoded image.Image) error {
	switch p := decoded.(type) {
	case *image.Gray:
		narrow(img, p.Pix, p.Stride, 1)
	case *image.RGBA:
		narrow(img, p.Pix, p.Stride, 4)
	case *image.NRGBA:
		narrow(img, p.Pix, p.Stride, 4)
	case *image.Gray16:
		wide(img, p.Pix, p.Stride, 1)
	case *image.RGBA64:
		wide(img, p.Pix, p.Stride, 4)
	case *image.NRGBA64:
		wide(img, p.Pix, p.Stride, 4)
	case *image.Paletted:
		var colors [256][3]uint8
		for i, c := range p.Palette {
			switch c := c.(type) { // what the standard library puts into palettes
			case color.RGBA:
				colors[i] = [3]uint8{c.R, c.G, c.B}
			case color.NRGBA:
				colors[i] = [3]uint8{c.R, c.G, c.B}
			}
		}
		for y := range img.Height {
			for x, v := range p.Pix[y*p.Stride : y*p.Stride+img.Width] {
				copy(img.Pix[3*(y*img.Width+x):], colors[v][:])
			}
		}
	default:
		return raster.Unsupported("png", fmt.Sprintf("%T", decoded))
	}
	return nil
}

// source returns the place among n samples of a pixel that channel c of channels has.
func source(c, channels, n int) int {
	if n == 4 && channels == 2 && c == 1 {
		return 3
	}
	return c
}

func narrow(img *raster.Image, pix []uint8, stride, n int) {
	c := img.Channels
	for y := range img.Height {
		row, out := pix[y*stride:], img.Pix[y*img.Width*c:(y+1)*img.Width*c]
		if c == n {
			copy(out, row)
			continue
		}
		for i := range out {
			out[i] = row[i/c*n+source(i%c, c, n)]
		}
	}
}

func wide(img *raster.Image, pix []uint8, stride, n int) {
	c := img.Channels
	for y := range img.Height {
		row, out := pix[y*stride:], img.Wide[y*img.Width*c:(y+1)*img.Width*c]
		for i := range out {
			at := 2 * (i/c*n + source(i%c, c, n))
			out[i] = uint16(row[at])<<8 | uint16(row[at+1])
		}
	}
}
