// Package bmp decodes Windows bitmaps: 1, 4 and 8 bits with a palette, also run-length encoded; 16
// and 32 bits with or without bit fields; and 24 bits. Rows may be stored from the bottom or from
// the top.
//
//	┌ 14 bytes ┬ n = 12, 40 … 124 ┬ palette or fields ┬ rows, of multiples of 4 bytes ┐
//	│ "BM" …   │ size, depth …    │                   │ from the offset in the first  │
//
// A palette with only grays gives one channel; any other palette gives RGB. A 32-bit image has
// alpha as a fourth channel if it has a field for it.
package bmp

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// Magic begins every file.
const Magic = "BM"

// Kinds of compression.
const (
	plain     = 0
	rle8      = 1
	rle4      = 2
	bitFields = 3
	alphaBits = 6
)

// bitmap holds the contents of the headers.
type bitmap struct {
	raster.Header
	depth, compression int
	topDown            bool
	palette            [][3]uint8
	masks              [4]uint32 // red, green, blue, alpha
	pixels             []byte
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	b, err := parse(data)
	if err != nil {
		return raster.Header{}, err
	}
	return b.Header, nil
}

func parse(data []byte) (*bitmap, error) {
	const fileHeader, coreHeader, infoHeader = 14, 12, 40
	le := binary.LittleEndian
	if len(data) < fileHeader+coreHeader || string(data[:2]) != Magic {
		return nil, raster.Corrupt("bmp", "a BMP file", fmt.Sprintf("%d other bytes", len(data)))
	}
	size := int(min(le.Uint32(data[fileHeader:]), 1<<16))
	if size != coreHeader && size < infoHeader || fileHeader+size > len(data) {
		return nil, raster.Corrupt("bmp", "a complete header", fmt.Sprintf("a header of %d bytes", size))
	}
	b := &bitmap{Header: raster.Header{Channels: 3, Depth: 8, Orientation: 1, Luma: raster.LumaCV}}
	info, rest := data[fileHeader:fileHeader+size], data[fileHeader+size:]
	colors, entry := 0, 4
	if size == coreHeader {
		b.Width, b.Height, b.depth = int(le.Uint16(info[4:])), int(le.Uint16(info[6:])), int(le.Uint16(info[10:]))
		entry = 3
	} else {
		b.Width, b.Height = int(int32(le.Uint32(info[4:]))), int(int32(le.Uint32(info[8:])))
		b.depth, b.compression, colors = int(le.Uint16(info[14:])), int(le.Uint32(info[16:])), int(min(le.Uint32(info[32:]), 256))
		if b.topDown = b.Height < 0; b.topDown {
			b.Height = -b.Height
		}
	}
	if err := b.Check("bmp", len(data)); err != nil {
		return nil, err
	}
	if err := b.readMasks(info, rest); err != nil {
		return nil, err
	}
	if b.depth <= 8 {
		if colors == 0 || colors > 1<<b.depth {
			colors = 1 << b.depth
		}
		b.readPalette(rest, min(colors, len(rest)/entry), entry)
	}
	offset := int64(le.Uint32(data[10:]))
	if offset < int64(fileHeader+size) || offset > int64(len(data)) {
		return nil, raster.Corrupt("bmp", "pixels after the headers", fmt.Sprintf("an offset of %d", offset))
	}
	b.pixels = data[offset:]
	if need := b.pitch() * b.Height; b.compression != rle8 && b.compression != rle4 && len(b.pixels) < need {
		return nil, raster.Corrupt("bmp", fmt.Sprintf("%d bytes of pixels", need), fmt.Sprint(len(b.pixels)))
	}
	return b, nil
}

// pitch returns the bytes of a stored row.
func (b *bitmap) pitch() int { return (b.Width*b.depth + 31) / 32 * 4 }

func (b *bitmap) readMasks(info, rest []byte) error {
	switch b.depth {
	case 1, 4, 8:
		if b.compression == plain || b.compression == rle8 && b.depth == 8 || b.compression == rle4 && b.depth == 4 {
			return nil
		}
	case 24:
		if b.compression == plain {
			return nil
		}
	case 16, 32:
		const fields = 40 // their offset, in the header or after it
		b.masks = [4]uint32{0x7c00, 0x3e0, 0x1f, 0}
		if b.depth == 32 {
			b.masks = [4]uint32{0xff0000, 0xff00, 0xff, 0}
		}
		if b.compression == bitFields || b.compression == alphaBits {
			where, n := rest, 3
			if len(info) > fields {
				where = info[fields:]
			}
			if b.compression == alphaBits || len(info) >= fields+16 {
				n = 4
			}
			if len(where) < 4*n {
				return raster.Corrupt("bmp", "bit fields", "no bit fields")
			}
			for i := range n {
				b.masks[i] = binary.LittleEndian.Uint32(where[4*i:])
			}
		} else if b.compression != plain {
			break
		}
		if b.masks[3] != 0 {
			b.Channels = 4
		}
		return nil
	}
	return raster.Unsupported("bmp", fmt.Sprintf("%d bits with compression %d", b.depth, b.compression))
}

func (b *bitmap) readPalette(rest []byte, colors, entry int) {
	gray := true
	for i := range colors {
		c := rest[i*entry:]
		b.palette = append(b.palette, [3]uint8{c[2], c[1], c[0]})
		gray = gray && c[0] == c[1] && c[1] == c[2]
	}
	if gray {
		b.Channels = 1
	}
}

// Decode decodes the image in data to img.
func Decode(data []byte, img *raster.Image) error {
	b, err := parse(data)
	if err != nil {
		return err
	}
	if err := img.Reset(b.Header); err != nil {
		return err
	}
	if b.compression == rle8 || b.compression == rle4 {
		return b.runs(img)
	}
	pitch := b.pitch()
	for y := range b.Height {
		row := b.pixels[y*pitch : (y+1)*pitch]
		out := img.Row(b.Width)
		switch {
		case b.depth <= 8:
			for x := range b.Width {
				at := x * b.depth
				b.set(out, x, row[at/8]>>(8-b.depth-at%8)&(1<<b.depth-1))
			}
		case b.depth == 24:
			for x := range b.Width {
				out[3*x], out[3*x+1], out[3*x+2] = row[3*x+2], row[3*x+1], row[3*x]
			}
		default:
			b.fields(out, row)
		}
		if err := b.put(img, y, out); err != nil {
			return err
		}
	}
	return nil
}

// put passes the y-th stored row to img.
func (b *bitmap) put(img *raster.Image, y int, row []uint8) error {
	if !b.topDown {
		y = b.Height - 1 - y
	}
	return img.Put(y, 0, 1, row)
}

// set sets pixel x of a row to colour i of the palette. A colour that the palette lacks is black.
func (b *bitmap) set(row []uint8, x int, i uint8) {
	var c [3]uint8
	if int(i) < len(b.palette) {
		c = b.palette[i]
	}
	copy(row[x*b.Channels:(x+1)*b.Channels], c[:])
}

// fields splits a row with 16 or 32 bits per pixel into channels.
func (b *bitmap) fields(out, row []uint8) {
	for x := range b.Width {
		var v uint32
		if b.depth == 16 {
			v = uint32(binary.LittleEndian.Uint16(row[2*x:]))
		} else {
			v = binary.LittleEndian.Uint32(row[4*x:])
		}
		for c := range b.Channels {
			mask := b.masks[c]
			if mask == 0 {
				out[x*b.Channels+c] = 0
				continue
			}
			shift := bits.TrailingZeros32(mask)
			most := uint64(mask >> shift)
			out[x*b.Channels+c] = uint8((uint64(v&mask>>shift)*255 + most/2) / most)
		}
	}
}

// runs decodes run lengths. Pixels that no run covers have colour 0.
func (b *bitmap) runs(img *raster.Image) error {
	row := img.Row(b.Width)
	blank := func() {
		for x := range b.Width {
			b.set(row, x, 0)
		}
	}
	blank()
	x, y, p := 0, 0, b.pixels
	put := func(i uint8) {
		if x < b.Width && y < b.Height {
			b.set(row, x, i)
		}
		x++
	}
	// down passes the rows above row `to` to img.
	down := func(to int) error {
		for ; y < min(to, b.Height); y++ {
			if err := b.put(img, y, row); err != nil {
				return err
			}
			blank()
		}
		y = to
		return nil
	}
	for len(p) >= 2 && y < b.Height {
		n, v := int(p[0]), p[1]
		p = p[2:]
		switch {
		case n > 0:
			for i := range n {
				put(b.index(v, i))
			}
		case v == 0: // end of the row
			if err := down(y + 1); err != nil {
				return err
			}
			x = 0
		case v == 1: // end of the image
			return down(b.Height)
		case v == 2: // skip
			if len(p) < 2 {
				return raster.Corrupt("bmp", "a distance", "the end")
			}
			if err := down(y + int(p[1])); err != nil {
				return err
			}
			x, p = x+int(p[0]), p[2:]
		default: // pixels without run lengths
			count := int(v)
			size := (count*b.depth + 15) / 16 * 2
			if len(p) < size {
				return raster.Corrupt("bmp", fmt.Sprintf("%d pixels", count), "the end")
			}
			for i := range count {
				put(b.index(p[i*b.depth/8], i))
			}
			p = p[size:]
		}
	}
	if y < b.Height {
		return raster.Corrupt("bmp", "the end of the image", "the end of the file")
	}
	return nil
}

// index returns the i-th pixel that a byte of a run encodes.
func (b *bitmap) index(v uint8, i int) uint8 {
	switch {
	case b.depth == 8:
		return v
	case i%2 == 0:
		return v >> 4
	}
	return v & 15
}
