package bmp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/internal/decodetest"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// bitmapFile puts a file together.
func bitmapFile(w, h, depth, compression int, between, pixels []byte) []byte {
	le := binary.LittleEndian
	b := append([]byte(Magic), make([]byte, 12+40)...)
	le.PutUint32(b[10:], uint32(len(b)+len(between)))
	le.PutUint32(b[14:], 40)
	le.PutUint32(b[18:], uint32(w))
	le.PutUint32(b[22:], uint32(h))
	le.PutUint16(b[28:], uint16(depth))
	le.PutUint32(b[30:], uint32(compression))
	return append(append(b, between...), pixels...)
}

func TestDecode(t *testing.T) {
	palette := []byte{10, 20, 30, 0, 40, 50, 60, 0, 70, 80, 90, 0, 1, 1, 1, 0}
	palette = append(palette, make([]byte, 256*4-len(palette))...)
	grays := bytes.Repeat([]byte{0, 0, 0, 0, 7, 7, 7, 0}, 128)
	masks := []byte{0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0}
	for name, c := range map[string]struct {
		data     []byte
		channels int
		want     []byte
	}{
		"runs": {bitmapFile(3, 2, 8, rle8, palette, []byte{2, 1, 0, 0, 0, 3, 2, 0, 1, 0, 0, 1}), 3,
			[]byte{90, 80, 70, 30, 20, 10, 60, 50, 40, 60, 50, 40, 60, 50, 40, 30, 20, 10}},
		"half runs": {bitmapFile(3, 1, 4, rle4, palette[:64], []byte{3, 0x12, 0, 1}), 3, []byte{60, 50, 40, 90, 80, 70, 60, 50, 40}},
		"a skip":    {bitmapFile(2, 1, 8, rle8, palette, []byte{0, 2, 1, 0, 1, 2, 0, 1}), 3, []byte{30, 20, 10, 90, 80, 70}},
		"grays":     {bitmapFile(2, -1, 8, plain, grays, []byte{1, 0, 0, 0}), 1, []byte{7, 0}},
		"5-6-5":     {bitmapFile(2, 1, 16, bitFields, masks, []byte{0, 0xf8, 0xe0, 7}), 3, []byte{255, 0, 0, 0, 255, 0}},
		"5-5-5":     {bitmapFile(2, 1, 16, plain, nil, []byte{0, 0x7c, 0x1f, 0}), 3, []byte{255, 0, 0, 0, 0, 255}},
		"32 bits":   {bitmapFile(1, 1, 32, plain, nil, []byte{1, 2, 3, 4}), 3, []byte{3, 2, 1}},
	} {
		var img raster.Image
		if err := Decode(c.data, &img); err != nil || img.Channels != c.channels || !bytes.Equal(img.Pix, c.want) {
			t.Errorf("%s: got %d channels, %v, %v", name, img.Channels, img.Pix, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		kind errs.Kind
	}{
		"nothing":        {nil, errs.Corrupt},
		"no rows":        {bitmapFile(2, 2, 24, plain, nil, make([]byte, 9)), errs.Corrupt},
		"endless":        {bitmapFile(1<<30, 1<<30, 24, plain, nil, nil), errs.Exhausted},
		"too few bytes":  {bitmapFile(1<<14, 1<<13, 1, rle8, nil, nil), errs.Corrupt},
		"runs that end":  {bitmapFile(3, 2, 8, rle8, make([]byte, 1024), []byte{2, 1}), errs.Corrupt},
		"runs of 4 bits": {bitmapFile(3, 2, 4, rle8, make([]byte, 64), nil), errs.Unsupported},
		"2 bits":         {bitmapFile(3, 2, 2, plain, nil, make([]byte, 64)), errs.Unsupported},
		"no fields":      {bitmapFile(1, 1, 16, bitFields, nil, []byte{0, 0}), errs.Corrupt},
	} {
		var img raster.Image
		if err := Decode(c.data, &img); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) { decodetest.Fuzz(f, ReadHeader, Decode, nil) }
