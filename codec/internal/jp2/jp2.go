// Package jp2 reads the headers of JPEG 2000 images: JP2 files and raw codestreams. It does not
// decode pixels; package codec/video does, by ffmpeg.
//
//	"jP  " ┬ ftyp ┬ jp2h: ihdr, colr, pclr ┬ jp2c: codestream
//	codestream: SOC ┬ SIZ ┬ … ┬ tile-parts: SOT, length, data ┬ EOC
package jp2

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

const opName = "jp2"

// What files and codestreams begin with.
const (
	fileMagic   = "\x00\x00\x00\x0cjP  \r\n\x87\n"
	streamMagic = "\xff\x4f\xff\x51"
)

// Markers of a codestream.
const (
	markerSOT = 0xff90
	markerEOC = 0xffd9
)

// Is reports whether data begins like a JPEG 2000 image.
func Is(data []byte) bool {
	return bytes.HasPrefix(data, []byte(fileMagic)) || bytes.HasPrefix(data, []byte(streamMagic))
}

// Image is an image whose headers were read.
type Image struct {
	raster.Header
	// YCC marks brightness and chroma in full range, which become RGB.
	YCC    bool
	stream []byte
}

func corrupt(want, format string, args ...any) error {
	return raster.Corrupt(opName, want, fmt.Sprintf(format, args...))
}

// Parse reads the headers of the image in data.
func Parse(data []byte) (*Image, error) {
	x := &Image{Header: raster.Header{Orientation: 1, Luma: raster.LumaWebP}, stream: data}
	var f file
	if bytes.HasPrefix(data, []byte(fileMagic)) {
		if err := f.read(data[len(fileMagic):], false); err != nil {
			return nil, err
		}
		if f.stream == nil {
			return nil, corrupt("a codestream", "a file of %d bytes without one", len(data))
		}
		x.stream = f.stream
	}
	if err := x.readSize(); err != nil {
		return nil, err
	}
	if f.width != 0 && (f.width != x.Width || f.height != x.Height) {
		return nil, corrupt(fmt.Sprintf("a codestream of %dx%d", f.width, f.height), "%dx%d", x.Width, x.Height)
	}
	if err := f.describe(x); err != nil {
		return nil, err
	}
	x.Mixed = x.Channels == 2
	return x, x.Check(opName, len(data))
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (raster.Header, error) {
	x, err := Parse(data)
	if err != nil {
		return raster.Header{}, err
	}
	return x.Header, nil
}

// readSize reads the size, the channels and the depth from the codestream.
func (x *Image) readSize() error {
	const fixed = 42 // up to the components
	be := binary.BigEndian
	b := x.stream
	if !bytes.HasPrefix(b, []byte(streamMagic)) || len(b) < fixed {
		return corrupt("a codestream with its size", "%d other bytes", len(b))
	}
	number := func(at int) int { return int(be.Uint32(b[at:])) }
	x.Width, x.Height = number(8)-number(16), number(12)-number(20)
	n := int(be.Uint16(b[40:]))
	if n < 1 || len(b) < fixed+3*n || int(be.Uint16(b[4:])) != fixed-4+3*n {
		return corrupt("the description of the channels", "%d channels in %d bytes", n, len(b))
	}
	if n > 4 {
		return raster.Unsupported(opName, fmt.Sprintf("%d channels", n))
	}
	x.Channels = n
	bits := 0
	for i, c := 0, b[fixed:]; i < n; i, c = i+1, c[3:] {
		const signed = 0x80
		depth := int(c[0]&^signed) + 1
		switch {
		case c[0]&signed != 0:
			return raster.Unsupported(opName, "signed samples")
		case i > 0 && depth != bits:
			return raster.Unsupported(opName, fmt.Sprintf("channels of %d and %d bits", bits, depth))
		case depth > 16:
			return raster.Unsupported(opName, fmt.Sprintf("%d bits per sample", depth))
		case c[1] < 1 || c[2] < 1:
			return corrupt("distances of samples of at least 1", "%dx%d", c[1], c[2])
		case c[1] != 1 || c[2] != 1:
			if n != 3 || i == 0 || c[1] > 2 || c[2] > 2 {
				return raster.Unsupported(opName, fmt.Sprintf("channel %d of %d with every %dx%d-th sample", i, n, c[1], c[2]))
			}
			x.YCC = true
		}
		bits = depth
	}
	x.Depth = 8
	if bits > 8 {
		x.Depth = 16
	}
	return nil
}

// CheckStream returns an error if the codestream is cut: each part of a tile must lie in it.
func (x *Image) CheckStream() error {
	be := binary.BigEndian
	b := x.stream
	at := 2
	for at+4 <= len(b) && be.Uint16(b[at:]) != markerSOT {
		at += 2 + int(be.Uint16(b[at+2:]))
	}
	const header = 12 // of a part of a tile
	parts := 0
	for ; ; parts++ {
		if at+2 <= len(b) && be.Uint16(b[at:]) == markerEOC && parts > 0 {
			return nil
		}
		if at+header > len(b) || be.Uint16(b[at:]) != markerSOT {
			return corrupt("a part of a tile, or the end mark", "%d bytes, which end or are others at %d", len(b), at)
		}
		size := int(be.Uint32(b[at+6:]))
		if size == 0 { // up to the end
			if be.Uint16(b[len(b)-2:]) != markerEOC {
				return corrupt("the end mark of the codestream", "%x", b[len(b)-2:])
			}
			return nil
		}
		if size < header || size > len(b)-at {
			return corrupt("a part of a tile within the file", "%d bytes at %d of %d", size, at, len(b))
		}
		at += size
	}
}

// file is what the boxes of a file say.
type file struct {
	stream        []byte
	width, height int
	colour        uint32 // the enumerated colour space, or 0
	palette       int    // number of columns of the palette, or 0
	paletteBits   int
}

// read reads boxes. inside says that they are the boxes of the header.
func (f *file) read(b []byte, inside bool) error {
	be := binary.BigEndian
	for len(b) >= 8 {
		size, head := uint64(be.Uint32(b)), uint64(8)
		name := string(b[4:8])
		switch {
		case size == 1 && len(b) >= 16:
			size, head = be.Uint64(b[8:]), 16
		case size == 0:
			size = uint64(len(b))
		}
		if name == "jp2c" && size > uint64(len(b)) {
			size = uint64(len(b)) // CheckStream finds the damage
		}
		if size < head || size > uint64(len(b)) {
			return corrupt("complete boxes", "box %q of %d bytes in %d", name, size, len(b))
		}
		body := b[head:size]
		b = b[size:]
		switch {
		case name == "jp2h" && !inside:
			if err := f.read(body, true); err != nil {
				return err
			}
		case name == "jp2c" && !inside && f.stream == nil:
			f.stream = body
		case name == "ihdr" && inside:
			if len(body) < 14 {
				return corrupt("a header of 14 bytes", "%d", len(body))
			}
			f.height, f.width = int(be.Uint32(body)), int(be.Uint32(body[4:]))
		case name == "colr" && inside && len(body) >= 7 && body[0] == 1 && f.colour == 0:
			f.colour = be.Uint32(body[3:])
		case name == "pclr" && inside && len(body) >= 4:
			f.palette, f.paletteBits = int(body[2]), int(body[3]&0x7f)+1
		}
	}
	return nil
}

// describe completes the header by what the boxes say about colours.
func (f *file) describe(x *Image) error {
	const cmyk, ycc = 12, 18
	switch {
	case f.colour == cmyk:
		return raster.Unsupported(opName, "inks (CMYK)")
	case f.palette != 0 && (x.Channels != 1 || x.Depth != 8 || f.palette != 3 || f.paletteBits != 8):
		return raster.Unsupported(opName, fmt.Sprintf("a palette of %d channels of %d bits for %d channels",
			f.palette, f.paletteBits, x.Channels))
	case f.palette != 0:
		x.Channels = f.palette
	case f.colour == ycc && x.Channels == 3:
		x.YCC = true
	}
	return nil
}
