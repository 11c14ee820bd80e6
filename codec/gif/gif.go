// Package gif decodes the first frame of GIF images with the standard library, as RGB. The frame is
// put on the screen that the file declares. Outside the frame, and where the frame is transparent,
// the screen has colour 0 or the background colour of the global palette.
package gif

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Is reports whether data begins like a GIF file.
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
	if err := img.Reset(h); err != nil {
		return err
	}
	// The frame, and a copy of it if it is interlaced.
	if err := img.Limits.CheckBytes("gif", "the frame", 2*int64(h.Width)*int64(h.Height)); err != nil {
		return err
	}
	decoded, err := gif.Decode(img.Limits.Reader(data))
	if late := img.Limits.Interrupted(); late != nil {
		return late
	}
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Op: "gif", Got: "Failed to decode", Err: err}
	}
	frame, ok := decoded.(*image.Paletted)
	if !ok || !frame.Rect.In(image.Rect(0, 0, h.Width, h.Height)) {
		return raster.Corrupt("gif", "a frame within the screen", decoded.Bounds().String())
	}
	back := background(data)
	var colors [256][3]uint8
	for i, c := range frame.Palette {
		if r, g, b, a := c.RGBA(); a != 0 {
			colors[i] = [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
		} else {
			colors[i] = back
		}
	}
	for y := range h.Height {
		row := img.Row(h.Width)
		for x := range h.Width {
			color := &back
			if (image.Point{X: x, Y: y}).In(frame.Rect) {
				color = &colors[frame.Pix[(y-frame.Rect.Min.Y)*frame.Stride+x-frame.Rect.Min.X]]
			}
			copy(row[3*x:3*x+3], color[:])
		}
		if err := img.Put(y, 0, 1, row); err != nil {
			return err
		}
	}
	return nil
}
