// Package webp decodes WebP images, lossy and lossless, with or without alpha, with
// golang.org/x/image. Of animations it decodes the first frame. Chroma of lossy images is upsampled
// and converted to RGB as libwebp does (its "fancy" upsampling), because users of the format expect
// libwebp's pixels. The orientation comes from an EXIF chunk.
package webp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"

	"golang.org/x/image/webp"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Is reports whether data begins like a WebP file.
func Is(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	h := raster.Header{Channels: 3, Depth: 8, Orientation: 1, Luma: raster.LumaWebP}
	if !Is(data) {
		return h, raster.Corrupt("webp", "a WebP file", "other bytes")
	}
	found, extended := false, false
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if size > uint64(len(rest)) {
			if !found {
				return h, raster.Corrupt("webp", "complete chunks", fmt.Sprintf("%d bytes", len(data)))
			}
			break
		}
		body := rest[:size]
		rest = rest[min(size+size&1, uint64(len(rest))):]
		switch {
		case name == "EXIF":
			h.Orientation = exif.Orientation(bytes.TrimPrefix(body, []byte("Exif\x00\x00")))
		case found && !extended:
		case name == "VP8X" && !found:
			found, extended = true, true
			if err := readExtended(&h, body); err != nil {
				return h, err
			}
		case name == "VP8L" && !found:
			const signature = 0x2f
			if found = true; size < 5 || body[0] != signature {
				return h, raster.Corrupt("webp", "a lossless image", "other bytes")
			}
			v := binary.LittleEndian.Uint32(body[1:])
			h.Width, h.Height = 1+int(v&0x3fff), 1+int(v>>14&0x3fff)
			if v>>28&1 != 0 {
				h.Channels = 4
			}
		case name == "VP8 " && !found:
			if found = true; size < 10 {
				return h, raster.Corrupt("webp", "a lossy image", "other bytes")
			}
			h.Width, h.Height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
		}
	}
	if !found {
		return h, raster.Corrupt("webp", "an image", "no image")
	}
	return h, h.Check("webp", len(data))
}

func readExtended(h *raster.Header, b []byte) error {
	const alpha = 0x10
	if len(b) < 10 {
		return raster.Corrupt("webp", "a complete header", fmt.Sprintf("%d bytes", len(b)))
	}
	if b[0]&alpha != 0 {
		h.Channels = 4
	}
	size := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
	h.Width, h.Height = size(b[4:]), size(b[7:])
	return nil
}

// Decode decodes the image in data to img.
func Decode(data []byte, img *raster.Image) error {
	h, err := ReadHeader(data)
	if err != nil {
		return err
	}
	if frame, ok := firstFrame(data); ok {
		return decodeFrame(frame, h, img)
	}
	// The frame may declare another size than the extended header, and the frame decides how much
	// memory is needed.
	c, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return decodeError(err)
	}
	if c.Width != h.Width || c.Height != h.Height {
		return raster.Corrupt("webp", fmt.Sprintf("an image of %dx%d", h.Width, h.Height), fmt.Sprintf("%dx%d", c.Width, c.Height))
	}
	if err := checkFrames(data, h); err != nil {
		return err
	}
	if err := img.Reset(h); err != nil {
		return err
	}
	// The memory of the decoder: four bytes per pixel for lossless images, up to two and a half for
	// others.
	if err := img.Limits.CheckBytes("webp", "the image as it is stored", 4*int64(h.Width)*int64(h.Height)); err != nil {
		return err
	}
	decoded, err := webp.Decode(img.Limits.Reader(data))
	if late := img.Limits.Interrupted(); late != nil {
		return late
	}
	if err != nil {
		return decodeError(err)
	}
	if size := decoded.Bounds().Size(); size.X != h.Width || size.Y != h.Height {
		return raster.Corrupt("webp", fmt.Sprintf("an image of %dx%d", h.Width, h.Height), size.String())
	}
	switch p := decoded.(type) {
	case *image.NRGBA:
		for y := range h.Height {
			row := img.Row(h.Width)
			for x := range h.Width {
				copy(row[x*h.Channels:][:h.Channels], p.Pix[y*p.Stride+4*x:])
			}
			if err := img.Put(y, 0, 1, row); err != nil {
				return err
			}
		}
		return nil
	case *image.YCbCr:
		return convert(img, p, nil, 0)
	case *image.NYCbCrA:
		return convert(img, &p.YCbCr, p.A, p.AStride)
	}
	return raster.Unsupported("webp", fmt.Sprintf("%T", decoded))
}

// checkFrames returns an error if an image in an extended file has another size than the file.
func checkFrames(data []byte, h raster.Header) error {
	for rest := data[12:]; len(rest) >= 8; {
		name, size := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		body := rest[:min(size, uint64(len(rest)))]
		rest = rest[min(size+size&1, uint64(len(rest))):]
		width, height := h.Width, h.Height
		switch {
		case name == "VP8L" && len(body) >= 5:
			v := binary.LittleEndian.Uint32(body[1:])
			width, height = 1+int(v&0x3fff), 1+int(v>>14&0x3fff)
		case name == "VP8 " && len(body) >= 10:
			width, height = int(binary.LittleEndian.Uint16(body[6:])&0x3fff), int(binary.LittleEndian.Uint16(body[8:])&0x3fff)
		}
		if width != h.Width || height != h.Height {
			return raster.Corrupt("webp", fmt.Sprintf("an image of %dx%d", h.Width, h.Height), fmt.Sprintf("%dx%d", width, height))
		}
	}
	return nil
}

func decodeError(err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "webp", Got: "Failed to decode", Err: err}
}
