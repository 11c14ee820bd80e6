package png

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bivouac-ml/bivouac/codec/raster"
)

// decoder decodes one image.
type decoder struct {
	data    []byte // chunks that are not read yet
	width   int
	height  int
	depth   int  // stored bits per sample
	color   byte // type
	adam7   bool
	palette [256][3]uint8
}

// The kind of chunk that was seen last, in the order of chunks.
const (
	seenNothing = iota
	seenHeader
	seenPalette
	seenTransparency
	seenPixels
)

// chunk takes the next chunk. ReadHeader has checked that all chunks are complete.
func (d *decoder) chunk() (name string, body []byte, err error) {
	size := int(binary.BigEndian.Uint32(d.data))
	sum := binary.BigEndian.Uint32(d.data[8+size:])
	name, body = string(d.data[4:8]), d.data[8:8+size]
	if crc32.ChecksumIEEE(d.data[4:8+size]) != sum {
		err = raster.Corrupt("png", "chunks with their checksums", "another checksum of chunk "+name)
	}
	d.data = d.data[12+size:]
	return name, body, err
}

// chunks reads everything that the image needs besides its pixels, checks the order and the
// checksums of the chunks, and returns the pixels.
func (d *decoder) chunks() (pixels stream, err error) {
	seen, open := seenNothing, false // open: the previous chunk holds pixels, and more may follow
	for {
		name, body, err := d.chunk()
		if err != nil {
			return stream{}, err
		}
		ok := true
		switch name {
		case "IHDR":
			seen, err = seenHeader, d.header(body)
		case "PLTE":
			ok, seen, err = seen == seenHeader, seenPalette, d.readPalette(body)
		case "tRNS":
			switch d.color {
			case typePalette:
				ok = seen == seenPalette
			case typeRGB:
				ok = seen == seenHeader || seen == seenPalette
			default:
				ok = seen == seenHeader
			}
			seen, err = seenTransparency, d.transparency(body)
		case "IDAT":
			ok = d.color != typePalette || seen > seenHeader
			if seen < seenPixels || open { // other chunks are ignored
				pixels.chunks = append(pixels.chunks, body)
				open = true
			}
			seen = seenPixels
		case "IEND":
			if seen != seenPixels || len(body) > 0 {
				return stream{}, raster.Corrupt("png", "an empty end chunk after the pixels", fmt.Sprintf("%d bytes", len(body)))
			}
			return pixels, nil
		}
		open = open && name == "IDAT"
		if err == nil && !ok {
			err = raster.Corrupt("png", "chunks in order", "chunk "+name)
		}
		if err != nil {
			return stream{}, err
		}
	}
}

// depths lists the bits per sample that a colour type allows.
var depths = map[byte][]int{typeGray: {1, 2, 4, 8, 16}, typeRGB: {8, 16}, typePalette: {1, 2, 4, 8}, typeGrayAlpha: {8, 16}, typeRGBA: {8, 16}}

func (d *decoder) header(b []byte) error {
	d.width, d.height = int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	d.depth, d.color, d.adam7 = int(b[8]), b[9], b[12] == 1
	known := false
	for _, bits := range depths[d.color] {
		known = known || bits == d.depth
	}
	if !known || b[10] != 0 || b[11] != 0 || b[12] > 1 {
		return raster.Corrupt("png", "a depth, compression, filter and interlace method of the standard", fmt.Sprintf("%d bits of type %d, %v", d.depth, d.color, b[10:]))
	}
	return nil
}

// readPalette reads the colours. Colours that the palette lacks are black.
func (d *decoder) readPalette(b []byte) error {
	n := len(b) / 3
	if len(b)%3 != 0 || n == 0 || n > 256 || n > 1<<d.depth || d.color == typeGray || d.color == typeGrayAlpha {
		return raster.Corrupt("png", "a valid palette of an image with colours", fmt.Sprintf("%d bytes", len(b)))
	}
	for i := range n {
		copy(d.palette[i][:], b[3*i:])
	}
	return nil
}

// transparency checks a chunk that is then dropped.
func (d *decoder) transparency(b []byte) error {
	ok := false
	switch d.color {
	case typeGray:
		ok = len(b) == 2
	case typeRGB:
		ok = len(b) == 6
	case typePalette:
		ok = len(b) <= 256
	}
	if !ok {
		return raster.Corrupt("png", "a transparency that fits the colours", fmt.Sprintf("%d bytes of type %d", len(b), d.color))
	}
	return nil
}

// stream reads the pixels of consecutive chunks.
type stream struct {
	chunks [][]byte
	rest   int // unread bytes of the current chunk
}

// Read implements io.Reader. It returns bytes of one chunk at a time.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.chunks) > 0 && len(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	if len(s.chunks) == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p, s.chunks[0])
	s.chunks[0] = s.chunks[0][n:]
	s.rest = len(s.chunks[0])
	return n, nil
}
