package jpeg

import (
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Header describes an image before it is decoded.
type Header struct {
	Width, Height int // as stored
	Components    int // 1 gray, 3 colours, 4 inks
	Orientation   int // EXIF orientation 1..8; 1 if the file has no orientation
}

// Oriented returns the size of the image after turning it as its orientation says.
func (h Header) Oriented() (width, height int) {
	return exif.Size(h.Width, h.Height, h.Orientation)
}

// Markers of segments (ITU-T T.81, table B.1).
const (
	startOfImage = 0xd8
	endOfImage   = 0xd9
	startOfScan  = 0xda
	app1         = 0xe1
)

// ReadHeader returns the header of the image in data. It allocates nothing unless
// there is an error.
func ReadHeader(data []byte) (Header, error) {
	h := Header{Orientation: 1}
	if len(data) < 4 || data[0] != 0xff || data[1] != startOfImage || data[2] != 0xff {
		return Header{}, corrupt("a JPEG file", "other bytes")
	}
	found := false
	for at := 2; ; {
		marker, body, next := segment(data, at)
		if next < 0 || marker == startOfScan || marker == endOfImage {
			break
		}
		switch {
		case marker == app1 && h.Orientation == 1:
			h.Orientation = exif.Segment(body)
		case isFrame(marker) && !found:
			if err := h.readFrame(body, marker); err != nil {
				return Header{}, err
			}
			found = true
		}
		at = next
	}
	if !found {
		return Header{}, corrupt("a frame header", "no frame header")
	}
	return h, h.plausible(len(data))
}

// segment returns the segment that begins at or after data[at], and where the next segment begins,
// or -1 if there is no next segment. Markers without a length have no body.
func segment(data []byte, at int) (marker byte, body []byte, next int) {
	for at < len(data) && data[at] != 0xff { // skip bytes between segments, like libjpeg
		at++
	}
	for at < len(data) && data[at] == 0xff {
		at++
	}
	if at >= len(data) {
		return 0, nil, -1
	}
	marker = data[at]
	at++
	if marker == 0 || marker == 1 || marker >= 0xd0 && marker <= 0xd9 {
		return marker, nil, at
	}
	if at+2 > len(data) {
		return marker, nil, -1
	}
	size := int(binary.BigEndian.Uint16(data[at:]))
	if size < 2 || at+size > len(data) {
		if marker == startOfScan {
			return marker, nil, at
		}
		return marker, nil, -1
	}
	return marker, data[at+2 : at+size], at + size
}

// isFrame reports whether the marker begins a frame: SOF0..15 without DHT, JPG and DAC.
func isFrame(marker byte) bool {
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
}

func (h *Header) readFrame(b []byte, marker byte) error {
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return corrupt("a complete frame header", fmt.Sprintf("%d bytes", len(b)))
	}
	h.Height, h.Width, h.Components = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:])), int(b[5])
	switch {
	case b[0] != 8:
		return unsupported(fmt.Sprintf("%d bits per sample", b[0]))
	case marker == 0xc3 || marker >= 0xc5 && marker != 0xc9 && marker != 0xca:
		return unsupported("a lossless or hierarchical frame")
	case h.Components != 1 && h.Components != 3 && h.Components != 4:
		return unsupported(fmt.Sprintf("%d components", h.Components))
	}
	return nil
}

// plausible returns an error for a size that the file cannot hold: a block of 64 samples takes at
// least one bit in some scan.
func (h Header) plausible(size int) error {
	const perByte = 8 * 64
	pixels := h.Width * h.Height
	switch {
	case pixels <= 0:
		return corrupt("an image with pixels", h.size())
	case pixels/perByte > size && pixels > raster.MaxPixels:
		return &errs.Error{Kind: errs.Exhausted, Op: "jpeg", Want: "data for an image of " + h.size(), Got: fmt.Sprintf("%d bytes", size)}
	case pixels/perByte > size:
		return corrupt("data for an image of "+h.size(), fmt.Sprintf("%d bytes", size))
	}
	return nil
}

// checkCoefficients returns an error if the image has several scans and its coefficients take more
// memory than the limit. All coefficients are kept until the last scan. An image has several scans
// if it is progressive or its first scan lacks components.
func (h Header) checkCoefficients(data []byte, limits raster.Limits) error {
	const size, progressive, arithmetic = 2, 0xc2, 0xca
	n := int64(h.Width) * int64(h.Height) * int64(h.Components) * size
	err := limits.CheckBytes("jpeg", "the coefficients of all scans", n)
	if err == nil {
		return nil
	}
	for at := 2; ; {
		marker, body, next := segment(data, at)
		switch {
		case marker == progressive || marker == arithmetic:
			return err
		case marker == startOfScan && len(body) > 0 && int(body[0]) < h.Components:
			return err
		case next < 0 || marker == startOfScan:
			return nil
		}
		at = next
	}
}

func (h Header) size() string { return fmt.Sprintf("%dx%d", h.Width, h.Height) }

func corrupt(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Want: want, Got: got}
}

func unsupported(got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "jpeg", Got: got}
}
