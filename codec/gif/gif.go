// Package gif decodes the first frame of GIF images with the standard library, as
// RGB. The frame is put on the screen that the file declares, in whose other parts,
// and where the frame is transparent, colour 0 or the background colour of the global
// palette shows.
package gif

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Is reports whether data begins as these files do.
func Is(data []byte) bool {
	return bytes.HasPrefix(data, []byte("GIF87a")) || bytes.HasPrefix(data, []byte("GIF89a"))
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	if !Is(data) || len(data) < 13 {
		return raster.Header{}, raster.Corrupt("gif", "a GIF file", "other bytes")
	}
	h := raster.Header{
		Width: int(binary.LittleEndian.Uint16(data[6:])), Height: int(binary.LittleEndian.Uint16(data[8:])),
		Channels: 3, Depth: 8, Orientation: 1,
	}
	return h, h.Check("gif", len(data))
}

// background returns the colour behind the frames.
func background(data []byte) (c [3]uint8) {
	const global = 0x80
	if flags, at := data[10], 13+3*int(data[11]); flags&global != 0 && int(data[11]) < 2<<(flags&7) && at+3 <= len(data) {
		copy(c[:], data[at:])
	}
	return c
}

// Decode decodes the first frame in data to img.
func Decode(data []byte, img *raster.Image) error {
	h, err := ReadHeader(data)
	if err != nil {
		return err
	}
	decoded, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "gif", Got: "Failed to decode", Err: err}
	}
	frame, ok := decoded.(*image.Paletted)
	if !ok || !frame.Rect.In(image.Rect(0, 0, h.Width, h.Height)) {
		return raster.Corrupt("gif", "a frame within the screen", decoded.Bounds().String())
	}
	img.Reset(h)
	back := background(data)
	for i := 0; i < len(img.Pix); i += 3 {
		copy(img.Pix[i:], back[:])
	}
	var colors [256][3]uint8
	for i, c := range frame.Palette {
		if r, g, b, a := c.RGBA(); a != 0 {
			colors[i] = [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
		} else {
			colors[i] = back
		}
	}
	for y := frame.Rect.Min.Y; y < frame.Rect.Max.Y; y++ {
		row := frame.Pix[(y-frame.Rect.Min.Y)*frame.Stride:]
		for x := frame.Rect.Min.X; x < frame.Rect.Max.X; x++ {
			copy(img.Pix[3*(y*h.Width+x):], colors[row[x-frame.Rect.Min.X]][:])
		}
	}
	return nil
}
