package tiff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// build puts a file together: a directory of tags in rising order, then the data,
// whose place in the file tag 0 stands for.
func build(order binary.AppendByteOrder, magic string, tags [][]uint32, data []byte) []byte {
	b := order.AppendUint32([]byte(magic), 8)
	b = order.AppendUint16(b, uint16(len(tags)))
	extra := 8 + 2 + 12*len(tags)
	var behind []byte
	at := uint32(extra)
	for _, t := range tags {
		if len(t) > 2 {
			at += uint32(4 * (len(t) - 1))
		}
	}
	for _, t := range tags {
		values := t[1:]
		b = order.AppendUint16(b, uint16(t[0]))
		b = order.AppendUint16(b, 4)
		b = order.AppendUint32(b, uint32(len(values)))
		var list []byte
		for _, v := range values {
			if t[0] == tagOffsets || t[0] == tagTileOffsets {
				v += at
			}
			list = order.AppendUint32(list, v)
		}
		if len(values) > 1 {
			b = order.AppendUint32(b, uint32(extra+len(behind)))
			behind = append(behind, list...)
		} else {
			b = append(b, list...)
		}
	}
	return append(append(b, behind...), data...)
}

var little, big = binary.LittleEndian, binary.BigEndian

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		h    raster.Header
		want []uint16
	}{
		"planes": {
			build(little, "II*\x00", [][]uint32{{tagWidth, 2}, {tagHeight, 1}, {tagBits, 8, 8, 8}, {tagPhotometric, rgb}, {tagOffsets, 0, 2, 4},
				{tagSamples, 3}, {tagByteCounts, 2, 2, 2}, {tagPlanar, 2}}, []byte{1, 2, 3, 4, 5, 6}),
			raster.Header{Width: 2, Height: 1, Channels: 3, Depth: 8, Orientation: 1}, []uint16{1, 3, 5, 2, 4, 6},
		},
		"tiles": {
			build(big, "MM\x00*", [][]uint32{{tagWidth, 3}, {tagHeight, 1}, {tagBits, 16}, {tagOrientation, 6}, {tagTileWidth, 2}, {tagTileHeight, 1},
				{tagTileOffsets, 0, 4}, {tagTileCounts, 4, 4}}, []byte{1, 2, 3, 4, 5, 6, 7, 8}),
			raster.Header{Width: 3, Height: 1, Channels: 1, Depth: 16, Orientation: 6}, []uint16{0x102, 0x304, 0x506},
		},
		"differences of 16 bits": {
			build(little, "II*\x00", [][]uint32{{tagWidth, 3}, {tagHeight, 1}, {tagBits, 16}, {tagOffsets, 0}, {tagByteCounts, 6}, {tagPredictor, 2}},
				[]byte{255, 255, 2, 0, 1, 0}),
			raster.Header{Width: 3, Height: 1, Channels: 1, Depth: 16, Orientation: 1}, []uint16{65535, 1, 2},
		},
		"white is zero, bits from below": {
			build(little, "II*\x00", [][]uint32{{tagWidth, 3}, {tagHeight, 2}, {tagPhotometric, whiteIsZero}, {tagFillOrder, 2}, {tagOffsets, 0}}, []byte{1, 6}),
			raster.Header{Width: 3, Height: 2, Channels: 1, Depth: 8, Orientation: 1}, []uint16{0, 255, 255, 255, 0, 0},
		},
		"two bits": {
			build(little, "II*\x00", [][]uint32{{tagWidth, 4}, {tagHeight, 1}, {tagBits, 2}, {tagOffsets, 0}}, []byte{0x1b}),
			raster.Header{Width: 4, Height: 1, Channels: 1, Depth: 8, Orientation: 1}, []uint16{0, 85, 170, 255},
		},
	} {
		var img raster.Image
		var d Decoder
		if err := d.Decode(c.data, &img); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.h.Luma = raster.LumaTIFF; img.Header != c.h {
			t.Errorf("%s: header %+v", name, img.Header)
		}
		got := img.Wide
		if img.Depth == 8 {
			got = nil
			for _, v := range img.Pix {
				got = append(got, uint16(v))
			}
		}
		for i := range c.want {
			if len(got) != len(c.want) || got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

func TestRefused(t *testing.T) {
	gray := func(more ...[]uint32) [][]uint32 { return append([][]uint32{{tagWidth, 4}, {tagHeight, 4}}, more...) }
	for name, c := range map[string]struct {
		tags [][]uint32
		kind errs.Kind
	}{
		"no pixels":            {[][]uint32{{tagWidth, 4}}, errs.Corrupt},
		"no strips":            {gray(), errs.Corrupt},
		"strips outside":       {gray([]uint32{tagBits, 8}, []uint32{tagOffsets, 1 << 30}), errs.Corrupt},
		"strips too short":     {gray([]uint32{tagBits, 8}, []uint32{tagOffsets, 0}), errs.Corrupt},
		"endless":              {[][]uint32{{tagWidth, 1 << 31}, {tagHeight, 1 << 31}}, errs.Exhausted},
		"many strips":          {[][]uint32{{tagWidth, 1}, {tagHeight, 1 << 20}, {tagOffsets, 0}, {tagRowsPerStrip, 1}}, errs.Corrupt},
		"large tiles":          {gray([]uint32{tagTileWidth, 1 << 15}, []uint32{tagTileHeight, 1 << 15}, []uint32{tagTileOffsets, 0}), errs.Corrupt},
		"floats":               {gray([]uint32{tagBits, 16}, []uint32{tagOffsets, 0}, []uint32{tagFormat, 3}), errs.Unsupported},
		"32 bits":              {gray([]uint32{tagBits, 32}, []uint32{tagOffsets, 0}), errs.Unsupported},
		"unknown compression":  {gray([]uint32{tagCompression, 50000}, []uint32{tagOffsets, 0}), errs.Unsupported},
		"YCbCr as it is":       {gray([]uint32{tagPhotometric, yCbCr}, []uint32{tagOffsets, 0}, []uint32{tagSamples, 3}), errs.Unsupported},
		"no palette":           {gray([]uint32{tagBits, 8}, []uint32{tagPhotometric, paletted}, []uint32{tagOffsets, 0}), errs.Corrupt},
		"too few samples":      {gray([]uint32{tagBits, 8}, []uint32{tagPhotometric, rgb}, []uint32{tagOffsets, 0}), errs.Corrupt},
		"inks of four bits":    {gray([]uint32{tagBits, 4}, []uint32{tagPhotometric, separated}, []uint32{tagSamples, 4}), errs.Unsupported},
		"a hundred samples":    {gray([]uint32{tagOffsets, 0}, []uint32{tagSamples, 100}), errs.Unsupported},
		"no JPEG in the strip": {gray([]uint32{tagBits, 8}, []uint32{tagCompression, compressionJPEG}, []uint32{tagOffsets, 0}), errs.Corrupt},
	} {
		var img raster.Image
		var d Decoder
		if err := d.Decode(build(little, "II*\x00", c.tags, []byte{1, 2, 3}), &img); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"nothing":        nil,
		"no directory":   []byte("II*\x00\xff\xff\xff\x7f"),
		"half an entry":  append([]byte("II*\x00\x08\x00\x00\x00\x09\x00"), bytes.Repeat([]byte{1}, 20)...),
		"other contents": []byte("II+\x00\x08\x00\x00\x00"),
	} {
		if _, err := ReadHeader(data); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	decode := func(data []byte, img *raster.Image) error { return new(Decoder).Decode(data, img) }
	decodetest.Fuzz(f, ReadHeader, decode, nil)
}
